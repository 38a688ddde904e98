use http::HeaderValue;

use super::*;

fn keys() -> ApiKeys {
    let mut keys = ApiKeys::default();
    keys.add_lines("# users\nada=first-key\n\n  grace=second=key  \n")
        .unwrap();
    keys
}

fn authorise(name: &'static str, value: &str) -> Result<Option<Identity>, Unauthorised> {
    let mut headers = HeaderMap::new();
    headers.insert(name, HeaderValue::from_str(value).unwrap());
    keys().authorise(&headers)
}

fn user(outcome: Result<Option<Identity>, Unauthorised>) -> Option<String> {
    outcome.ok().flatten().map(|identity| identity.user)
}

#[test]
fn a_key_is_taken_in_both_headers() {
    assert_eq!(
        user(authorise("authorization", "Bearer first-key")).as_deref(),
        Some("ada")
    );
    assert_eq!(
        user(authorise("authorization", "bearer  second=key")).as_deref(),
        Some("grace")
    );
    assert_eq!(
        user(authorise("x-api-key", "first-key")).as_deref(),
        Some("ada")
    );
}

#[test]
fn anything_else_is_refused() {
    let wrong = [
        "first-ke",
        "first-keyy",
        "First-key",
        "",
        "first-key\u{20}second=key",
        "second",
    ];
    for key in wrong {
        let refused = authorise("x-api-key", key).unwrap_err();
        assert!(refused.challenge.contains("invalid_token"), "{key:?}");
    }
    assert!(authorise("authorization", "Basic first-key").is_err());
    assert!(authorise("authorization", "Bea").is_err());
    let missing = keys().authorise(&HeaderMap::new()).unwrap_err();
    assert!(!missing.challenge.contains("invalid_token"));
    assert_eq!(ApiKeys::default().authorise(&HeaderMap::new()), Ok(None));
}

#[test]
fn keys_that_cannot_work_are_refused_at_the_start() {
    let mut keys = keys();
    assert_eq!(keys.add(" "), Err(KeyError::Empty));
    assert_eq!(keys.add("ada=other"), Err(KeyError::Twice("ada".into())));
    let name = "key-3".to_owned();
    assert_eq!(keys.add("two words"), Err(KeyError::Unusable(name.clone())));
    assert_eq!(keys.add(&"k".repeat(5_000)), Err(KeyError::Unusable(name)));
    assert!(!format!("{keys:?}").contains("first-key"));
}
