use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const SECRET: &str = "hun\"ter 2/ü";

fn redactor() -> Redactor {
    Redactor::new([SECRET.to_owned(), "p4ss".to_owned()])
}

#[test]
fn known_secrets_are_found_in_every_form() {
    let redactor = redactor();
    for text in [
        SECRET.to_owned(),
        json!(SECRET).to_string(),
        json!(json!({ "a": SECRET }).to_string()).to_string(),
        json!({ "b": { "c": [SECRET] } }).to_string(),
        json!({ SECRET: 1 }).to_string(),
        json!({ "arguments": json!({ "x": json!({ "y": SECRET }).to_string() }).to_string() })
            .to_string(),
        r#"{"a":"hun\u0022ter 2\/\u00fc"}"#.to_owned(),
        STANDARD.encode(SECRET),
        STANDARD.encode(format!("user:{SECRET}")),
        URL_SAFE_NO_PAD.encode(format!("me:{SECRET}!")),
        "http://h/?q=hun%22ter%202%2F%C3%BC".to_owned(),
        "http://h/?q=hun%22ter+2%2F%C3%BC&x".to_owned(),
    ] {
        let redacted = redactor.text(&text);
        assert!(redacted.contains(REDACTED), "{text}");
        for part in ["ter 2", "ter+2", "ter%202", "dW4i", "aHVu"] {
            assert!(!redacted.contains(part), "{text} became {redacted}");
        }
    }
}

#[test]
fn names_and_values_show_secrets() {
    let redactor = Redactor::default();
    for (text, redacted) in [
        (
            r#"{"api_key": "abcdefgh1"}"#,
            r#"{"api_key": "<redacted>"}"#,
        ),
        (
            r#"{"Authorization":"x"}"#,
            r#"{"Authorization":"<redacted>"}"#,
        ),
        (
            r#"{"access_token":"abcdefgh"}"#,
            r#"{"access_token":"<redacted>"}"#,
        ),
        (
            r#"{"passwords":["x","y"]}"#,
            r#"{"passwords":["<redacted>","<redacted>"]}"#,
        ),
        (
            r#"{"a":"{\"password\":\"x\"}"}"#,
            r#"{"a":"{\"password\":\"<redacted>\"}"}"#,
        ),
        ("the key sk-abc123def456.", "the key <redacted>."),
        (
            "Authorization: Bearer abc.def-123= !",
            "Authorization: Bearer <redacted> !",
        ),
        (
            "https://me:pw@h/ and password=pw&x",
            "https://me:<redacted>@h/ and password=<redacted>&x",
        ),
    ] {
        assert_eq!(redactor.text(text), redacted);
    }
    for text in [
        r#"{"max_tokens":1024,"key":"color","idempotency_key":"a1b2c3d4e5","next_page_token":"abcdefgh1"}"#,
        r#"{"properties":{"api_key":{"type":"string"}},"required":["api_key"]}"#,
        r#"{"token":"ETH","session_id":"s1","usage":{"input_tokens":12}}"#,
        r#"{"pwd":"/places/me","OLDPWD":"/tmp","Pwd":"C:\\\\x"}"#,
        "sk-learn is fine, the task-runner too, and bearer of bad news",
        "a=b, time=12:30, http://h:8080/x",
    ] {
        assert_eq!(redactor.text(text), text);
    }
}

#[test]
fn escapes_hide_nothing_in_traces() {
    let redactor = Redactor::new(["Gk-T7x99".to_owned()]);
    for (json, redacted) in [
        (r#"{"a":"\u0047\u006b-T7x99"}"#, r#"{"a":"<redacted>"}"#),
        (r#"{"a":"\u0073k-abc123def456"}"#, r#"{"a":"<redacted>"}"#),
        (r#"{"a":"\u00e9 \u0041"}"#, r#"{"a":"\u00e9 \u0041"}"#),
    ] {
        assert_eq!(redactor.json(json), redacted);
    }
}

#[test]
fn places_are_told_and_the_rest_keeps_its_bytes() {
    let text = "{ \"n\": 1.50,\t\"m\":[{\"text\":\"p4ss\\u0021\"},{\"e\":\"\\u00e9\"}] }";
    let redactor = redactor();
    let redacted = redactor.redact(text);
    assert_eq!(
        redacted.text,
        "{ \"n\": 1.50,\t\"m\":[{\"text\":\"<redacted>!\"},{\"e\":\"\\u00e9\"}] }"
    );
    assert_eq!(redacted.places, ["m[0].text"]);
}

#[test]
fn settings_and_short_values_are_no_secrets() {
    let values = ["abc", "info", "true", "8080", "redacted", "", "    "];
    let redactor = Redactor::new(values.map(str::to_owned));
    let text = "abc info is true on 8080, <redacted>    .";
    assert_eq!(redactor.text(text), text);
}

#[test]
fn numbers_that_are_secrets_go_without_breaking_json() {
    let redactor = Redactor::new(["1234567890".to_owned()]);
    let text = redactor
        .text(r#"{"pin":1234567890,"n":12345678901}"#)
        .into_owned();
    assert_eq!(text, r#"{"pin":"<redacted>","n":12345678901}"#);
}

#[test]
fn keys_of_json_are_structure_unless_a_long_secret_is_in_them() {
    let redactor = Redactor::new(["city-x", "a-long-one"].map(str::to_owned));
    let text = r#"{"city-x":"city-x","my a-long-one":1}"#;
    let redacted = r#"{"city-x":"<redacted>","my <redacted>":1}"#;
    assert_eq!(redactor.text(text), redacted);
}

#[test]
fn bytes_that_are_no_text_stay_but_for_the_secrets_in_them() {
    let redactor = redactor();
    let (bytes, places) = redactor
        .bytes(b"\xff\xfe{ p4ss \xc3(\xf4\x8f\xbf\xbf\0")
        .unwrap();
    assert_eq!(bytes, b"\xff\xfe{ <redacted> \xc3(\xf4\x8f\xbf\xbf\0");
    assert_eq!(places, [""]);
    let (bytes, places) = redactor
        .bytes(b"{\"api_key\":\"abcdefgh1\",\"x\": \"\xff\"}")
        .unwrap();
    assert_eq!(bytes, b"{\"api_key\":\"<redacted>\",\"x\": \"\xff\"}");
    assert_eq!(places, ["api_key"]);
    assert_eq!(redactor.bytes(b"\xff nothing"), None);
}

#[test]
fn a_redacted_text_fits_what_it_was() {
    for (redacted, text, expected) in [
        ("a<redacted>b", "aXXb", true),
        ("a<redacted>b", "ab", true),
        ("<redacted>", "anything", true),
        ("a<redacted>b<redacted>b", "a1b2b", true),
        ("a<redacted>b", "a1c", false),
        ("ab", "aXb", false),
        ("same", "same", true),
        ("a<redacted>a", "a", false),
    ] {
        assert_eq!(fits(redacted, text), expected, "{redacted} {text}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(Value::from),
        "[a-z\"\\\\ \u{e9}]{0,6}".prop_map(Value::from),
        Just(Value::from(SECRET)),
        Just(Value::from("n123p4ss\n")),
        Just(
            json!({ "api_key": "abcdefgh1", "x": "Bearer abcdefgh1" })
                .to_string()
                .into()
        ),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{0,5}|token|password", inner.clone()), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            inner.prop_map(|value| Value::from(value.to_string())),
        ]
    })
}

proptest! {
    #[test]
    fn json_stays_json_and_nothing_is_left(value in any_json()) {
        let redactor = redactor();
        let text = json!([value]).to_string();
        let once = redactor.text(&text).into_owned();
        let parsed: Result<Value, _> = serde_json::from_str(&once);
        prop_assert!(parsed.is_ok(), "{} became {}", text, once);
        prop_assert!(!once.contains("p4ss") && !once.contains("ter 2"), "{}", once);
        prop_assert_eq!(redactor.text(&once), once.as_str());
        prop_assert_eq!(Redactor::default().text(&once), once.as_str());
    }

    #[test]
    fn any_text_can_be_looked_at(text in "\\PC{0,60}") {
        let redactor = redactor();
        let once = redactor.text(&text).into_owned();
        prop_assert_eq!(redactor.text(&once), once.as_str());
    }
}

/// What is measured stays readable, even if a part of its Base64 happens to be a secret.
#[test]
fn histograms_of_reports_stay_whole() {
    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Report {
        histogram: String,
        sentence: String,
    }
    let redactor = Redactor::new(["secret22".to_owned()]);
    let report = Report {
        histogram: "HISTFAAAAJ14secret22nC2OwQ==".to_owned(),
        sentence: "HISTFAAA secret22".to_owned(),
    };
    let redacted = redactor.report(&report).unwrap().unwrap();
    assert_eq!(redacted.histogram, report.histogram);
    assert_eq!(redacted.sentence, format!("HISTFAAA {REDACTED}"));
}
