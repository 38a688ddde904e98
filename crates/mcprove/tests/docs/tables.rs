//! Tables in the documents that must be those of the program.

use std::fmt::Write as _;

use mcprove_check::negative_path;
use mcprove_fault as fault;
use mcprove_load::config::sections::{SECTIONS, defaults, owners};
use mcprove_score::agent::{METRICS, Scope, metrics};
use mcprove_score::gate::Matcher;
use mcprove_servers::fixture::ENTRIES;
use mcprove_servers::tools_file as mock;
use mcprove_settings::kind::Kind;
use mcprove_settings::message::Spelling;
use mcprove_settings::setting::Setting;
use mcprove_suite::file;
use mcprove_trace::ErrorCategory;

use super::{is_updating, read, root, updating};

/// One row per setting of a table in a load configuration.
fn setting_table(title: &str, settings: &[&'static Setting], tables: &mut String) {
    writeln!(tables, "\n### `{title}`\n").unwrap();
    writeln!(
        tables,
        "| key | takes | default | what it does |\n|---|---|---|---|"
    )
    .unwrap();
    let is_scenario = title == "[scenario]";
    for setting in settings {
        let mut about = setting.about.replace('|', "\\|");
        let owners = if is_scenario {
            owners(setting.name)
        } else {
            Vec::new()
        };
        if !owners.is_empty() && !["type", "tool_call"].contains(&setting.name) {
            write!(about, " ({})", owners.join(", ")).unwrap();
        }
        let names: Vec<String> = setting.names().map(|name| format!("`{name}`")).collect();
        let default = match setting.default_words() {
            words if !is_scenario || defaults(setting.name).is_empty() => words.to_owned(),
            _ => defaults(setting.name),
        };
        let (names, takes) = (names.join(", "), setting.kind.describe());
        let row = format!("| {names} | {takes} | {default} | {about} |");
        writeln!(tables, "{}", row.replace("|  |", "| |")).unwrap();
    }
    for setting in settings {
        match setting.kind {
            Kind::Tables(nested) => {
                let title = format!("[[scenario.{}]]", setting.name);
                setting_table(&title, &nested().iter().collect::<Vec<_>>(), tables);
            }
            Kind::TablesByName(nested) => {
                let nested: Vec<_> = nested().iter().collect();
                setting_table("[thresholds.tools.NAME]", &nested, tables);
            }
            _ => {}
        }
    }
}

#[test]
fn the_tables_of_settings_are_current() {
    let mut tables = String::new();
    for section in SECTIONS {
        let settings = (section.settings)();
        setting_table(&format!("[{}]", section.name), &settings, &mut tables);
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
    let is_explained = |name: &str| !matches!(name, "promptArgument" | "message");
    let sections = mock::keys::KEYS.sections.iter();
    for section in sections.filter(|section| is_explained(&section.name)) {
        let title = section.title.replace('`', "");
        writeln!(tables, "\n### {}\n", sentence(&title)).unwrap();
        writeln!(tables, "| key | takes | what it does |\n|---|---|---|").unwrap();
        for key in &section.keys {
            let name = if key.required { " (required)" } else { "" };
            let explanation = key.about.replace('|', "\\|");
            let takes = &key.form().words;
            writeln!(tables, "| `{}`{name} | {takes} | {explanation} |", key.name).unwrap();
        }
    }
    assert_current("docs/mock.md", "keys", &format!("{tables}\n"));
}

#[test]
fn the_tables_of_a_suite_are_current() {
    let mut tables = String::new();
    for section in file::SECTIONS {
        writeln!(tables, "\n### {}\n", section.title).unwrap();
        writeln!(tables, "{}.\n", sentence(section.explanation)).unwrap();
        writeln!(
            tables,
            "| key | takes | default | what it does |\n|---|---|---|---|"
        )
        .unwrap();
        for key in (section.settings)() {
            let explanation = key.about.replace('|', "\\|");
            let names: Vec<String> = key.names().map(|name| format!("`{name}`")).collect();
            let names = names.join(" or ");
            let (takes, default) = (key.kind.describe(), key.default_words());
            let row = format!("| {names} | {takes} | {default} | {explanation} |");
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
    for kind in fault::kinds() {
        let settings = fault::settings_of(kind);
        let names: Vec<&str> = settings.iter().map(|setting| setting.name).collect();
        let mut written = kind.name().replace('_', "-");
        if !names.is_empty() {
            write!(written, ":<{}>", names.join(">-<")).unwrap();
        }
        let settings: Vec<String> = settings
            .iter()
            .map(|setting| {
                let default = setting.default_words();
                format!("`{}` ({default}): {}", setting.name, setting.about)
            })
            .collect();
        let row = format!(
            "| `{written}` | {} | {} |",
            kind.about(),
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
        let settings: Vec<String> = (entry.settings)()
            .iter()
            .map(|setting| {
                let default = setting.default_words();
                let _: u64 = default.parse().expect("`--set` takes whole numbers only");
                format!("`{}={default}`: {}", setting.name, setting.about)
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

#[test]
fn the_table_of_honest_servers_is_current() {
    let servers = include_str!("../../../servers/src/fixture/honest.json");
    let servers: Vec<serde_json::Value> = serde_json::from_str(servers).unwrap();
    let mut table =
        String::from("| honest server | mode | longest call | warnings |\n|---|---|---|---|\n");
    for server in servers {
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let settings = server["settings"].as_object().into_iter().flatten();
        let settings = settings.map(|(name, value)| format!(" --set {name}={value}"));
        let mode = text(&server["mode"]) + &settings.collect::<String>();
        let warnings = server["warnings"].as_array().unwrap().iter();
        let warnings: Vec<_> = warnings.map(|name| format!("`{}`", text(name))).collect();
        let (name, longest) = (text(&server["name"]), &server["longest_ms"]);
        let warnings = warnings.join(", ");
        let row = format!("| {name} | `{mode}` | {longest} ms | {warnings} |");
        writeln!(table, "{}", row.replace("|  |", "| |")).unwrap();
    }
    assert_current("docs/built-in-servers.md", "honest", &table);
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
    for entry in mcprove_lab::tools() {
        let arguments = lab_arguments(entry.input());
        let (name, group, explanation) = (entry.name(), &entry.group, entry.explanation());
        let row = format!("| `{name}` | {group} | {explanation} | {arguments} |");
        writeln!(table, "{}", row.replace("|  |", "| |")).unwrap();
    }
    assert_current("docs/lab.md", "tools", &table);
}

#[test]
fn the_table_of_metrics_is_current() {
    let mut tables = String::new();
    for metric in metrics() {
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
    for metric in METRICS {
        let about = metric.about();
        let default_gate = format!("default gate: {}", about.default_gate);
        writeln!(table, "| `{}` | | | | {default_gate} |", about.name).unwrap();
        for key in metric.settings() {
            let row = format!(
                "| | `{}` | {} | {} | {} |",
                key.name,
                key.kind.describe(),
                key.default_words(),
                key.about
            );
            writeln!(table, "{}", row.replace("|  |", "| |")).unwrap();
        }
    }
    let expect = "What each run, or any target, must be";
    writeln!(table, "| `expect` | | | | {expect} |").unwrap();
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
    let flags = Spelling::Program {
        flag: &|name| Some(format!("--{}", name.replace('_', "-"))),
        is_yaml: false,
    };
    let text = read(&root().join("docs/errors.md"));
    let rows: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("| `") && line.ends_with(" |"))
        .collect();
    for category in ErrorCategory::ALL {
        let start = format!("| `{category}` |");
        let row = rows.iter().find(|row| row.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("no row for {category}"));
        let end = format!("| {} |", category.hint().spelled(flags));
        assert!(row.ends_with(&end), "{category}: the hint is\n{end}");
    }
}
