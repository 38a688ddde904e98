//! Two rows held against each other.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::cell::{COLUMNS, Cell};
use super::difference::{Place, differences};
use super::row::AuditRow;

/// The name of the format.
pub const COMPARISON_FORMAT: &str = "audit-comparison.v1";

/// What makes two requests the same: what was asked, and what came of it.
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
    /// Compares two requests: what was asked, and what came of it. What is at a place in `ignored`
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
    pub(super) fn of_answers(recorded: AuditRow, now: AuditRow, ignored: &[String]) -> Self {
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
            if IGNORED_COLUMNS.contains(&column) || !counts && !is_noting {
                continue;
            }
            if is_alike_where_kept(column, &left, &right) {
                continue;
            }
            for Place { path, left, right } in places(&one, &other) {
                let difference = Difference {
                    column,
                    path,
                    left,
                    right,
                };
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
    let sides = match column {
        "parameters" => [
            (&left.parameters, left.parameters_cut),
            (&right.parameters, right.parameters_cut),
        ],
        "response" => [
            (&left.response, left.response_cut),
            (&right.response, right.response_cut),
        ],
        _ => return false,
    };
    match sides {
        [(Some(left), true), (Some(right), true)] => {
            left.starts_with(right.as_str()) || right.starts_with(left.as_str())
        }
        [(Some(left), true), (Some(right), false)] => right.starts_with(left.as_str()),
        [(Some(left), false), (Some(right), true)] => left.starts_with(right.as_str()),
        _ => false,
    }
}

/// Where two cells of a column differ.
fn places(left: &Cell<'_>, right: &Cell<'_>) -> Vec<Place> {
    match (value(left), value(right)) {
        (Some(left), Some(right)) => differences(&left, &right),
        (None, None) => Vec::new(),
        (left, right) => vec![Place {
            path: String::new(),
            left,
            right,
        }],
    }
}

fn value(cell: &Cell<'_>) -> Option<Value> {
    match cell {
        Cell::Empty => None,
        cell => serde_json::to_value(cell).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(response: &str) -> AuditRow {
        AuditRow {
            response: Some(response.to_owned()),
            ..AuditRow::default()
        }
    }

    fn found(left: AuditRow, right: AuditRow, ignored: &[&str]) -> Vec<String> {
        let ignored: Vec<String> = ignored.iter().map(|place| (*place).to_owned()).collect();
        let comparison = RowComparison::of_requests(left, right, &ignored);
        comparison
            .differences
            .iter()
            .map(Difference::place)
            .collect()
    }

    #[test]
    fn what_was_asked_and_answered_counts_and_who_asked_does_not() {
        let left = AuditRow {
            id: 1,
            user: Some("ada".into()),
            parameters: Some("{\"a\":[1]}".into()),
            ..row("{\"x\":1}")
        };
        let right = AuditRow {
            id: 2,
            parameters: Some("{\"a\":[2]}".into()),
            error_category: Some("auth".into()),
            ..row("{\"x\": 1}")
        };
        let comparison = RowComparison::of_requests(left, right, &[]);
        let places: Vec<String> = comparison
            .differences
            .iter()
            .map(Difference::place)
            .collect();
        assert_eq!(places, ["parameters.a[0]", "error_category"]);
        assert_eq!(comparison.noted.len(), 1);
        assert_eq!(comparison.noted[0].place(), "user");
        assert!(!comparison.same);
    }

    #[test]
    fn why_no_answer_came_counts() {
        let without = |category: &str| AuditRow {
            error_category: Some(category.into()),
            cancelled: category == "cancelled",
            ..AuditRow::default()
        };
        let compare = |left, right| RowComparison::of_answers(left, right, &[]);
        assert!(compare(without("cancelled"), without("cancelled")).same);
        assert!(compare(without("timeout"), without("timeout")).same);
        for now in ["protocol", "timeout"] {
            let compared = compare(without("cancelled"), without(now));
            let places: Vec<String> = compared.differences.iter().map(Difference::place).collect();
            assert_eq!(places, ["error_category", "cancelled"], "{now}");
        }
        let answered = AuditRow {
            success: true,
            ..row("{}")
        };
        let compared = compare(without("cancelled"), answered);
        let places: Vec<String> = compared.differences.iter().map(Difference::place).collect();
        assert_eq!(places, ["success", "response"]);
    }

    #[test]
    fn places_are_ignored_with_what_is_within_them() {
        let (left, right) = (r#"{"a":{"b":1},"ab":1}"#, r#"{"a":{"b":2},"ab":2}"#);
        let all = ["response.a.b", "response.ab"];
        assert_eq!(found(row(left), row(right), &[]), all);
        assert_eq!(
            found(row(left), row(right), &["response.a"]),
            ["response.ab"]
        );
        assert_eq!(found(row(left), row(right), &["resp"]), all);
        assert!(found(row(left), row(right), &["response"]).is_empty());
    }

    #[test]
    fn what_was_cut_is_compared_as_far_as_it_goes() {
        let cut = |text: &str| AuditRow {
            response_cut: true,
            ..row(text)
        };
        assert!(found(cut("{\"a\":1"), row("{\"a\":12}"), &[]).is_empty());
        assert!(found(cut("{\"a\":1"), cut("{\"a\""), &[]).is_empty());
        assert_eq!(found(cut("{\"a\":2"), row("{\"a\":12}"), &[]), ["response"]);
        assert_eq!(found(cut("{"), AuditRow::default(), &[]), ["response"]);
    }

    #[test]
    fn text_that_is_no_json_is_compared_as_a_text() {
        assert_eq!(found(row("{broken"), row("{}"), &[]), ["response"]);
        assert!(found(row("{broken"), row("{broken"), &[]).is_empty());
    }
}
