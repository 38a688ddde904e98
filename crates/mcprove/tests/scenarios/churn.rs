//! `churn`: what a server keeps of sessions that are over.

use mcprove_load::drive::scenario::Churn;
use mcprove_load::drive::{Scenario, ScenarioKind};
use mcprove_score::verdict::Outcome;
use mcprove_servers::fixture::{Eras, ListenerKind};

use crate::support::{PROCESS, Target, assert_healthy, outcomes, verdicts};

fn churn() -> Scenario {
    Scenario::from(ScenarioKind::Churn(Churn {
        sessions: 60,
        concurrent: 4,
    }))
}

/// The server is in this process, whose memory and descriptors are looked at.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_that_keeps_sessions_is_found_and_a_healthy_one_is_not() {
    let _alone = PROCESS.write().await;
    let leaks = [
        Target::new("session_leak", ListenerKind::Sse),
        Target::new("session_leak", ListenerKind::WebSocket),
        // Both eras: sessions are those of the handshake, which is asked for.
        Target::http("session_leak"),
        Target::http("session_leak").eras(Eras::Handshake),
    ];
    for target in leaks {
        let report = target.examine_alone(churn()).await;
        assert_eq!(
            outcomes(&report, "session_leak"),
            [Outcome::Finding],
            "{target:?}: {:?}",
            report.verdicts
        );
        assert_eq!(outcomes(&report, "new_sessions"), [Outcome::Pass]);
    }
    let healthy = [
        Target::http("normal").eras(Eras::Handshake),
        Target::http("mixed").eras(Eras::Stateless),
        Target::new("normal", ListenerKind::Sse),
        Target::new("normal", ListenerKind::WebSocket),
    ];
    for target in healthy {
        let report = target.examine_alone(churn()).await;
        assert_healthy(&report, "session_leak", &target);
        let ends = report.session_ends.as_ref().unwrap();
        assert_eq!((ends.opened, ends.abandoned), (61, 30), "{target:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn threads_and_processes_of_sessions_are_found() {
    let _alone = PROCESS.write().await;
    for resource in ["threads", "processes"] {
        let target = Target::http("resource_leak")
            .eras(Eras::Handshake)
            .set("sessions", 1)
            .set("files", 0)
            .set("delay_ms", 0)
            .set(resource, 1);
        let report = target.examine_alone(churn()).await;
        let found = verdicts(&report, "session_leak");
        assert!(found.iter().all(|it| it.is_failure()), "{found:?}");
        let said = found[0].sentence.rendered();
        assert!(said.contains(resource), "{said}");
    }
}

/// 200 kB of each session are little after 100 of them, so more are opened.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn little_memory_of_each_session_is_found() {
    let _alone = PROCESS.write().await;
    let target = Target::http("session_leak")
        .eras(Eras::Handshake)
        .set("bytes", 200_000)
        .set("file", 0);
    let scenario = Scenario::churn();
    let report = target.examine_alone(scenario).await;
    let found = verdicts(&report, "session_leak");
    assert!(found.iter().all(|it| it.is_failure()), "{found:?}");
    let ends = report.session_ends.as_ref().unwrap();
    assert!(ends.opened > 101, "{ends:?}");
    let memory = &ends.memory;
    assert!(
        memory.growth_mb.unwrap() <= report.process.peak_rss_mb,
        "{memory:?}"
    );
    let kilobytes = memory.growth_per_session_kb.unwrap();
    assert!((100.0..400.0).contains(&kilobytes), "{memory:?}");
}

#[tokio::test]
async fn a_server_that_refuses_sessions_is_found() {
    let target = Target::http("crash").set("every", 7);
    let report = target.examine(churn()).await;
    assert_eq!(outcomes(&report, "new_sessions"), [Outcome::Finding]);
    assert!(!report.passed());
}
