//! The flags of suites, and which flags go with what: a flag that would do nothing is refused.

// These are help texts: names stand in them as they are typed.
#![allow(clippy::doc_markdown)]

use clap::parser::ValueSource;
use mcprove_suite::run::{Filter, Shard, TagRule};

use crate::prelude::*;

/// How many tests at once.
const JOBS: kind::Kind = kind::Kind::Whole(1, 1024);

/// Flags that suites and loads have.
const OF_BOTH: &str = "files config explain seed report_dir json report";

/// Whether a flag is one of these arguments.
fn is_of<T: Args>(name: &str) -> bool {
    let arguments = T::augment_args(clap::Command::default());
    arguments.get_arguments().any(|it| it.get_id() == name)
}

/// Which tests of suites are run, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Suites")]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub struct SuiteArguments {
    /// Only tests with this in their name; /…/ is a pattern, FILE::NAME looks at the file too;
    /// repeatable
    #[arg(long, value_name = "TEXT")]
    pub filter: Vec<Filter>,

    /// Only tests with this tag; !TAG leaves those with it out; repeatable
    #[arg(long, value_name = "TAG", allow_hyphen_values = false)]
    pub tag: Vec<TagRule>,

    /// Only a share of the tests: 2/3 is the second of three
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,

    /// Only tests that did not pass in the last run
    #[arg(long)]
    pub last_failed: bool,

    /// Stop starting tests after the first that does not pass
    #[arg(long)]
    pub fail_fast: bool,

    /// Run each test COUNT times; it passes only if every run passes
    #[arg(long, value_name = "COUNT", default_value_t = 1, hide_default_value = true,
          value_parser = reads::<u32>("repeat", kind::COUNT))]
    pub repeat: u32,

    /// How many tests run at once, where their servers allow it [default: one per core]
    #[arg(long, value_name = "COUNT", value_parser = reads::<usize>("jobs", JOBS))]
    pub jobs: Option<usize>,

    /// Ask the models, and record their answers as cassettes for later replay
    #[arg(long, conflicts_with_all = ["live", "watch"])]
    pub record: bool,

    /// Ask the models, and ignore cassettes
    #[arg(long)]
    pub live: bool,

    /// Run again whenever a suite, a mock or a cassette changes
    #[arg(long)]
    pub watch: bool,

    /// List the tests without running them
    #[arg(long, conflicts_with_all = ["watch", "record", "live", "fail_fast"])]
    pub list: bool,
}

impl SuiteArguments {
    /// What is done with recordings.
    pub const fn cassettes(&self) -> CassetteMode {
        match (self.record, self.live) {
            (true, _) => CassetteMode::Record,
            (_, true) => CassetteMode::Live,
            _ => CassetteMode::Replay,
        }
    }
}

/// The flags that were typed, by their names.
#[derive(Debug, Default)]
pub struct Given(Vec<String>);

impl Given {
    /// Those of a command.
    pub fn of(matches: &ArgMatches) -> Self {
        let is_typed = |name: &&str| matches.value_source(name) == Some(ValueSource::CommandLine);
        // Groups have the names of types.
        let is_flag = |name: &&str| name.starts_with(|first: char| first.is_ascii_lowercase());
        let names = matches.ids().map(clap::Id::as_str);
        let names = names.filter(is_flag).filter(is_typed);
        Self(names.map(str::to_owned).collect())
    }

    /// Whether this one was.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|given| given == name)
    }

    fn of_suites(&self) -> Option<&String> {
        self.0.iter().find(|name| is_of::<SuiteArguments>(name))
    }

    /// Whether a flag of suites is among them.
    pub fn has_suite_flag(&self) -> bool {
        self.of_suites().is_some()
    }

    /// Refuses what suites do not have. `file` is one of them.
    pub fn check_for_suites(&self, file: &str) -> Result<()> {
        let is_known = |name: &&String| is_of::<SuiteArguments>(name) || has_word(OF_BOTH, name);
        let Some(name) = self.0.iter().find(|it| !is_known(it)) else {
            return Ok(());
        };
        let hint = if is_of::<TargetArguments>(name) {
            "a suite names its servers itself, under `servers:`"
        } else {
            "a suite says it itself, in an entry under `load:`"
        };
        refuse(
            format!(
                "{} cannot be combined with a suite, and {file} is one",
                flag(name)
            ),
            hint,
        )
    }

    /// Refuses what loads do not have. `file` is one of them, if there is any.
    pub fn check_for_loads(&self, file: Option<&str>) -> Result<()> {
        let Some(name) = self.of_suites() else {
            return Ok(());
        };
        let why = match file {
            Some(file) => format!("{file} is a load configuration"),
            None => "no suite is given".to_owned(),
        };
        refuse(
            format!("{} is for suites, and {why}", flag(name)),
            "name a suite: mcprove run suite.yml",
        )
    }
}

/// A flag as it is typed.
fn flag(name: &str) -> String {
    match name {
        "command" => "a command after `--`".to_owned(),
        name => Message::from(setting(name)).rendered(),
    }
}
