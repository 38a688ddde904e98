//! The scenarios: one file each, with two lines here: `mod`, and an entry in `scenarios!`.
//!
//! A scenario is either a load ([`ScenarioType::plan`]): a shape over time and something to call, carried out by the
//! executor; or steps of its own ([`ScenarioType::drive`]). Either way it emits events; what they mean it says in
//! [`ScenarioType::conclude`], from events alone, with the detectors of `mcprove_score`. A scenario of another crate
//! is the same thing, in [`ScenarioKind::Custom`].

mod churn;
mod cold_start;
mod custom;
mod deadlock_probe;
mod early_call;
mod fuzzer;
mod interrupted_call;
mod pattern;
mod race_check;
mod ramp;
mod reconnect;
mod reference;
mod session_end;
mod slow_arguments;
mod slow_mix;
mod soak;
mod spike;
mod sustained;

use std::fmt::Debug;

use self::prelude::*;
use mcprove_settings::tree::Document;
use mcprove_settings::{reader, setting};

pub use custom::{CloneScenario, CustomScenario};
pub(crate) use deadlock_probe::ProbeFact;
pub use fuzzer::payload_names;
pub use pattern::preset;
pub use slow_mix::{FAST_ALONE, MIXED};
pub use soak::sample_interval;
pub use spike::{BASELINE, RECOVERY, SPIKE};
pub use sustained::weighted_calls;
pub use types::*;

/// What a scenario is written with.
mod prelude {
    pub use super::reference::{Reference, call_each_at_once};
    pub use super::sustained::{Sustained, weighted_calls};
    pub(super) use super::{
        Given, Judging, Shape, Steps, Success, and_more, concurrent, name_of, reference,
    };
    pub use crate::prelude::*;
    pub use mcprove_document::prelude::{
        Line, Section, Table, cells, count, counted, figure, maybe_decimal, maybe_fixed,
        maybe_milliseconds, milliseconds, percent,
    };
    pub use mcprove_settings::message::sentence;
}

/// A scenario that can be chosen by name.
pub struct Entry {
    /// The name, in `snake_case`; `-` is accepted for `_`.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// What it finds, in one line.
    pub explanation: &'static str,
    /// Its own settings.
    pub settings: fn() -> &'static [Setting],
    /// With every default.
    pub build: fn() -> ScenarioKind,
    /// With every fixed default, to be completed when all settings are known.
    pub(crate) initial: fn() -> ScenarioKind,
}

/// The registry: the variant of [`ScenarioKind`] with the type of its settings, its name, other names, the constructor
/// of [`Scenario`] with its defaults, and what it finds.
macro_rules! scenarios {
    ($($variant:ident($module:ident::$type:ident) = $name:literal $(| $alias:literal)* $(as $new:ident)?: $finds:literal;)*) => {
        /// The settings of each scenario.
        pub mod types {
            $(pub use super::$module::$type;)*
        }

        /// A scenario and its settings.
        #[data]
        #[serde(tag = "kind")]
        #[non_exhaustive]
        pub enum ScenarioKind {
            $(#[doc = concat!("`", $name, "`")] $variant($type),)*
            /// One that another crate adds.
            Custom(CustomScenario),
        }

        /// Every scenario.
        pub const ENTRIES: &[Entry] = &[$(Entry {
            name: $name,
            aliases: &[$($alias),*],
            explanation: $finds,
            settings: $type::declared,
            build: || ScenarioKind::$variant($type::default()),
            initial: || ScenarioKind::$variant($type::initial()),
        }),*];

        impl ScenarioKind {
            /// The name in files and on the command line.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)*
                    Self::Custom(it) => it.name(),
                }
            }

            /// What it is and does.
            pub(crate) fn as_type(&self) -> &dyn ScenarioType {
                match self {
                    $(Self::$variant(it) => it,)*
                    Self::Custom(it) => it.as_type(),
                }
            }

            pub(crate) fn as_type_mut(&mut self) -> &mut dyn ScenarioType {
                match self {
                    $(Self::$variant(it) => it,)*
                    Self::Custom(it) => it.as_type_mut(),
                }
            }
        }

        /// One constructor per kind, with its defaults.
        impl Scenario {
            $($(#[doc = concat!("`", $name, "`: ", $finds)]
            pub fn $new() -> Self {
                $type::default().into()
            })?)*
        }

        $(
            impl Default for $type {
                fn default() -> Self {
                    let mut scenario = Self::initial();
                    complete_alone(&mut scenario);
                    scenario
                }
            }

            impl From<$type> for ScenarioKind {
                fn from(scenario: $type) -> Self {
                    Self::$variant(scenario)
                }
            }
        )*
    };
}

scenarios! {
    ColdStart(cold_start::ColdStart) = "cold_start" as cold_start: "a fresh process each time, first and second call compared: lazy initialisation";
    Sustained(sustained::Sustained) = "sustained" as sustained: "constant load for a fixed time: latency, throughput, errors, isolation of replies";
    Spike(spike::Spike) = "spike" as spike: "a steady load with a burst in it: overflowing queues, recovery afterwards";
    Ramp(ramp::Ramp) = "ramp" as ramp: "more and more calls in flight: the breaking point";
    Soak(soak::Soak) = "soak" | "leak" as soak: "a long steady load: memory leaks, latency that creeps up";
    Pattern(pattern::Patterns) = "pattern": "sequences of calls with pauses, as agents make them: realistic mixed loads";
    DeadlockProbe(deadlock_probe::DeadlockProbe) = "deadlock_probe" as deadlock_probe: "many first calls at the same instant on a fresh server: deadlocks";
    RaceCheck(race_check::RaceCheck) = "race_check" as race_check: "the same call alone and many times concurrently: do the answers differ?";
    Fuzzer(fuzzer::Fuzzer) = "fuzzer" as fuzzer: "malformed messages, one by one: crashes, hangs, requests left without an answer";
    SlowMix(slow_mix::SlowMix) = "slow_mix" as slow_mix: "a slow tool among a fast one: does the slow one hold up the fast one?";
    Reconnect(reconnect::Reconnect) = "reconnect" as reconnect: "connections dropped in the middle of calls: leftover state and processes";
    Churn(churn::Churn) = "churn" as churn: "sessions opened and abandoned: sessions that are never released, processes that remain";
    EarlyCall(early_call::EarlyCall) = "early_call" as early_call: "calls before the tool list is complete and before initialization is: hangs, crashes";
    InterruptedCall(interrupted_call::InterruptedCall) = "interrupted_call" as interrupted_call: "calls cancelled in progress, notifications in mid-call: does the server survive it?";
}

impl From<CustomScenario> for ScenarioKind {
    fn from(scenario: CustomScenario) -> Self {
        Self::Custom(scenario)
    }
}

/// The steps of a scenario, as they are taken.
pub type Steps<'a> = BoxFuture<'a, RunResult>;

/// A scenario: its settings, how it is carried out, and what it concludes. One of another crate has settings from
/// `#[derive(Settings)]`, implements [`drive`](Self::drive) and [`conclude`](Self::conclude), and is run as
/// [`Scenario::custom`](super::Scenario::custom).
pub trait ScenarioType: Settings + CloneScenario + Debug + Send + Sync {
    /// How it is carried out, if it is a load.
    fn plan(&self, _load: &LoadSettings) -> RunResult<Option<LoadPlan>> {
        Ok(None)
    }

    /// Takes its steps, if it is no load: opens sessions, makes calls, notes facts. What a server does wrong is no
    /// error but a result.
    fn drive<'a>(&'a self, _context: &'a RunContext) -> Steps<'a> {
        Box::pin(std::future::ready(Ok(())))
    }

    /// What it was, in a few words: `50 concurrent`, `60s`.
    fn summary(&self, _shape: Shape) -> Vec<String> {
        Vec::new()
    }

    /// What its facts mean: verdicts, and its part of the report. Pure, so that a report made again from the trace
    /// is the same.
    fn conclude(&self, _facts: &RunFacts<'_>, _report: &mut Report) -> FactResult {
        Ok(())
    }

    /// The detector that answers what it is made to see: a run in which that comes to no conclusion does not pass.
    /// Of several, the last one is asked only where the server's processes are not on this machine, and the first one only where they
    /// are.
    fn questions(&self) -> &'static [&'static str] {
        &[]
    }

    /// What it shows of its part of a report.
    fn sections(&self, _report: &Report) -> Vec<Section> {
        Vec::new()
    }

    /// How the calls that it makes are judged.
    fn judging(&self) -> Judging {
        Judging::default()
    }

    /// Whether something must have succeeded, and has.
    fn success(&self, _facts: &RunFacts<'_>, report: &Report) -> Success {
        Success {
            is_needed: true,
            // A late answer is an answer.
            is_reached: report.throughput.successful_requests > 0
                || report.errors.by_category.contains_key(&ErrorCategory::Hang),
        }
    }

    /// Fills in what depends on other settings, once all that is given was read; what does not fit together is a
    /// problem. Only for built-in scenarios.
    #[doc(hidden)]
    fn complete(&mut self, _given: &Given<'_, '_>, _reader: &mut Reader<'_>) {}

    /// Adapts what depends on a setting that was changed by its name. Only for built-in scenarios.
    #[doc(hidden)]
    fn changed(&mut self, _name: &str) {}

    /// The most calls in flight, where that is not `concurrent`.
    fn concurrent_max(&self) -> Option<u32> {
        None
    }

    /// How long the load lasts, where that is set: this is what makes it a load.
    fn duration(&self) -> Option<Duration> {
        None
    }

    /// When calls count as hung: its own limits, and for those that it is not given the common ones, which it takes over.
    fn hang_limits(&mut self, common: HangLimits) -> HangLimits {
        common
    }

    /// How often the server's processes are looked at, if it says so.
    fn sample_interval(&self) -> Option<Duration> {
        None
    }

    /// Its sequences of calls.
    fn patterns(&self) -> &[Pattern] {
        &[]
    }

    /// The same, to be changed.
    fn patterns_mut(&mut self) -> &mut [Pattern] {
        &mut []
    }
}

/// How the calls of a scenario are judged.
#[derive(Debug, Clone, Copy, Default)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is a property by itself"
)]
pub struct Judging {
    /// It leaves calls before their answer itself.
    pub leaves_calls: bool,
    /// It sends what a server has to refuse.
    pub sends_bad_input: bool,
    /// It judges calls that hang itself.
    pub judges_hangs: bool,
    /// It makes calls at the wrong time, cancels them, or sends notifications in the middle of them.
    pub interrupts_calls: bool,
    /// It goes on until calls fail.
    pub expects_errors: bool,
    /// The phases whose failed calls it judges itself.
    pub judges_errors_in: &'static [&'static str],
    /// It is made to see what grows, and judges memory itself.
    pub judges_growth: bool,
    /// It starts the server again and again, and how long that takes is a result.
    pub is_about_starts: bool,
    /// The detector that tells why calls hang, and starts fail, that are made after the scenario did something to the
    /// server.
    pub failures_told_by: Option<&'static str>,
}

/// Whether something must have succeeded, and has.
#[derive(Debug, Clone, Copy)]
pub struct Success {
    /// Whether it must.
    pub is_needed: bool,
    /// Whether it has, or the scenario came to a result of its own.
    pub is_reached: bool,
}

/// How a load is made, for [`ScenarioType::summary`].
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// So many calls in flight.
    Closed,
    /// So many calls per second.
    Open(f64),
}

impl Judging {
    /// Of a scenario that leaves calls before their answer.
    pub(crate) fn leaving_calls() -> Self {
        Self {
            leaves_calls: true,
            ..Self::default()
        }
    }
}

impl Shape {
    /// A steady load: so many calls at once or per second, for so long.
    pub(crate) fn steady(self, concurrent: u32, duration: Duration) -> Vec<String> {
        vec![self.clients(concurrent), figure::duration(duration)]
    }

    /// How many there are at once, or per second.
    pub fn clients(self, count: u32) -> String {
        match self {
            Self::Closed => concurrent(count),
            Self::Open(_) => format!("{} on a schedule", self.rate_of(1, 1)),
        }
    }

    /// The rate that so many calls in flight stand for, where it begins with that of `first`.
    pub fn rate_of(self, count: u32, first: u32) -> String {
        let rate = match self {
            Self::Closed => 0.0,
            Self::Open(rate) => rate,
        };
        let rate = rate * f64::from(count) / f64::from(first.max(1));
        format!("{}/s", figure::decimal(rate, 2))
    }
}

/// `50 concurrent`.
pub(crate) fn concurrent(count: u32) -> String {
    format!("{count} concurrent")
}

/// Rows of a table of calls or cases: the rest is only counted.
const ROWS_MAX: usize = 50;

/// The rows that a table has room for, and how many there are more.
fn and_more(section: Section, rows: usize, noun: &str) -> Section {
    match rows.checked_sub(ROWS_MAX) {
        Some(more @ 1..) => section.paragraph(format!("And {more} more {noun}: see metrics.json.")),
        _ => section,
    }
}

/// What something is called in `metrics.json`.
fn name_of(value: impl Serialize) -> String {
    json!(value).as_str().unwrap_or_default().to_owned()
}

/// What was given for a scenario.
pub struct Given<'a, 'n> {
    /// The table.
    pub section: &'a reader::Section<'n>,
}

impl<'n> Given<'_, 'n> {
    /// The entry of that name.
    pub fn field(&self, name: &str) -> Option<&'n Field> {
        self.section.get(name)
    }

    /// Whether something is given by that name.
    pub fn has(&self, name: &str) -> bool {
        self.field(name).is_some()
    }

    /// Where the first of these that is given stands.
    pub fn span(&self, names: &[&str]) -> &'n Range<usize> {
        names
            .iter()
            .find_map(|name| self.field(name))
            .map_or(self.section.span(), |field| &field.value.span)
    }
}

fn complete_alone(scenario: &mut dyn ScenarioType) {
    let document = Document::empty("defaults");
    let mut reader = Reader::new(&document);
    let section = reader.section(&document.root, "the scenario", &[], |_| None);
    scenario.complete(&Given { section: &section }, &mut reader);
}

impl ScenarioKind {
    /// How many calls or sessions are under way at the same time, at most.
    pub fn concurrent(&self) -> u32 {
        self.as_type().concurrent_max().unwrap_or_else(|| {
            match setting::get(self.as_type(), "concurrent") {
                Some(Data::Integer(count)) => u32::try_from(count).unwrap_or(u32::MAX),
                _ => 1,
            }
        })
    }

    /// How long the load lasts, where that is set.
    pub fn duration(&self) -> Option<Duration> {
        self.as_type().duration()
    }

    /// When its calls count as hung, and as what then.
    pub(crate) fn hang_limits(&self, thresholds: &Thresholds) -> HangLimits {
        self.clone()
            .as_type_mut()
            .hang_limits(thresholds.hang_limits())
    }

    /// Sets a setting by its name; what is wrong with that.
    pub(crate) fn set(&mut self, name: &'static str, data: Data) -> DiagnosticResult {
        let document = Document::empty("settings");
        let mut reader = Reader::new(&document);
        if !setting::set(self.as_type_mut(), &mut reader, &Field::new(name, data)) {
            let message = sentence!(
                "{} has no setting {}",
                self.name().to_owned(),
                setting(name)
            );
            return Err(message.into());
        }
        self.as_type_mut().changed(name);
        if let Self::Custom(it) = self {
            it.keep_settings();
        }
        reader.finish().map(drop).map_err(Diagnostic::from)
    }
}

impl Entry {
    /// Its name and its other names.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }

    /// Whether it is meant by this name.
    pub fn has_name(&self, name: &str) -> bool {
        let normal = name.replace('-', "_");
        self.name == normal || self.aliases.contains(&normal.as_str())
    }

    /// Whether it is a load over time.
    pub fn is_load(&self) -> bool {
        (self.settings)()
            .iter()
            .any(|setting| setting.name == "duration")
    }

    /// What can be set: its own settings, then those that every load or every scenario has.
    pub fn all_settings(&self) -> impl Iterator<Item = &'static Setting> + use<> {
        (self.settings)().iter().chain(self.common_settings())
    }

    /// The settings that every load or every scenario has, without those that are its own.
    pub(crate) fn common_settings(&self) -> impl Iterator<Item = &'static Setting> + use<> {
        let own = (self.settings)();
        let is_load = self.is_load();
        LoadSettings::declared().iter().filter(move |setting| {
            let is_own = own.iter().any(|it| it.has_name(setting.name));
            !is_own && (is_load || LoadSettings::is_for_all(setting))
        })
    }
}

/// The names of all scenarios.
pub fn names() -> Vec<&'static str> {
    ENTRIES.iter().map(|entry| entry.name).collect()
}

/// Finds a scenario by name, taking `-` for `_`.
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.has_name(name))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn every_scenario_has_its_name_and_builds_with_its_defaults() {
        for entry in ENTRIES {
            let kind = (entry.build)();
            assert_eq!(kind.name(), entry.name);
            assert!(!entry.explanation.is_empty());
            setting::check(kind.as_type()).unwrap();
        }
        assert_eq!(find("leak").unwrap().name, "soak");
    }

    #[test]
    fn one_name_has_one_kind() {
        let mut kinds: BTreeMap<&str, String> = BTreeMap::new();
        for entry in ENTRIES {
            for declared in entry.all_settings() {
                let kind = declared.kind.describe();
                let known = kinds.entry(declared.name).or_insert_with(|| kind.clone());
                // Of cold_start it has always been true or false.
                assert!(
                    *known == kind || declared.name == "warmup",
                    "{}",
                    declared.name
                );
            }
        }
    }
}
