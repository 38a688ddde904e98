//! `mcprove list-scenarios`: what can be done to a server, and the knobs of each.

use std::fmt::Write as _;

use clap::Args;
use mcprove_load::drive::scenario::ENTRIES;
use serde_json::json;

use crate::exit::ExitCode;
use crate::failure::Failure;
use crate::terminal;

const EXPLANATION: &str = "\
What it does: lists the scenarios of `mcprove run`, what each finds, and its knobs with their
defaults. The names are those of config files; as flags they have dashes.
";

/// Arguments of `mcprove list-scenarios`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Show the knobs of each too
    #[arg(short, long)]
    knobs: bool,

    /// Print as JSON, knobs included
    #[arg(long)]
    json: bool,

    /// Tell what this command does, and do nothing
    #[arg(long)]
    explain: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.explain {
        terminal::print(EXPLANATION);
        return Ok(ExitCode::SUCCESS);
    }
    let text = if arguments.json {
        let entries: Vec<_> = ENTRIES
            .iter()
            .map(|entry| json!({ "name": entry.name, "explanation": entry.explanation, "knobs": entry.schema()["properties"] }))
            .collect();
        let json = serde_json::to_string_pretty(&entries).map_err(anyhow::Error::from)?;
        format!("{json}\n")
    } else {
        list(arguments.knobs)
    };
    terminal::print(&text);
    Ok(ExitCode::SUCCESS)
}

fn list(with_knobs: bool) -> String {
    let mut text = String::new();
    for entry in ENTRIES {
        let _ = writeln!(text, "{:<17} {}", entry.name, entry.explanation);
        for setting in entry.settings.iter().filter(|_| with_knobs) {
            let default = setting.default.value();
            let default = default
                .as_str()
                .map_or_else(|| default.to_string(), str::to_owned);
            let _ = writeln!(
                text,
                "    {:<25} {} [default: {default}]",
                setting.name, setting.explanation
            );
        }
    }
    text.push_str(if with_knobs {
        "\nEvery load also has: sessions, rate, max_in_flight, catch_up, warmup, calls, seed, strict.\n\
         With rate a spike and a ramp begin at that many calls per second, which grow as the calls in flight would.\n"
    } else {
        "\nmcprove list-scenarios --knobs shows the knobs; mcprove example-config a config file.\n"
    });
    text
}
