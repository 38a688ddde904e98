use std::fmt::Write as _;

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
fn letters_may_be_written_by_their_numbers() {
    let secrets = known(&["GkT7x-Secret"]);
    let each = |form: fn(u8) -> String| "GkT7x-Secret".bytes().map(form).collect::<String>();
    for text in [
        each(|byte| format!("\\u{byte:04x}")),
        each(|byte| format!("\\\\u{byte:04X}")),
        each(|byte| format!("\\x{byte:02x}")),
        each(|byte| format!("%{byte:02X}")),
        each(|byte| format!("%25{byte:02X}")),
        each(|byte| format!("&#{byte};")),
        each(|byte| format!("&#x{byte:x};")),
        "Gk\\u0054\\u0037x%2DSecret".to_owned(),
        "\\u0047kT7x-Secre\\u0074".to_owned(),
    ] {
        let whole = secrets.text(&format!("a {text} b"));
        assert_eq!(whole.as_deref(), Some("a <redacted> b"), "{text}");
        assert!(secrets.may_have(text.as_bytes()), "{text}");
    }
    for text in ["\\u0047kT7x", "100%\n", "a & b", "\\u0048kT7x-Secret"] {
        assert_eq!(secrets.text(text), None, "{text}");
        assert_eq!(
            secrets.pending(format!("{text}\n").as_bytes()),
            text.len() + 1
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
    assert_eq!(secrets.secrets.len(), 0);
}

#[test]
fn names_of_fields_lose_long_ones_only() {
    let secrets = known(&["hunter22", "city-x"]);
    assert_eq!(
        secrets.name("my hunter22").as_deref(),
        Some("my <redacted>")
    );
    assert_eq!(secrets.name("city-x"), None);
}

/// As PHP writes JSON.
fn with_slashes_escaped(text: &str) -> String {
    json!(text).to_string().replace('/', "\\/")
}

/// As Python writes JSON: nothing but ASCII.
fn in_ascii(text: &str) -> String {
    let mut ascii = String::new();
    let mut pair = [0; 2];
    for letter in json!(text).to_string().chars() {
        if letter.is_ascii() {
            ascii.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut pair) {
                write!(ascii, "\\u{unit:04x}").unwrap();
            }
        }
    }
    ascii
}

fn on_page(text: &str, double: &str, single: &str, slash: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let text = text.replace('>', "&gt;").replace('"', double);
    text.replace('\'', single).replace('/', slash)
}

/// As Python shows a text.
fn represented(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\n', "\\n");
    format!("'{}'", text.replace('\'', "\\'"))
}

fn in_address(text: &str) -> String {
    let of = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(of).collect()
}

#[test]
fn no_spelling_hides_them_however_often_it_is_escaped() {
    let hidden = [
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "pässwörtchen9",
        "pa\"ss\\word\"is\"long",
        "it's <a> & \\\\b\\ '\"/",
        "smile 😀 twice 😀!",
        "100%25 of &amp; it",
        "tab\tand\r\nline",
        NASTY,
    ];
    for secret in hidden {
        let secrets = known(&[secret]);
        let bases = [
            secret.to_owned(),
            json!(secret).to_string(),
            in_ascii(secret),
            with_slashes_escaped(secret),
            in_ascii(secret).replace('/', "\\/"),
            represented(secret),
            format!("{secret:?}"),
            on_page(secret, "&quot;", "&#x27;", "/"),
            on_page(secret, "&#34;", "&#39;", "/"),
            on_page(secret, "&quot;", "&#39;", "&#x2F;"),
            on_page(secret, "&quot;", "&#039;", "/"),
            in_address(secret),
            in_address(secret).to_lowercase().replace("%20", "+"),
        ];
        for base in bases {
            // Lower case is another secret but where nothing of it was large.
            if base == base.to_lowercase() && secret != secret.to_lowercase() {
                continue;
            }
            let again = [&json!(base).to_string(), &in_ascii(&base), &base];
            for once in again {
                for text in [
                    once.clone(),
                    json!({ "t": once }).to_string(),
                    in_ascii(&format!("a {once}")),
                    on_page(once, "&quot;", "&#39;", "/"),
                ] {
                    let masked = secrets.text(&text);
                    let masked = masked.unwrap_or_else(|| panic!("{secret:?} stays in {text}"));
                    let rest = masked.replace(REDACTED, "");
                    let parts = secret.split(|letter: char| !letter.is_ascii_alphanumeric());
                    let mut parts = parts.filter(|part| part.len() > 3 && *part != "quot");
                    assert!(
                        parts.all(|part| !rest.contains(part)),
                        "{secret:?} in {text} became {masked}"
                    );
                }
            }
        }
    }
}

#[test]
fn cuts_within_a_spelling_leave_nothing() {
    let secret = "pässwörtchen9-\"of mine";
    let secrets = known(&[secret]);
    let text = in_ascii(secret);
    let text = text.trim_matches('"');
    for length in 10..text.len() {
        let (begin, end) = text.split_at(length);
        let masked = secrets.text(&format!("x {begin}… y")).unwrap();
        assert_eq!(masked, "x <redacted>… y", "{begin}");
        if text.len() - length > 6 {
            let masked = secrets.text(&format!("got …\"{end} y")).unwrap();
            assert_eq!(masked, "got …<redacted> y", "{end}");
        }
    }
}

#[test]
fn words_of_formats_are_none() {
    let secrets = known(&[
        "tool_use",
        "content",
        "function",
        "assistant",
        "completed",
        "tool",
    ]);
    assert_eq!(secrets.secrets.len(), 0);
}

#[test]
fn a_megabyte_of_backslashes_is_read_through() {
    let secrets = KnownSecrets::new(["$ecret\\of\\mine!".to_owned()]);
    let many = "\\".repeat(1_000_000);
    assert_eq!(secrets.text(&many), None);
    let found = secrets.text(&format!("{many} $ecret\\\\of\\\\mine!"));
    assert!(found.is_some_and(|text| text.ends_with(" <redacted>")));
}

#[test]
fn a_secret_that_begins_as_a_sign_hides_no_sign() {
    let secrets = known(&["=k3y-of-mine"]);
    assert!(secrets.may_have(b"password=hunter2"));
    assert!(!secrets.may_have(b"no sign"));
}

#[test]
fn what_breaks_off_in_an_unknown_escape_is_a_part() {
    let secrets = known(&["key>of<mine"]);
    let found = secrets.found(b"a key>of\\q!", true);
    assert_eq!(found.first(), Some(&(2..11)));
}

#[test]
fn one_that_is_whole_waits_for_nothing() {
    let text = br#"T$6"}\\GM"#;
    let secret: Letters = r#"T$6"}\GM"#.chars().collect();
    let found = along(&secret, text, 0, 0);
    assert_eq!((found.end, found.is_cut), (Some(text.len()), false));
}

#[test]
fn an_escape_has_64_backslashes_at_most() {
    let secrets = known(&["ab\"cd-ef"]);
    let text = |count: usize| format!("ab{}\"cd-ef", "\\".repeat(count));
    assert_eq!(secrets.text(&text(64)).as_deref(), Some("<redacted>"));
    assert_eq!(secrets.text(&text(100)), None);
}

#[test]
fn one_backslash_may_be_of_the_secret_and_of_an_escape() {
    let secrets = known(&["\\ü>of-mine"]);
    let masked = secrets.text(r"a \xc3\xbc>of-mine b");
    assert_eq!(masked.as_deref(), Some("a <redacted> b"));
}
