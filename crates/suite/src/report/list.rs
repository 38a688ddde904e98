//! The tests that would be run, for people.

use std::fmt::Write as _;

use mcprove_document::style::Style;
use mcprove_document::table::lay_out;

use super::problems::line;
use crate::run::{ListedTest, SuiteList};

/// The tests: kind, where it stands, then its whole name with its tags, and why it is skipped.
pub fn suite_list_text(list: &SuiteList, style: Style) -> String {
    let is_skipped = list.tests.iter().any(|test| test.skip.is_some());
    let row = |test: &ListedTest| {
        let mut name = line(&test.name);
        if !test.tags.is_empty() {
            let _ = write!(name, " [{}]", line(&test.tags.join(", ")));
        }
        if let Some(reason) = &test.skip {
            let _ = write!(name, " (skipped: {})", line(reason));
        }
        let place = format!("{}:{}", line(&test.file), test.line);
        let mut row = vec![test.kind.name().to_owned()];
        if is_skipped {
            let word = test.skip.as_ref().map_or("", |_| "skipped");
            row.push(word.to_owned());
        }
        row.extend([place, name]);
        row
    };
    let rows: Vec<Vec<String>> = list.tests.iter().map(row).collect();
    let count = match list.tests.len() {
        1 => "1 test".to_owned(),
        count => format!("{count} tests"),
    };
    format!("{}\n{count}\n", lay_out(&rows, style.width))
}
