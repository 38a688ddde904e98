//! What the commands that inject faults share: the kinds of faults in their help, reading those that are given, and
//! the recording of what passes.

use mcprove_fault::{FaultKind, file, kinds, settings_of};

use crate::explain::explained;
use crate::prelude::*;

const AIMING: &str = "\
Aim with tool=NAME, server=NAME, calls=1-3,7 (in order of arrival), rate=0.2,
seed=7, name=TEXT, after commas. The first fault that strikes a call decides.
A hang ends after ten minutes.";

/// Every kind of fault with its settings, and how to aim it. No line is longer than 80 columns, so that
/// nothing has to be broken again.
pub fn kinds_of_faults() -> String {
    let mut help = String::from("Faults, as after --fault:\n");
    for kind in kinds() {
        help.push_str(&explained(&written(kind), 30, kind.about()));
    }
    help.push_str(AIMING);
    help
}

/// The faults that a command injects.
#[derive(Debug, Args)]
pub struct FaultArguments {
    /// A fault, such as slow:1000, hang,tool=search or error,calls=1-3,rate=0.5; repeatable
    #[arg(long, value_name = "FAULT")]
    pub fault: Vec<String>,

    /// A file with faults (YAML or TOML, format faults.v1), before those of --fault
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,

    /// The seed for faults that are injected at random
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = reads::<u64>("seed", kind::Kind::Seed))]
    pub seed: u64,
}

impl FaultArguments {
    /// The faults of the file, then those of flags.
    pub fn read(&self) -> Result<Vec<FaultSpec>> {
        let mut all = self
            .faults
            .as_deref()
            .map(file::read_file)
            .transpose()?
            .unwrap_or_default();
        for text in &self.fault {
            let fault = text.parse().map_err(|error: mcprove_fault::FaultError| {
                let message = format!("--fault {text:?}: {error}");
                let hint = match error.hint() {
                    hint if hint.is_empty() => {
                        "--help lists the faults, and how to aim them".into()
                    }
                    hint => hint,
                };
                Failure::new(message, hint)
            });
            all.push(fault?);
        }
        Ok(all)
    }

    /// Opens a recording, if there is to be one, new or gone on with, of what `origin` says, with these faults.
    pub fn open_recording(
        &self,
        (path, is_appended): (Option<&Path>, bool),
        origin: Origin,
        faults: &[FaultSpec],
        redactor: &Redactor,
    ) -> Result<Option<Recording>> {
        let Some(path) = path else { return Ok(None) };
        let origin = Origin {
            seed: Some(self.seed),
            faults: faults.iter().map(ToString::to_string).collect(),
            ..origin
        };
        let open = if is_appended {
            Recording::append
        } else {
            Recording::create
        };
        open(path, &origin, redactor)
            .map(Some)
            .map_err(Failure::unwritten(path))
    }
}

/// A kind as it is written after `--fault`.
fn written(kind: FaultKind) -> String {
    let name = kind.name().replace('_', "-");
    let settings = settings_of(kind).iter();
    let settings: Vec<&str> = settings.map(|setting| setting.name).collect();
    if settings.is_empty() {
        name
    } else {
        format!("{name}:<{}>", settings.join(">-<"))
    }
}
