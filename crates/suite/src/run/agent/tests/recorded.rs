//! What is recorded gives the same when it is replayed.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_gives_the_same_bytes() {
    for (script, gates, outcome) in [
        (
            scripts::honest as fn(&Asked) -> Said,
            "narrative: {}\nstability: {}\nreliability: {}",
            TestOutcome::Passed,
        ),
        (scripts::liar, "narrative: {}", TestOutcome::Failed),
        (scripts::looper, "loops: {}", TestOutcome::Failed),
        (
            scripts::parallel,
            "trajectory: { mode: unordered, calls: [{ name: search }, { name: fetch_page }, { name: search }] }",
            TestOutcome::Passed,
        ),
        (scripts::throttled, "", TestOutcome::Passed),
    ] {
        let model = model(script);
        let mut bench = Bench::new(&model.url(), 3, gates);
        let report = bench.twice(model).await;
        assert_eq!(report.outcome, outcome, "{report:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_and_recovery_are_replayed() {
    for (script, outcome) in [
        (
            scripts::recoverer as fn(&Asked) -> Said,
            TestOutcome::Passed,
        ),
        (scripts::looper, TestOutcome::Failed),
    ] {
        let model = model(script);
        let recovery = "recovery: { max_detection_ms: 3000, max_recovery_ms: 9000 }";
        let mut bench = Bench::new(&model.url(), 2, recovery);
        bench.test().inject = vec!["hang,tool=search".parse().unwrap()];
        let report = bench.twice(model).await;
        assert_eq!(report.outcome, outcome, "{report:?}");
        assert!(report.targets.contains_key("recovery.time_to_detection_ms"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_faults_of_mocks_act_in_virtual_time() {
    for (script, outcome) in [
        (
            scripts::recoverer as fn(&Asked) -> Said,
            TestOutcome::Passed,
        ),
        (scripts::looper, TestOutcome::Failed),
    ] {
        let model = model(script);
        let recovery = "recovery: { max_detection_ms: 3000, max_recovery_ms: 9000 }";
        let mut bench = Bench::new(&model.url(), 2, recovery);
        // Of a day that each call would hang, nothing passes.
        bench.test().budget.call = Duration::from_hours(24);
        bench.test().budget.time = Duration::from_hours(24);
        if let Some(Reach::Mock { faults, .. }) =
            bench.plan.servers.get_mut("api").map(|it| &mut it.reach)
        {
            faults.push("hang,tool=search".parse().unwrap());
        }
        let report = bench.twice(model).await;
        assert_eq!(report.outcome, outcome, "{report:?}");
        let detected = &report.targets["recovery.time_to_detection_ms"];
        assert_eq!(detected, 3000, "{report:?}");
        // So is the time that it takes.
        let longer = "recovery: { max_detection_ms: 4000, max_recovery_ms: 9000 }";
        let before = bench.test().gates.clone();
        bench.test().gates = gates::parse_yaml(longer, "gates.yml").unwrap();
        let drifted = bench.run(CassetteMode::Replay).await;
        assert_eq!(drifted.outcome, TestOutcome::Error, "{drifted:?}");
        let message = &drifted.errors[0].message;
        assert!(
            message.rendered().contains("recovery.max_detection_ms: "),
            "{message:?}"
        );
        bench.test().gates = before;
        // The fault is part of what was recorded.
        if let Some(Reach::Mock { faults, .. }) =
            bench.plan.servers.get_mut("api").map(|it| &mut it.reach)
        {
            faults.clear();
        }
        let report = bench.run(CassetteMode::Replay).await;
        assert_eq!(report.outcome, TestOutcome::Error, "{report:?}");
        let message = &report.errors[0].message;
        assert!(message.rendered().contains("inject[0]: "), "{message:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cassette_that_does_not_fit_is_refused() {
    let model = model(scripts::honest);
    let mut bench = Bench::new(&model.url(), 2, "");
    bench.twice(model).await;
    // What is expected may change.
    bench.test().gates = gates::parse_yaml(
        "expect: [{ target: final_response, matcher: { contains: no such words } }]",
        "g.yml",
    )
    .unwrap();
    let report = bench.run(CassetteMode::Replay).await;
    assert_eq!(report.outcome, TestOutcome::Failed, "{report:?}");
    // What was asked may not.
    bench.test().prompts = vec!["File two issues.".to_owned()];
    let report = bench.run(CassetteMode::Replay).await;
    assert_eq!(report.outcome, TestOutcome::Error);
    let error = &report.errors[0];
    assert!(
        error
            .message
            .rendered()
            .contains("prompt: recorded \"File an issue.\", now \"File two issues.\""),
        "{error}"
    );
    assert!(error.hint.rendered().contains("`record`") && error.hint.rendered().contains("`live`"));
    // A recording that could not be made leaves the old one alone, and says so.
    let before = std::fs::read(bench.cassette()).unwrap();
    let report = bench.run(CassetteMode::Record).await;
    assert_eq!(
        report.outcome,
        TestOutcome::Error,
        "there is no key: {report:?}"
    );
    assert!(
        report.notes[0].rendered().contains("as it was before"),
        "{report:?}"
    );
    bench.options.stop.request();
    bench.options.environment = Environment::new(|_| Some("x".to_owned()));
    let report = bench.run(CassetteMode::Record).await;
    assert!(
        report.errors[0].message.rendered().contains("interrupted"),
        "{report:?}"
    );
    assert_eq!(std::fs::read(bench.cassette()).unwrap(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_strange_cassette_can_do_nothing() {
    let model = model(scripts::honest);
    let mut bench = Bench::new(&model.url(), 1, "");
    let marker = bench.plan.folder.join("marker");
    bench.run(CassetteMode::Record).await;
    let asked = model.asked().len();
    let path = bench.cassette();
    let mut cassette = cassette::read(&path).unwrap().unwrap();
    // It says other things than were said: calls of tools that nobody has, on servers that nobody has.
    let touch = format!("touch {}", marker.display());
    let said = serde_json::json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": "x", "stop_reason": "tool_use",
        "content": [{ "type": "tool_use", "id": "t1", "name": "sh__run", "input": { "command": touch } }],
        "usage": { "input_tokens": 1, "output_tokens": 1 } });
    cassette.runs[0].model[0].response = Some(cassette::Body::Text(said.to_string()));
    cassette.runs[0].model[0].path = "http://127.0.0.1:1/".to_owned();
    cassette::write(&path, &cassette).unwrap();
    let report = bench.run(CassetteMode::Replay).await;
    assert_eq!(report.outcome, TestOutcome::Error, "{report:?}");
    assert!(
        report.errors[0].message.rendered().contains("cassette"),
        "{report:?}"
    );
    // The same where only the answer is another.
    cassette.runs[0].model[0].path = "/v1/messages".to_owned();
    cassette::write(&path, &cassette).unwrap();
    let report = bench.run(CassetteMode::Replay).await;
    assert_eq!(report.outcome, TestOutcome::Error, "{report:?}");
    assert!(!marker.exists());
    assert_eq!(model.asked().len(), asked, "nobody was asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_runs_are_replayed() {
    let model = model(scripts::honest);
    let mut bench = Bench::new(&model.url(), 2, "narrative: {}\nreliability: {}");
    bench.run(CassetteMode::Record).await;
    drop(model);
    let path = bench.cassette();
    let mut cassette = cassette::read(&path).unwrap().unwrap();
    let run = cassette.runs[0].clone();
    cassette.runs = vec![run; 200];
    cassette.fits.runs = 200;
    cassette::write(&path, &cassette).unwrap();
    bench.test().runs = 200;
    let report = bench.run(CassetteMode::Replay).await;
    assert_eq!(report.outcome, TestOutcome::Passed, "{:?}", report.errors);
    assert_eq!(report.runs.len(), 200);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_process_is_replayed_without_it() {
    let mut bench = Bench::new(
        "",
        2,
        "expect: [{ target: final_response, matcher: { contains: File } }]",
    );
    // Its server is a mock, which it leaves alone.
    let script = "echo x >> started; cat; echo $OWN";
    bench.test().driver = Driver::Command(crate::plan::CommandPlan {
        program: "sh".to_owned(),
        args: vec!["-c".to_owned(), script.to_owned()],
        env: BTreeMap::from([("OWN".to_owned(), "${FAKE_KEY}".to_owned())]),
        working_dir: None,
        model: None,
    });
    let started = bench.plan.folder.join("started");
    let recorded = bench.run(CassetteMode::Record).await;
    assert_eq!(recorded.outcome, TestOutcome::Passed, "{recorded:?}");
    assert_eq!(std::fs::read_to_string(&started).unwrap(), "x\nx\n");
    let text = std::fs::read_to_string(bench.cassette()).unwrap();
    assert!(
        text.contains("<redacted>") && !text.contains("k3y-of-the-fake"),
        "{text}"
    );
    bench.options.environment = Environment::new(|_| None);
    let replayed = bench.run(CassetteMode::Replay).await;
    let json = |report: &TestReport| serde_json::to_string(report).unwrap();
    assert_eq!(json(&replayed), json(&recorded));
    assert_eq!(
        std::fs::read_to_string(&started).unwrap(),
        "x\nx\n",
        "nothing was started"
    );
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_runs_and_leaves_the_recording() {
    let mut bench = Bench::new("", 2, "");
    bench.test().driver = Driver::Command(crate::plan::CommandPlan {
        program: "sh".to_owned(),
        args: vec!["-c".to_owned(), "sleep 600".to_owned()],
        env: BTreeMap::new(),
        working_dir: None,
        model: None,
    });
    bench.test().budget.time = Duration::from_mins(10);
    let path = bench.cassette();
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "the old one").unwrap();
    let stop = bench.options.stop.clone();
    let stopping = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(200)).await;
        stop.request();
    });
    let ended = tokio::time::timeout(Duration::from_mins(1), bench.run(CassetteMode::Record));
    let report = ended.await.expect("the first stop ends it");
    stopping.await.unwrap();
    assert_eq!(report.errors[0].message, "interrupted");
    let untouched =
        |note: &mcprove_settings::message::Message| note.rendered().contains("is as it was before");
    assert!(report.notes.iter().any(untouched), "{report:?}");
    assert_eq!(report.details, None, "there is nothing to tell of its runs");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "the old one");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_is_not_asked_unawares() {
    let model = model(scripts::honest);
    let mut bench = Bench::new(&model.url(), 1, "");
    bench.run(CassetteMode::Record).await;
    let asked = model.asked().len();
    if let Driver::Model(model) = &mut bench.test().driver {
        model.model = "claude-other".to_owned();
    }
    let report = bench.run(CassetteMode::Replay).await;
    assert_eq!(report.outcome, TestOutcome::Error, "{report:?}");
    let error = &report.errors[0];
    assert!(
        error
            .message
            .rendered()
            .contains("model: recorded \"claude-test\", now \"claude-other\""),
        "{error:?}"
    );
    assert!(error.hint.rendered().contains("`record`"), "{error:?}");
    assert_eq!(model.asked().len(), asked);
    let report = bench.run(CassetteMode::Live).await;
    assert_eq!(report.outcome, TestOutcome::Passed, "{report:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_recording_of_another_suite_stays() {
    let model = model(scripts::honest);
    let mut bench = Bench::new(&model.url(), 1, "");
    bench.run(CassetteMode::Record).await;
    let before = std::fs::read(bench.cassette()).unwrap();
    let mut plans = vec![bench.plan.clone()];
    bench.plan.file = "other.yml".to_owned();
    for mode in [CassetteMode::Record, CassetteMode::Replay] {
        let report = bench.run(mode).await;
        assert_eq!(report.outcome, TestOutcome::Error, "{report:?}");
        assert!(
            report.errors[0].message.rendered().contains("suite.yml"),
            "{report:?}"
        );
        assert_eq!(std::fs::read(bench.cassette()).unwrap(), before);
    }
    assert_eq!(cassette::same_file_of_suites(&plans), Ok(()));
    plans.push(bench.plan.clone());
    let error = cassette::same_file_of_suites(&plans).unwrap_err();
    assert!(error.to_string().contains("of other.yml"), "{error}");
}
