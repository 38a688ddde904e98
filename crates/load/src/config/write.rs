//! A configuration as TOML, with secrets taken out.

mod scenario;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use mcprove_client::server::{Server, Transport};
use mcprove_client::session::ProtocolChoice;
use mcprove_settings::secret::{redact_arguments, redact_text, redact_urls, redact_value};
use toml::Value;

use self::scenario::write_scenario;
use super::{Format, LoadConfig, OutputSettings, SessionSettings};
use crate::run::{LoadFault, Thresholds, ToolThresholds};

pub(super) fn to_toml(config: &LoadConfig) -> String {
    let mut page = Page::default();
    write_server(&mut page, &config.server, &config.session);
    write_scenario(&mut page, &config.scenario);
    write_thresholds(&mut page, &config.thresholds);
    for fault in &config.faults {
        write_fault(&mut page, fault);
    }
    write_session(&mut page, &config.session);
    write_output(&mut page, &config.output);
    page.0
}

/// The text as it is written.
#[derive(Default)]
struct Page(String);

impl Page {
    fn header(&mut self, header: &str) {
        let gap = if self.0.is_empty() { "" } else { "\n" };
        let _ = writeln!(self.0, "{gap}{header}");
    }

    fn line(&mut self, name: &str, value: impl Into<Value>) {
        let _ = writeln!(self.0, "{name} = {}", value.into());
    }

    fn time(&mut self, name: &str, time: Duration) {
        self.line(name, duration(time));
    }

    fn times(&mut self, times: &[(&str, Option<Duration>)]) {
        for (name, time) in times {
            if let Some(time) = time {
                self.time(name, *time);
            }
        }
    }

    fn count(&mut self, name: &str, count: u32) {
        self.line(name, i64::from(count));
    }

    fn table(&mut self, name: &str, texts: &BTreeMap<String, String>) {
        if texts.is_empty() {
            return;
        }
        self.header(&format!("[{name}]"));
        for (key, value) in texts {
            self.line(&quoted_key(key), redact_value(key, value));
        }
    }
}

/// A duration that reads back as the same one.
fn duration(time: Duration) -> String {
    let nanoseconds = time.subsec_nanos();
    if nanoseconds == 0 {
        format!("{}s", time.as_secs())
    } else if nanoseconds.is_multiple_of(1_000_000) {
        format!("{}ms", time.as_millis())
    } else {
        let text = format!("{}.{nanoseconds:09}", time.as_secs());
        format!("{}s", text.trim_end_matches('0'))
    }
}

/// A key, in quotes where it needs them.
fn quoted_key(key: &str) -> String {
    let is_bare = !key.is_empty()
        && key
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if is_bare {
        key.to_owned()
    } else {
        // Unlike a value, a key must stay on one line. TOML takes the texts of JSON, but no DEL.
        serde_json::Value::from(key)
            .to_string()
            .replace('\u{7f}', "\\u007f")
    }
}

fn list(texts: impl IntoIterator<Item = impl Into<Value>>) -> Value {
    Value::Array(texts.into_iter().map(Into::into).collect())
}

fn write_server(page: &mut Page, server: &Server, session: &SessionSettings) {
    page.header("[server]");
    match &server.transport {
        Transport::Stdio => {
            page.line("command", redact_text(&server.command));
            if !server.args.is_empty() {
                page.line("args", list(redact_arguments(&server.args)));
            }
            if let Some(directory) = &server.working_dir {
                page.line("working_dir", directory.display().to_string());
            }
        }
        Transport::Http { url, .. }
        | Transport::Sse { url, .. }
        | Transport::WebSocket { url, .. } => page.line("url", redact_urls(url)),
    }
    if !session.fall_back_to_sse || matches!(server.transport, Transport::Sse { .. }) {
        page.line("transport", server.transport.name());
    }
    page.time("startup_timeout", server.startup_timeout);
    page.time("shutdown_timeout", server.shutdown_timeout);
    match &server.transport {
        Transport::Stdio => page.table("server.env", &server.env),
        Transport::Http { headers, .. }
        | Transport::Sse { headers, .. }
        | Transport::WebSocket { headers, .. } => page.table("server.headers", headers),
    }
}

fn write_thresholds(page: &mut Page, thresholds: &Thresholds) {
    page.header("[thresholds]");
    page.times(&[
        ("p50_latency", thresholds.p50_latency),
        ("p95_latency", thresholds.p95_latency),
        ("p99_latency", thresholds.p99_latency),
        ("p999_latency", thresholds.p999_latency),
    ]);
    if let Some(rate) = thresholds.error_rate {
        page.line("error_rate", rate);
    }
    page.time("hang_timeout", thresholds.hang_timeout);
    page.time("grace_period", thresholds.grace_period);
    if let Some(growth) = thresholds.memory_growth_mb {
        page.line("memory_growth_mb", growth);
    }
    for (tool, limits) in &thresholds.tools {
        page.header(&format!("[thresholds.tools.{}]", quoted_key(tool)));
        write_limits(page, limits);
    }
}

fn write_limits(page: &mut Page, limits: &ToolThresholds) {
    page.times(&[
        ("p50_latency", limits.p50_latency),
        ("p95_latency", limits.p95_latency),
        ("p99_latency", limits.p99_latency),
        ("p999_latency", limits.p999_latency),
    ]);
    if let Some(rate) = limits.error_rate {
        page.line("error_rate", rate);
    }
}

fn write_fault(page: &mut Page, fault: &LoadFault) {
    page.header("[[faults]]");
    for (key, value) in fault.spec.to_map() {
        let value = match (value.as_i64(), value.as_u64(), value.as_f64(), &value) {
            (Some(whole), ..) => Value::from(whole),
            // A seed that TOML has no number for.
            (_, Some(whole), ..) => Value::from(whole.to_string()),
            (_, _, Some(number), _) => Value::from(number),
            (.., serde_json::Value::Bool(value)) => Value::from(*value),
            (.., other) => Value::from(other.as_str().unwrap_or_default()),
        };
        page.line(&key, value);
    }
    page.times(&[
        ("start", fault.window.start),
        ("duration", fault.window.duration),
        ("max_recovery", fault.max_recovery),
    ]);
    if let Some(others) = fault.others_may_suffer {
        page.line("others_may_suffer", others);
    }
}

fn write_session(page: &mut Page, session: &SessionSettings) {
    page.header("[session]");
    if session.protocol != ProtocolChoice::Auto {
        page.line("protocol", session.protocol.to_string());
    }
    page.line("strict_protocol", session.strict_protocol);
    page.times(&[("call_timeout", session.call_timeout)]);
    if let Some(size) = session.max_frame {
        page.line("max_frame", size_value(size));
    }
    if let Some(accept) = session.accept_requests {
        page.line("accept_requests", accept);
    }
}

fn write_output(page: &mut Page, output: &OutputSettings) {
    page.header("[output]");
    page.line("report_dir", output.report_dir.display().to_string());
    page.line(
        "formats",
        list(output.formats.iter().copied().map(Format::name)),
    );
    page.line("trace", output.trace);
    if let Some(size) = output.trace_value_bytes {
        page.line("trace_value_bytes", size_value(size));
    }
}

fn size_value(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
