//! One event as one line of `trace.jsonl`.
//!
//! Lines are put together by hand: the values in them are JSON already, and reading them again
//! only to write them out would cost more than the call that is being traced.

use std::io::Write;

use super::metrics::nanoseconds;
use crate::prelude::*;

/// How many bytes of parameters, and of the message of an error, are kept: more than of a result, for they are needed
/// to repeat a call.
const PARAMS_BYTES_MAX: usize = 64 * 1024;

/// Appends one event as a line; returns whether a value in it was cut.
pub fn write_line(
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
        write_count(line, "session", request.session);
        write_count(line, "request_id", request.id);
    }
    let mut value = ("", "", value_bytes_max);
    match event.kind {
        EventKind::Request {
            method,
            tool,
            params,
            client_id,
            tag,
            ..
        } => {
            if !client_id.is_empty() {
                write_name(line, "client_id");
                line.extend_from_slice(redactor.json(client_id).as_bytes());
            }
            write_call(line, (method, tool), None, tag, redactor);
            value = ("params", params, value_bytes_max.max(PARAMS_BYTES_MAX));
        }
        EventKind::Response {
            method,
            tool,
            duration,
            result,
            tag,
            ..
        } => {
            write_call(line, (method, tool), Some(duration), tag, redactor);
            value = ("result", result, value_bytes_max);
        }
        EventKind::Error {
            method,
            tool,
            duration,
            failure,
            tag,
            ..
        } => {
            write_call(line, (method, tool), Some(duration), tag, redactor);
            line.extend_from_slice(b",\"error\":{\"category\":\"");
            line.extend_from_slice(failure.category.name().as_bytes());
            line.push(b'"');
            write_text(line, "message", &redactor.plain(failure.message));
            if let Some(code) = failure.code {
                write_count(line, "code", code);
            }
            if !failure.server_message.is_empty() {
                let said = redactor.cut(failure.server_message, PARAMS_BYTES_MAX);
                write_text(line, "server_message", &said);
            }
            line.push(b'}');
            let name = failure.code.map_or("result", |_| "data");
            value = (name, failure.answer, value_bytes_max);
        }
        EventKind::Hang { hung_for, .. } | EventKind::Deadlock { hung_for, .. } => {
            write_milliseconds(line, "duration_ms", hung_for);
        }
        EventKind::Crash { message } => write_text(line, "message", &redactor.plain(message)),
        EventKind::ProcessSample {
            rss_mb,
            cpu_pct,
            threads,
            descriptors,
            processes,
        } => {
            write_number(line, "rss_mb", rss_mb);
            write_number(line, "cpu_pct", cpu_pct);
            for (name, count) in [
                ("threads", threads),
                ("descriptors", descriptors),
                ("processes", Some(processes)),
            ] {
                if let Some(count) = count {
                    write_count(line, name, count);
                }
            }
        }
        EventKind::ScenarioEvent {
            name,
            message,
            data,
        } => {
            write_text(line, "name", name);
            write_text(line, "message", &redactor.plain(message));
            // Ours, and needed to compute the report again: never cut.
            value = ("data", data, usize::MAX);
        }
    }
    let is_cut = write_value(line, value, redactor);
    line.extend_from_slice(b"}\n");
    is_cut
}

/// Writes what all events of a call have.
fn write_call(
    line: &mut Vec<u8>,
    (method, tool): (&str, Option<&str>),
    duration: Option<Duration>,
    tag: CallTag,
    redactor: &Redactor,
) {
    write_text(line, "method", &redactor.field(method));
    if let Some(tool) = tool {
        write_text(line, "tool", &redactor.field(tool));
    }
    if let Some(duration) = duration {
        write_milliseconds(line, "duration_ms", duration);
    }
    if tag.phase != 0 {
        write_count(line, "phase", tag.phase);
    }
    if !tag.wait.is_zero() {
        write_milliseconds(line, "wait_ms", tag.wait);
    }
}

/// Writes a JSON value of at most so many bytes as it is, or, where it is too long, its first part as text.
fn write_value(
    line: &mut Vec<u8>,
    (name, json, bytes_max): (&str, &str, usize),
    redactor: &Redactor,
) -> bool {
    if json.is_empty() {
        return false;
    }
    if json.len() > bytes_max {
        write_text(line, "cut", &redactor.cut(json, bytes_max));
        write_count(line, "cut_bytes", json.len());
        return true;
    }
    write_name(line, name);
    let start = line.len();
    line.extend_from_slice(redactor.json(json).as_bytes());
    // In JSON a raw line break can only be white space between tokens.
    for byte in line.iter_mut().skip(start) {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
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

fn write_count(line: &mut Vec<u8>, name: &str, number: impl itoa::Integer) {
    write_name(line, name);
    write_integer(line, number);
}

fn write_integer(line: &mut Vec<u8>, number: impl itoa::Integer) {
    line.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

fn write_milliseconds(line: &mut Vec<u8>, name: &str, duration: Duration) {
    write_name(line, name);
    write_decimal(line, duration, 1_000_000);
}

/// Writes a duration in a unit of `unit_ns` nanoseconds, with six decimals at most: exact to the
/// nanosecond for milliseconds, to the microsecond for seconds.
fn write_decimal(line: &mut Vec<u8>, duration: Duration, unit_ns: u64) {
    let nanoseconds = nanoseconds(duration);
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
    use crate::CallFailure;

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
            server_message: "no hunter-22",
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
        let error = record.error.unwrap();
        assert_eq!(error.code, Some(-5));
        assert_eq!(error.server_message.unwrap(), "no <redacted>");
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
