//! Tables in the documents that must be those of the program.

use std::fmt::Write as _;

use mcprove::fixture::{DefaultValue, ENTRIES};
use mcprove_score::trace::ErrorCategory;

use super::{is_updating, read, root, updating};

const BEGIN: &str = "<!-- modes -->\n";
const END: &str = "<!-- end of modes -->\n";

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
    let _updating = updating();
    let path = root().join("docs/built-in-servers.md");
    let text = read(&path);
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (current, after) = rest.split_once(END).unwrap();
    if is_updating() && current != table {
        std::fs::write(&path, format!("{before}{BEGIN}{table}{END}{after}")).unwrap();
    } else {
        assert_eq!(current, table, "MCPROVE_UPDATE_DOCS=1 writes it");
    }
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
