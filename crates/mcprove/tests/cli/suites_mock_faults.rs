//! The faults of a mock of the suite: in virtual time for our own loop, live for tests of tools.

use crate::scripted::{by_prompt, place, run_alone, run_at, trace};

#[test]
fn the_faults_of_a_mock_take_no_time() {
    let model = by_prompt();
    let recovery = "recovery: { max_detection_ms: 3000, max_recovery_ms: 5000 }";
    // Live, each call would take an hour.
    let hour = "budget: { call_ms: 3600000, time_ms: 86400000 }";
    let agent = |script: &str| {
        format!(
            "  - {{ name: {script}, model: claude-test, servers: [tracker], prompt: \"{script}: do it\", runs: 2, {recovery}, {hour} }}\n"
        )
    };
    let suite = format!(
        "servers:\n  tracker: {{ mock: tools.yml, fault: {{ kind: hang, target: {{ tool: search }} }} }}\n\
         agents:\n{}{}tools:\n  \
         - {{ name: live, server: tracker, tool: search, args: {{ query: x }}, timeout_ms: 300 }}\n",
        agent("recoverer"),
        agent("looper")
    );
    let place = place(&suite);
    let told = run_at(&model.url(), &place, &["suite.yml", "--record"]);
    assert_eq!(told.output.code, Some(1), "{told:?}");
    assert_eq!(told.outcome("recoverer"), "passed");
    let detected = &told.test("recoverer")["targets"]["recovery.time_to_detection_ms"];
    assert_eq!(detected, 3000);
    assert!(
        told.failed("looper")
            .contains(&"recovery.recovered".to_owned())
    );
    let marks = trace(&place, &told, "looper")["runs"][0]["faults"].clone();
    assert_eq!(marks.as_array().unwrap().len(), 10, "{marks}");
    // A test of a tool meets the fault itself.
    assert_eq!(told.outcome("live"), "failed");
    // What the mock does wrong is part of the recording.
    place.write("suite.yml", &suite.replace("kind: hang", "kind: wedged"));
    let told = run_alone(&place, &["suite.yml", "--filter", "recoverer"]);
    assert_eq!(told.output.code, Some(2), "{told:?}");
    assert!(told.errors("recoverer").contains("inject"), "{told:?}");
}
