//! `mcprove init`.

use std::path::Component;

use mcprove_document::block::{Document, Line, Tone, Verdict};
use mcprove_settings::number::count as number;
use mcprove_settings::phrase::count;
use mcprove_suite::init::{Draft, DraftOptions, StartFolder, draft};

use super::probe;
use crate::prelude::*;

/// How many tools that are not called, or do not keep a contract, are told.
const TOLD_MAX: usize = 10;
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
    report: ReportArguments,

    #[command(flatten)]
    target: TargetArguments,
}

/// Runs the command.
pub async fn run(arguments: &Arguments) -> Result {
    let out = &arguments.out;
    let reports = if out == Path::new("-") {
        arguments.report.resolve_to_files(&[])?
    } else {
        arguments
            .report
            .resolve_with(false, &[], std::slice::from_ref(out))?
    };
    reports.conclude(perform(arguments, &reports).await)
}

async fn perform(arguments: &Arguments, reports: &Reports) -> Result {
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
    }
    let (document, json) = (document(&draft, &arguments.out), json(&draft)?);
    reports.show_if(!is_printed, |format, style| {
        drawn(&document, &json, format, style)
    });
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
fn document(draft: &Draft, path: &Path) -> Document {
    let path = path.display();
    let mut why = Line::code(&path).and(format!(": {}", count(number(draft.tests), "test")));
    if !draft.skipped.is_empty() {
        why = why.and(format!(", {} skipped", draft.skipped.len()));
    }
    let skipped = draft.skipped.iter();
    let skipped = skipped.map(|it| told(&it.tool, &it.reason));
    let findings = draft.findings.iter();
    let findings = findings.map(|finding| told(&finding.tool, &finding.message));
    let ping = sentence!(
        "the server does not answer `ping`: only a closed connection would show that a bad request broke it"
    );
    let unknown = draft.unknown.iter();
    let unknown = unknown.map(|tool| {
        Line::plain(format!(
            "--allow {}: the server has no such tool",
            name(tool)
        ))
    });
    let notes = draft.is_ping_unanswered.then(|| Line::of(&ping));
    let mut document = Document {
        title: format!("Suite in {path}"),
        subject: vec![path.to_string()],
        verdict: Some(Verdict::new(Tone::Neutral, "WROTE", why)),
        sections: vec![
            listed("Skipped", skipped),
            listed(
                "Not included, because the server accepted these bad requests",
                findings,
            ),
            Section::new("Notes").list(notes.into_iter().chain(unknown)),
        ],
        ..Document::default()
    };
    let mut steps: Vec<Line> = Vec::new();
    if draft.tests == 0 {
        steps.push("no tool could be tested: look at the reasons, and complete the file".into());
    }
    if draft.left_alone > 0 {
        let tools = match draft.left_alone {
            1 => "the tool that was not called".to_owned(),
            more => format!("the {more} tools that were not called"),
        };
        steps.push(format!("to call {tools} too: --allow TOOL, or --allow-writes").into());
    }
    if !draft.variables.is_empty() {
        let variables = draft.variables.join(", ");
        steps.push(format!("set before running it: {variables}").into());
    }
    steps.push(Line::code(format!("mcprove run {path}")));
    document.next_steps(steps);
    document
}

fn name(tool: &str) -> String {
    printable(tool, NAME_CHARACTERS_MAX)
}

fn told(tool: &str, what: &str) -> String {
    format!("{}: {what}", name(tool))
}

/// The first of them, and how many more there are.
fn listed(title: &str, lines: impl ExactSizeIterator<Item = String>) -> Section {
    let more = lines.len().saturating_sub(TOLD_MAX);
    let more = (more > 0).then(|| format!("and {more} more, in the file"));
    Section::new(title).list(lines.take(TOLD_MAX).chain(more))
}
