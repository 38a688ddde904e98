use super::*;

fn problem(line: &str) -> String {
    let parsed = Line::parse(line.as_bytes());
    match parsed {
        Err(problem) => problem,
        Ok(line) => line.event().err().unwrap_or_default(),
    }
}

#[test]
fn a_line_that_was_tampered_with_is_told_apart() {
    let cases = [
        ("{\"ts\":1", "not a line of trace.v1"),
        ("{\"kind\":\"crash\"}", "missing field `ts`"),
        ("{\"ts\":1,\"kind\":\"crush\"}", "of the kind \"crush\""),
        ("{\"ts\":-1,\"kind\":\"crash\"}", "ts is -1"),
        (
            "{\"ts\":1,\"kind\":\"request\"}",
            "a request without session",
        ),
        (
            "{\"ts\":1,\"kind\":\"response\",\"session\":0,\"request_id\":1,\"method\":\"m\"}",
            "a response without duration_ms",
        ),
        (
            "{\"ts\":1,\"kind\":\"hang\",\"session\":0,\"request_id\":1,\"duration_ms\":-5}",
            "duration_ms is -5",
        ),
        (
            "{\"ts\":1,\"kind\":\"process_sample\"}",
            "a process_sample without rss_mb",
        ),
        (
            "{\"ts\":1,\"kind\":\"scenario_event\"}",
            "a scenario_event without name",
        ),
    ];
    for (line, part) in cases {
        let problem = problem(line);
        assert!(problem.contains(part), "{line}: {problem:?}");
    }
}

#[test]
fn what_a_server_sent_is_not_looked_into() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for result in [deep.as_str(), "1e999", "\"\\ud800\""] {
        let line = format!(
            "{{\"ts\":0.5,\"kind\":\"response\",\"session\":1,\"request_id\":2,\"method\":\"tools/call\",\"tool\":\"t\",\"duration_ms\":0.000001,\"result\":{result}}}\n"
        );
        let line = Line::parse(line.as_bytes()).unwrap();
        let event = line.event().unwrap();
        assert_eq!(event.at, Duration::from_millis(500));
        let EventKind::Response { duration, .. } = event.kind else {
            panic!("{event:?}");
        };
        assert_eq!(duration, Duration::from_nanos(1));
    }
}
