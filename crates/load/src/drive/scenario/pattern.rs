//! Sequences of calls with pauses for thought, chosen by weight. A pattern without steps that has
//! the name of a preset is filled in from the server's tools.

use mcprove_client::permission::judge;
use mcprove_settings::kind::table_schema;
use mcprove_settings::setting::read_tables;

use super::prelude::*;

/// The names of the presets.
pub const PRESETS: &[&str] = &["explore_then_act", "read_then_write", "multi_step"];

/// How many tools a preset explores or reads with.
const READS: usize = 3;

const STEP_HINT: &str = "write {tool = \"search\", args = {query = \"x\"}} or {list = \"tools\"}";

/// Sequences of calls, chosen at random by weight, with pauses for thought.
#[in_seconds]
#[data(Settings)]
pub struct Patterns {
    /// Sequences under way at the same time.
    #[setting(like = Sustained::CONCURRENT)]
    pub concurrent: u32,
    #[setting(like = Sustained::DURATION)]
    pub duration: Duration,
    /// A pattern made from the server's tools.
    #[setting(kind = Kind::OneOf(PRESETS), otherwise = "explore_then_act")]
    #[serde(skip)]
    preset: Option<String>,
    /// The pause after each step, where a pattern has none of its own.
    #[setting(kind = TIME_OR_ZERO, otherwise = "0")]
    #[serde(skip)]
    think_time: Option<Duration>,
    /// What to do when a step fails: go on, abort the pattern, or stop the run; where a pattern has none of its own.
    #[setting(otherwise = "continue")]
    #[serde(skip)]
    error_behavior: Option<ErrorBehavior>,
    /// Sequences of steps, chosen by weight.
    #[setting(name = "pattern", otherwise = "the preset", flag = false)]
    #[schemars(description = "The sequences.")]
    pub patterns: Vec<Pattern>,
}

/// One step.
#[derive(Debug, Settings)]
struct StepSettings {
    /// The tool to call.
    #[setting]
    tool: Option<String>,
    /// Its arguments.
    #[setting(otherwise = "made from the tool's schema")]
    args: Value,
    /// What is listed instead of a call: tools.
    #[setting(kind = Kind::OneOf(&["tools"]))]
    list: Option<String>,
}

impl Patterns {
    /// These sequences.
    pub fn new(patterns: Vec<Pattern>) -> Self {
        Self {
            patterns,
            ..Self::initial()
        }
    }
}

impl ScenarioType for Patterns {
    fn plan(&self, load: &LoadSettings) -> RunResult<Option<LoadPlan>> {
        let mut patterns = self.patterns.clone();
        Ok(Some(LoadPlan {
            schedule: Schedule::steady(load, "pattern", self.duration, self.concurrent),
            mixes: Box::new(move |context, session, tools| {
                Box::pin(async move {
                    let presets = patterns.iter_mut().filter(|it| it.steps.is_empty());
                    for pattern in presets {
                        pattern.steps = preset_steps(context, tools, &pattern.name)?;
                    }
                    let mix = Mix::of_patterns(context, session, tools, &patterns)?;
                    Ok(vec![mix])
                })
            }),
            rate_limit: None,
            repeat: None,
        }))
    }

    fn complete(&mut self, given: &Given<'_, '_>, reader: &mut Reader<'_>) {
        let chosen = self.preset.take();
        let chosen = chosen.as_deref().or(PRESETS.first().copied());
        let defaults = Pattern {
            think_time: self.think_time.take().unwrap_or_default(),
            error_behavior: self.error_behavior.take().unwrap_or_default(),
            ..preset(chosen.unwrap_or_default())
        };
        let Some(field) = given.field("pattern") else {
            if self.patterns.is_empty() {
                self.patterns = vec![defaults];
            }
            return;
        };
        if let Some(second) = given.field("preset") {
            let message = sentence!(
                "{} and {} are both given",
                setting("preset"),
                section("scenario.pattern[]")
            );
            let hint = sentence!(
                "leave out {}; a pattern without steps may have the name of a preset",
                setting("preset")
            );
            reader.problem(&second.span, message, hint);
        }
        let Data::List(nodes) = &field.value.data else {
            return;
        };
        if nodes.is_empty() {
            reader.problem(&field.span, "there is no pattern", PATTERN_HINT);
        }
        for (pattern, node) in self.patterns.iter_mut().zip(nodes) {
            if node.get("think_time").is_none() {
                pattern.think_time = defaults.think_time;
            }
            if node.get("error_behavior").is_none() {
                pattern.error_behavior = defaults.error_behavior;
            }
            if pattern.steps.is_empty() {
                let normal = pattern.name.replace('-', "_");
                // Steps that could not be read are a problem already.
                if !PRESETS.contains(&normal.as_str()) && !reader.has_problems() {
                    let name = &pattern.name;
                    let message = format!("the pattern {name:?} has no steps and is not a preset");
                    let hint = format!("add steps, or use one of {}", PRESETS.join(", "));
                    reader.problem(&node.span, message, hint);
                }
                pattern.name = normal;
            }
        }
        let weights = self.patterns.iter().map(|pattern| pattern.weight);
        check_weights(reader, field, weights);
    }

    fn duration(&self) -> Option<Duration> {
        Some(self.duration)
    }

    fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }

    fn patterns_mut(&mut self) -> &mut [Pattern] {
        &mut self.patterns
    }

    fn summary(&self, shape: Shape) -> Vec<String> {
        shape.steady(self.concurrent, self.duration)
    }
}

const PATTERN_HINT: &str = "write [[scenario.pattern]] with a name and steps for each sequence";

impl SettingTable for Pattern {
    const LABEL: Part = section("scenario.pattern[]");

    fn advice(name: &str) -> Option<Message> {
        (name == "step").then(|| "did you mean \"steps\", a list?".into())
    }
}

impl SettingItem for Pattern {
    const KIND: Kind = Kind::Tables(Self::declared);

    fn read_list(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Vec<Self>> {
        Some(read_tables(reader, field, PATTERN_HINT))
    }
}

impl SettingItem for Step {
    const KIND: Kind = Kind::Other("list of steps", || {
        let mut step = table_schema(StepSettings::declared());
        if let Value::Object(fields) = &mut step {
            fields.insert("type".into(), json!("object"));
            let choice = json!([{ "required": ["tool"] }, { "required": ["list"] }]);
            fields.insert("oneOf".into(), choice);
        }
        json!({ "type": "array", "items": step })
    });

    fn read_list(reader: &mut Reader<'_>, field: &Field, _: &Setting) -> Option<Vec<Self>> {
        let nodes = reader.list(field, STEP_HINT).iter();
        Some(nodes.filter_map(|node| read_step(reader, node)).collect())
    }

    fn write_list(items: &[Self]) -> Option<Data> {
        let steps = items.iter().map(|step| {
            let fields = match step {
                Step::ListTools => vec![Field::new("list", Data::Text("tools".into()))],
                Step::Call(ToolCall { name, args, .. }) => {
                    let args = args.write().map(|args| Field::new("args", args));
                    let tool = Field::new("tool", Data::Text(name.clone()));
                    std::iter::once(tool).chain(args).collect()
                }
            };
            Node::new(Data::Table(fields))
        });
        (!items.is_empty()).then(|| Data::List(steps.collect()))
    }
}

fn read_step(reader: &mut Reader<'_>, node: &Node) -> Option<Step> {
    let given = reader.section_of(node, "a step", StepSettings::declared(), |name| {
        (name == "name").then(|| sentence!("the tool is called {} here", setting("tool")))
    });
    let mut step = StepSettings::initial();
    fill(&mut step, reader, &given);
    let (span, words) = match (given.get("tool"), given.get("list")) {
        (Some(_), None) => return Some(Step::Call(ToolCall::new(step.tool?).args(step.args))),
        (None, Some(_)) => {
            if let Some(field) = given.get("args") {
                let message = sentence!("a list takes no {}", setting("args"));
                reader.problem(&field.span, message, STEP_HINT);
            }
            return step.list.map(|_| Step::ListTools);
        }
        (Some(_), Some(second)) => (&second.span, ["either ", " or "]),
        (None, None) => (&node.span, ["neither ", " nor "]),
    };
    let [before, between] = words;
    let (tool, list) = (setting("tool"), setting("list"));
    let message = sentence!("a step has {before}{tool}{between}{list}");
    reader.problem(span, message, STEP_HINT);
    None
}

/// A preset, to be filled in from the server's tools.
pub fn preset(name: &str) -> Pattern {
    Pattern {
        name: name.replace('-', "_"),
        weight: 1.0,
        think_time: Duration::ZERO,
        error_behavior: ErrorBehavior::Continue,
        steps: Vec::new(),
    }
}

/// The steps of a preset, from the server's tools.
fn preset_steps(context: &RunContext, tools: &[Tool], name: &str) -> RunResult<Vec<Step>> {
    let calls = calls_for(context, tools)?;
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    for call in calls {
        let is_read = judge(find(tools, &call.name)?).is_ok();
        if is_read { &mut reads } else { &mut writes }.push(Step::Call(call));
    }
    // Where only one kind may be called, or is there, its tools stand for both.
    if reads.is_empty() {
        reads.clone_from(&writes);
    }
    if writes.is_empty() {
        writes.clone_from(&reads);
    }
    let list = std::iter::once(Step::ListTools);
    let reads = reads.into_iter().take(READS);
    let write = writes.into_iter().take(1);
    match name {
        "explore_then_act" => Ok(list.chain(reads).chain(write).collect()),
        "read_then_write" => Ok(reads.take(1).chain(write).collect()),
        "multi_step" => Ok(reads.chain(write.clone()).chain(write).collect()),
        name => {
            let known = PRESETS.join(", ");
            let message =
                format!("the pattern {name:?} has no steps, and is none of the presets {known}");
            Err(RunError::Config(message.into()))
        }
    }
}
