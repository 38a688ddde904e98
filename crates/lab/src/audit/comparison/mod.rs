//! Two rows held against each other.

use crate::prelude::*;

/// The name of the format.
pub const COMPARISON_FORMAT: &str = "audit-comparison.v1";

/// What makes two requests the same: what was asked, and its outcome.
const REQUEST_COLUMNS: &[&str] = &[
    "method",
    "tool_name",
    "tool_group",
    "parameters",
    "success",
    "error_code",
    "error_category",
    "error_message",
    "cancelled",
    "content_blocks",
    "notifications_sent",
    "response",
];
/// What a client can tell of an answer.
const ANSWER_COLUMNS: &[&str] = &["success", "error_code", "response"];
/// What a client can tell where no answer came: why there is none.
const NO_ANSWER_COLUMNS: &[&str] = &[
    "success",
    "error_code",
    "response",
    "error_category",
    "cancelled",
];
/// What is never told: the rows are different ones, and how much was kept is no matter.
const IGNORED_COLUMNS: &[&str] = &["id", "parameters_cut", "response_cut", "headers_cut"];

/// How two rows differ. Serialised it is of the format `audit-comparison.v1`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RowComparison {
    /// The format: `audit-comparison.v1`.
    pub schema: &'static str,
    /// Whether nothing differs that counts.
    pub same: bool,
    /// What differs and counts.
    pub differences: Vec<Difference>,
    /// What differs and does not count: when it was, how long it took, who asked.
    pub noted: Vec<Difference>,
    /// One row, or the recorded one.
    pub left: AuditRow,
    /// The other row, or what came back now.
    pub right: AuditRow,
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// The column.
    pub column: &'static str,
    /// Where in the column, for one that is JSON: `content[0].text`. Empty for the whole.
    pub path: String,
    /// What stands there in one; missing where there is nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<Value>,
    /// What stands there in the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub right: Option<Value>,
}

impl Difference {
    /// The column and the way into it: `response.content[0].text`.
    pub fn place(&self) -> String {
        match self.path.as_str() {
            "" => self.column.to_owned(),
            path if path.starts_with('[') => format!("{}{path}", self.column),
            path => format!("{}.{path}", self.column),
        }
    }

    /// Whether the difference is at this place or within it.
    fn is_within(&self, place: &str) -> bool {
        let own = self.place();
        let rest = own.strip_prefix(place);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    }
}

impl RowComparison {
    /// Compares two requests: what was asked, and its outcome. What is at a place in `ignored`
    /// (such as `response.structuredContent.roll`), or within it, does not count.
    ///
    /// ```
    /// use mcprove_lab::audit::{AuditRow, RowComparison};
    ///
    /// let row = |number: u32| AuditRow {
    ///     response: Some(format!("{{\"n\":{number}}}")),
    ///     duration_ms: number.into(),
    ///     ..AuditRow::default()
    /// };
    /// let found = RowComparison::of_requests(row(1), row(2), &[]);
    /// assert_eq!(found.differences[0].place(), "response.n");
    /// assert_eq!(found.noted[0].place(), "duration_ms");
    /// assert!(RowComparison::of_requests(row(1), row(2), &["response.n".into()]).same);
    /// ```
    pub fn of_requests(left: AuditRow, right: AuditRow, ignored: &[String]) -> Self {
        Self::new(left, right, REQUEST_COLUMNS, true, ignored)
    }

    /// Compares a recorded answer with another one to the same request. Where neither is there, it
    /// counts why: a call that was cancelled is not one whose server crashed.
    pub fn of_answers(recorded: AuditRow, now: AuditRow, ignored: &[String]) -> Self {
        let is_unanswered = recorded.response.is_none() && now.response.is_none();
        let counted = if is_unanswered {
            NO_ANSWER_COLUMNS
        } else {
            ANSWER_COLUMNS
        };
        Self::new(recorded, now, counted, false, ignored)
    }

    fn new(
        left: AuditRow,
        right: AuditRow,
        counted: &[&str],
        is_noting: bool,
        ignored: &[String],
    ) -> Self {
        let (mut found, mut noted) = (Vec::new(), Vec::new());
        let cells = left.cells().into_iter().zip(right.cells());
        for (column, (one, other)) in COLUMNS.into_iter().zip(cells) {
            let counts = counted.contains(&column);
            if IGNORED_COLUMNS.contains(&column)
                || !counts && !is_noting
                || is_alike_where_kept(column, &left, &right)
            {
                continue;
            }
            let mut differences = Vec::new();
            let place = (column, String::new());
            collect(
                place,
                value(&one).as_ref(),
                value(&other).as_ref(),
                &mut differences,
            );
            for difference in differences {
                let is_ignored = ignored.iter().any(|place| difference.is_within(place));
                if counts && !is_ignored {
                    found.push(difference);
                } else {
                    noted.push(difference);
                }
            }
        }
        Self {
            schema: COMPARISON_FORMAT,
            same: found.is_empty(),
            differences: found,
            noted,
            left,
            right,
        }
    }
}

/// Whether a payload that was cut in a row is like the other one as far as it was kept.
fn is_alike_where_kept(column: &str, left: &AuditRow, right: &AuditRow) -> bool {
    let kept = |row: &AuditRow| match column {
        "parameters" => row.parameters.clone(),
        "response" => row.response.clone(),
        _ => None,
    };
    let (Some(one), Some(other)) = (kept(left), kept(right)) else {
        return false;
    };
    left.is_cut(column) && other.starts_with(&one)
        || right.is_cut(column) && one.starts_with(&other)
}

fn value(cell: &Cell<'_>) -> Option<Value> {
    match cell {
        Cell::Empty => None,
        cell => serde_json::to_value(cell).ok(),
    }
}

/// Every place where two values of a column differ, in the order of the values.
// As deep as the values are, and a value that was parsed is not deep.
fn collect(
    (column, path): (&'static str, String),
    left: Option<&Value>,
    right: Option<&Value>,
    found: &mut Vec<Difference>,
) {
    match (left, right) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let dot = if path.is_empty() { "" } else { "." };
            let new = right.keys().filter(|name| !left.contains_key(*name));
            for name in left.keys().chain(new) {
                let place = (column, format!("{path}{dot}{name}"));
                collect(place, left.get(name), right.get(name), found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            for index in 0..left.len().max(right.len()) {
                let place = (column, format!("{path}[{index}]"));
                collect(place, left.get(index), right.get(index), found);
            }
        }
        (left, right) if left == right => {}
        (left, right) => found.push(Difference {
            column,
            path,
            left: left.cloned(),
            right: right.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests;
