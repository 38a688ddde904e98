//! `--explain`: what a command does, without doing it. Every command has the flag; the texts are files in `explain/`.

use clap::{Arg, Command};
use mcprove_document::terminal::wrap;

use crate::prelude::*;

macro_rules! texts {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!($name, ".txt")))),*]
    };
}

/// What each command does.
const TEXTS: &[(&str, &str)] = texts![
    "audit" "compare" "completions" "deadlock-probe" "demo" "doctor" "example-config" "init" "lab"
    "list-scenarios" "mock" "probe" "proxy" "report" "run" "runs" "schema" "score" "validate"
];

/// A command with the flag, where it does not have one that does more.
pub fn with_flag(command: Command) -> Command {
    let has_flag = command.get_arguments().any(|it| it.get_id() == "explain");
    if has_flag || command.is_hide_set() {
        return command;
    }
    let flag = Arg::new("explain")
        .long("explain")
        .help("Explain what this command does, and do nothing")
        .help_heading(None::<&str>)
        .action(ArgAction::SetTrue);
    command.arg(flag)
}

/// What the command that was chosen does, if that is asked for; `run` tells more, and does it itself.
pub fn asked_for(matches: &ArgMatches) -> Option<String> {
    let (name, arguments) = matches.subcommand()?;
    let is_asked = arguments.try_get_one::<bool>("explain").ok()?.copied();
    let name = arguments
        .subcommand_name()
        .filter(|_| name == "lab")
        .unwrap_or(name);
    (is_asked == Some(true) && name != "run").then(|| text(name))
}

/// What a command does.
pub fn text(command: &str) -> String {
    let (_, text) = TEXTS
        .iter()
        .find(|(name, _)| *name == command)
        .unwrap_or(&("", ""));
    text.replace("{rule}", RULE)
        .replace("{faults}", &kinds_of_faults())
        .replace("{tools}", &tools_of_lab())
        .replace("{options}", options_of(command).trim_end())
}

/// The flags of a command.
fn options_of(command: &str) -> String {
    let all = crate::arguments::command();
    let of_lab = || all.find_subcommand("lab")?.find_subcommand(command);
    let found = all.find_subcommand(command).or_else(of_lab);
    let flags = found
        .into_iter()
        .flat_map(Command::get_arguments)
        .filter(|it| !it.is_hide_set() && it.get_id() != "explain")
        .filter_map(|it| Some(format!("--{}", it.get_long()?)));
    let flags: Vec<String> = flags.collect();
    let flags = format!("{} (defaults: --help)", flags.join(", "));
    wrap(&flags, 80, ("Options: ", "         "))
}

fn tools_of_lab() -> String {
    mcprove_lab::tools()
        .iter()
        .map(|tool| explained(tool.name(), 21, tool.explanation()))
        .collect()
}

/// A name and what it means, which begins in that column. No line is longer than 80 columns.
pub fn explained(name: &str, indent: usize, about: &str) -> String {
    let mut first = format!("  {name:<width$}", width = indent - 2);
    let mut above = String::new();
    if name.len() + 2 >= indent {
        above = format!("  {name}\n");
        first = " ".repeat(indent);
    }
    above + &wrap(about, 80, (&first, &" ".repeat(indent)))
}
