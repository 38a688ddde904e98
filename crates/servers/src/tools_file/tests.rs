use serde_json::json;

use super::*;
use crate::mock::{Answer, When};

fn problems(text: &str) -> Vec<String> {
    let errors = parse(text, "t.yml").unwrap_err();
    errors
        .0
        .iter()
        .map(|error| {
            let place = error
                .place
                .map_or_else(String::new, |place| place.to_string());
            format!(
                "{place} {}; {}",
                error.texts().0,
                error.texts().1.unwrap_or_default()
            )
        })
        .collect()
}

fn spec(text: &str) -> MockSpec {
    parse(text, "t.yml").unwrap().spec
}

#[test]
fn all_spellings_and_wrappers_mean_the_same() {
    let plain = "name: x\ntools: [{ name: a, inputSchema: { type: object, required: [q] } }]";
    let expected = spec(plain);
    for text in [
        "name: x\ntools: [{ name: a, input_schema: { type: object, required: [q] } }]",
        "mock_server: { name: x, tools: [{ name: a, input-schema: { required: [q] } }] }",
        r#"{"name": "x", "tools": [{"name": "a", "inputSchema": {"type": "object", "required": ["q"]}}]}"#,
    ] {
        assert_eq!(spec(text), expected, "{text}");
    }
    let toml = "name = \"x\"\n[[tools]]\nname = \"a\"\ninputSchema = { type = \"object\", required = [\"q\"] }\n";
    assert_eq!(parse(toml, "t.toml").unwrap().spec, expected);
}

#[test]
fn a_recorded_list_is_taken_as_it_is() {
    let tool = r#"{"name":"a","inputSchema":{"type":"object"},"x-own":{"a":1},"_meta":{"k":2}}"#;
    for text in [
        format!(r#"{{"tools":[{tool}],"nextCursor":"c"}}"#),
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"tools":[{tool}],"nextCursor":"c"}}}}"#),
    ] {
        let file = parse(&text, "t.json").unwrap();
        assert_eq!(file.spec.tools[0].listed["x-own"], json!({ "a": 1 }));
        assert!(
            file.warnings[0].to_string().contains("one page"),
            "{:?}",
            file.warnings
        );
    }
    // Characters that only JSON writes so.
    let emoji = r#"[{"name":"a","description":"\ud83d\ude00"}]"#;
    let read = parse(emoji, "t.json").unwrap().spec;
    assert_eq!(read.tools[0].listed["description"], "😀");
}

fn error(answer: &Answer) -> serde_json::Value {
    let Answer::Error(error) = answer else {
        panic!("{answer:?}")
    };
    error.render(&serde_json::Map::new()).unwrap()
}

#[test]
fn rules_are_in_order_and_the_fixed_response_is_last() {
    let read = spec(
        "tools: [{ name: a, response: last, responses: [{ when: { n: 1 }, sequence: [x, { error: { message: e } }] }, { response: 5 }] }]",
    );
    let rules = &read.tools[0].rules;
    assert_eq!(rules.len(), 3);
    assert_eq!(
        rules[0].when,
        When::Has(json!({ "n": 1 }).as_object().unwrap().clone())
    );
    assert_eq!(error(&rules[0].answers[1])["code"], -32000);
    assert_eq!(rules[1].answers[0], Answer::text("5").unwrap());
    assert_eq!(rules[2].answers[0], Answer::text("last").unwrap());
}

#[test]
fn every_problem_has_its_place_and_a_hint() {
    let text = "\
nmae: x
tools:
  - name: a
    inputSchema: { properties: { q: { type: strnig } } }
    response: { contents: [x] }
  - name: a
    responses:
      - { when: { q: 1 } }
      - { response: x, error: { message: y } }
      - { sequence: [] }
      - { error: { code: x } }
    response: \"${args.q\"
  - description: nameless
resources: [{ uri: u, text: a, blob: b }, { uri: v, blob: \"%\" }]
prompts: [{ name: p, messages: [{ role: usr, content: x }, { content: { text: x } }] }]
pageSize: 0
";
    let found = problems(text);
    let expected = [
        "1:1 unknown key \"nmae\" in the file; did you mean \"name\"?",
        "4:45 `inputSchema`: the schema is invalid",
        "5:15 a whole result has `content` or `structuredContent`; write a text",
        "6:5 two tools are called \"a\"; give one",
        "8:9 response 1 of tool `a` needs one of `response`, `error` and `sequence`; add",
        "9:9 response 2 of tool `a` needs one of `response`, `error` and `sequence`; keep",
        "10:21 `sequence` must be a list that is not empty, not a list; write",
        "11:18 `error` has no `message`; add",
        "11:26 `code` must be a whole number, not \"x\"; write",
        "12:15 `${` without `}`; write ${args.NAME}",
        "13:5 tool 3 has no `name`; add",
        "14:13 resource 1 has both `text` and `blob`; give",
        "14:59 `blob` must be bytes in base64, not \"%\"; as",
        "15:41 unknown `role` \"usr\"; did you mean \"user\"?",
        "15:71 a block of content is a text, or a map with `type`; write",
        "16:11 `pageSize` must be a whole number from 1 to 1000000, not 0; use 1 or more",
    ];
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}\nexpected {expected}");
    }
    assert_eq!(found.len(), expected.len(), "{found:#?}");
}

#[test]
fn what_is_no_tools_file_says_so() {
    for (text, file, expected) in [
        ("", "t.yml", "there are no tools in it"),
        ("{}", "t.json", "there are no tools in it"),
        ("[]", "t.json", "there are no tools in it"),
        ("[]", "t.yml", "there are no tools in it"),
        ("{\"tools\": []}", "t.json", "there are no tools in it"),
        ("tools: []", "t.yml", "there are no tools in it"),
        (
            "name = \"x\"\ntools = []",
            "t.toml",
            "there are no tools in it",
        ),
        (
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"no\"}}",
            "t.json",
            "this is an error that a server answered",
        ),
        ("just text", "t.yml", "the file must be a map, not a text"),
        ("{\"tools\": [}", "t.json", "not valid JSON"),
        ("tools: [", "t.yml", "not valid YAML"),
        ("tools = [", "t.toml", ""),
        (
            "{\"jsonrpc\":\"2.0\",\"result\":{}}",
            "t.json",
            "has no `tools`",
        ),
        (
            "{\"ts\":0,\"kind\":\"crash\"}\n",
            "t.jsonl",
            "nothing was recorded",
        ),
        (
            "{\"ts\":0,\"kind\":\"crash\"}\n{",
            "t.jsonl",
            "not a line of trace.v1",
        ),
    ] {
        let errors = parse(text, file).unwrap_err().to_string();
        assert!(errors.contains(expected), "{text}: {errors}");
    }
    let huge = format!("# {}\n", "x".repeat(FILE_BYTES_MAX));
    assert!(
        parse(&huge, "t.yml")
            .unwrap_err()
            .to_string()
            .contains("4 MiB")
    );
    let missing = read(Path::new("no/such/tools.yml"))
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains("hint: check the path of the tools file"),
        "{missing}"
    );
}

#[test]
fn without_a_name_a_server_is_called_as_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("weather.yml");
    std::fs::write(&path, "tools: [{ name: a }]").unwrap();
    assert_eq!(read(&path).unwrap().spec.name, "weather");
}

#[test]
fn a_trace_answers_as_it_was_answered() {
    let trace = r#"{"schema":"trace.v1","ts":0,"kind":"request","session":0,"request_id":1,"method":"tools/call","tool":"a","params":{"name":"a","arguments":{"q":1}}}
{"ts":1,"kind":"request","session":1,"request_id":1,"method":"tools/call","tool":"a","params":{"name":"a","arguments":{"q":1.0}}}
{"ts":2,"kind":"error","session":1,"request_id":1,"method":"tools/call","tool":"a","error":{"category":"ServerError","message":"no (code -7)","code":-7,"server_message":"no"}}
{"ts":3,"kind":"response","session":0,"request_id":1,"method":"tools/call","tool":"a","result":{"content":[{"type":"text","text":"${args.q}"}]}}
{"ts":4,"kind":"request","session":0,"request_id":2,"method":"tools/call","tool":"a","params":{"name":"a","arguments":{"q":2}}}
{"ts":5,"kind":"response","session":0,"request_id":2,"method":"tools/call","tool":"a","cut":"{","cut_bytes":9}
{"ts":6,"kind":"request","session":0,"request_id":3,"method":"tools/call","tool":"a","params":{"name":"a","arguments":{"q":3}}}
{"ts":7,"kind":"error","session":0,"request_id":3,"method":"tools/call","tool":"a","error":{"category":"Timeout","message":"late"}}
{"ts":8,"kind":"request","session":0,"request_id":4,"method":"tools/call","tool":"a","cut":"{","cut_bytes":9}
"#;
    let file = parse(trace, "t.jsonl").unwrap();
    assert!(
        file.warnings[0]
            .to_string()
            .contains("1 requests were recorded in part")
    );
    assert!(
        file.warnings[1]
            .to_string()
            .contains("1 answers were recorded in part"),
        "{:?}",
        file.warnings
    );
    let rules = &file.spec.tools[0].rules;
    assert_eq!(rules.len(), 1);
    // In the order in which they were asked, though the second was answered first.
    let none = serde_json::Map::new();
    let Answer::Result(first) = &rules[0].answers[0] else {
        panic!("{rules:?}")
    };
    assert_eq!(
        first.render(&none).unwrap()["content"][0]["text"],
        "${args.q}"
    );
    let told = serde_json::json!({ "code": -7, "message": "no" });
    assert_eq!(error(&rules[0].answers[1]), told);
}

#[test]
fn the_schema_takes_what_the_reader_takes() {
    let schema = serde_json::to_value(schema()).unwrap();
    let validator = mcprove_settings::json_schema::compile(
        &schema,
        None,
        mcprove_settings::json_schema::Remote::Refused,
    )
    .unwrap();
    for text in [
        "tools: [{ name: a, input_schema: { type: object }, response: 5, responses: [{ when: { a: 1 }, sequence: [x, { error: { message: m } }] }] }]",
        "mock_server: { tools: [{ name: a, response: { content: [x], isError: true } }] }",
        "prompts: [{ name: p, arguments: [a, { name: b }], messages: [x, { role: user, content: { type: text, text: y } }] }]",
        "pageSize: 2\nresources: [{ uri: u, mime_type: t, text: x }]\nresourceTemplates: [{ uri_template: u, text: x }]",
    ] {
        parse(text, "t.yml").unwrap();
        let value = Document::from_yaml(text, "t.yml")
            .unwrap()
            .root
            .to_json()
            .unwrap();
        assert!(
            validator.is_valid(&value),
            "{text}: {:?}",
            validator.iter_errors(&value).next()
        );
    }
    for text in [
        "tools: [{ response: x }]",
        "tols: []",
        "tools: [{ name: a, respones: x }]",
    ] {
        assert!(parse(text, "t.yml").is_err());
        let value = Document::from_yaml(text, "t.yml")
            .unwrap()
            .root
            .to_json()
            .unwrap();
        assert!(!validator.is_valid(&value), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,200}", at in 0_usize..2_000, length in 0_usize..40) {
        let _ = parse(&text, "t.yml");
        let _ = parse(&text, "t.json");
        let _ = crate::mock::Template::texts(text.clone().into()).map(|template| template.render(&serde_json::Map::new()));
        // The example with a hole, and with the text in it.
        let mut example = include_str!("../../../../examples/mock/tools.yml").to_owned();
        let end = (at + length).min(example.len());
        if example.is_char_boundary(at) && example.is_char_boundary(end) && at <= end {
            example.replace_range(at..end, &text);
        }
        if let Ok(file) = parse(&example, "t.yml") {
            let _ = crate::mock::Mock::new(file.spec, crate::mock::MockOptions::default());
        }
    }
}

#[test]
fn address_patterns_that_nothing_can_fit_are_problems() {
    for (pattern, expected) in [
        ("q://{a}{b}", "nothing stands between two variables"),
        ("q://x{?q}", "{?q} is not a known variable"),
        ("q://{a,b}", "{a,b} is not a known variable"),
        ("q://{}", "{} is not a known variable"),
        ("q://{a", "a `{` has no `}`"),
    ] {
        let text = format!("resourceTemplates:\n  - uriTemplate: \"{pattern}\"\n    text: x\n");
        let found = problems(&text);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("2:18 "), "{found:?}");
        assert!(found[0].contains(expected), "{found:?}");
    }
    spec("resourceTemplates: [{ uriTemplate: \"q://{a}/{+b}\", text: x }]");
}
