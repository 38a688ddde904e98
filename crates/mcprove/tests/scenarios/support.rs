//! What the tests share.

use std::time::Duration;

use mcprove_client::server::Server;
use mcprove_load::drive::Scenario;
use mcprove_load::run::{Report, Run, Thresholds};
use mcprove_score::verdict::{Outcome, Verdict};
use mcprove_servers::fixture::{self, Eras, FixtureOptions, ListenerKind, Listening};
use serde_json::Value;
use tokio::sync::RwLock;

/// How long a call may take before it counts as hung: long for a busy machine, short for a test.
pub const HANG: Duration = Duration::from_secs(1);

/// Who looks at the memory and the descriptors of this process must be alone in it.
pub static PROCESS: RwLock<()> = RwLock::const_new(());

/// The transports over the network.
pub const KINDS: [ListenerKind; 3] = [
    ListenerKind::Http,
    ListenerKind::Sse,
    ListenerKind::WebSocket,
];

/// A built-in server to be tested.
#[derive(Debug, Clone)]
pub struct Target {
    pub mode: &'static str,
    pub kind: ListenerKind,
    pub eras: Eras,
    settings: Vec<(&'static str, u64)>,
}

impl Target {
    pub fn http(mode: &'static str) -> Self {
        Self::new(mode, ListenerKind::Http)
    }

    pub fn new(mode: &'static str, kind: ListenerKind) -> Self {
        Self {
            mode,
            kind,
            eras: Eras::Both,
            settings: Vec::new(),
        }
    }

    pub fn eras(mut self, eras: Eras) -> Self {
        self.eras = eras;
        self
    }

    pub fn set(mut self, name: &'static str, value: u64) -> Self {
        self.settings.push((name, value));
        self
    }

    pub async fn listen(&self) -> Listening {
        let settings = self.settings.iter();
        let options = FixtureOptions {
            eras: self.eras,
            settings: settings
                .map(|(name, value)| ((*name).to_owned(), Value::from(*value)))
                .collect(),
        };
        let address = "127.0.0.1:0".parse().unwrap();
        fixture::listen(self.mode, self.kind, address, &options)
            .await
            .unwrap()
    }

    /// Does `scenario` to it.
    pub async fn examine(&self, scenario: Scenario) -> Report {
        let _alone = PROCESS.read().await;
        self.examine_alone(scenario).await
    }

    /// [`Target::examine`] for those who hold [`PROCESS`] themselves.
    pub async fn examine_alone(&self, scenario: Scenario) -> Report {
        let listening = self.listen().await;
        run(self.server(&listening), scenario)
            .execute()
            .await
            .unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }

    pub fn server(&self, listening: &Listening) -> Server {
        let url = listening.url();
        let server = match self.kind {
            ListenerKind::Http => Server::http(url),
            ListenerKind::Sse => Server::sse(url),
            ListenerKind::WebSocket => Server::websocket(url),
        };
        server.startup_timeout(Duration::from_secs(2))
    }
}

/// The run of a scenario that waits no longer than tests should.
pub fn run(server: Server, scenario: Scenario) -> Run {
    Run::new(server, scenario)
        .with_calibration(false)
        .with_thresholds(Thresholds {
            hang_timeout: HANG,
            grace_period: HANG,
            ..Thresholds::default()
        })
}

/// The verdicts of one detector.
pub fn verdicts<'a>(report: &'a Report, detector: &str) -> Vec<&'a Verdict> {
    let of_detector = |verdict: &&Verdict| verdict.detector == detector;
    report.verdicts.iter().filter(of_detector).collect()
}

/// The outcomes of one detector.
pub fn outcomes(report: &Report, detector: &str) -> Vec<Outcome> {
    let found = verdicts(report, detector);
    found.iter().map(|verdict| verdict.outcome).collect()
}

/// Asserts that nothing was found, and that `detector` came to a conclusion.
pub fn assert_healthy(report: &Report, detector: &str, what: &Target) {
    let label = format!("{what:?}: {:?}", report.verdicts);
    assert!(report.passed() && report.findings().is_empty(), "{label}");
    let outcomes = outcomes(report, detector);
    assert!(!outcomes.is_empty(), "{label}");
    assert!(
        outcomes.iter().all(|outcome| *outcome == Outcome::Pass),
        "{label}"
    );
}
