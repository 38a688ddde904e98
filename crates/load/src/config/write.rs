//! A configuration as TOML, with secrets taken out.

use std::fmt::Write as _;

use mcprove_client::server::AUTHORIZATION;
use mcprove_settings::secret::{redact_arguments, redact_text, redact_urls, redact_value};
use mcprove_settings::setting;
use toml::Value;

use super::{LoadConfig, SessionSettings};
use crate::prelude::*;

pub fn to_toml(config: &LoadConfig) -> String {
    let mut page = Page::default();
    write_server(&mut page, &config.server, &config.session);
    write_scenario(&mut page, &config.scenario);
    write_thresholds(&mut page, &config.thresholds);
    for fault in &config.faults {
        write_fault(&mut page, fault);
    }
    page.header("[session]");
    page.settings(&config.session);
    page.header("[output]");
    page.settings(&config.output);
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

    fn settings(&mut self, settings: &dyn Settings) {
        for (setting, data) in setting::values(settings) {
            self.line(setting.name, data.to_toml());
        }
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

fn write_server(page: &mut Page, server: &Server, session: &SessionSettings) {
    page.header("[server]");
    match server.transport.address() {
        None => {
            page.line("command", redact_text(&server.command));
            if !server.args.is_empty() {
                let args = redact_arguments(&server.args);
                page.line(
                    "args",
                    args.into_iter().map(Value::from).collect::<Vec<_>>(),
                );
            }
            if let Some(directory) = &server.working_dir {
                page.line("working_dir", directory.display().to_string());
            }
        }
        Some((url, _)) => page.line("url", redact_urls(url)),
    }
    if session.has_transport || matches!(server.transport, Transport::Sse { .. }) {
        page.line("transport", server.transport.name());
    }
    page.line("startup_timeout", write_duration(server.startup_timeout));
    page.line("shutdown_timeout", write_duration(server.shutdown_timeout));
    match server.transport.address() {
        None => page.table("server.env", &server.env),
        Some((_, headers)) => {
            let mut headers = headers.clone();
            if let Some(name) = &server.bearer_env {
                page.line("bearer_env", name.as_str());
                headers.remove(AUTHORIZATION);
            }
            page.table("server.headers", &headers);
        }
    }
}

fn write_scenario(page: &mut Page, scenario: &Scenario) {
    page.header("[scenario]");
    page.line("type", scenario.kind.name());
    let kind = scenario.kind.as_type();
    page.settings(kind);
    for (setting, data) in setting::values(&scenario.load) {
        let is_own = kind.table().iter().any(|it| it.has_name(setting.name));
        let is_load = kind.duration().is_some() && scenario.load.is_used(setting);
        let is_all = crate::drive::LoadSettings::is_for_all(setting);
        if !is_own && (is_load || is_all) {
            page.line(setting.name, data.to_toml());
        }
    }
    for call in &scenario.tool_calls {
        page.header("[[scenario.tool_call]]");
        page.settings(call);
    }
    for pattern in kind.patterns() {
        page.header("[[scenario.pattern]]");
        page.settings(pattern);
    }
}

fn write_thresholds(page: &mut Page, thresholds: &Thresholds) {
    page.header("[thresholds]");
    page.settings(thresholds);
    for (tool, limits) in &thresholds.tools {
        page.header(&format!("[thresholds.tools.{}]", quoted_key(tool)));
        page.settings(limits);
    }
}

fn write_fault(page: &mut Page, fault: &LoadFault) {
    page.header("[[faults]]");
    for (key, value) in fault.spec.to_map() {
        // A seed may be larger than the whole numbers of TOML.
        let written = Value::try_from(&value).unwrap_or_else(|_| value.to_string().into());
        page.line(&key, written);
    }
    page.settings(fault);
}
