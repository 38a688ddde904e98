use serde_json::json;

use super::*;

#[test]
fn paths_of_this_machine_are_no_secrets() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let environment = Environment::new(|_| None);
    environment.note(&path);
    environment.note("/no/such/folder-at-all");
    let secrets: Vec<String> = environment.secrets().into_iter().collect();
    assert_eq!(secrets, ["/no/such/folder-at-all"]);
}

#[test]
fn parts_of_names_are_no_secrets() {
    let environment = Environment::new(|_| None);
    for value in ["demo", "hunter22", "search", "items", "password-1234"] {
        environment.note(value);
    }
    environment.note_name("the-demo");
    environment.note_name("hunter22-server");
    let names = ["search_items", "leak_password-1234"].map(str::to_owned);
    let secrets = environment.secrets_beside(&names.into());
    // What a server puts into a name stays a secret, unless it is a word.
    assert_eq!(Vec::from_iter(secrets), ["password-1234"]);
    assert_eq!(environment.secrets().len(), 3);
}

#[test]
fn variables_are_filled_in_and_noted() {
    let environment = Environment::new(|name| (name == "TOKEN").then(|| "hunter2".to_owned()));
    let fill = |text: &str| environment.fill(text);
    assert_eq!(fill("Bearer ${TOKEN}!").unwrap(), "Bearer hunter2!");
    assert_eq!(
        fill("${OTHER:-none} $5 $${TOKEN}").unwrap(),
        "none $5 ${TOKEN}"
    );
    let empty = Environment::new(|_| Some(String::new()));
    assert_eq!(empty.fill("${A:-d}${A}!").unwrap(), "d!");
    assert_eq!(fill("${OTHER}"), Err(FillError::Unset("OTHER".into())));
    assert_eq!(fill("a ${TOKEN"), Err(FillError::Open("a ${TOKEN".into())));
    let filled = environment.fill_value(&json!({ "a": ["${TOKEN}", 1] }));
    assert_eq!(filled.unwrap(), json!({ "a": ["hunter2", 1] }));
    assert!(environment.secrets().contains("hunter2"));
    assert!(!format!("{environment:?}").contains("hunter2"));
}
