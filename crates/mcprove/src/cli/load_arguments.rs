//! A load on the command line: every setting of a config file as a flag, made from its declaration. Flags overlay
//! the values of a file, so that one reader checks both and both mean the same.

// These are help texts: names stand in them as they are typed.
#![allow(clippy::doc_markdown)]

use std::ffi::OsString;
use std::marker::PhantomData;

use clap::{Arg, Command, Error, FromArgMatches};
use mcprove_client::server::TimeLimits;
use mcprove_load::config::sections::{SECTIONS, TOOL_CALL, defaults, owners, scenario_settings};
use mcprove_load::config::{OutputSettings, ServerSettings, SessionSettings, read_table};
use mcprove_load::drive::scenario::{Entry, find};
use mcprove_load::run::{FailOn, Thresholds};
use mcprove_settings::kind::Kind;
use mcprove_settings::message::Spelling;
use mcprove_settings::setting::{Elsewhere, Fallback};
use mcprove_settings::tree::{COMMAND_LINE, Data, Document, Field, Node};
use mcprove_trace::hang::HangLimits;

use crate::commands::{Given, with_default};
use crate::prelude::*;

/// The scenario of `mcprove deadlock-probe`.
pub const DEADLOCK_PROBE: &str = "deadlock_probe";
/// The scenario where none is given.
pub const SUSTAINED: &str = "sustained";

/// The most scenarios that help names beside a setting of theirs.
const OWNERS_MAX: usize = 3;

/// Of two settings of a load only one may be given.
const EXCLUSIVE: [(&str, &str); 2] = [("rate", "rate_limit"), ("rate_limit", "rate")];

/// What a flag stands for in the scenario of a file, besides the setting of its name.
fn also_replaced() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_scenarios = scenario_settings().into_iter();
    let instead = of_scenarios.filter_map(|it| match it.elsewhere {
        Elsewhere::Instead(_, name) => Some((name, it.name)),
        _ => None,
    });
    instead.chain(EXCLUSIVE)
}

/// What is declared under a name.
fn declared(name: &str) -> Option<&'static Setting> {
    let mut settings = SECTIONS.iter().flat_map(|section| (section.settings)());
    settings.find(|it| it.has_name(name))
}

/// A text of a declaration, for help: the settings that it names between backticks as flags.
fn with_flags(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let spelled = parts.map(
        |(place, part)| match declared(part).and_then(|it| it.flag) {
            _ if place % 2 == 0 => part.to_owned(),
            Some(flag) => format!("--{flag}"),
            None => format!("`{part}`"),
        },
    );
    spelled.collect()
}

/// How messages spell the settings of a command: those that were typed as they were typed, and all others as flags, or
/// as keys where the command takes them from a file.
pub fn spelling(
    words: impl Iterator<Item = OsString>,
    matches: Option<&ArgMatches>,
    command: &Command,
) -> Spelling {
    // What follows is the command of the server.
    let words = words.take_while(|word| word != "--");
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let own = matches.and_then(|it| it.subcommand_matches("run"));
    let files = |id| own?.get_many::<PathBuf>(id);
    let file = ["files", "config"].into_iter().find_map(files);
    let file = file.and_then(|mut files| files.next());
    let is_of_file = file.is_some();
    let given = own.map(Given::of).unwrap_or_default();
    let flags = flags_within(command);
    let is_own = move |name: &str| declared(name).is_none() && flags.contains(&dashed(name));
    let flag = move |name: &str| flag_of(name, is_own(name), &words, &given, is_of_file);
    Spelling::Program {
        flag: Box::leak(Box::new(flag)),
        is_yaml: file.is_some_and(|file| file.extension().is_none_or(|it| it != "toml")),
    }
}

/// Every flag of a command, and of those within it.
fn flags_within(command: &Command) -> BTreeSet<String> {
    let own = command.get_arguments().filter_map(Arg::get_long);
    let others = command.get_subcommands().flat_map(flags_within);
    own.map(str::to_owned).chain(others).collect()
}

/// The flag of a setting, by the name that was typed; none if it is for a file to say. One that `is_own` is no
/// setting of a load.
fn flag_of(
    name: &str,
    is_own: bool,
    words: &[String],
    given: &Given,
    is_of_file: bool,
) -> Option<String> {
    let setting = declared(name);
    let others = also_replaced().filter(|(one, _)| *one == name);
    let flag = match name {
        "faults" => Some("fault"),
        // One that stands for it in another table is accepted by this name too.
        _ if is_own || given.has(name) || also_replaced().any(|(_, own)| own == name) => {
            setting.and_then(|it| it.flag).or(Some(name))
        }
        _ => setting?.flag,
    };
    let names = setting.into_iter().flat_map(Setting::names);
    let others = others.map(|(_, other)| other).chain(flag).map(dashed);
    let mut names = names.map(dashed).chain(others).map(|it| format!("--{it}"));
    let is_typed = |flag: &String| words.iter().any(|it| it.split('=').next() == Some(flag));
    names.find(is_typed).or_else(|| {
        let flag = flag.filter(|flag| !is_of_file || is_own || given.has(flag) || given.has(name));
        Some(format!("--{}", dashed(flag?)))
    })
}

/// A setting as a flag.
pub struct Flag {
    setting: &'static Setting,
    /// The flag, without its dashes.
    long: String,
    /// Other names of it.
    aliases: Vec<String>,
    about: String,
    /// What it is when it is not given, in words.
    default: String,
}

impl Flag {
    /// As the setting is declared; none if it has no flag, or one that does not take all of a list.
    fn of(setting: &'static Setting) -> Option<Self> {
        let is_text = !matches!(setting.kind, Kind::Tables(_));
        let long = setting.flag.filter(|_| is_text)?.to_owned();
        let aliases = setting
            .names()
            .map(dashed)
            .filter(|name| long.strip_prefix("no-").unwrap_or(&long) != name)
            .collect();
        Some(Self::named(setting, long, aliases))
    }

    /// With names of its own.
    fn named(setting: &'static Setting, long: String, aliases: Vec<String>) -> Self {
        Self {
            setting,
            long,
            aliases,
            about: setting.about.to_owned(),
            default: setting.default_words().to_owned(),
        }
    }

    fn is_negative(&self) -> bool {
        self.long.starts_with("no-")
    }

    /// Whether it takes no value: it turns on what is off, or with `no-` off what is on.
    fn is_switch(&self) -> bool {
        let default = if self.is_negative() { "true" } else { "false" };
        matches!(self.setting.kind, Kind::Boolean)
            && self.setting.fallback == Fallback::Value(default)
    }

    /// Whether it may be given several times.
    fn is_list(&self) -> bool {
        matches!(self.setting.kind, Kind::Texts | Kind::SomeOf(_))
    }

    /// The flag that turns a switch back: that of a file, or one before.
    fn opposite(&self) -> Option<Arg> {
        let long = match self.long.strip_prefix("no-") {
            Some(name) => name.to_owned(),
            None => format!("no-{}", self.long),
        };
        let arg = Arg::new(format!("not {}", self.setting.name))
            .long(long)
            .hide(true);
        let arg = arg
            .action(ArgAction::SetTrue)
            .overrides_with(self.setting.name);
        self.is_switch().then_some(arg)
    }

    fn argument(&self) -> Arg {
        let Self { default, .. } = self;
        let about = match self.setting.kind {
            Kind::OneOf(names) => format!("{}: {}", self.about, names.join(", ")),
            _ => self.about.clone(),
        };
        let help = match default.as_str() {
            "" | "none" => about,
            _ if self.is_switch() => about,
            default => format!("{about} [default: {default}]"),
        };
        let arg = Arg::new(self.setting.name)
            .long(self.long.clone())
            .aliases(self.aliases.clone())
            .short(self.setting.short)
            .help(with_flags(&help));
        let placeholder = self.setting.kind.placeholder();
        if self.is_switch() {
            arg.action(ArgAction::SetTrue)
        } else if self.is_list() {
            arg.action(ArgAction::Append).value_name(placeholder)
        } else {
            arg.value_name(placeholder).allow_negative_numbers(true)
        }
    }

    /// What was given.
    fn value(&self, matches: &ArgMatches) -> Option<Data> {
        if self.is_switch() {
            let is_back = self
                .opposite()
                .is_some_and(|it| matches.get_flag(it.get_id().as_str()));
            let is_given = is_back || matches.get_flag(self.setting.name);
            return is_given.then(|| Data::Boolean(self.is_negative() == is_back));
        }
        let mut given = matches.get_many::<String>(self.setting.name)?.cloned();
        if self.is_list() {
            Some(Data::texts(given))
        } else {
            given.next_back().map(Data::Text)
        }
    }
}

/// Settings as flags, one per line.
pub fn flags_text<'s>(settings: impl IntoIterator<Item = &'s Setting>) -> String {
    let line = |setting: &Setting| {
        let long = setting
            .flag
            .map_or_else(|| dashed(setting.name), str::to_owned);
        let about = with_flags(&with_default(setting));
        format!("    --{long:<23} {about}\n")
    };
    settings.into_iter().map(line).collect()
}

fn flags_of(settings: &'static [Setting]) -> Vec<Flag> {
    settings.iter().filter_map(Flag::of).collect()
}

fn dashed(name: &str) -> String {
    name.replace('_', "-")
}

/// A table of a config file, of which settings are flags.
pub trait FlagTable {
    /// Its name in the file.
    const SECTION: &'static str;
    /// Its heading in help.
    const HEADING: &'static str;

    fn flags() -> Vec<Flag>;
}

macro_rules! tables {
    ($($(#[$about:meta])* $name:ident: $section:literal, $heading:literal, $flags:expr;)*) => {$(
        $(#[$about])*
        #[derive(Debug, Clone, Default)]
        pub struct $name;

        impl FlagTable for $name {
            const SECTION: &'static str = $section;
            const HEADING: &'static str = $heading;

            fn flags() -> Vec<Flag> {
                $flags
            }
        }
    )*};
}

tables! {
    /// The settings of every scenario.
    ScenarioTable: "scenario", "Load", scenario_flags();
    /// The settings of the scenario `deadlock_probe`, each with a flag of its own name.
    ProbeTable: "scenario", "Probe", probe_flags();
    /// What the run must keep to.
    ThresholdTable: "thresholds", "Thresholds", threshold_flags();
    /// When calls count as hung.
    HangTable: "thresholds", "Load", among(threshold_flags(), HangLimits::declared());
    /// Which findings make a run fail.
    FailTable: "thresholds", "Output", among(threshold_flags(), &[Thresholds::FAIL_ON]);
    /// What is written and printed.
    OutputTable: "output", "Output", output_flags();
    /// Where it is written.
    FolderTable: "output", "Output", among(output_flags(), &[OutputSettings::REPORT_DIR]);
    /// How a session behaves.
    SessionTable: "session", "Session", flags_of(SessionSettings::declared());
    /// What is said of a server in one text besides how it is reached.
    ServerTable: "server", "Server", flags_of(&[ServerSettings::WORKING_DIR, ServerSettings::BEARER_ENV]);
    /// How messages travel to a server.
    TransportTable: "server", "Server", flags_of(&[ServerSettings::TRANSPORT]);
    /// How long a server may take.
    TimeTable: "server", "Session", flags_of(TimeLimits::declared());
    /// How long a server may take to exit.
    ExitTable: "server", "Server", flags_of(&[TimeLimits::SHUTDOWN_TIMEOUT]);
}

/// The values that flags give to the settings of a table.
#[derive(Debug, Clone, Default)]
pub struct SettingFlags<T>(Vec<(&'static Setting, Data)>, PhantomData<T>);

impl<T: FlagTable + Default> SettingFlags<T> {
    /// Whether a flag was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(setting, _)| setting.name == name)
    }

    /// Whether any was given, but that of the seed, which is for suites too.
    pub fn is_given(&self) -> bool {
        self.0.iter().any(|(setting, _)| setting.name != "seed")
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(setting, _)| setting.name == name);
        match found {
            Some((_, Data::Text(text))) => Some(text),
            _ => None,
        }
    }

    /// This value alone.
    pub fn of(name: &str, text: &str) -> Self {
        let mut flags = Self::default();
        flags.or_default(name, text);
        flags
    }

    /// Gives a value to a setting that has none.
    pub fn or_default(&mut self, name: &str, text: &str) {
        let mut flags = T::flags().into_iter();
        if let Some(flag) = flags.find(|it| it.setting.name == name && !self.has(name)) {
            self.0.push((flag.setting, Data::Text(text.to_owned())));
        }
    }
}

impl SettingFlags<FailTable> {
    /// Which findings make a command fail that has no config.
    pub fn resolve(&self) -> Result<FailOn> {
        let mut document = Document::empty(COMMAND_LINE);
        self.overlay(&mut document);
        let thresholds: Thresholds = read_table(&document, FailTable::SECTION)?;
        Ok(thresholds.fail_on)
    }
}

/// Something that gives values to the settings of a config.
pub trait Overlay {
    /// Puts them in the place of those of a file, under whatever name these are there.
    fn overlay(&self, document: &mut Document);
}

impl<T: FlagTable> Overlay for SettingFlags<T> {
    fn overlay(&self, document: &mut Document) {
        let scenario = ScenarioTable::SECTION;
        for (setting, _) in &self.0 {
            let also = also_replaced().filter(|(flag, _)| *flag == setting.name);
            let aliases = scenario_settings().into_iter();
            let aliases = aliases.filter(|it| T::SECTION == scenario && it.has_name(setting.name));
            let names = also.map(|(_, name)| name);
            names
                .chain(aliases.flat_map(Setting::names))
                .for_each(|name| document.forget(scenario, name));
        }
        if !self.0.is_empty() {
            document.overlay(T::SECTION, self.0.iter().cloned());
        }
    }
}

impl<T: FlagTable> Args for SettingFlags<T> {
    fn augment_args(command: Command) -> Command {
        let flags = T::flags();
        let opposites = flags.iter().filter_map(Flag::opposite);
        let arguments = flags.iter().map(Flag::argument).chain(opposites);
        command.args(arguments.map(|it| it.help_heading(T::HEADING)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: FlagTable> FromArgMatches for SettingFlags<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let values = T::flags()
            .into_iter()
            .filter_map(|flag| Some((flag.setting, flag.value(matches)?)));
        Ok(Self(values.collect(), PhantomData))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn scenario_flags() -> Vec<Flag> {
    let all = scenario_settings();
    // An alias that is a setting of another scenario has a flag already.
    let is_own = |name: &&str| !all.iter().any(|it| it.name == *name);
    let flags = all.iter().copied().filter_map(|setting| {
        let is_other = |name: &&str| setting.flag != Some(dashed(name).as_str());
        let own = Some(setting.name).filter(is_other);
        let aliases = setting.aliases.iter().copied().filter(is_own).chain(own);
        let owners = owners(setting.name);
        let about = match owners.len() {
            1..=OWNERS_MAX => format!("{} ({})", setting.about, owners.join(", ")),
            _ => setting.about.to_owned(),
        };
        let default = match setting.name {
            "type" => SUSTAINED.to_owned(),
            name => defaults(name),
        };
        Some(Flag {
            aliases: aliases.map(dashed).collect(),
            about,
            default,
            ..Flag::of(setting)?
        })
    });
    flags.collect()
}

fn threshold_flags() -> Vec<Flag> {
    let mut flags = flags_of(Thresholds::declared());
    for flag in &mut flags {
        // As a scenario calls it.
        let name = flag.setting.name;
        let others = also_replaced().filter(|(one, other)| *one == name && one != other);
        flag.aliases.extend(others.map(|(_, other)| dashed(other)));
    }
    flags
}

fn output_flags() -> Vec<Flag> {
    let mut flags = flags_of(OutputSettings::declared());
    if let Some(trace) = flags.iter_mut().find(|it| it.is_negative()) {
        trace.about = "Do not write every call to trace.jsonl".into();
    }
    flags
}

/// Those flags that are of these settings.
fn among(mut flags: Vec<Flag>, settings: &[Setting]) -> Vec<Flag> {
    flags.retain(|flag| settings.iter().any(|it| it.name == flag.setting.name));
    flags
}

fn probe_flags() -> Vec<Flag> {
    let flags = find(DEADLOCK_PROBE)
        .map(Entry::all_settings)
        .into_iter()
        .flatten()
        .map(|setting| {
            let mut others = also_replaced();
            let other = others.find(|(flag, own)| *own == setting.name && flag != own);
            let other = other.map(|(flag, _)| dashed(flag));
            Flag::named(setting, dashed(setting.name), other.into_iter().collect())
        });
    flags.collect()
}

/// The scenario and its settings.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Load")]
pub struct LoadArguments {
    /// The tool to call; repeatable, chosen evenly [default: every tool that
    /// only reads or computes]
    #[arg(long, value_name = "NAME")]
    pub tool: Vec<String>,

    /// Its arguments as JSON, sent as they are; one for each --tool, in order [default: made from
    /// the tool's schema, with a token by which crossed replies are noticed]
    #[arg(long, value_name = "JSON")]
    pub args: Vec<String>,

    /// A fault to inject while the load lasts, in one line; repeatable. KIND[:VALUE] with tool=, calls=,
    /// rate=, seed=, name=, start=, duration=, max-recovery= and others-may-suffer= after commas, such as
    /// slow:500,tool=search,start=10s,duration=5s
    #[arg(long, value_name = "FAULT")]
    pub fault: Vec<String>,

    #[command(flatten)]
    pub settings: SettingFlags<ScenarioTable>,
}

/// What is written and printed.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArguments {
    #[command(flatten)]
    pub settings: SettingFlags<OutputTable>,

    /// Print metrics.json (format metrics.v1) instead of the summary
    #[arg(long)]
    pub json: bool,
}

impl OutputArguments {
    /// Where the run directory is made, if that is given.
    pub fn out(&self) -> Option<PathBuf> {
        self.settings.text("report_dir").map(PathBuf::from)
    }
}

/// What to try when a setting does not fit a scenario.
const SETTINGS_HINT: &str =
    "`mcprove list-scenarios --settings` shows the settings of each scenario";

/// The settings of a load, from flags and perhaps a file.
pub struct LoadFlags<'a> {
    /// The scenario, what it calls and its faults.
    pub load: &'a LoadArguments,
    /// Other tables.
    pub others: Vec<&'a dyn Overlay>,
}

impl LoadArguments {
    /// Whether anything but the seed was given.
    pub fn is_given(&self) -> bool {
        self.settings.is_given()
            || !self.tool.is_empty()
            || !self.args.is_empty()
            || !self.fault.is_empty()
    }

    /// The seed, if it is given.
    pub fn seed(&self) -> Result<Option<u64>> {
        let seed = self.settings.text("seed").map(reads("seed", Kind::Seed));
        Ok(seed.transpose()?)
    }

    /// The chosen scenario, if it exists.
    pub fn entry(&self) -> Option<&'static Entry> {
        find(self.settings.text("type").unwrap_or(SUSTAINED))
    }
}

impl LoadFlags<'_> {
    /// The config that these flags amount to, for this server.
    pub fn config(&self, server: &Server) -> Result<LoadConfig> {
        let mut document = Document::empty(COMMAND_LINE);
        if self.load.settings.text("type").is_none() {
            SettingFlags::<ScenarioTable>::of("type", SUSTAINED).overlay(&mut document);
        }
        self.overlay(&mut document)?;
        checked(LoadConfig::for_server(&document, server)?)
    }

    /// The config of a file, with the values that were given here in place of its own.
    pub fn over(&self, file: &Path) -> Result<LoadConfig> {
        let mut document = LoadConfig::document(file)?;
        if let Some(other) = self.load.settings.text("type") {
            let own = LoadConfig::from_document(&document)?;
            let name = own.scenario.kind.name();
            if find(other).is_some_and(|entry| entry.name != name) {
                return refuse(
                    format!("the scenario of the file is {name}, that of --scenario is {other}"),
                    "leave --scenario out, or leave the file out and give its settings as flags",
                );
            }
        }
        self.overlay(&mut document)?;
        checked(LoadConfig::from_document(&document)?)
    }

    fn overlay(&self, document: &mut Document) -> Result<()> {
        self.load.settings.overlay(document);
        for table in &self.others {
            table.overlay(document);
        }
        document.append("faults", self.load.fault.iter().cloned().map(Data::Text));
        let calls = self.tool_calls()?;
        if !calls.is_empty() {
            document.overlay("scenario", [(&TOOL_CALL, Data::List(calls))]);
        }
        Ok(())
    }

    /// The tables of the tools that were named, each with its arguments.
    fn tool_calls(&self) -> Result<Vec<Node>> {
        if self.load.args.len() > self.load.tool.len() {
            return refuse(
                "--args needs --tool",
                "name the tool: --tool NAME --args JSON",
            );
        }
        let mut calls = Vec::new();
        for (place, name) in self.load.tool.iter().enumerate() {
            let mut fields = vec![Field::new("name", Data::Text(name.clone()))];
            if let Some(text) = self.load.args.get(place) {
                serde_json::from_str::<serde_json::Value>(text).map_err(|error| {
                    Failure::new(
                        format!("--args {text:?} is not JSON: {error}"),
                        "quote it for the shell: --args '{\"ticker\":\"AAPL\"}'",
                    )
                })?;
                fields.push(Field::new("args", Data::Text(text.clone())));
            }
            calls.push(Node::new(Data::Table(fields)));
        }
        Ok(calls)
    }
}

/// In a file a setting of another scenario may stay for later; a flag is meant now.
fn checked(config: LoadConfig) -> Result<LoadConfig> {
    let mut about_flags = config.warnings.iter().filter(|warning| warning.is_besides);
    match about_flags.next() {
        Some(warning) => refuse(warning.message.rendered(), SETTINGS_HINT),
        None => Ok(config),
    }
}
