//! One event as one line of `trace.jsonl`.
//!
//! Lines are put together by hand: the values in them are JSON already, and reading them again
//! only to write them out would cost more than the call that is being traced.

use std::io::Write;
use std::time::Duration;

use mcprove_settings::secret::Redactor;

use crate::{CallFailure, CallTag, Event, EventKind};

/// How many bytes of parameters are kept: more than of a result, for they are needed to repeat
/// a call.
const PARAMS_BYTES_MAX: usize = 64 * 1024;

/// Appends one event as a line; returns whether a value in it was cut.
pub(super) fn write_line(
    line: &mut Vec<u8>,
    event: &Event<'_>,
    value_bytes_max: usize,
    redactor: &Redactor,
) -> bool {
    line.extend_from_slice(b"{\"ts\":");
    write_decimal(line, event.at, 1_000_000_000);
    line.extend_from_slice(b",\"kind\":\"");
    line.extend_from_slice(event.kind.name().as_bytes());
    line.push(b'"');
    if let Some(request) = event.kind.request() {
        line.extend_from_slice(b",\"session\":");
        write_integer(line, u64::from(request.session));
        line.extend_from_slice(b",\"request_id\":");
        write_integer(line, request.id);
    }
    let mut cut = false;
    match &event.kind {
        EventKind::Request {
            method,
            tool,
            params,
            client_id,
            tag,
            ..
        } => {
            if !client_id.is_empty() {
                line.extend_from_slice(b",\"client_id\":");
                line.extend_from_slice(redactor.json(client_id).as_bytes());
            }
            write_call(line, method, *tool, redactor);
            write_tag(line, *tag);
            cut = write_value(
                line,
                "params",
                params,
                value_bytes_max.max(PARAMS_BYTES_MAX),
                redactor,
            );
        }
        EventKind::Response {
            method,
            tool,
            duration,
            result,
            tag,
            ..
        } => {
            write_call(line, method, *tool, redactor);
            write_duration(line, *duration);
            write_tag(line, *tag);
            cut = write_value(line, "result", result, value_bytes_max, redactor);
        }
        EventKind::Error {
            method,
            tool,
            duration,
            failure,
            tag,
            ..
        } => {
            write_call(line, method, *tool, redactor);
            write_duration(line, *duration);
            write_tag(line, *tag);
            write_failure(line, failure, redactor);
            let name = if failure.code.is_some() {
                "data"
            } else {
                "result"
            };
            cut = write_value(line, name, failure.answer, value_bytes_max, redactor);
        }
        EventKind::Hang { hung_for, .. } | EventKind::Deadlock { hung_for, .. } => {
            write_duration(line, *hung_for);
        }
        EventKind::Crash { message } => write_text(line, "message", &redactor.plain(message)),
        EventKind::ProcessSample {
            rss_mb,
            cpu_pct,
            threads,
            descriptors,
            processes,
        } => {
            write_number(line, "rss_mb", *rss_mb);
            write_number(line, "cpu_pct", *cpu_pct);
            write_count(line, "threads", *threads);
            write_count(line, "descriptors", *descriptors);
            write_count(line, "processes", Some(*processes));
        }
        EventKind::ScenarioEvent {
            name,
            message,
            data,
        } => {
            write_text(line, "name", name);
            write_text(line, "message", &redactor.plain(message));
            // Ours, and needed to compute the report again: never cut.
            write_value(line, "data", data, usize::MAX, redactor);
        }
    }
    line.extend_from_slice(b"}\n");
    cut
}

fn write_call(line: &mut Vec<u8>, method: &str, tool: Option<&str>, redactor: &Redactor) {
    write_text(line, "method", &redactor.field(method));
    if let Some(tool) = tool {
        write_text(line, "tool", &redactor.field(tool));
    }
}

fn write_tag(line: &mut Vec<u8>, tag: CallTag) {
    if tag.phase != 0 {
        write_count(line, "phase", Some(tag.phase.into()));
    }
    if !tag.wait.is_zero() {
        write_name(line, "wait_ms");
        write_decimal(line, tag.wait, 1_000_000);
    }
}

fn write_count(line: &mut Vec<u8>, name: &str, count: Option<u32>) {
    if let Some(count) = count {
        write_name(line, name);
        write_integer(line, count.into());
    }
}

fn write_failure(line: &mut Vec<u8>, failure: &CallFailure<'_>, redactor: &Redactor) {
    line.extend_from_slice(b",\"error\":{\"category\":\"");
    line.extend_from_slice(failure.category.name().as_bytes());
    line.push(b'"');
    write_text(line, "message", &redactor.plain(failure.message));
    if let Some(code) = failure.code {
        line.extend_from_slice(b",\"code\":");
        line.extend_from_slice(itoa::Buffer::new().format(code).as_bytes());
    }
    line.push(b'}');
}

fn write_duration(line: &mut Vec<u8>, duration: Duration) {
    line.extend_from_slice(b",\"duration_ms\":");
    write_decimal(line, duration, 1_000_000);
}

/// Writes a JSON value as it is, or, where it is too long, its first part as text.
fn write_value(
    line: &mut Vec<u8>,
    name: &str,
    json: &str,
    bytes_max: usize,
    redactor: &Redactor,
) -> bool {
    if json.is_empty() {
        return false;
    }
    if json.len() > bytes_max {
        write_text(line, "cut", &redactor.cut(json, bytes_max));
        line.extend_from_slice(b",\"cut_bytes\":");
        write_integer(line, json.len() as u64);
        return true;
    }
    write_name(line, name);
    let json = redactor.json(json);
    if json.bytes().any(|byte| matches!(byte, b'\n' | b'\r')) {
        // In JSON a raw line break can only be white space between tokens.
        line.extend(json.bytes().map(|byte| {
            if matches!(byte, b'\n' | b'\r') {
                b' '
            } else {
                byte
            }
        }));
    } else {
        line.extend_from_slice(json.as_bytes());
    }
    false
}

fn write_name(line: &mut Vec<u8>, name: &str) {
    line.extend_from_slice(b",\"");
    line.extend_from_slice(name.as_bytes());
    line.extend_from_slice(b"\":");
}

fn write_text(line: &mut Vec<u8>, name: &str, text: &str) {
    write_name(line, name);
    crate::protocol::write_json_string(line, text);
}

fn write_number(line: &mut Vec<u8>, name: &str, number: f64) {
    write_name(line, name);
    if number.is_finite() {
        // Whole, so that what is computed from it is the same; writing to a vector cannot fail.
        let _ = write!(line, "{number}");
    } else {
        line.extend_from_slice(b"null");
    }
}

fn write_integer(line: &mut Vec<u8>, number: u64) {
    line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Writes a duration in a unit of `unit_ns` nanoseconds, with six decimals at most: exact to the
/// nanosecond for milliseconds, to the microsecond for seconds.
fn write_decimal(line: &mut Vec<u8>, duration: Duration, unit_ns: u64) {
    let nanoseconds = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    write_integer(line, nanoseconds / unit_ns);
    let mut fraction = (nanoseconds % unit_ns) / (unit_ns / 1_000_000);
    if fraction == 0 {
        line.extend_from_slice(b".0");
        return;
    }
    let mut digits = [b'0'; 7];
    digits[0] = b'.';
    for digit in digits[1..].iter_mut().rev() {
        *digit = b'0' + (fraction % 10) as u8;
        fraction /= 10;
    }
    let end = digits
        .iter()
        .rposition(|digit| *digit != b'0')
        .map_or(1, |last| last + 1);
    line.extend_from_slice(&digits[..end]);
}

#[cfg(test)]
mod tests {
    use crate::{ErrorCategory, RequestKey, TraceRecord};

    use super::*;

    const REQUEST: RequestKey = RequestKey { session: 2, id: 7 };

    fn line_of(kind: EventKind<'_>) -> String {
        let mut line = Vec::new();
        write_line(
            &mut line,
            &Event {
                at: Duration::from_millis(1500),
                kind,
            },
            64,
            &Redactor::new(["hunter-22".to_owned()]),
        );
        String::from_utf8(line).unwrap()
    }

    #[test]
    fn lines_have_the_documented_shape() {
        let line = line_of(EventKind::Request {
            request: REQUEST,
            method: "tools/call",
            tool: Some("echo"),
            params: "{\"name\":\"echo\"}",
            client_id: "",
            tag: CallTag::default(),
        });
        assert_eq!(
            line,
            "{\"ts\":1.5,\"kind\":\"request\",\"session\":2,\"request_id\":7,\"method\":\"tools/call\",\"tool\":\"echo\",\"params\":{\"name\":\"echo\"}}\n"
        );
        let failure = CallFailure {
            category: ErrorCategory::ServerError,
            message: "no \"x\"",
            code: Some(-5),
            answer: "",
        };
        let line = line_of(EventKind::Error {
            request: REQUEST,
            method: "ping",
            tool: None,
            duration: Duration::from_micros(12_500),
            failure,
            tag: CallTag::default(),
        });
        let record = TraceRecord::parse(&line).unwrap();
        assert_eq!(record.duration_ms, Some(12.5));
        assert_eq!(record.error.unwrap().code, Some(-5));
    }

    #[test]
    fn long_results_are_cut_and_line_breaks_never_break_a_line() {
        let long = format!("{{\"text\":\"{}\"}}", "ü".repeat(100));
        let line = line_of(EventKind::Response {
            request: REQUEST,
            method: "tools/call",
            tool: None,
            duration: Duration::ZERO,
            result: &long,
            tag: CallTag::default(),
        });
        let record = TraceRecord::parse(&line).unwrap();
        assert_eq!(record.cut_bytes, Some(long.len() as u64));
        assert!(long.starts_with(&record.cut.unwrap()));

        let pretty = "{\n  \"a\": 1\r\n}";
        let line = line_of(EventKind::Response {
            request: REQUEST,
            method: "m",
            tool: None,
            duration: Duration::ZERO,
            result: pretty,
            tag: CallTag::default(),
        });
        assert_eq!(line.matches('\n').count(), 1);
        assert_eq!(TraceRecord::parse(&line).unwrap().result.unwrap()["a"], 1);
    }

    #[test]
    fn secrets_are_redacted_before_values_are_cut_and_lines_stay_json() {
        let secrets = ["hunter-22", "nobody-9", "{\"a\":\"b-77\"}", "87654321"];
        let redactor = Redactor::new(secrets.map(str::to_owned));
        let line_of = |result: &str, bytes_max: usize| {
            let kind = EventKind::Response {
                request: REQUEST,
                method: "tools/call",
                tool: Some("echo"),
                duration: Duration::ZERO,
                result,
                tag: CallTag::default(),
            };
            let (mut line, at) = (Vec::new(), Duration::ZERO);
            write_line(&mut line, &Event { at, kind }, bytes_max, &redactor);
            let line = String::from_utf8(line).unwrap();
            (TraceRecord::parse(&line).unwrap(), line)
        };
        for (result, redacted) in [
            (r#"{"t":"a hunter-22 b"}"#, r#"{"t":"a <redacted> b"}"#),
            (r#"{"t":"\nnobody-9"}"#, r#"{"t":"\n<redacted>"}"#),
            // A line break, and what is no secret.
            (r#"{"t":"\nobody-9"}"#, r#"{"t":"\nobody-9"}"#),
            (r#"{"n":87654321,"m":1}"#, r#"{"n":"<redacted>","m":1}"#),
            (r#"{"x":{"a":"b-77"}}"#, r#""<redacted>""#),
            (r#"{"x":"{\"a\":\"b-77\"}"}"#, r#"{"x":"<redacted>"}"#),
            (r#""sk-abcdef0123456789""#, r#""<redacted>""#),
        ] {
            let (record, line) = line_of(result, 1024);
            let expected: serde_json::Value = serde_json::from_str(redacted).unwrap();
            assert_eq!(record.result, Some(expected), "{line}");
        }
        let long = format!("{{\"t\":\"{}hunter-22 and more\"}}", "x".repeat(40));
        for bytes_max in 40..long.len() {
            let (record, line) = line_of(&long, bytes_max);
            assert!(!line.contains("hunt"), "{bytes_max}: {line}");
            assert_eq!(record.cut_bytes, Some(long.len() as u64));
        }
        let key = format!("{{\"t\":\"{} sk-abcdef0123456789 \"}}", "x".repeat(40));
        for bytes_max in 48..key.len() {
            let (_, line) = line_of(&key, bytes_max);
            assert!(!line.contains("sk-a"), "{bytes_max}: {line}");
        }
    }

    #[test]
    fn decimals() {
        let show = |nanoseconds, unit| {
            let mut line = Vec::new();
            write_decimal(&mut line, Duration::from_nanos(nanoseconds), unit);
            String::from_utf8(line).unwrap()
        };
        assert_eq!(show(12_500_000, 1_000_000), "12.5");
        assert_eq!(show(1, 1_000_000), "0.000001");
        assert_eq!(show(0, 1_000_000), "0.0");
        assert_eq!(show(1_000_001_000, 1_000_000_000), "1.000001");
    }
}
