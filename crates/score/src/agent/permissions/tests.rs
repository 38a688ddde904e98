use crate::gate::Gates;
use harness::values::json_values;
use mcprove_trace::{AgentRun, AgentTrace, ToolCall};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing;

fn rule(tool: &str) -> Rule {
    Rule {
        tool: tool.into(),
        server: None,
        args: Predicates::default(),
    }
}

fn on(server: &str, rule: Rule) -> Rule {
    Rule {
        server: Some(server.into()),
        ..rule
    }
}

fn with(path: &str, matcher: &Value, mut rule: Rule) -> Rule {
    rule.args
        .0
        .insert(path.into(), Matcher::from_value(matcher).unwrap());
    rule
}

fn call(name: &str, args: Value) -> ToolCall {
    ToolCall {
        name: name.into(),
        args: args.into(),
        ..ToolCall::default()
    }
}

fn violations(call: &ToolCall, allow: Option<Vec<Rule>>, deny: Vec<Rule>) -> u64 {
    let block = PermissionsBlock { allow, deny };
    check_permissions(std::slice::from_ref(call), &block)
        .unwrap()
        .violations
}

#[test]
fn deny_wins_and_allow_is_a_list_of_all_there_is() {
    let read = call("read_file", json!({}));
    let delete = call("delete_file", json!({}));
    let cases = [
        (&read, None, vec![], 0),
        (&delete, None, vec![rule("delete_*")], 1),
        (&read, None, vec![rule("delete_*")], 0),
        (&read, Some(vec![rule("read_*")]), vec![], 0),
        (&delete, Some(vec![rule("read_*")]), vec![], 1),
        (&read, Some(vec![]), vec![], 1),
        (&delete, Some(vec![rule("*")]), vec![rule("delete_file")], 1),
        (&read, Some(vec![rule("*")]), vec![rule("delete_file")], 0),
    ];
    for (call, allow, deny, expected) in cases {
        let words = format!("{} {allow:?} {deny:?}", call.name);
        assert_eq!(violations(call, allow, deny), expected, "{words}");
    }
}

#[test]
fn arguments_decide_too() {
    let etc = || with("path", &json!({"starts_with": "/etc"}), rule("write_file"));
    let cases = [
        (json!({"path": "/etc/passwd"}), 1),
        (json!({"path": "/tmp/x"}), 0),
        // What is absent matches nothing.
        (json!({}), 0),
        (json!("{broken"), 0),
    ];
    for (args, denied) in cases {
        let made = call("write_file", args.clone());
        assert_eq!(violations(&made, None, vec![etc()]), denied, "{args}");
        assert_eq!(
            violations(&made, Some(vec![etc()]), vec![]),
            1 - denied,
            "{args}"
        );
    }
    // Every predicate must hold, and paths go deep.
    let both = || {
        let rule = with(
            "options.tags[*]",
            &json!({"contains": "force"}),
            rule("push"),
        );
        with("branch", &json!({"exact": "main"}), rule)
    };
    for (args, denied) in [
        (
            json!({"branch": "main", "options": {"tags": ["force-with-lease"]}}),
            1,
        ),
        (json!({"branch": "main", "options": {"tags": []}}), 0),
        (json!({"branch": "dev", "options": {"tags": ["force"]}}), 0),
    ] {
        assert_eq!(
            violations(&call("push", args.clone()), None, vec![both()]),
            denied,
            "{args}"
        );
    }
}

#[test]
fn an_unknown_server_cannot_be_judged() {
    let on_prod = ToolCall {
        server: Some("prod".into()),
        ..call("query", json!({}))
    };
    let unknown = call("query", json!({}));
    let rule_on = |server: &str| on(server, rule("query"));
    assert_eq!(violations(&on_prod, None, vec![rule_on("prod")]), 1);
    assert_eq!(violations(&on_prod, None, vec![rule_on("pro*")]), 1);
    assert_eq!(violations(&on_prod, None, vec![rule_on("test")]), 0);
    assert_eq!(violations(&unknown, None, vec![rule_on("*")]), 1);
    let block = |allow, deny| PermissionsBlock { allow, deny };
    for block in [
        block(None, vec![rule_on("prod")]),
        block(Some(vec![rule_on("prod")]), vec![]),
    ] {
        let error = check_permissions(std::slice::from_ref(&unknown), &block).unwrap_err();
        assert_eq!(
            error.message,
            "call 0, `query`, cannot be judged by the rule `query` of `prod`: the trace does not have its server"
        );
    }
    // Where something else decides, it does not matter.
    for (allow, deny, expected) in [
        (None, vec![rule_on("prod"), rule("query")], 1),
        (Some(vec![rule("read")]), vec![rule_on("prod")], 1),
        (Some(vec![rule_on("prod"), rule("query")]), vec![], 0),
        (None, vec![on("prod", rule("other"))], 0),
        (
            None,
            vec![with("x", &json!({"exact": 1}), rule_on("prod"))],
            0,
        ),
    ] {
        assert_eq!(violations(&unknown, allow, deny), expected);
    }
}

#[test]
fn what_a_matcher_is_not_about_cannot_be_judged() {
    let large = with("amount", &json!({"schema": {"minimum": 1000}}), rule("pay"));
    let block = PermissionsBlock {
        deny: vec![large],
        ..PermissionsBlock::default()
    };
    let judge = |amount: Value| {
        let call = call("pay", json!({ "amount": amount }));
        let report = check_permissions(std::slice::from_ref(&call), &block);
        report.map(|report| report.violations)
    };
    assert_eq!(judge(json!(5000)).unwrap(), 1);
    assert_eq!(judge(json!(5)).unwrap(), 0);
    let error = judge(json!("5000")).unwrap_err();
    assert!(
        error.message.rendered().contains("another kind of value"),
        "{error}"
    );
}

#[test]
fn unknown_arguments_cannot_be_judged() {
    let unknown = call("write_file", Value::Null);
    let etc = || with("path", &json!({"starts_with": "/etc"}), rule("write_*"));
    let block = |allow, deny| PermissionsBlock { allow, deny };
    for block in [block(None, vec![etc()]), block(Some(vec![etc()]), vec![])] {
        let error = check_permissions(std::slice::from_ref(&unknown), &block).unwrap_err();
        assert_eq!(
            error.message,
            "call 0, `write_file`, cannot be judged by the rule `write_*` with path starts with \
             \"/etc\": the trace does not have its arguments"
        );
    }
    // Where something else decides, or the rule does not ask, it does not matter.
    let other = || with("path", &json!({"starts_with": "/etc"}), rule("read_*"));
    for (allow, deny, expected) in [
        (None, vec![etc(), rule("write_*")], 1),
        (Some(vec![rule("read")]), vec![etc()], 1),
        (Some(vec![etc(), rule("*")]), vec![], 0),
        (None, vec![other()], 0),
        (None, vec![rule("write_file")], 1),
    ] {
        assert_eq!(violations(&unknown, allow, deny), expected);
    }
    // One run that cannot be judged leaves the others judged.
    let bad = call("write_file", json!({"path": "/etc/x"}));
    let block = PermissionsBlock {
        deny: vec![etc()],
        ..PermissionsBlock::default()
    };
    let card = scored(&[&[unknown], &[bad]], block).unwrap();
    assert_eq!(
        (card.found.errors.len(), card.found.errors[0].run),
        (1, Some(0))
    );
    assert_eq!(
        (card.found.failures.len(), card.found.failures[0].run),
        (1, Some(1))
    );
}

#[test]
fn a_rule_may_have_the_server_in_the_name() {
    let on_files = ToolCall {
        server: Some("files".into()),
        ..call("delete", json!({}))
    };
    for (tool, expected) in [
        ("files__delete", 1),
        ("mcp__files__delete", 1),
        ("files__*", 1),
        ("mcp__files__*", 1),
        ("*__delete", 1),
        ("mail__delete", 0),
        ("files*", 0),
    ] {
        assert_eq!(
            violations(&on_files, None, vec![rule(tool)]),
            expected,
            "{tool}"
        );
        let allowed = violations(&on_files, Some(vec![rule(tool)]), vec![]);
        assert_eq!(allowed, 1 - expected, "{tool}");
    }
    let block = PermissionsBlock {
        deny: vec![rule("files__delete")],
        ..PermissionsBlock::default()
    };
    let error = check_permissions(&[call("delete", json!({}))], &block).unwrap_err();
    assert!(
        error
            .message
            .rendered()
            .contains("does not have its server"),
        "{error}"
    );
}

#[test]
fn an_argument_that_no_call_has_is_told() {
    let deny = || {
        vec![
            with("pth", &json!({"starts_with": "/etc"}), rule("write_*")),
            with("path", &json!({"starts_with": "/etc"}), rule("write_*")),
            with("path", &json!({"starts_with": "/etc"}), rule("read_*")),
        ]
    };
    let block = PermissionsBlock {
        deny: deny(),
        ..PermissionsBlock::default()
    };
    let write = |args| [call("write_file", args)];
    let card = scored(&[&write(json!({})), &write(json!({"path": "/tmp"}))], block).unwrap();
    assert_eq!(
        card.found.notes,
        ["permissions: args.pth of deny[0] was in no call of `write_*`; is it spelt right?"]
    );
}

#[test]
fn a_wrong_path_is_an_error() {
    let block = PermissionsBlock {
        deny: vec![rule("a"), with("x[-1]", &json!({"exact": 1}), rule("b"))],
        ..PermissionsBlock::default()
    };
    let error = check_permissions(&[], &block).unwrap_err();
    assert_eq!(
        error.message,
        "deny[1] has a wrong path, \"x[-1]\": an index is never negative, but one is at character 3"
    );
    assert_eq!(error.target.as_deref(), Some("permissions.violations"));
}

fn scored(runs: &[&[ToolCall]], block: PermissionsBlock) -> Result<Scorecard, ScoreError> {
    let trace = AgentTrace::new(
        runs.iter()
            .map(|calls| AgentRun {
                tool_calls: calls.to_vec(),
                ..AgentRun::default()
            })
            .collect(),
    );
    let gates = Gates::default().with(&Permissions, block);
    testing::gated(&Permissions, &trace, &gates)
}

#[test]
fn a_failure_names_each_call_and_its_rule() {
    let block = PermissionsBlock {
        allow: Some(vec![rule("read_*"), rule("delete_*")]),
        deny: vec![with(
            "path",
            &json!({"starts_with": "/etc"}),
            rule("delete_*"),
        )],
    };
    let good = [
        call("read_file", json!({})),
        call("delete_file", json!({"path": "/tmp/x"})),
    ];
    let bad = [
        call("read_file", json!({})),
        call("delete_file", json!({"path": "/etc/x"})),
        ToolCall {
            server: Some("mail".into()),
            ..call("send", json!({}))
        },
    ];
    let card = scored(&[&good, &bad], block).unwrap();
    assert_eq!(card.run_value(0, VIOLATIONS), Some(&json!(0)));
    assert_eq!(card.run_value(0, PASSED), Some(&json!(1)));
    assert_eq!(card.run_value(1, VIOLATIONS), Some(&json!(2)));
    assert_eq!(card.run_value(1, PASSED), Some(&json!(0)));
    assert_eq!(card.found.failures.len(), 1);
    let failure = &card.found.failures[0];
    assert_eq!(
        (failure.run, failure.target.as_str()),
        (Some(1), VIOLATIONS)
    );
    assert_eq!(
        failure.message,
        "2 calls are not permitted: call 1, `delete_file`, is denied by deny[0] \
         (`delete_*` with path starts with \"/etc\"); call 2, `send` of `mail`, is allowed by no \
         rule of `allow`"
    );
    assert_eq!(
        card.runs[1].details["permissions"]["calls"][0]["call_index"],
        1
    );
    assert_eq!(
        card.runs[1].found[1],
        "Call 2, `send` of `mail`, is allowed by no rule of `allow`."
    );
}

#[test]
fn many_violations_are_counted() {
    let calls = vec![call("rm", json!({})); 100_000];
    let block = PermissionsBlock {
        deny: vec![rule("rm")],
        ..PermissionsBlock::default()
    };
    let card = scored(&[&calls], block).unwrap();
    let message = &card.found.failures[0].message;
    assert!(
        message
            .rendered()
            .starts_with("100,000 calls are not permitted: call 0, `rm`, "),
        "{message:?}"
    );
    assert!(
        message
            .rendered()
            .ends_with("call 19, `rm`, is denied by deny[0] (`rm`); and 99,980 more"),
        "{message:?}"
    );
}

proptest! {
    #[test]
    fn no_call_panics_and_less_is_never_permitted(
        calls in prop::collection::vec(("[ab_]{0,3}", json_values()), 0..6),
        pattern in "[ab*]{0,3}",
        path in "[ab]|a\\.b|a\\[0\\]|a\\[\\*\\]",
        matcher in json_values(),
    ) {
        let known = calls.into_iter().filter(|(_, args)| !args.is_null());
        let calls: Vec<_> = known.map(|(name, args)| call(&name, args)).collect();
        let rule = with(&path, &json!({"contains": matcher}), rule(&pattern));
        let deny = PermissionsBlock { deny: vec![rule.clone()], ..PermissionsBlock::default() };
        let allow = PermissionsBlock { allow: Some(vec![rule]), ..PermissionsBlock::default() };
        let (denied, refused) = (
            check_permissions(&calls, &deny).unwrap(),
            check_permissions(&calls, &allow).unwrap(),
        );
        // A rule that denies what it matches refuses everything else when it allows it.
        prop_assert_eq!(denied.violations + refused.violations, calls.len() as u64);
        prop_assert_eq!(denied.passed, denied.violations == 0);
    }
}
