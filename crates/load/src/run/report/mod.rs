//! What a run found. Serialised it is `metrics.json` (format `metrics.v1`); it is assembled from
//! the events of the run (`run/assemble.rs`), live or from a trace.

mod latency;
mod parts;

use crate::prelude::*;
pub use mcprove_score::starts::{StartUnit, StartsReport};
pub use mcprove_score::{
    breaking_point::BreakingPoint, cold_start::ColdStartReport, coverage::CoverageReport,
    deadlock::DeadlockReport, drift::DriftReport, fuzz::FuzzReport, generator::GeneratorReport,
    grade::Grades, head_of_line::HeadOfLineReport, isolation::IsolationReport, leak::LeakReport,
    machine::MachineReport, race::RaceReport, sessions::ChurnReport, spike_recovery::SpikeReport,
    threshold::ThresholdViolation,
};

use mcprove_score::deadlock;
use mcprove_score::verdict::SUCCESS;
use mcprove_settings::whole_file::write_whole;
use mcprove_trace::stream::OWN_LIMIT;
use serde::de::DeserializeOwned;

pub use latency::LatencyStats;
pub(crate) use latency::encode_histogram;
pub use mcprove_trace::stream::{ProcessSample, SlowCall};
pub use parts::*;

/// What a run found.
#[sparse]
#[in_seconds]
#[data]
#[serde(remote = "Self")]
#[non_exhaustive]
pub struct Report {
    /// The format: `metrics.v1`.
    pub schema: String,
    /// A ULID.
    pub run_id: String,
    /// When the run started, in UTC.
    #[serde(with = "parts::rfc3339")]
    #[schemars(with = "String")]
    pub started_at: SystemTime,
    /// How long it took.
    pub duration: Duration,
    /// What was done.
    #[serde(rename = "scenario")]
    pub scenario_kind: ScenarioKind,
    /// Whether calls followed a schedule (open) or the answers (closed).
    pub model: Model,
    /// Calls per second that were asked for, in the open model.
    pub rate: Option<f64>,
    /// Connections that were planned; `starts` has those that were really opened.
    pub sessions: u32,
    /// From starting or reaching the server to the finished handshake, in milliseconds: the median over the sessions
    /// of the run.
    pub startup_ms: Option<f64>,
    /// The same, one by one, for the fresh starts of `cold_start`.
    #[serde(rename = "handshake_ms")]
    pub handshake: Option<LatencyStats>,
    /// What was planned to be started, sessions or fresh starts, and what really was.
    pub starts: Option<StartsReport>,
    /// What decided every random choice.
    pub seed: u64,
    /// Who was tested.
    #[serde(rename = "server")]
    pub server_info: ServerInfo,
    /// Whether the run passed: no threshold violated, no critical finding, something succeeded.
    pub(crate) passed: bool,
    /// Passed, failed, or not enough evidence.
    pub(crate) outcome: RunOutcome,
    /// Whether the run was interrupted, or ended before its time.
    pub partial: bool,
    /// Whether it was interrupted or killed.
    #[serde(default)]
    pub interrupted: bool,
    /// Latency of the successful calls, from the intended start.
    #[serde(rename = "latency_ms")]
    pub latency: LatencyStats,
    /// Latency from the moment of sending, in the open model.
    #[serde(rename = "service_ms")]
    pub service: Option<LatencyStats>,
    /// How late calls were sent after their intended start, in the open model.
    #[serde(rename = "lateness_ms")]
    pub lateness: Option<LatencyStats>,
    /// Time to failure of the failed calls.
    #[serde(rename = "failed_ms")]
    pub failed: LatencyStats,
    /// Latency of calls made before anything counted.
    #[serde(rename = "warmup_ms")]
    pub warmup: Option<LatencyStats>,
    /// Latency of calls made one at a time after the load, to grade by.
    #[serde(rename = "alone_ms")]
    pub alone: Option<LatencyStats>,
    /// How many calls there were.
    pub throughput: ThroughputStats,
    /// How many failed, and why.
    pub errors: ErrorStats,
    /// What the server's processes used.
    pub process: ProcessStats,
    /// How busy other work kept the machine meanwhile, where that was watched.
    pub machine: Option<MachineReport>,
    /// Calls that never answered.
    pub deadlock_count: u32,
    /// Calls that answered late, or were past the hang threshold when the run was interrupted.
    pub hang_count: u32,
    /// Calls without an answer when the run was interrupted. They are in no other count.
    #[serde(default)]
    pub unanswered: u64,
    /// Times the server process ended.
    pub crash_count: u32,
    /// Times a session was replaced during the run.
    pub reconnect_count: u32,
    /// Calls that could not start, in the open model.
    pub dropped: u64,
    /// Of these, calls that our own schedule missed.
    #[serde(default)]
    pub missed: u64,
    /// Calls under way when the load ended. They count, but not in the rate.
    pub in_flight_at_end: u64,
    /// Calls made before or after the load, alone, to know what a tool does when nothing else happens. They are in no
    /// other count, unless they hang.
    #[sparse]
    pub control_calls: u64,
    /// Measurements that no histogram could hold.
    pub out_of_range: u64,
    /// Tool by tool.
    pub tools: BTreeMap<String, ToolReport>,
    /// Phase by phase.
    pub phases: Vec<PhaseReport>,
    /// Whether replies went to the calls they belong to.
    pub isolation: IsolationReport,
    /// Which tools were exercised.
    pub coverage: CoverageReport,
    /// Tools that were not called because they may write.
    #[sparse]
    pub skipped_tools: Vec<SkippedTool>,
    /// Whether the generator was the limit.
    pub generator: GeneratorReport,
    /// Marks from A to F.
    pub grades: Grades,
    /// What `cold_start` found.
    pub cold_start: Option<ColdStartReport>,
    /// What `deadlock_probe` found.
    pub deadlock: Option<DeadlockReport>,
    /// What `race_check` found, tool by tool.
    #[sparse]
    pub race: BTreeMap<String, RaceReport>,
    /// What `fuzzer` found.
    pub fuzz: Option<FuzzReport>,
    /// What `slow_mix` found.
    pub head_of_line: Option<HeadOfLineReport>,
    /// What `reconnect` and `churn` found.
    pub session_ends: Option<ChurnReport>,
    /// Whether memory grew.
    pub leak: Option<LeakReport>,
    /// Whether latency grew.
    pub drift: Option<DriftReport>,
    /// Where `ramp` found the server to break.
    pub breaking_point: Option<BreakingPoint>,
    /// What the burst of `spike` did to the server.
    pub spike_recovery: Option<SpikeReport>,
    /// What injected faults did.
    pub faults: Option<FaultsReport>,
    /// What scenarios and checks of other crates found, by name.
    #[sparse]
    pub details: BTreeMap<String, Value>,
    /// The slowest calls, slowest first.
    pub slowest: Vec<SlowCall>,
    /// Limits that were not kept.
    pub threshold_violations: Vec<ThresholdViolation>,
    /// What each detector concluded.
    pub verdicts: Vec<Verdict>,
    /// Which findings make the run fail.
    #[serde(default)]
    pub fail_on: FailOn,
    /// What went wrong on our side without ending the run.
    #[sparse]
    pub warnings: Vec<String>,
    /// Files that are not complete, and what else of ours got lost. Those of `metrics.json` itself and of what is
    /// written with it are in the report that a run returns, not in the file.
    #[sparse]
    pub losses: Vec<Loss>,
    /// What the numbers mean, in sentences.
    pub meaning: Vec<Message>,
    /// Where the trace is; empty without one.
    #[serde(default, skip_serializing_if = "path_is_empty")]
    #[schemars(with = "String")]
    pub trace_path: PathBuf,
    /// How large the trace is.
    pub trace: Option<TraceStats>,
}

/// What a scenario, a detector or a check found, as a part of the report that is asked for by its type.
pub trait Detail: Serialize + DeserializeOwned {
    /// Its name among the details of a report.
    const NAME: &'static str;

    /// It, in a report; none if it is not there.
    fn of(report: &Report) -> FactResult<Option<Self>> {
        let value = report.details.get(Self::NAME);
        let read = value.map(|value| {
            Self::deserialize(value)
                .map_err(|error| FactError::new(Self::NAME, value.to_string(), &error))
        });
        read.transpose()
    }
}

/// The details that are fields of a report.
macro_rules! details {
    ($($type:ty = $field:ident),*) => {
        $(impl Detail for $type {
            const NAME: &'static str = stringify!($field);

            fn of(report: &Report) -> FactResult<Option<Self>> {
                Ok(report.$field.clone())
            }
        })*
    };
}

details!(
    ColdStartReport = cold_start,
    DeadlockReport = deadlock,
    FuzzReport = fuzz,
    HeadOfLineReport = head_of_line,
    ChurnReport = session_ends,
    LeakReport = leak,
    DriftReport = drift,
    BreakingPoint = breaking_point,
    SpikeReport = spike_recovery,
    FaultsReport = faults
);

/// What concludes from calls that could not be started in time.
pub const DROPPED: &str = "dropped";
/// What concludes from lists of the tools that were a step of a load and got no answer.
pub const LOST_LISTS: &str = "list";

/// With the outcome that its verdicts have now, whoever added one.
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(&self.clone().conclude(), serializer)
    }
}

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer)
    }
}

fn path_is_empty(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

impl Report {
    /// Whether every threshold held, no detector has a critical finding, nothing gated is without
    /// evidence, and something succeeded.
    pub fn passed(&self) -> bool {
        self.outcome() == RunOutcome::Passed
    }

    /// Passed, failed, or not enough evidence: a failure outweighs missing evidence.
    pub fn outcome(&self) -> RunOutcome {
        if !self.threshold_violations.is_empty() || self.failures().next().is_some() {
            return RunOutcome::Failed;
        }
        match self.inconclusive_gates().next() {
            Some(_) => RunOutcome::Inconclusive,
            None => RunOutcome::Passed,
        }
    }

    /// The findings that make the run fail.
    pub fn failures(&self) -> impl Iterator<Item = &Verdict> {
        let verdicts = self.verdicts.iter();
        verdicts.filter(|verdict| self.fail_on.is_failure(verdict))
    }

    /// Whether a run cannot pass without an answer to this: a limit that somebody set, whether anything
    /// works, whether calls or lists of the tools get stuck, whether the server keeps up with a rate, and what the scenario is made to see, unless
    /// that is known of another tool.
    fn is_gate(&self, verdict: &Verdict) -> bool {
        let detector = verdict.detector.as_str();
        let is_question = || {
            let mut same = self.verdicts.iter().filter(|it| it.detector == detector);
            let questions = self.scenario_kind.as_type().questions();
            let unseen = if self.process.samples.is_empty() {
                questions.first()
            } else {
                questions.last()
            };
            let is_asked = match questions {
                [only] => *only == detector,
                _ => questions.contains(&detector) && unseen != Some(&detector),
            };
            is_asked && same.all(|it| it.outcome == Outcome::Inconclusive)
        };
        verdict.limit().is_some()
            || matches!(
                detector,
                SUCCESS | deadlock::ID | DROPPED | OWN_LIMIT | LOST_LISTS
            )
            || is_question()
    }

    /// What a run cannot pass without and for which there is not enough evidence: limits, whether
    /// anything works, whether calls get stuck.
    pub fn inconclusive_gates(&self) -> impl Iterator<Item = &Verdict> {
        self.inconclusive().filter(|verdict| self.is_gate(verdict))
    }

    /// What else detectors could not judge for want of evidence.
    pub fn inconclusive_checks(&self) -> impl Iterator<Item = &Verdict> {
        self.inconclusive().filter(|verdict| !self.is_gate(verdict))
    }

    fn inconclusive(&self) -> impl Iterator<Item = &Verdict> {
        self.verdicts
            .iter()
            .filter(|verdict| verdict.outcome == Outcome::Inconclusive)
    }

    /// What to do where the generator was the limit.
    pub(crate) fn generator_advice(&self) -> Message {
        self.generator
            .advice
            .clone()
            .unwrap_or_else(|| "lower the load".into())
    }

    /// Whether something could not be written. It says nothing about the server, so the outcome does not change.
    pub fn has_lost(&self) -> bool {
        self.losses.iter().any(|loss| !loss.is_limit)
    }

    /// What is missing in the trace, if something is.
    pub(crate) fn trace_loss(&self) -> Option<&Loss> {
        self.losses
            .iter()
            .find(|loss| Path::new(&loss.file).ends_with("trace.jsonl"))
    }

    /// What this process ran out of, such as file descriptors, if it did. Then nothing else is judged.
    pub fn own_limit(&self) -> Option<OwnLimit> {
        let mut verdicts = self.verdicts.iter();
        let verdict = verdicts.find(|verdict| verdict.detector == OWN_LIMIT)?;
        OwnLimit::of_numbers(&verdict.numbers)
    }

    /// Findings, worst first.
    pub fn findings(&self) -> Vec<&Verdict> {
        let mut findings: Vec<_> = self
            .verdicts
            .iter()
            .filter(|verdict| verdict.outcome == Outcome::Finding)
            .collect();
        findings.sort_by_key(|verdict| std::cmp::Reverse(verdict.severity));
        findings
    }

    /// Calls that count, and starts that failed.
    pub fn attempted(&self) -> u64 {
        self.throughput.total_requests + self.errors.starts
    }

    /// Failed calls by category, without starts that failed.
    pub(crate) fn failed_calls(&self) -> BTreeMap<ErrorCategory, u64> {
        let mut failed = self.errors.by_category.clone();
        let starts = self.starts.iter().flat_map(|starts| &starts.by_category);
        for (category, starts) in starts {
            if let Some(count) = failed.get_mut(category) {
                *count = count.saturating_sub(*starts);
            }
        }
        failed.retain(|_, count| *count > 0);
        failed
    }

    /// The share of measured calls that failed, where starts that failed count too; none without either. Late answers
    /// are answers, and calls that a rate limit refused count only where a limit was set.
    pub fn error_rate(&self) -> Option<f64> {
        let failed = self.errors.total.saturating_sub(self.late());
        share(self.errors.failed.unwrap_or(failed), self.attempted())
    }

    /// Calls that were answered late, of those that count.
    pub(crate) fn late(&self) -> u64 {
        let late = self.errors.by_category.get(&ErrorCategory::Hang);
        late.copied().unwrap_or_default()
    }

    /// What a scenario, a detector or a check found; none if it was not there to find something, and an error if the
    /// record does not match the type.
    ///
    /// ```no_run
    /// # fn example(report: mcprove_load::run::Report) -> mcprove_trace::stream::FactResult<()> {
    /// use mcprove_score::deadlock::DeadlockReport;
    ///
    /// if let Some(deadlock) = report.detail::<DeadlockReport>()? {
    ///     println!("{:?}", deadlock.severity);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn detail<T: Detail>(&self) -> FactResult<Option<T>> {
        T::of(self)
    }

    /// Adds what a scenario of another crate found.
    pub fn add_detail<T: Detail>(&mut self, detail: &T) -> FactResult {
        let value = serde_json::to_value(detail)
            .map_err(|error| FactError::new(T::NAME, String::new(), &error))?;
        self.details.insert(T::NAME.to_owned(), value);
        Ok(())
    }

    /// Writes `report.md`.
    pub fn write_markdown(&self, path: &Path) -> io::Result<()> {
        write_whole(path, crate::report::document(self, None).markdown())
    }

    /// Writes `metrics.json`.
    pub fn write_json(&self, path: &Path) -> io::Result<()> {
        write_whole(path, self.to_json())
    }

    /// The text of `metrics.json`.
    pub fn to_json(&self) -> String {
        super::to_json(self)
    }

    /// Takes the outcome from what was found; the last step of assembling a report.
    pub(crate) fn conclude(mut self) -> Self {
        self.outcome = self.outcome();
        self.passed = self.passed();
        self
    }

    /// A report of nothing yet.
    pub(crate) fn empty(scenario_kind: ScenarioKind) -> Self {
        Self {
            schema: crate::run::format::METRICS.to_owned(),
            run_id: String::new(),
            started_at: SystemTime::UNIX_EPOCH,
            duration: Duration::ZERO,
            scenario_kind,
            model: Model::Closed,
            rate: None,
            sessions: 1,
            startup_ms: None,
            handshake: None,
            starts: None,
            seed: 0,
            server_info: ServerInfo::default(),
            passed: false,
            outcome: RunOutcome::Inconclusive,
            partial: false,
            interrupted: false,
            latency: LatencyStats::default(),
            service: None,
            lateness: None,
            failed: LatencyStats::default(),
            warmup: None,
            alone: None,
            throughput: ThroughputStats::default(),
            errors: ErrorStats::default(),
            process: ProcessStats::default(),
            machine: None,
            deadlock_count: 0,
            hang_count: 0,
            unanswered: 0,
            crash_count: 0,
            reconnect_count: 0,
            dropped: 0,
            missed: 0,
            in_flight_at_end: 0,
            control_calls: 0,
            out_of_range: 0,
            tools: BTreeMap::new(),
            phases: Vec::new(),
            isolation: IsolationReport::default(),
            coverage: mcprove_score::coverage::coverage(&[], &BTreeMap::new(), None),
            skipped_tools: Vec::new(),
            generator: mcprove_score::generator::judge(
                None,
                0,
                None,
                None,
                None,
                mcprove_score::generator::LoadRate::Unknown,
            ),
            grades: Grades::default(),
            cold_start: None,
            deadlock: None,
            race: BTreeMap::new(),
            fuzz: None,
            head_of_line: None,
            session_ends: None,
            leak: None,
            drift: None,
            breaking_point: None,
            spike_recovery: None,
            faults: None,
            details: BTreeMap::new(),
            slowest: Vec::new(),
            threshold_violations: Vec::new(),
            verdicts: Vec::new(),
            fail_on: FailOn::default(),
            warnings: Vec::new(),
            losses: Vec::new(),
            meaning: Vec::new(),
            trace_path: PathBuf::new(),
            trace: None,
        }
    }
}
