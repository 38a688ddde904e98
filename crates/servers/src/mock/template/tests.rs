use super::*;
use serde_json::json;

fn made(template: &Value, arguments: &Value) -> Value {
    let template = Template::parse(template.clone()).unwrap();
    template.render(arguments.as_object().unwrap()).unwrap()
}

#[test]
fn arguments_stand_for_themselves_at_any_depth() {
    let arguments = json!({ "q": "x", "n": 1.5, "list": [1, { "k": true }], "none": null });
    for (template, expected) in [
        (json!("found ${args.q}!"), json!("found x!")),
        (json!("${args.q}${args.n}"), json!("x1.5")),
        (json!("${args.n}"), json!(1.5)),
        (json!("${args.list}"), json!([1, { "k": true }])),
        (json!("${args.list.1.k}"), json!(true)),
        (json!("is ${args.list.1}"), json!("is {\"k\":true}")),
        (
            json!({ "a": [{ "b": "${args.q}" }, 7, null] }),
            json!({ "a": [{ "b": "x" }, 7, null] }),
        ),
        (json!("${args.none}"), json!(null)),
        (json!("${args.missing}"), json!("")),
        (json!("<${args.missing.deep}>"), json!("<>")),
        (json!("${args.q.no}"), json!("")),
        (
            json!("cost $5, $${args.q} and ${args.q}"),
            json!("cost $5, ${args.q} and x"),
        ),
        (json!(""), json!("")),
    ] {
        assert_eq!(made(&template, &arguments), expected, "{template}");
    }
}

#[test]
fn the_content_of_a_result_is_made_of_texts() {
    let result = json!({
        "content": [{ "type": "text", "text": "${args.n}" }],
        "structuredContent": { "n": "${args.n}" },
    });
    let template = Template::answer(result).unwrap();
    let made = template
        .render(json!({ "n": 5 }).as_object().unwrap())
        .unwrap();
    assert_eq!(made["content"][0]["text"], "5");
    assert_eq!(made["structuredContent"]["n"], 5);
}

#[test]
fn an_argument_with_places_is_not_a_template() {
    let arguments = json!({ "a": "${args.b}", "b": "secret" });
    assert_eq!(made(&json!("${args.a} "), &arguments), "${args.b} ");
}

#[test]
fn what_is_no_place_is_an_error() {
    assert_eq!(Template::texts("${args.x".into()), Err(TemplateError::Open));
    for text in [
        "${HOME}",
        "${}",
        "${args}",
        "${args.}",
        "${args.a..b}",
        "${arg.x}",
    ] {
        let error = Template::texts(text.into()).unwrap_err();
        assert!(matches!(error, TemplateError::NotAnArgument(_)), "{text}");
    }
}

#[test]
fn an_answer_has_a_largest_size() {
    let places = "${args.x}".repeat(1_000);
    let template = Template::texts(places.into()).unwrap();
    let arguments = json!({ "x": "y".repeat(RENDERED_BYTES_MAX / 999) });
    assert_eq!(template.render(arguments.as_object().unwrap()), None);
    let arguments = json!({ "x": "y" });
    assert!(template.render(arguments.as_object().unwrap()).is_some());
}
