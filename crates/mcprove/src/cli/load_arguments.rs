//! A load on the command line: every knob of a config file as a flag. Flags become the text of a
//! config file, so that one reader checks both and both mean the same.

// These are help texts: names stand in them as they are typed.
#![allow(clippy::doc_markdown)]

use std::path::PathBuf;

use clap::Args;
use mcprove_load::config::LoadConfig;

use crate::failure::Failure;
use crate::flag_names::{describe_flags, name_flags};

/// The largest seed that every file can hold.
const SEED_MAX: u64 = i64::MAX as u64;

/// The scenario and its knobs.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Load")]
pub struct LoadArguments {
    /// What to do: see `mcprove list-scenarios` [default: sustained]
    #[arg(long, value_name = "NAME")]
    pub scenario: Option<String>,

    /// The tool to call; repeatable, chosen evenly [default: every tool that
    /// only reads or computes]
    #[arg(long, value_name = "NAME")]
    pub tool: Vec<String>,

    /// Its arguments as JSON, sent as they are; one for each --tool, in order [default: made from
    /// the tool's schema, with a token by which crossed replies are noticed]
    #[arg(long, value_name = "JSON")]
    pub args: Vec<String>,

    /// Without --tool, call every tool, also those that may write
    #[arg(long)]
    pub allow_writes: bool,

    /// Calls in flight
    #[arg(short, long, value_name = "COUNT")]
    pub concurrent: Option<u64>,

    /// How long the load lasts, such as 500ms, 30s or 1h
    #[arg(short, long, value_name = "TIME")]
    pub duration: Option<String>,

    /// How often: of cold_start, fuzzer, reconnect, early_call, interrupted_call
    #[arg(long, value_name = "COUNT")]
    pub iterations: Option<u64>,

    /// Connections that the calls are spread over; of churn, sessions in all
    #[arg(long, value_name = "COUNT")]
    pub sessions: Option<u64>,

    /// Calls per second on a fixed schedule, whatever the server does: the open model. Of a spike
    /// and a ramp the rate at the beginning, which then grows as the calls in flight would
    #[arg(short, long, value_name = "PER_SECOND", allow_negative_numbers = true)]
    pub rate: Option<f64>,

    /// The most calls in flight in the open model; what cannot start is counted as dropped
    #[arg(long, value_name = "COUNT")]
    pub max_in_flight: Option<u64>,

    /// Make up for missed calls of the open model in a burst, instead of dropping them
    #[arg(long)]
    pub catch_up: bool,

    /// The most calls per second of a closed load
    #[arg(long, value_name = "PER_SECOND")]
    pub rate_limit: Option<u64>,

    /// A fault to inject while the load lasts, in one line; repeatable. KIND[:VALUE] with tool=, calls=,
    /// rate=, seed=, name=, start=, duration=, max-recovery= and others-may-suffer= after commas, such as
    /// slow:500,tool=search,start=10s,duration=5s
    #[arg(long, value_name = "FAULT")]
    pub fault: Vec<String>,

    /// The time before anything counts
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<String>,

    /// End after this many calls
    #[arg(long, value_name = "COUNT")]
    pub calls: Option<u64>,

    /// Decides every random choice; drawn and printed unless given
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(..=SEED_MAX))]
    pub seed: Option<u64>,

    /// Check arguments against inputSchema, and results against the protocol and outputSchema
    #[arg(long)]
    pub strict: bool,

    /// Calls in flight in the first step of a ramp
    #[arg(long, value_name = "COUNT", alias = "from-concurrent")]
    pub ramp_from: Option<u64>,

    /// Calls in flight in the last step of a ramp
    #[arg(long, value_name = "COUNT", alias = "to-concurrent")]
    pub ramp_to: Option<u64>,

    /// How many more each step of a ramp has
    #[arg(long, value_name = "COUNT")]
    pub step_increment: Option<u64>,

    /// When a spike begins
    #[arg(long, value_name = "TIME")]
    pub spike_at: Option<String>,

    /// How long a spike takes
    #[arg(long, value_name = "TIME")]
    pub spike_duration: Option<String>,

    /// How many times the calls in flight of the baseline a spike has
    #[arg(long, value_name = "FACTOR", conflicts_with = "spike_concurrent")]
    pub spike_multiplier: Option<u64>,

    /// Calls in flight of a spike
    #[arg(long, value_name = "COUNT")]
    pub spike_concurrent: Option<u64>,

    /// How often the server's memory is looked at in a soak
    #[arg(long, value_name = "TIME", alias = "leak-check-interval")]
    pub sample_interval: Option<String>,

    /// How fast the mean latency may grow in a soak, in milliseconds per second
    #[arg(long, value_name = "MS_PER_SECOND", allow_negative_numbers = true)]
    pub latency_drift_ms_per_sec: Option<f64>,

    /// Rounds of a race_check
    #[arg(long, value_name = "COUNT")]
    pub rounds: Option<u64>,

    /// A payload of the fuzzer, by name; repeatable [default: all]
    #[arg(long, value_name = "NAME")]
    pub payload: Vec<String>,

    /// How long the fuzzer waits for each answer
    #[arg(long, value_name = "TIME")]
    pub answer_timeout: Option<String>,

    /// The share of calls that go to the slow tool in a slow_mix, the second one named
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub slow_share: Option<f64>,

    /// A pattern from the server's tools: explore_then_act, read_then_write or multi_step
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,

    /// The pause after each step of a pattern
    #[arg(long, value_name = "TIME")]
    pub think_time: Option<String>,

    /// What a failed step of a pattern does: continue, abort or stop
    #[arg(long, value_name = "WHAT")]
    pub error_behavior: Option<String>,
}

/// What the run must keep to.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Thresholds")]
pub struct ThresholdArguments {
    /// Fail when the median latency is above this
    #[arg(long, value_name = "TIME", alias = "p50-latency")]
    pub p50: Option<String>,

    /// Fail when the 95th percentile is above this
    #[arg(long, value_name = "TIME", alias = "p95-latency")]
    pub p95: Option<String>,

    /// Fail when the 99th percentile is above this
    #[arg(long, value_name = "TIME", alias = "p99-latency")]
    pub p99: Option<String>,

    /// Fail when the 99.9th percentile is above this
    #[arg(long, value_name = "TIME", alias = "p999-latency")]
    pub p999: Option<String>,

    /// Fail when a larger share of calls fails; 0.01 is 1 %
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    pub error_rate: Option<f64>,

    /// Fail when the server's memory grows by more
    #[arg(long, value_name = "MB", allow_negative_numbers = true)]
    pub memory_growth_mb: Option<f64>,

    /// When a call counts as hung [default: 5s]
    #[arg(long, value_name = "TIME", alias = "hang-threshold")]
    pub hang_timeout: Option<String>,

    /// How long a hung call may still answer before it is a deadlock [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub grace_period: Option<String>,
}

/// What is written and printed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArguments {
    /// Where the run directory is made [default: ./runs]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Write no trace.jsonl: metrics only, for the highest rates
    #[arg(long)]
    pub no_trace: bool,

    /// Print metrics.json (format metrics.v1) instead of the summary
    #[arg(long)]
    pub json: bool,
}

/// What to try when a knob does not fit a scenario.
const KNOBS_HINT: &str = "`mcprove list-scenarios --knobs` tells which knobs a scenario has";

impl LoadArguments {
    /// Whether anything but the seed was given.
    pub fn is_given(&self) -> bool {
        let without_seed = Self {
            seed: None,
            ..self.clone()
        };
        !without_seed.scenario_table().is_empty()
            || !self.tool.is_empty()
            || !self.args.is_empty()
            || !self.fault.is_empty()
    }

    /// The table `[scenario]` of a config file.
    fn scenario_table(&self) -> toml::Table {
        let mut table = toml::Table::new();
        put(&mut table, "type", self.scenario.clone());
        for (name, value) in [
            ("concurrent", self.concurrent),
            ("iterations", self.iterations),
            ("sessions", self.sessions),
            ("max_in_flight", self.max_in_flight),
            ("rate_limit", self.rate_limit),
            ("calls", self.calls),
            ("ramp_from", self.ramp_from),
            ("ramp_to", self.ramp_to),
            ("step_increment", self.step_increment),
            ("spike_multiplier", self.spike_multiplier),
            ("spike_concurrent", self.spike_concurrent),
            ("rounds", self.rounds),
            ("seed", self.seed),
        ] {
            put(&mut table, name, value.map(integer));
        }
        for (name, value) in [
            ("duration", &self.duration),
            ("warmup", &self.warmup),
            ("spike_at", &self.spike_at),
            ("spike_duration", &self.spike_duration),
            ("sample_interval", &self.sample_interval),
            ("answer_timeout", &self.answer_timeout),
            ("preset", &self.preset),
            ("think_time", &self.think_time),
            ("error_behavior", &self.error_behavior),
        ] {
            put(&mut table, name, value.clone());
        }
        put(&mut table, "rate", self.rate);
        put(
            &mut table,
            "latency_drift_ms_per_sec",
            self.latency_drift_ms_per_sec,
        );
        put(&mut table, "slow_share", self.slow_share);
        put(&mut table, "catch_up", self.catch_up.then_some(true));
        put(&mut table, "strict", self.strict.then_some(true));
        put(
            &mut table,
            "allow_writes",
            self.allow_writes.then_some(true),
        );
        if !self.payload.is_empty() {
            put(&mut table, "payloads", Some(self.payload.clone()));
        }
        table
    }

    /// The tables `[[scenario.tool_call]]` of a config file, without their arguments: JSON has
    /// values that TOML lacks.
    fn tool_calls(&self) -> Vec<toml::Value> {
        self.tool
            .iter()
            .map(|name| {
                let mut call = toml::Table::new();
                put(&mut call, "name", Some(name.clone()));
                toml::Value::Table(call)
            })
            .collect()
    }

    /// The config that these flags amount to; its server is to be replaced.
    pub fn resolve(
        &self,
        thresholds: &ThresholdArguments,
        output: &OutputArguments,
    ) -> Result<LoadConfig, Failure> {
        let mut scenario = self.scenario_table();
        scenario.entry("type").or_insert_with(|| "sustained".into());
        if !self.tool.is_empty() {
            scenario.insert("tool_call".into(), toml::Value::Array(self.tool_calls()));
        }
        let mut document = toml::Table::new();
        let mut server = toml::Table::new();
        server.insert("command".into(), "unused".into());
        document.insert("server".into(), server.into());
        document.insert("scenario".into(), scenario.into());
        document.insert("thresholds".into(), thresholds.table().into());
        self.add_faults(&mut document);
        let text = toml::to_string(&document).map_err(anyhow::Error::from)?;
        let mut config = LoadConfig::parse_toml(&text, "command line")
            .map_err(|errors| describe_flags(&errors))?;
        // In a file a knob of another scenario may wait for its day; a flag is meant now.
        if !config.warnings.is_empty() {
            let warnings: Vec<String> = config
                .warnings
                .iter()
                .map(|warning| {
                    let what = warning.split_once(": ");
                    name_flags(what.map_or(warning.as_str(), |(_, what)| what))
                })
                .collect();
            return Err(Failure::new(warnings.join("; "), KNOBS_HINT));
        }
        self.put_args(&mut config)?;
        output.apply(&mut config);
        Ok(config)
    }

    /// The config of a file, with the values that were given here in place of its own.
    pub fn over(
        &self,
        file: LoadConfig,
        thresholds: &ThresholdArguments,
    ) -> Result<LoadConfig, Failure> {
        let name = file.scenario.kind.name();
        if let Some(other) = self.scenario.as_ref().filter(|other| *other != name) {
            return Err(Failure::new(
                format!("the file is about the scenario {name}, and --scenario about {other}"),
                "leave --scenario out, or leave the file out and give its knobs as flags",
            ));
        }
        let given = self.scenario_table();
        let mut document: toml::Table = file.to_toml().parse().map_err(anyhow::Error::from)?;
        for (section, flags) in [("scenario", &given), ("thresholds", &thresholds.table())] {
            let table = document
                .entry(section)
                .or_insert_with(|| toml::Table::new().into());
            if let Some(table) = table.as_table_mut() {
                overlay(table, flags);
            }
        }
        if let Some(scenario) = document
            .get_mut("scenario")
            .and_then(|it| it.as_table_mut())
            && !self.tool.is_empty()
        {
            scenario.insert("tool_call".into(), toml::Value::Array(self.tool_calls()));
        }
        self.add_faults(&mut document);
        let text = toml::to_string(&document).map_err(anyhow::Error::from)?;
        let mut merged = LoadConfig::parse_toml(&text, "command line")
            .map_err(|errors| describe_flags(&errors))?;
        // A flag is meant now; what the file has besides was warned of already.
        let is_about_flag = |warning: &&String| {
            given
                .keys()
                .any(|key| warning.contains(&format!("`{key}`")))
        };
        if let Some(warning) = merged.warnings.iter().find(is_about_flag) {
            let what = warning
                .split_once(": ")
                .map_or(warning.as_str(), |(_, what)| what);
            return Err(Failure::new(name_flags(what), KNOBS_HINT));
        }
        if self.tool.is_empty() {
            // Their arguments may be more than TOML can tell.
            merged
                .scenario
                .tool_calls
                .clone_from(&file.scenario.tool_calls);
        }
        self.put_args(&mut merged)?;
        Ok(LoadConfig {
            scenario: merged.scenario,
            thresholds: merged.thresholds,
            faults: merged.faults,
            ..file
        })
    }

    /// Adds the faults that were given to those of a document.
    fn add_faults(&self, document: &mut toml::Table) {
        if self.fault.is_empty() {
            return;
        }
        let faults = document
            .entry("faults")
            .or_insert_with(|| toml::Value::Array(Vec::new()));
        if let Some(faults) = faults.as_array_mut() {
            faults.extend(self.fault.iter().cloned().map(toml::Value::from));
        }
    }

    /// Gives each tool that was named its arguments.
    fn put_args(&self, config: &mut LoadConfig) -> Result<(), Failure> {
        for (place, text) in self.args.iter().enumerate() {
            let arguments = serde_json::from_str(text).map_err(|error| {
                Failure::new(
                    format!("--args {text:?} is no JSON: {error}"),
                    "quote it for the shell: --args '{\"ticker\":\"AAPL\"}'",
                )
            })?;
            let call = config.scenario.tool_calls.get_mut(place).ok_or_else(|| {
                Failure::new(
                    "--args was given without a --tool to go with it",
                    "name the tool: --tool NAME --args JSON",
                )
            })?;
            call.args = arguments;
        }
        Ok(())
    }
}

/// Puts `flags` in the place of what `table` says, under whichever name it says it.
fn overlay(table: &mut toml::Table, flags: &toml::Table) {
    const NAMES: [[&str; 2]; 4] = [
        ["ramp_from", "from_concurrent"],
        ["ramp_to", "to_concurrent"],
        ["spike_multiplier", "spike_concurrent"],
        ["sample_interval", "leak_check_interval"],
    ];
    for (name, value) in flags {
        for names in NAMES.iter().filter(|names| names.contains(&name.as_str())) {
            for other in names {
                table.remove(*other);
            }
        }
        table.insert(name.clone(), value.clone());
    }
}

impl ThresholdArguments {
    /// Whether anything was given.
    pub fn is_given(&self) -> bool {
        !self.table().is_empty()
    }

    fn table(&self) -> toml::Table {
        let mut table = toml::Table::new();
        for (name, value) in [
            ("p50_latency", &self.p50),
            ("p95_latency", &self.p95),
            ("p99_latency", &self.p99),
            ("p999_latency", &self.p999),
            ("hang_timeout", &self.hang_timeout),
            ("grace_period", &self.grace_period),
        ] {
            put(&mut table, name, value.clone());
        }
        put(&mut table, "error_rate", self.error_rate);
        put(&mut table, "memory_growth_mb", self.memory_growth_mb);
        table
    }
}

impl OutputArguments {
    /// Puts what was given into a config.
    pub fn apply(&self, config: &mut LoadConfig) {
        if let Some(out) = &self.out {
            config.output.report_dir.clone_from(out);
        }
        config.output.trace &= !self.no_trace;
    }
}

fn put(table: &mut toml::Table, name: &str, value: Option<impl Into<toml::Value>>) {
    if let Some(value) = value {
        table.insert(name.to_owned(), value.into());
    }
}

/// TOML has signed numbers only; what is beyond them is too large for any knob.
fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}
