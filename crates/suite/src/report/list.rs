//! The tests that would be run.

use mcprove_document::block::{Document, Line, Section, Table};

use crate::prelude::*;
use crate::run::SuiteList;

/// The tests: kind, where it stands, then its whole name with its tags, and why it is skipped.
pub fn suite_list_document(list: &SuiteList) -> Document {
    let mut table = Table::new(["", "", "", ""]);
    for test in &list.tests {
        let mut name = Line::plain(&test.name);
        if !test.tags.is_empty() {
            name = name.and(format!(" [{}]", test.tags.join(", ")));
        }
        if let Some(reason) = &test.skip {
            name = name.and(format!(" (skipped: {reason})"));
        }
        table.push([
            test.kind.name().into(),
            test.skip.as_ref().map_or("", |_| "skipped").into(),
            format!("{}:{}", test.file, test.line).into(),
            name,
        ]);
    }
    let count = phrase::count(list.tests.len() as u64, "test");
    Document {
        title: "Tests".to_owned(),
        sections: vec![
            Section::default().table(table),
            Section::default().paragraph(count),
        ],
        ..Document::default()
    }
}
