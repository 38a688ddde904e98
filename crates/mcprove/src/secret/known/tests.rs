use serde_json::json;

use super::*;

const NASTY: &str = "p4ss\"<w&'ord>\nsecond line\\ of it\nü3";

fn known(secrets: &[&str]) -> KnownSecrets {
    KnownSecrets::new(secrets.iter().map(ToString::to_string))
}

fn has_part(text: &str) -> bool {
    ["p4ss", "ord", "second", "of it"]
        .iter()
        .any(|part| text.contains(part))
}

#[test]
fn every_form_is_taken_out() {
    let secrets = known(&[NASTY]);
    let json = json!({ "text": NASTY }).to_string();
    let html = NASTY
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let html = html.replace('"', "&quot;").replace('\'', "&#39;");
    for text in [
        NASTY.to_owned(),
        json.clone(),
        json!({ "inner": json }).to_string(),
        format!("{NASTY:?}"),
        "p4ss\"<w&'ord>\\nsecond line\\\\ of it\\n\\u00fc3".to_owned(),
        html,
        NASTY.replace('\n', " "),
    ] {
        let masked = secrets.text(&text).unwrap_or_else(|| panic!("{text}"));
        assert!(!has_part(&masked), "{text} became {masked}");
        assert_eq!(secrets.text(&masked), None, "{masked}");
    }
    for line in NASTY.lines().take(2) {
        assert_eq!(
            secrets.text(&format!("log: {line}")).unwrap(),
            "log: <redacted>"
        );
    }
}

#[test]
fn no_part_is_left_beside_a_cut() {
    let secret = "s3cret-value-0123456789";
    let secrets = known(&[secret]);
    for length in 4..secret.len() {
        let begin = &secret[..length];
        assert_eq!(
            secrets.text(&format!("x {begin}… y")).unwrap(),
            "x <redacted>… y"
        );
        let end = &secret[secret.len() - length..];
        assert_eq!(
            secrets.text(&format!("ends with: …{end} y")).unwrap(),
            "ends with: …<redacted> y"
        );
    }
    assert_eq!(secrets.text("s3c… 789"), None);
    assert_eq!(secrets.text("x s3cret-value"), None, "nothing was cut here");
    let json = json!({ "text": format!("a\"{}…", &NASTY[..12]) }).to_string();
    let masked = known(&[NASTY]).text(&json).unwrap();
    assert!(!has_part(&masked), "{masked}");
}

#[test]
fn words_of_settings_and_short_values_stay() {
    let secrets = known(&["abc", "true", "info", "8080", "1.25", ""]);
    assert!(secrets.is_empty());
}

#[test]
fn files_are_blotted_in_place() {
    let secrets = known(&["hunter22-x", "12345678", "name"]);
    let line = "{\"name\":\"hunter22-x\",\"n\":12345678,\"t\":0.123456789,\"cut\":\"hunter2\",\"cut_bytes\":9}\n";
    let mut piece = line.as_bytes().to_vec();
    assert!(secrets.blot(&mut piece, false));
    let after = String::from_utf8(piece).unwrap();
    assert_eq!(
        after,
        "{\"name\":\"**********\",\"n\":99999999,\"t\":0.123456789,\"cut\":\"*******\",\"cut_bytes\":9}\n"
    );
    let mut end = b"the log ends in hunter2".to_vec();
    assert!(!secrets.blot(&mut end.clone(), false) && secrets.blot(&mut end, true));
    assert_eq!(end, b"the log ends in *******");
}

#[test]
fn values_lose_them_everywhere() {
    let mut value = json!({ "hunter22": ["a hunter22 b", 12_345_678, 1] });
    known(&["hunter22", "12345678"]).mask_value(&mut value);
    assert_eq!(
        value,
        json!({ "<redacted>": ["a <redacted> b", "<redacted>", 1] })
    );
}
