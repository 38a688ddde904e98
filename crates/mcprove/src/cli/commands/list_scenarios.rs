//! `mcprove list-scenarios`: what can be done to a server, and the settings of each.

use mcprove_load::drive::LoadSettings;
use mcprove_load::drive::scenario::ENTRIES;
use mcprove_settings::kind::properties;

use crate::prelude::*;

/// Arguments of `mcprove list-scenarios`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Show the settings of each too
    #[arg(short = 'k', long, alias = "knobs")]
    settings: bool,

    /// Print as JSON, settings included
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result {
    let text = if arguments.json {
        let entries: Vec<_> = ENTRIES
            .iter()
            .map(|entry| {
                // Programs know them by their earlier name, too.
                let settings = properties(entry.all_settings());
                json!({ "name": entry.name, "aliases": entry.aliases, "explanation": entry.explanation, "settings": settings, "knobs": settings })
            })
            .collect();
        crate::json(&entries)?
    } else {
        list(arguments.settings)
    };
    terminal::print(&text);
    Ok(ExitCode::Passed)
}

fn list(with_settings: bool) -> String {
    let mut text = String::new();
    for entry in ENTRIES {
        let _ = writeln!(text, "{:<17} {}", entry.name, entry.explanation);
        if with_settings {
            text.push_str(&settings_text((entry.settings)()));
        }
    }
    if with_settings {
        let (all, loads): (Vec<&Setting>, Vec<&Setting>) = LoadSettings::declared()
            .iter()
            .partition(|setting| LoadSettings::is_for_all(setting));
        let _ = write!(text, "\nEvery load also has:\n{}", settings_text(loads));
        let _ = write!(text, "\nEvery scenario also has:\n{}", settings_text(all));
    } else {
        text.push_str(
            "\nmcprove list-scenarios --settings shows their settings; mcprove example-config a config file.\n",
        );
    }
    text
}

/// Settings, one per line.
fn settings_text<'s>(settings: impl IntoIterator<Item = &'s Setting>) -> String {
    let mut text = String::new();
    for setting in settings {
        let _ = writeln!(text, "    {:<25} {}", setting.name, with_default(setting));
    }
    text
}

/// What a setting does, and what it is when it is not given.
pub fn with_default(setting: &Setting) -> String {
    match setting.default_words() {
        "" => setting.about.to_owned(),
        words => format!("{} [default: {words}]", setting.about),
    }
}
