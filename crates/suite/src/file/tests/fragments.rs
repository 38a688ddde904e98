//! Suites as other tools' documents have them: each is taken as it stands, with the servers that it names.

use super::plan;

const FAULTS: &str = "
faults:
  - name: hung-search
    target: { tool: search } # a tool, a server, or both
    kind: hang # hang | wedged | slow (+ delay_ms) | recover_after (+ failures)
agents:
  - name: recovers from a hung search tool
    model: claude-sonnet-4-5
    servers: [faulty]
    inject: [hung-search]
    prompt: Search for the latest incident report.
    recovery:
      max_detection_ms: 3000 # per-call timeout budget
      max_recovery_ms: 5000 # total recovery budget (omit for unbounded)
      require_clean_timeout: true
";

const TRAJECTORY: &str = "
agents:
  - name: trajectory pins the call plan
    model: claude-sonnet-4-5
    servers: [search]
    runs: 3
    prompt: What is the weather in Sacramento?
    trajectory:
      mode: subsequence
      calls:
        - name: get_weather
          args:
            subset: { city: Sacramento }
    golden_path:
      calls: [get_weather]
    trajectory_axes:
      # fetch_page must run after the search that produced its URL.
      dependencies:
        - producer: search
          consumer: fetch_page
      # authentication must precede any search.
      order:
        - first: authenticate
          second: search
";

const STABILITY: &str = "
agents:
  - name: weather session stays stable
    model: claude-sonnet-4-5
    servers: [weather]
    prompt: What is the weather in Sacramento?
    runs: 5
    stability: {} # default gate: stability.weakest_score >= 0.5
";

const STABILITY_EXPECT: &str = "
agents:
  - name: weather session is stable on every dimension
    model: claude-sonnet-4-5
    servers: [weather]
    prompt: What is the weather in Sacramento?
    runs: 5
    stability:
      expect:
        - target: stability.score
          matcher: { schema: { minimum: 0.7 } }
        - target: stability.weakest_score
          matcher: { schema: { minimum: 0.5 } }
        - target: stability.variance
          matcher: { schema: { maximum: 0.05 } }
";

const NARRATIVE: &str = "
agents:
  - name: triage agent tells the truth
    model: claude-sonnet-4-5
    servers: [issues]
    prompt: Triage the CI flake issue.
    narrative: {} # default gate: fail on claimed-but-absent mutating action
";

const NARRATIVE_EXPECT: &str = "
agents:
  - name: triage agent claims only what it did
    model: claude-sonnet-4-5
    servers: [issues]
    prompt: Triage the CI flake issue.
    narrative:
      mutating_tools: [run_job] # always treat run_job as a write
      readonly_tools: [post_search] # never treat post_search as a write
      max_divergence_score: 0.25
      expect:
        - target: narrative.claimed_but_absent
          matcher: { schema: { maximum: 0 } }
        - target: narrative.present_but_unclaimed
          matcher: { schema: { maximum: 1 } }
";

const ORACLE: &str = "
agents:
  - name: invoice lookup stays read-only
    model: claude-sonnet-4-5
    servers: [billing]
    prompt: Look up invoice 42 and tell me its status.
    max_turns: 3
    max_tokens: 256
    expect:
      # The observable artifacts decide the verdict.
      - target: tool_calls[0].name
        matcher:
          exact: get_invoice
      - target: tool_results[0].is_error
        matcher:
          exact: false
";

const NEGATIVE_PATH: &str = "
tools:
  - name: search rejects bad requests
    server: api
    tool: search
    args: { query: \"anthropic\" }
    negative_path:
      checks: [unknown_tool, missing_required, wrong_type]
";

/// With the keys spelled with `-` they mean the same.
#[test]
fn every_fragment_is_taken() {
    for (fragment, server, keys) in [
        (
            FAULTS,
            "faulty",
            &["max_detection_ms", "require_clean_timeout"][..],
        ),
        (TRAJECTORY, "search", &["golden_path", "trajectory_axes"]),
        (STABILITY, "weather", &[]),
        (STABILITY_EXPECT, "weather", &[]),
        (NARRATIVE, "issues", &[]),
        (
            NARRATIVE_EXPECT,
            "issues",
            &["mutating_tools", "max_divergence_score"],
        ),
        (ORACLE, "billing", &["max_turns", "max_tokens"]),
        (NEGATIVE_PATH, "api", &["negative_path"]),
    ] {
        let servers = format!("servers:\n  {server}: {{ command: x }}\n");
        let read = plan(&format!("{servers}{fragment}"));
        assert_eq!(read.agents.len() + read.tools.len(), 1);
        assert!(read.warnings.is_empty(), "{:?}", read.warnings);
        let mut dashed = fragment.to_owned();
        for key in keys {
            let spelled = format!("{key}:");
            assert!(dashed.contains(&spelled), "{key}");
            dashed = dashed.replace(&spelled, &spelled.replace('_', "-"));
        }
        let other = plan(&format!("{servers}{dashed}"));
        assert_eq!(format!("{:?}", read.agents), format!("{:?}", other.agents));
        assert_eq!(format!("{:?}", read.tools), format!("{:?}", other.tools));
    }
}

#[test]
fn what_they_ask_for_is_in_the_plan() {
    let faulty = plan(&format!(
        "servers: {{ faulty: {{ command: x }} }}\n{FAULTS}"
    ));
    let agent = &faulty.agents[0];
    assert_eq!(
        agent.inject[0].to_string(),
        "hang,name=hung-search,tool=search"
    );
    let recovery = agent
        .gates
        .settings(&mcprove_score::agent::recovery::Recovery)
        .unwrap();
    assert_eq!(
        (recovery.max_detection_ms, recovery.max_recovery_ms),
        (3000, Some(5000))
    );
    let oracle = plan(&format!(
        "servers: {{ billing: {{ command: x }} }}\n{ORACLE}"
    ));
    assert_eq!(oracle.agents[0].budget.turns, 3);
    assert_eq!(oracle.agents[0].gates.expect.len(), 2);
}
