//! Tables in the documents that must be those of the program.

use std::fmt::Write as _;

use mcprove_check::negative_path;
use mcprove_fault as fault;
use mcprove_load::config::keys::{Form, Key, SECTIONS};
use mcprove_score::agent::{METRICS, Scope};
use mcprove_score::gate::Matcher;
use mcprove_servers::fixture::ENTRIES;
use mcprove_servers::tools_file as mock;
use mcprove_settings::registry::DefaultValue;
use mcprove_suite::file;
use mcprove_suite::gates::BLOCKS;
use mcprove_trace::ErrorCategory;

use super::{is_updating, read, root, updating};

/// One row per key of a table in a load configuration.
fn key_table(title: &str, keys: &[Key], tables: &mut String) {
    writeln!(tables, "\n### `{title}`\n").unwrap();
    writeln!(
        tables,
        "| key | takes | default | what it does |\n|---|---|---|---|"
    )
    .unwrap();
    for key in keys {
        let mut explanation = key.explanation.replace('|', "\\|");
        if !key.scenarios.is_empty() {
            write!(explanation, " ({})", key.scenarios.join(", ")).unwrap();
        }
        let (name, takes, default) = (key.name, key.form.describe(), key.default);
        let row = format!("| `{name}` | {takes} | {default} | {explanation} |");
        writeln!(tables, "{}", row.replace("|  |", "| |")).unwrap();
    }
    for key in keys {
        match key.form {
            Form::Tables(nested) => {
                key_table(&format!("[[scenario.{}]]", key.name), nested, tables);
            }
            Form::Steps(nested) => key_table("a step", nested, tables),
            Form::TablesByName(nested) => key_table("[thresholds.tools.NAME]", nested, tables),
            _ => {}
        }
    }
}

#[test]
fn the_tables_of_keys_are_current() {
    let mut tables = String::new();
    for section in SECTIONS {
        key_table(&format!("[{}]", section.name), section.keys, &mut tables);
    }
    assert_current("docs/load-config.md", "keys", &format!("{tables}\n"));
}

/// What stands between `<!-- name -->` and `<!-- end of name -->` in a document is `expected`.
fn assert_current(document: &str, name: &str, expected: &str) {
    let (begin, end) = (
        format!("<!-- {name} -->\n"),
        format!("<!-- end of {name} -->\n"),
    );
    let _updating = updating();
    let path = root().join(document);
    let text = read(&path);
    let (before, rest) = text.split_once(&begin).unwrap();
    let (current, after) = rest.split_once(&end).unwrap();
    if is_updating() && current != expected {
        std::fs::write(&path, format!("{before}{begin}{expected}{end}{after}")).unwrap();
    } else {
        assert_eq!(current, expected, "MCPROVE_UPDATE_DOCS=1 writes it");
    }
}

#[test]
fn the_tables_of_a_tools_file_are_current() {
    let mut tables = String::new();
    for section in mock::keys::SECTIONS {
        let title = section.title.replace('`', "");
        writeln!(tables, "\n### {}\n", sentence(&title)).unwrap();
        writeln!(tables, "| key | takes | what it does |\n|---|---|---|").unwrap();
        for key in section.keys {
            let name = if key.is_required { " (required)" } else { "" };
            let explanation = key.explanation.replace('|', "\\|");
            let takes = key.form.describe();
            writeln!(tables, "| `{}`{name} | {takes} | {explanation} |", key.name).unwrap();
        }
    }
    assert_current("docs/mock.md", "keys", &format!("{tables}\n"));
}

#[test]
fn the_tables_of_a_suite_are_current() {
    let mut tables = String::new();
    for section in file::keys::SECTIONS {
        writeln!(tables, "\n### {}\n", section.title).unwrap();
        writeln!(tables, "{}.\n", sentence(section.explanation)).unwrap();
        writeln!(
            tables,
            "| key | takes | default | what it does |\n|---|---|---|---|"
        )
        .unwrap();
        for key in section.keys {
            let explanation = key.explanation.replace('|', "\\|");
            let (name, takes, default) = (key.name, key.form.describe(), key.default);
            let row = format!("| `{name}` | {takes} | {default} | {explanation} |");
            writeln!(tables, "{}", row.replace("|  |", "| |")).unwrap();
        }
    }
    assert_current("docs/suites.md", "keys", &format!("{tables}\n"));
}

#[test]
fn the_table_of_bad_requests_is_current() {
    let mut table =
        String::from("| probe | fault | bad request | must come back |\n|---|---|---|---|\n");
    for entry in &negative_path::ENTRIES {
        writeln!(
            table,
            "| `{}` | {} ([{paper}](https://arxiv.org/abs/{paper})) | {} | {} |",
            entry.name,
            entry.taxonomy,
            entry.request,
            entry.contract,
            paper = entry.paper,
        )
        .unwrap();
    }
    assert_current("docs/negative-path.md", "probes", &table);
}

#[test]
fn the_table_of_faults_is_current() {
    let mut table = String::from("| fault | what it does | settings |\n|---|---|---|\n");
    for entry in fault::ENTRIES {
        let names: Vec<&str> = entry.settings.iter().map(|setting| setting.name).collect();
        let mut written = entry.name.replace('_', "-");
        if !names.is_empty() {
            write!(written, ":<{}>", names.join(">-<")).unwrap();
        }
        let settings: Vec<String> = entry
            .settings
            .iter()
            .map(|setting| {
                let default = setting.default.value();
                format!("`{}` ({default}): {}", setting.name, setting.explanation)
            })
            .collect();
        let row = format!(
            "| `{written}` | {} | {} |",
            entry.explanation,
            settings.join("; ")
        );
        writeln!(table, "{}", row.replace("|  |", "| |")).unwrap();
    }
    assert_current("docs/faults.md", "faults", &table);
}

#[test]
fn the_table_of_built_in_servers_is_current() {
    let mut table = String::from("| mode | what it does | settings |\n|---|---|---|\n");
    for entry in ENTRIES {
        let settings: Vec<String> = entry
            .settings
            .iter()
            .map(|setting| {
                let DefaultValue::Integer(default) = setting.default else {
                    panic!("`--set` takes whole numbers only");
                };
                format!("`{}={default}`: {}", setting.name, setting.explanation)
            })
            .collect();
        let row = format!(
            "| `{}` | {} | {} |",
            entry.name,
            entry.explanation,
            settings.join("; ")
        );
        writeln!(table, "{}", row.replace("|  |", "| |")).unwrap();
    }
    assert_current("docs/built-in-servers.md", "modes", &table);
}

/// The arguments of a tool of the lab: those that must be given in bold.
fn lab_arguments(schema: &serde_json::Value) -> String {
    let required: Vec<&str> = schema["required"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let arguments = schema["properties"].as_object().unwrap();
    let arguments = arguments.iter().map(|(name, argument)| {
        let default = match &argument["default"] {
            serde_json::Value::Null => String::new(),
            default => format!(" = {default}"),
        };
        if required.contains(&name.as_str()) {
            format!("**`{name}`**")
        } else {
            format!("`{name}{default}`")
        }
    });
    arguments.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_table_of_the_tools_of_the_lab_is_current() {
    let mut table =
        String::from("| tool | group | what it does | arguments |\n|---|---|---|---|\n");
    for entry in mcprove_lab::ENTRIES {
        let arguments = lab_arguments(&(entry.input)());
        let (name, group, explanation) = (entry.name, entry.group, entry.explanation);
        let row = format!("| `{name}` | {group} | {explanation} | {arguments} |");
        writeln!(table, "{}", row.replace("|  |", "| |")).unwrap();
    }
    assert_current("docs/lab.md", "tools", &table);
}

#[test]
fn the_table_of_metrics_is_current() {
    let mut tables = String::new();
    for metric in METRICS {
        writeln!(
            tables,
            "\n### `{}`\n\n{}.\n",
            metric.name,
            sentence(metric.explanation)
        )
        .unwrap();
        writeln!(tables, "| target | what it is | of |\n|---|---|---|").unwrap();
        for target in metric.targets {
            let of = match target.scope {
                Scope::Overall => "all runs",
                Scope::RunLowest => "each run, the lowest is the worst",
                Scope::RunHighest => "each run, the highest is the worst",
            };
            let explanation = target.explanation.replace('|', "\\|");
            writeln!(tables, "| `{}` | {explanation} | {of} |", target.name).unwrap();
        }
    }
    assert_current("docs/score.md", "metrics", &format!("{tables}\n"));
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[test]
fn the_table_of_gates_is_current() {
    let mut table =
        String::from("\n| block | key | takes | default | what it does |\n|---|---|---|---|---|\n");
    for block in BLOCKS {
        let default_gate = match block.default_gate {
            "" => "what each run, or any target, must be".to_owned(),
            gate => format!("default gate: {gate}"),
        };
        writeln!(table, "| `{}` | | | | {default_gate} |", block.name).unwrap();
        for key in block.keys.iter().filter(|key| key.name != "expect") {
            let (takes, default) = (key.form.describe(), key.default.describe());
            let row = format!(
                "| | `{}` | {takes} | {default} | {} |",
                key.name, key.explanation
            );
            writeln!(table, "{}", row.replace("|  |", "| |")).unwrap();
        }
    }
    assert_current("docs/score.md", "gates", &format!("{table}\n"));
}

#[test]
fn the_table_of_matchers_is_current() {
    let mut table = String::from("\n| matcher | holds when |\n|---|---|\n");
    for (name, explanation) in Matcher::entries() {
        writeln!(table, "| `{name}` | {} |", explanation.replace('|', "\\|")).unwrap();
    }
    assert_current("docs/score.md", "matchers", &format!("{table}\n"));
}

#[test]
fn the_table_of_errors_has_every_category_with_its_hint() {
    let text = read(&root().join("docs/errors.md"));
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| `") && line.ends_with(" |"))
        .collect();
    for category in ErrorCategory::ALL {
        let start = format!("| `{category}` |");
        let row = rows.iter().find(|row| row.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("no row for {category}"));
        let end = format!("| {} |", category.hint());
        assert!(row.ends_with(&end), "{category}: the hint is\n{end}");
    }
}
