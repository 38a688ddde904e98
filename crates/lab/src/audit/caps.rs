//! How much of a request is written down.

use crate::prelude::*;

/// The longest text of a column that is no payload, such as a name that a client chose.
const TEXT_MAX: usize = 4096;

/// The columns that have caps of their own.
const PAYLOADS: [&str; 3] = ["parameters", "headers", "response"];

/// How many bytes of what a client sent and got are kept in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// Of `parameters`; what is over is cut, and the row cannot be replayed.
    pub parameters: usize,
    /// Of `response`; what is over is cut.
    pub response: usize,
    /// Of `headers`; above it the largest of them are left out.
    pub headers: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self {
            parameters: 64 << 10,
            response: 64 << 10,
            headers: 16 << 10,
        }
    }
}

impl Caps {
    /// Cuts what is over the caps, and says so in the row.
    pub fn apply(self, row: &mut AuditRow) {
        let cut = |text: &mut Option<String>, max| text.as_mut().is_some_and(|text| cut(text, max));
        row.parameters_cut |= cut(&mut row.parameters, self.parameters);
        row.response_cut |= cut(&mut row.response, self.response);
        if let Some(headers) = &row.headers
            && headers.len() > self.headers
        {
            row.headers = fitting(headers, self.headers);
            row.headers_cut = true;
        }
        let texts = row.texts_mut();
        for (_, text) in texts.filter(|(column, _)| !PAYLOADS.contains(column)) {
            if self::cut(text, TEXT_MAX) {
                text.push('…');
            }
        }
        if !row.duration_ms.is_finite() {
            row.duration_ms = 0.0;
        }
    }
}

/// The headers without the largest ones, so that they fit; none if they are no JSON object.
fn fitting(headers: &str, max: usize) -> Option<String> {
    /// The quotes, colon and comma of a member.
    const MARKS: usize = 6;
    let mut headers: Fields = serde_json::from_str(headers).ok()?;
    let sizes = headers.iter().map(|(name, value)| {
        let size = name.len() + value.to_string().len() + MARKS;
        (size, name.clone())
    });
    let mut sizes: Vec<(usize, String)> = sizes.collect();
    sizes.sort();
    let mut left: usize = sizes.iter().map(|(size, _)| size).sum();
    while left > max {
        let (size, name) = sizes.pop()?;
        headers.remove(&name);
        left -= size;
    }
    serde_json::to_string(&headers).ok()
}

/// Cuts a text between two characters; whether it was too long.
fn cut(text: &mut String, max: usize) -> bool {
    if text.len() <= max {
        return false;
    }
    text.truncate(text.floor_char_boundary(max));
    text.shrink_to_fit();
    true
}

impl AuditRow {
    /// About how many bytes the row takes.
    pub fn bytes(&self) -> usize {
        /// What has a fixed size, and what the indexes add.
        const FIXED: usize = 300;
        let lengths = self.cells().into_iter().map(|cell| match cell {
            Cell::Text(text) | Cell::Json(text) => text.len(),
            _ => 0,
        });
        FIXED + lengths.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_cut_between_characters_and_the_row_says_so() {
        let caps = Caps {
            parameters: 4,
            response: 4,
            headers: 4,
        };
        let mut row = AuditRow {
            parameters: Some("1234".into()),
            response: Some("123ü5".into()),
            headers: Some("{\"a\":1}".into()),
            user_agent: Some("a".repeat(10_000)),
            duration_ms: f64::NAN,
            ..AuditRow::default()
        };
        caps.apply(&mut row);
        assert_eq!(row.parameters.as_deref(), Some("1234"));
        assert!(!row.parameters_cut);
        assert_eq!(row.response.as_deref(), Some("123"));
        assert!(row.response_cut);
        assert_eq!(row.headers.as_deref(), Some("{}"));
        assert!(row.headers_cut);
        assert_eq!(row.user_agent.unwrap().chars().count(), TEXT_MAX + 1);
        assert!(row.duration_ms.abs() < f64::EPSILON);
    }

    #[test]
    fn the_largest_headers_go_first() {
        let headers = format!(
            r#"{{"accept":"*/*","cookie":"{}","host":"localhost","x":"{}"}}"#,
            "c".repeat(20_000),
            "é".repeat(3_000)
        );
        let mut row = AuditRow {
            headers: Some(headers),
            ..AuditRow::default()
        };
        Caps::default().apply(&mut row);
        let kept: Value = serde_json::from_str(row.headers.as_deref().unwrap()).unwrap();
        let names: Vec<&String> = kept.as_object().unwrap().keys().collect();
        assert_eq!(names, ["accept", "host", "x"]);
        assert!(row.headers_cut);
        let small = AuditRow {
            headers: Some(r#"{"a":"b"}"#.into()),
            ..AuditRow::default()
        };
        let mut same = small.clone();
        Caps::default().apply(&mut same);
        assert_eq!(same, small);
    }
}
