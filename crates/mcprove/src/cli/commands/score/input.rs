//! The traces: from paths and standard input to bytes.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use mcprove_import::Format;
use mcprove_settings::error::ConfigError;

use crate::prelude::*;

/// The largest trace that is read.
const BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// What stands for standard input.
const STDIN: &str = "-";
/// What stands for a format that is to be found out.
const AUTO: &str = "auto";
/// What a run directory has its events in.
const RECORDING: &str = "trace.jsonl";

/// The format of the traces; `None` is to be found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChosenFormat(Option<Format>);

impl ChosenFormat {
    /// Reads its name.
    pub fn parser() -> impl TypedValueParser<Value = Self> {
        let auto = PossibleValue::new(AUTO).help("whatever it is");
        let values = Format::ALL.into_iter().map(possible_value);
        let names = PossibleValuesParser::new(std::iter::once(auto).chain(values));
        let is_it = |format: &Format, name: &str| possible_value(*format).matches(name, false);
        names.map(move |name| Self(Format::ALL.into_iter().find(|it| is_it(it, &name))))
    }
}

fn possible_value(format: Format) -> PossibleValue {
    let value = PossibleValue::new(format.name()).help(format.explanation());
    match format {
        // The other name is that of the file.
        Format::Recording => value.alias("recording"),
        _ => value,
    }
}

/// Reads every trace, one after the other; an error is what is wrong with each that cannot be used.
pub fn read(paths: &[PathBuf], format: ChosenFormat) -> Result<Traces, ConfigErrors> {
    let mut traces = Traces::default();
    let mut times: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let read = paths.iter().map(|path| {
        let is_stdin = path.as_os_str() == STDIN;
        let file = (!is_stdin).then(|| path.display().to_string());
        // The same file by another name is the same.
        let identity = path.canonicalize().unwrap_or_else(|_| path.clone());
        let count = times.entry(identity).or_default();
        *count += 1;
        if is_stdin && *count > 1 {
            return Err(ConfigErrors(vec![given_twice()]));
        }
        let read = read_bytes(path).map_err(|error| ConfigErrors::of(unread(path, &error)))?;
        traces.add(file.as_deref(), &read, format.0)?;
        if *count > 1 {
            let note = "is given more than once; its runs are counted each time";
            traces.note(file.as_deref(), note);
        }
        Ok(())
    });
    ConfigErrors::unless_all(read)?;
    Ok(traces)
}

fn given_twice() -> ConfigError {
    ConfigError::of_file(
        STDIN,
        "standard input is given twice",
        "it can be read once: give `-` once",
    )
}

/// The whole file, unless it is larger than what is taken, or keeps silent.
fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    if path.as_os_str() == STDIN {
        input::read_stdin(BYTES_MAX)
    } else {
        input::read(path, BYTES_MAX)
    }
}

fn unread(path: &Path, error: &io::Error) -> ConfigError {
    let name = if path.as_os_str() == STDIN {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let hint = match error.kind() {
        io::ErrorKind::NotFound => "check the path of the trace".to_owned(),
        io::ErrorKind::PermissionDenied => "check its permissions".to_owned(),
        io::ErrorKind::FileTooLarge => {
            "give the runs in several files, which are read one after the other".to_owned()
        }
        io::ErrorKind::TimedOut => {
            "check that the program that writes it runs; or write a file first, and give that"
                .to_owned()
        }
        _ if path.join(RECORDING).is_file() => format!(
            "it is a run directory: give {}",
            path.join(RECORDING).display()
        ),
        _ if path.is_dir() => "give the files in it: mcprove score DIRECTORY/*.json".to_owned(),
        _ => "check that it is a file that can be read".to_owned(),
    };
    ConfigError::of_file(&name, format!("cannot be read: {error}"), hint)
        .with_gist("cannot be read")
}
