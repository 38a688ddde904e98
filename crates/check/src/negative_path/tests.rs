use std::sync::Arc;
use std::time::Duration;

use mcprove_client::session::{Session, SessionOptions};
use mcprove_servers::fixture;
use mcprove_servers::mock::{self, Mock, MockSpec, ToolSpec};
use mcprove_trace::BoxFuture;
use mcprove_trace::stream::EventStream;
use serde_json::{Map, Value, json};

use super::*;
use crate::pulse::Pulse;

const DEADLINE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_millis(300);

fn search_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "query": { "type": "string" }, "limit": { "type": "integer" } },
        "required": ["query"],
        "additionalProperties": false,
    })
}

fn request(probe: Probe, schema: &Value, arguments: &Value) -> Result<BadRequest, String> {
    let subject = Subject::new("search", ["search"], schema, arguments).unwrap();
    probe.request(&subject)
}

fn arguments(probe: Probe, schema: &Value, arguments: &Value) -> Value {
    let request = request(probe, schema, arguments).unwrap();
    assert_eq!(request.tool, "search");
    request.arguments
}

#[test]
fn the_registry_agrees_with_the_names() {
    assert_eq!(ENTRIES.len(), Probe::ALL.len());
    for (entry, probe) in ENTRIES.iter().zip(Probe::ALL) {
        let name = entry.name;
        let variant = format!("{probe:?}").to_lowercase();
        assert_eq!(variant, name.replace('_', ""));
        assert_eq!(Probe::parse(name), Some(probe));
        assert_eq!(Probe::parse(&name.replace('_', "-")), Some(probe));
        assert_eq!(probe.name(), name);
        assert!(entry.taxonomy.starts_with("FAULT-"), "{}", entry.taxonomy);
        assert!(["2606.05339", "2603.05637"].contains(&entry.paper));
    }
}

#[test]
fn the_bad_requests_are_what_they_say() {
    let (schema, valid) = (search_schema(), json!({ "query": "x" }));
    let unknown = request(Probe::UnknownTool, &schema, &valid).unwrap();
    assert_eq!(
        (unknown.tool.as_str(), unknown.arguments),
        ("mcprove_no_such_tool", valid.clone())
    );
    assert_eq!(
        arguments(Probe::MissingRequired, &schema, &valid),
        json!({})
    );
    assert_eq!(
        arguments(Probe::WrongType, &schema, &valid),
        json!({ "query": 12345 })
    );
    assert_eq!(
        arguments(Probe::ExtraField, &schema, &valid),
        json!({ "query": "x", "mcprove_unexpected_field": "mcprove" })
    );
    let large = arguments(Probe::Oversized, &schema, &valid);
    assert_eq!(large["query"].as_str().unwrap().len(), 1024 * 1024);
}

#[test]
fn a_tool_of_that_very_name_is_not_called() {
    let schema = json!({});
    let taken = ["mcprove_no_such_tool", "mcprove_no_such_tool_2"];
    let subject = Subject::new("search", taken, &schema, &json!({})).unwrap();
    let request = Probe::UnknownTool.request(&subject).unwrap();
    assert_eq!(request.tool, "mcprove_no_such_tool_3");
}

#[test]
fn what_any_part_of_the_schema_requires_is_left_out() {
    let nested = json!({
        "allOf": [{ "$ref": "#/$defs/base" }],
        "$defs": { "base": { "type": "object", "required": ["b"], "properties": { "b": { "type": "integer" } } } },
    });
    let valid = json!({ "a": 1, "b": 2 });
    assert_eq!(
        arguments(Probe::MissingRequired, &nested, &valid),
        json!({ "a": 1 })
    );
    assert_eq!(
        arguments(Probe::WrongType, &nested, &valid),
        json!({ "a": 1, "b": "mcprove: not of this type" })
    );
}

#[test]
fn probes_that_do_not_apply_say_why() {
    let anything = json!({ "type": "object", "properties": { "a": {} } });
    for (probe, schema, reason) in [
        (
            Probe::MissingRequired,
            json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
            "the schema requires no argument",
        ),
        (
            Probe::WrongType,
            anything.clone(),
            "the schema has no argument of a certain type",
        ),
        (Probe::ExtraField, anything, "allows other fields"),
        (
            Probe::Oversized,
            json!({ "type": "object", "additionalProperties": false }),
            "the tool takes no arguments",
        ),
    ] {
        let why = request(probe, &schema, &json!({})).unwrap_err();
        assert!(why.contains(reason), "{probe:?}: {why}");
    }
}

#[test]
fn an_extra_field_is_sent_only_where_it_is_really_forbidden() {
    let valid = json!({ "a": "x" });
    let properties = json!({ "a": { "type": "string" } });
    let with = |rule: Value| {
        let mut schema = json!({ "type": "object", "properties": properties });
        let rule = rule.as_object().unwrap().clone();
        schema.as_object_mut().unwrap().extend(rule);
        schema
    };
    let forbids = [
        json!({ "additionalProperties": false }),
        json!({ "unevaluatedProperties": false }),
        json!({ "additionalProperties": false, "patternProperties": { "^b": {} } }),
        json!({ "allOf": [{ "properties": { "a": {} }, "additionalProperties": false }] }),
    ];
    for rule in forbids {
        let sent = arguments(Probe::ExtraField, &with(rule), &valid);
        assert_eq!(sent["mcprove_unexpected_field"], "mcprove");
    }
    let allows = [
        json!({}),
        json!({ "additionalProperties": true }),
        json!({ "additionalProperties": { "type": "integer" } }),
        json!({ "additionalProperties": { "const": null } }),
        json!({ "additionalProperties": false, "patternProperties": { "^mcprove": {} } }),
        // Of this draft, the keyword means nothing.
        json!({ "$schema": "http://json-schema.org/draft-07/schema#", "unevaluatedProperties": false }),
    ];
    for rule in allows {
        let schema = with(rule);
        assert!(
            request(Probe::ExtraField, &schema, &valid).is_err(),
            "{schema}"
        );
    }
    let same_name = json!({ "mcprove_unexpected_field": 1 });
    let schema =
        json!({ "properties": { "mcprove_unexpected_field": {} }, "additionalProperties": false });
    let sent = arguments(Probe::ExtraField, &schema, &same_name);
    assert_eq!(sent["mcprove_unexpected_field_2"], "mcprove");
}

#[test]
fn a_type_is_wrong_only_where_another_is_right() {
    // Nothing that stands here is accepted, so that it says nothing of types.
    let schema = json!({ "properties": { "never": false }, "additionalProperties": true });
    assert!(request(Probe::WrongType, &schema, &json!({})).is_err());
    let optional = json!({ "properties": { "limit": { "type": "integer" } } });
    assert_eq!(
        arguments(Probe::WrongType, &optional, &json!({})),
        json!({ "limit": "mcprove: not of this type" })
    );
    let several = json!({ "properties": { "a": { "type": ["string", "number", "boolean"] } } });
    assert_eq!(
        arguments(Probe::WrongType, &several, &json!({ "a": "x" })),
        json!({ "a": ["mcprove: not of this type"] })
    );
}

#[test]
fn arguments_that_do_not_fit_are_replaced() {
    let schema = search_schema();
    let subject = Subject::new("search", [], &schema, &json!({ "q": 1 })).unwrap();
    assert!(subject.are_made_up);
    let sent = Probe::ExtraField.request(&subject).unwrap().arguments;
    assert_eq!(sent["query"], "text");
    for broken in [json!({ "type": 5 }), json!({ "required": "x" })] {
        assert!(Subject::new("search", [], &broken, &json!({})).is_err());
    }
    let impossible = json!({ "type": "object", "not": {} });
    assert!(Subject::new("search", [], &impossible, &json!({})).is_err());
}

#[test]
fn a_schema_that_is_no_map_of_the_type_object_is_invalid() {
    for (schema, reason) in [
        (Value::Null, "has no inputSchema"),
        (json!(true), "the schema is true"),
        (json!("object"), "the schema is \"object\""),
        (json!({ "type": "array" }), "of the type \"array\""),
        (json!({ "type": ["string", "null"] }), "of the type ["),
    ] {
        let error = Subject::new("search", [], &schema, &json!({})).unwrap_err();
        assert!(error.is_invalid_schema(), "{schema}");
        assert!(error.to_string().contains(reason), "{error}");
    }
    let either = json!({ "type": ["object", "null"] });
    assert!(Subject::new("search", [], &either, &json!({})).is_ok());
}

#[test]
fn what_needs_no_validator_is_made_without_one() {
    let schema = json!({ "type": "object", "properties": { "a": { "$ref": "http://x/y.json" } }, "required": ["z", "a"] });
    let given = json!({ "a": 1, "b": "x" });
    let error = Subject::new("search", [], &schema, &given).unwrap_err();
    assert!(!error.is_invalid_schema(), "{error}");
    let of = |schema| Subject::unreadable("search", ["search"], schema, &given, "why".into());
    let subject = of(Some(&schema));
    let made = |probe: Probe| probe.request(&subject).map(|request| request.arguments);
    assert_eq!(made(Probe::MissingRequired).unwrap(), json!({ "b": "x" }));
    assert!(made(Probe::UnknownTool).is_ok() && made(Probe::Oversized).is_ok());
    for probe in [Probe::WrongType, Probe::ExtraField] {
        assert_eq!(made(probe).unwrap_err(), "why");
    }
    let unknown = of(None);
    for probe in Probe::ALL {
        assert_eq!(probe.request(&unknown).is_ok(), probe == Probe::UnknownTool);
    }
}

/// A server in this process, which is made anew when a session is replaced.
struct Local {
    make: Box<dyn Fn() -> BoxFuture<'static, Session> + Send + Sync>,
    session: Option<Arc<Session>>,
    started: usize,
    pulse: Arc<Pulse>,
}

impl Local {
    fn fixture(mode: &'static str, settings: &Value) -> Self {
        let settings: Map<String, Value> = settings.as_object().cloned().unwrap();
        Self::new(move || {
            let options = fixture::FixtureOptions {
                settings: settings.clone(),
                ..fixture::FixtureOptions::default()
            };
            Box::pin(async move {
                let (output, input) = fixture::spawn_in_memory(mode, &options).unwrap();
                connect(output, input).await
            })
        })
    }

    fn mock(tool: ToolSpec) -> Self {
        Self::new(move || {
            let spec = MockSpec::new("mock").with_tool(tool.clone());
            let mock = Mock::new(spec, mock::MockOptions::default()).unwrap();
            Box::pin(async move {
                let (output, input) = mock.spawn_in_memory();
                connect(output, input).await
            })
        })
    }

    fn new(make: impl Fn() -> BoxFuture<'static, Session> + Send + Sync + 'static) -> Self {
        Self {
            make: Box::new(make),
            session: None,
            started: 0,
            pulse: Arc::default(),
        }
    }
}

async fn connect(
    output: impl tokio::io::AsyncRead + Send + Unpin + 'static,
    input: impl tokio::io::AsyncWrite + Send + Unpin + 'static,
) -> Session {
    let recorder = EventStream::unobserved().recorder();
    let options = SessionOptions::default();
    Session::connect_streams(output, input, options, recorder)
        .await
        .unwrap()
}

impl Sessions for Local {
    fn session(&mut self) -> BoxFuture<'_, Result<Arc<Session>, String>> {
        Box::pin(async {
            if self.session.is_none() {
                self.started += 1;
                self.session = Some(Arc::new((self.make)().await));
            }
            self.session.clone().ok_or_else(String::new)
        })
    }

    fn replace(&mut self) {
        self.session = None;
    }

    fn pulse(&self) -> Arc<Pulse> {
        Arc::clone(&self.pulse)
    }
}

async fn examined(local: &mut Local, timeout: Duration) -> NegativePathReport {
    let schema = search_schema();
    let subject = Subject::new("search", ["search"], &schema, &json!({ "query": "x" })).unwrap();
    let probes = Probe::ALL;
    let examination = Examination {
        subject: &subject,
        probes: &probes,
        timeout,
    };
    tokio::time::timeout(DEADLINE, examine(&examination, local))
        .await
        .unwrap()
}

fn failed(report: &NegativePathReport) -> Vec<(Probe, &str)> {
    let failed = report
        .probes
        .iter()
        .filter_map(|report| match &report.outcome {
            RequestOutcome::Failed(message) => Some((report.probe, message.as_str())),
            _ => None,
        });
    failed.collect()
}

#[tokio::test]
async fn a_server_that_validates_passes_every_probe() {
    let mut local = Local::mock(ToolSpec::new("search").with("inputSchema", search_schema()));
    let report = examined(&mut local, DEADLINE).await;
    assert_eq!(
        report.targets(),
        json!({ "checks_run": 5, "failures": 0, "gate_passed": 1 })
    );
    assert_eq!(local.started, 1);
}

#[tokio::test]
async fn each_kind_of_carelessness_fails_its_probe_and_no_other() {
    for (on, probe) in Probe::ALL.into_iter().enumerate() {
        for then in 0..=3 {
            let mut local = Local::fixture("careless", &json!({ "on": on, "then": then }));
            let report = examined(&mut local, SHORT).await;
            let failed = failed(&report);
            if probe == Probe::Oversized && then == 0 {
                // Accepting a large argument is no fault.
                assert_eq!(failed, []);
                continue;
            }
            let [(found, message)] = failed[..] else {
                panic!("{probe:?} {then}: {failed:?}");
            };
            assert_eq!(found, probe);
            let entry = probe.entry();
            let what = [
                "the tool accepted it",
                "the call hung",
                "did not survive",
                "did not survive",
            ];
            let advice = match then {
                3 => "The bad request ended the server",
                _ => entry.advice,
            };
            for part in [entry.name, entry.taxonomy, entry.paper, what[then], advice] {
                assert!(message.contains(part), "{part}: {message}");
            }
            assert!(message.len() < 2000, "{message}");
            assert_eq!(report.checks_run(), 5);
            assert_eq!(report.gate_passed(), Some(false));
            // What hung or died was replaced, unless it was the last.
            let is_last = probe == Probe::Oversized;
            assert_eq!(local.started, if then == 0 || is_last { 1 } else { 2 });
        }
    }
}

#[tokio::test]
async fn a_server_that_is_careless_in_every_way_fails_all_but_the_soft_probe() {
    let mut local = Local::fixture("careless", &json!({}));
    let report = examined(&mut local, SHORT).await;
    assert_eq!(
        report.targets(),
        json!({ "checks_run": 5, "failures": 4, "gate_passed": 0 })
    );
}

#[tokio::test]
async fn errors_of_either_kind_are_rejections() {
    for mode in ["error", "tool_error"] {
        let mut local = Local::fixture(mode, &json!({}));
        let report = examined(&mut local, DEADLINE).await;
        assert_eq!(report.gate_passed(), Some(true), "{mode}");
    }
}

#[tokio::test]
async fn what_applies_to_nothing_is_not_counted() {
    let schema = json!({ "type": "object", "additionalProperties": true });
    let subject = Subject::new("free", ["free"], &schema, &json!({})).unwrap();
    let examination = Examination {
        subject: &subject,
        probes: &[Probe::MissingRequired, Probe::WrongType, Probe::ExtraField],
        timeout: DEADLINE,
    };
    let mut local = Local::fixture("normal", &json!({}));
    let report = examine(&examination, &mut local).await;
    assert_eq!(
        report.targets(),
        json!({ "checks_run": 0, "failures": 0, "gate_passed": null })
    );
    assert_eq!(local.started, 0);
}
