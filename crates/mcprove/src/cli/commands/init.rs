//! `mcprove init`.

use std::path::Component;

use mcprove_settings::phrase::count;
use mcprove_suite::init::{Draft, DraftOptions, StartFolder, draft};

use super::probe;
use crate::prelude::*;

/// How many tools that are not called, or do not keep a contract, are told.
const TOLD_MAX: usize = 10;
/// How much is told of each.
const TOLD_CHARACTERS_MAX: usize = 600;
/// How much of a name is told.
const NAME_CHARACTERS_MAX: usize = 60;

/// Arguments of `mcprove init`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The file to write; `-` is standard output
    #[arg(long, value_name = "FILE", default_value = "mcprove.yml")]
    out: PathBuf,

    /// Overwrite an existing file
    #[arg(long)]
    force: bool,

    /// Call this tool too, though it may change or destroy something; `*` stands for anything (repeatable)
    #[arg(long, value_name = "TOOL")]
    allow: Vec<String>,

    /// Call every tool, also those that may write
    #[arg(long)]
    allow_writes: bool,

    #[command(flatten)]
    target: TargetArguments,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result {
    let server = arguments.target.resolve()?;
    let is_printed = arguments.out == Path::new("-");
    if !is_printed {
        check_place(&arguments.out, arguments.force)?;
    }
    let settings = arguments.target.settings()?;
    let session = arguments.target.options_with(&settings, &[]);
    let options = DraftOptions {
        probe_timeout: session.call_timeout(),
        session,
        accepts_requests: settings.accept_requests == Some(true),
        place: place(
            &arguments.out,
            arguments.target.server.settings.text("working_dir"),
        ),
        allowance: Allowance {
            writes: arguments.allow_writes,
            names: arguments.allow.clone(),
        },
    };
    let mut on_progress = probe::progress(&server);
    let drafted = draft(&server, &options, &mut on_progress, interrupt::requested()).await;
    drop(on_progress);
    let draft = drafted?;
    if is_printed {
        terminal::print(&draft.text);
    } else {
        check_free(&arguments.out, arguments.force)?;
        write_whole(&arguments.out, &draft.text).map_err(Failure::unwritten(&arguments.out))?;
        terminal::print(&summary(&draft, &arguments.out));
    }
    // Nothing was tested, because nothing may be called.
    let is_empty = draft.tests == 0 && draft.left_alone > 0;
    Ok(ExitCode::worst([(is_empty, ExitCode::Inconclusive)]))
}

/// Finds out whether the file can be written. It is not left there meanwhile: an empty one would be in the way of the
/// next try if this one is killed.
fn check_place(path: &Path, is_forced: bool) -> Result<()> {
    check_free(path, is_forced)?;
    OutputFile::reserve(path)
        .map(drop)
        .map_err(Failure::unwritten(path))
}

fn check_free(path: &Path, is_forced: bool) -> Result<()> {
    if !is_forced && path.symlink_metadata().is_ok() {
        return refuse(
            format!("{} already exists", path.display()),
            "give another file with --out, or --force to overwrite it",
        );
    }
    Ok(())
}

/// Where the server starts, seen from the folder of the file: commands of a suite start there.
fn place(out: &Path, working_dir: Option<&str>) -> StartFolder {
    let here = std::env::current_dir().unwrap_or_default();
    let server = here.join(working_dir.unwrap_or(""));
    let suite = here.join(out.parent().unwrap_or(Path::new("")));
    // From behind a link, `..` leads elsewhere than it seems.
    let resolved = |path: &Path| path.canonicalize().unwrap_or_else(|_| plain(path));
    match relative(&resolved(&server), &resolved(&suite)) {
        Some(folder) if folder.as_os_str().is_empty() => StartFolder::Suite,
        Some(folder) => StartFolder::Folder(folder.display().to_string()),
        None => StartFolder::Folder(plain(&server).display().to_string()),
    }
}

/// The way to a folder from another, where both are on the same root.
fn relative(to: &Path, from: &Path) -> Option<PathBuf> {
    let is_root = |part: &Component<'_>| matches!(part, Component::Prefix(_) | Component::RootDir);
    let root = |path: &Path| -> PathBuf { path.components().take_while(is_root).collect() };
    if root(to) != root(from) {
        return None;
    }
    let shared = to
        .components()
        .zip(from.components())
        .take_while(|(to, from)| to == from)
        .count();
    let up = from.components().skip(shared).map(|_| Component::ParentDir);
    Some(up.chain(to.components().skip(shared)).collect())
}

/// A path without `.` and `..`, as far as that can be told without looking.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

/// What was written, and what to do next.
fn summary(draft: &Draft, path: &Path) -> String {
    let path = printable(&path.display().to_string(), usize::MAX);
    let tests = count(u64::try_from(draft.tests).unwrap_or(u64::MAX), "test");
    let mut text = format!("wrote {path}: {tests}");
    if !draft.skipped.is_empty() {
        let _ = write!(text, ", {} skipped", draft.skipped.len());
    }
    text.push('\n');
    let skipped = draft.skipped.iter();
    let lines = skipped.map(|(tool, reason)| format!("{}: {reason}", name(tool)));
    tell(&mut text, "skipped", lines);
    if draft.left_alone > 0 {
        let _ = writeln!(
            text,
            "to call {} too: --allow TOOL, or --allow-writes",
            match draft.left_alone {
                1 => "the tool that was not called".to_owned(),
                more => format!("the {more} tools that were not called"),
            }
        );
    }
    if draft.is_ping_unanswered {
        text.push_str(
            "the server does not answer `ping`: only a closed connection would show that a bad request broke it\n",
        );
    }
    for unknown in &draft.unknown {
        let _ = writeln!(
            text,
            "--allow {}: the server has no such tool",
            name(unknown)
        );
    }
    let lines = draft
        .findings
        .iter()
        .map(|finding| format!("{}: {}", name(&finding.tool), finding.message));
    tell(
        &mut text,
        "not included, because the server accepted these bad requests",
        lines,
    );
    if draft.tests == 0 {
        text.push_str("no tool could be tested: look at the reasons, and complete the file\n");
    }
    if !draft.variables.is_empty() {
        let _ = writeln!(
            text,
            "set before running it: {}",
            draft.variables.join(", ")
        );
    }
    let _ = writeln!(text, "next: mcprove run {path}");
    text
}

fn name(tool: &str) -> String {
    printable(tool, NAME_CHARACTERS_MAX)
}

fn tell(text: &mut String, title: &str, lines: impl ExactSizeIterator<Item = String>) {
    let total = lines.len();
    if total == 0 {
        return;
    }
    let _ = writeln!(text, "{title}:");
    for line in lines.take(TOLD_MAX) {
        let _ = writeln!(text, "  {}", printable(&line, TOLD_CHARACTERS_MAX));
    }
    if total > TOLD_MAX {
        let _ = writeln!(text, "  and {} more, in the file", total - TOLD_MAX);
    }
}
