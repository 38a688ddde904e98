//! `mcprove validate`: whether files are in order, without running anything.

use mcprove_suite::{
    CheckedFile, VALIDATION_FORMAT, Validation, check, check_empty_folder, validation_document,
};

use crate::commands::folder::{Found, warn_of_skipped_files, yaml_files};
use crate::prelude::*;

/// The longest line that is shown whole.
const LINE_MAX: usize = 1000;

/// Arguments of `mcprove validate`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The files, or folders of them
    #[arg(value_name = "FILE", required_unless_present = "explain")]
    files: Vec<PathBuf>,

    /// Print what was found as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    report: ReportArguments,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result {
    let reports = arguments
        .report
        .resolve_with(arguments.json, &[], &arguments.files)?;
    reports.conclude(perform(arguments, &reports))
}

fn perform(arguments: &Arguments, reports: &Reports) -> Result {
    let is_for_people = reports.is_for_people();
    let mut files = Vec::new();
    for (file, errors) in checked(&arguments.files)? {
        if is_for_people {
            for warning in &file.warnings {
                terminal::warn(&printable(warning, LINE_MAX));
            }
            match errors {
                // As their reader wrote them, and an empty line between those of two files.
                Some(errors) => {
                    let lines = printable_lines(&errors.to_string(), LINE_MAX);
                    terminal::print_error(&(lines + "\n"));
                }
                None => terminal::print(&format!("{}\n", printable(&file.summary(), LINE_MAX))),
            }
        }
        files.push(file);
    }
    let valid = files.iter().all(|file| file.valid);
    let validation = Validation {
        schema: VALIDATION_FORMAT.to_owned(),
        valid,
        files,
    };
    let document = validation_document(&validation);
    let json = json(&validation)?;
    reports.show_if(!is_for_people, |format, style| {
        drawn(&document, &json, format, style)
    });
    Ok(ExitCode::worst([(!valid, ExitCode::CouldNotRun)]))
}

/// The files, and those of the folders. Files of other programs in folders are named, and left out.
fn checked(given: &[PathBuf]) -> Result<Vec<(CheckedFile, Option<ConfigErrors>)>> {
    let environment = Environment::of_process();
    let mut files = Vec::new();
    for path in given {
        if !path.is_dir() {
            files.push(check(path, &environment));
            continue;
        }
        let is_foreign = |found: &Found| matches!(found.1, Recognised::Foreign(_));
        let (foreign, ours): (Vec<Found>, Vec<Found>) =
            yaml_files(path)?.into_iter().partition(is_foreign);
        warn_of_skipped_files(&foreign);
        if ours.is_empty() {
            files.push(check_empty_folder(path));
        }
        files.extend(ours.iter().map(|(path, _)| check(path, &environment)));
    }
    Ok(files)
}
