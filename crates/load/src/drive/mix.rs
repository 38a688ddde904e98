//! What is called, made ready: each tool's request with its arguments, and where its token goes.

use crate::prelude::*;
use mcprove_arguments as arguments;
use mcprove_arguments::{Choice, SchemaCheck};
use mcprove_settings::reader::meant;
use mcprove_settings::registry::nearest;
use mcprove_trace::decision::decide_share;

/// How many calls with other numbers are made ready.
const VARIANTS: i32 = 20;
/// How many tools are listed when none may be called.
const LEFT_OUT_MAX: usize = 100;

/// Something is called by a name that no tool has.
pub fn unknown_tool(tools: &[Tool], name: &str, what: String) -> RunError {
    let names = tools.iter().map(|tool| tool.name.as_str());
    let otherwise = sentence!(
        "{} with the same server shows its tools",
        command_or("probe", "mcprove::probe")
    );
    let hint = meant(nearest(names, name), otherwise);
    RunError::Config(Diagnostic::new(what, hint))
}

/// What is called, by weight.
pub struct Mix {
    patterns: Vec<PreparedPattern>,
    /// The sum of the weights up to and including each pattern.
    bounds: Vec<f64>,
    seed: u64,
}

/// A pattern made ready.
pub struct PreparedPattern {
    /// The pause after each step.
    pub think_time: Duration,
    /// What a failed step does.
    pub error_behavior: ErrorBehavior,
    /// The steps.
    pub steps: Vec<PreparedStep>,
}

impl PreparedPattern {
    /// Whether one of its steps is a call of one of `tools`.
    pub fn calls_any_of(&self, tools: &BTreeSet<String>) -> bool {
        self.steps.iter().any(|step| match step {
            PreparedStep::Call(call) => tools.contains(&call.tool),
            PreparedStep::List(_) => false,
        })
    }
}

/// A step made ready.
pub enum PreparedStep {
    /// A call of a tool.
    Call(PreparedCall),
    /// A list of the tools.
    List(Request),
}

/// A call made ready: sent any number of times, each with its own token.
#[derive(Opaque, Clone)]
pub struct PreparedCall {
    /// The request; its parameters hold the token of call 0.
    pub request: Request,
    /// Where the digits of the token are in the parameters; nowhere when it carries none.
    pub places: Vec<Range<usize>>,
    /// The tool.
    pub tool: String,
    /// Its parameters and others with other numbers, where it has no token and the schema takes them.
    variants: Arc<[String]>,
    /// Whether the calls of the sample have other numbers, because the tool does the same with them.
    pub(crate) is_sample_varied: bool,
    /// What the tokens in its replies are good for, as control calls showed.
    pub(crate) token_use: TokenUse,
}

impl PreparedCall {
    /// Makes one call ready.
    pub fn new(
        context: &SharedRun,
        session: &Session,
        tools: &[Tool],
        call: &ToolCall,
    ) -> RunResult<Self> {
        let tool = find(tools, &call.name)?;
        let token = context.tokens.token(0);
        let is_generated = call.args.is_null();
        let mut misfit = None;
        let arguments = if is_generated {
            check_folder(context)?;
            make_arguments(context, tool, &token).map_err(|reason| {
                let message = format!("no arguments can be made for {:?}: {reason}", tool.name);
                let hint = sentence!("give them with {}", setting("args"));
                RunError::Config(Diagnostic::new(message, hint))
            })?
        } else {
            if let Some(strict) = &context.strict {
                misfit = strict.check_arguments(tool, &call.args);
            }
            call.args.clone()
        };
        let mut request = session.tool_request(&tool.name, &arguments);
        if let Some(misfit) = misfit {
            request = request.with_misfit(misfit);
        }
        // A header that mirrors the token would have to change with it: leave such calls alone.
        let mut headers = request.headers.iter();
        let places = if is_generated && !headers.any(|(_, value)| value.contains(&token)) {
            context.tokens.places(&request.params, &token)
        } else {
            Vec::new()
        };
        let can_vary = is_generated && places.is_empty() && request.headers.is_empty();
        let variants = if can_vary {
            vary(tool, &arguments)
        } else {
            Vec::new()
        };
        Ok(Self {
            variants: variants
                .iter()
                .map(|arguments| session.tool_request(&tool.name, arguments).params)
                .collect(),
            request,
            places,
            tool: tool.name.clone(),
            is_sample_varied: false,
            token_use: TokenUse::default(),
        })
    }
}

impl PreparedCall {
    /// Whether each call can have arguments of its own.
    pub(crate) fn can_vary(&self) -> bool {
        !self.places.is_empty() || self.variants.len() > 1
    }

    /// Its parameters with the token of that call, or with numbers of its own, as far as it can vary.
    pub(crate) fn varied_params(&self, number: u64) -> String {
        let place = usize::try_from(number).unwrap_or_default();
        let variant = self.variants.iter().cycle().nth(place);
        variant.cloned().unwrap_or_else(|| self.params_of(number))
    }

    /// The same with other numbers, if there are any.
    pub(crate) fn with_other_numbers(&self) -> Option<Self> {
        let mut other = self.clone();
        other.request.params.clone_from(self.variants.get(1)?);
        Some(other)
    }

    /// What call `number` of a load sends instead of the parameters of the request, written into `buffer`.
    pub(crate) fn own_params<'a>(
        &'a self,
        number: u64,
        seed: u64,
        buffer: &'a mut String,
    ) -> Option<&'a str> {
        if self.places.is_empty() {
            let is_varied = self.is_sample_varied && has_other_numbers(seed, number);
            return self
                .variants
                .get(1)
                .filter(|_| is_varied)
                .map(String::as_str);
        }
        buffer.clone_from(&self.request.params);
        Tokens::write(buffer, &self.places, number);
        Some(buffer)
    }

    /// Its parameters with the token of that call.
    pub(crate) fn params_of(&self, number: u64) -> String {
        let mut params = self.request.params.clone();
        Tokens::write(&mut params, &self.places, number);
        params
    }
}

/// These arguments, and others with other numbers that the schema takes, each number at a pace of its own.
fn vary(tool: &Tool, arguments: &Value) -> Vec<Value> {
    let mut found = vec![arguments.clone()];
    let check = SchemaCheck::new(&tool.input_schema).ok();
    let fields = || arguments.as_object().into_iter().flatten();
    for step in 1..VARIANTS {
        let mut varied = arguments.clone();
        let numbers = fields().filter(|(_, value)| value.is_number());
        for (step, (name, value)) in numbers.zip(1..).map(|(field, pace)| (step * pace, field)) {
            let moved = |by: i32| match value.as_i64() {
                Some(number) => json!(number.saturating_add(by.into())),
                None => json!(value.as_f64().unwrap_or_default() + f64::from(by)),
            };
            let choices = tool.input_schema["properties"][name]["enum"].as_array();
            let choice = choices.and_then(|it| it.iter().cycle().nth(step.unsigned_abs() as usize));
            let mut others = [moved(step), moved(-step)]
                .into_iter()
                .chain(choice.cloned());
            let fits = others.find_map(|other| {
                let mut with = varied.clone();
                with[name] = other;
                check.as_ref()?.failure(&with).is_none().then_some(with)
            });
            varied = fits.unwrap_or(varied);
        }
        if !found.contains(&varied) {
            found.push(varied);
        }
    }
    found
}

/// Fails where nothing of ours is left to make the folder of generated paths with.
fn check_folder(context: &SharedRun) -> RunResult {
    let limit = context.folder().err().and_then(OwnLimit::of);
    limit.map_or(Ok(()), |limit| Err(limit.into()))
}

/// Arguments of a tool, or why none can be made.
pub fn make_arguments(context: &SharedRun, tool: &Tool, token: &str) -> Result<Value, String> {
    let folder = context.folder();
    let folder = folder.map_err(|error| format!("no temporary folder can be made: {error}"))?;
    let choice = Choice {
        token: Some(token.to_owned()),
        // The first choice of every enum: what a server offers first is the least likely to fail.
        seed: 0,
        folder: Some(folder.to_owned()),
    };
    arguments::from_schema(&tool.input_schema, &choice).map_err(|error| error.in_one_line())
}

/// The tool of that name.
pub fn find<'a>(tools: &'a [Tool], name: &str) -> RunResult<&'a Tool> {
    tools
        .iter()
        .find(|tool| tool.name == name)
        .ok_or_else(|| unknown_tool(tools, name, format!("the server has no tool {name:?}")))
}

/// What to call: what was asked for, or every tool that may be called.
pub fn calls_for(context: &SharedRun, tools: &[Tool]) -> RunResult<Vec<ToolCall>> {
    let named = &context.scenario.tool_calls;
    for call in named {
        find(tools, &call.name)?;
    }
    if named.is_empty() {
        free_calls(context, tools)
    } else {
        Ok(named.clone())
    }
}

/// A call of every tool that may be called without being named, or why there is none.
pub fn free_calls(context: &SharedRun, tools: &[Tool]) -> RunResult<Vec<ToolCall>> {
    if tools.is_empty() {
        return Err(RunError::Config(Diagnostic::new(
            "the server has no tools, so there is nothing to call",
            sentence!(
                "{} shows what it offers, and what it may need (an environment variable, a login)",
                command_or("probe", "mcprove::probe")
            ),
        )));
    }
    check_folder(context)?;
    let token = context.tokens.token(0);
    let allowance = context.allowance();
    let (mut calls, mut left_out) = (Vec::new(), Vec::new());
    for tool in tools {
        match why_not(tool, &allowance, || make_arguments(context, tool, &token)) {
            None => calls.push(ToolCall::new(&tool.name)),
            Some(reason) => left_out.push(format!("{} ({reason})", tool.name)),
        }
    }
    if calls.is_empty() {
        return Err(RunError::Config(nothing_free(&left_out)));
    }
    Ok(calls)
}

/// Why a tool is not called unless it is named.
fn why_not(
    tool: &Tool,
    allowance: &Allowance,
    make: impl FnOnce() -> Result<Value, String>,
) -> Option<String> {
    match allowance.refusal(tool) {
        Some(reason) => Some(reason.to_string()),
        None if tool.requires_task() => Some("only as a task".to_owned()),
        None => make().err(),
    }
}

fn nothing_free(left_out: &[String]) -> Diagnostic {
    let mut lines: Vec<String> = left_out.iter().take(LEFT_OUT_MAX).cloned().collect();
    if left_out.len() > LEFT_OUT_MAX {
        lines.push(format!("and {} more", left_out.len() - LEFT_OUT_MAX));
    }
    Diagnostic::new(
        format!(
            "no tool of the server may be called without being named:\n  {}\n",
            lines.join("\n  ")
        ),
        sentence!(
            "name one as {}, with arguments where none can be made, or set {} to call tools that may write",
            setting("tool_call"),
            setting("allow_writes")
        ),
    )
}

impl Mix {
    /// Weighted single calls.
    pub fn of_calls(
        context: &SharedRun,
        session: &Session,
        tools: &[Tool],
        calls: &[ToolCall],
    ) -> RunResult<Self> {
        let patterns: Vec<Pattern> = calls
            .iter()
            .map(|call| Pattern {
                name: call.name.clone(),
                weight: call.weight,
                think_time: Duration::ZERO,
                error_behavior: ErrorBehavior::Continue,
                steps: vec![Step::Call(call.clone())],
            })
            .collect();
        Self::of_patterns(context, session, tools, &patterns)
    }

    /// Weighted sequences.
    pub fn of_patterns(
        context: &SharedRun,
        session: &Session,
        tools: &[Tool],
        patterns: &[Pattern],
    ) -> RunResult<Self> {
        let mut ready = Vec::new();
        let mut bounds = Vec::new();
        let mut sum = 0.0;
        for pattern in patterns {
            let weight = pattern.weight;
            if !weight.is_finite() || weight < 0.0 {
                let name = &pattern.name;
                let message =
                    format!("the weight of {name:?} is {weight}, and must be zero or more");
                return Err(RunError::Config(message.into()));
            }
            let mut steps = Vec::new();
            for step in &pattern.steps {
                steps.push(match step.call() {
                    Some(call) => {
                        PreparedStep::Call(PreparedCall::new(context, session, tools, call)?)
                    }
                    None => PreparedStep::List(Request::new("tools/list")),
                });
            }
            sum += weight;
            bounds.push(sum);
            ready.push(PreparedPattern {
                think_time: pattern.think_time,
                error_behavior: pattern.error_behavior,
                steps,
            });
        }
        if sum <= 0.0 || ready.iter().all(|pattern| pattern.steps.is_empty()) {
            let message =
                "there is nothing to call: every weight is zero, or no pattern has a step";
            return Err(RunError::Config(message.into()));
        }
        Ok(Self {
            patterns: ready,
            bounds,
            seed: context.seed,
        })
    }

    /// How many patterns there are.
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Its calls.
    pub fn calls(&self) -> impl Iterator<Item = &PreparedCall> {
        let steps = self.patterns.iter().flat_map(|pattern| &pattern.steps);
        steps.filter_map(|step| match step {
            PreparedStep::Call(call) => Some(call),
            PreparedStep::List(_) => None,
        })
    }

    /// The same, to be changed.
    pub fn calls_mut(&mut self) -> impl Iterator<Item = &mut PreparedCall> {
        let patterns = self.patterns.iter_mut();
        let steps = patterns.flat_map(|pattern| &mut pattern.steps);
        steps.filter_map(|step| match step {
            PreparedStep::Call(call) => Some(call),
            PreparedStep::List(_) => None,
        })
    }

    /// The pattern that call `number` begins, the same whoever makes it.
    pub fn choose(&self, number: u64) -> Option<&PreparedPattern> {
        let place = if self.patterns.len() == 1 {
            0
        } else {
            let total = self.bounds.last().copied().unwrap_or_default();
            let mark = decide_share(self.seed, "mix", number) * total;
            self.bounds
                .partition_point(|bound| *bound <= mark)
                .min(self.patterns.len() - 1)
        };
        self.patterns.get(place)
    }
}

/// The mixes of a load, by the number that its phases have.
pub type Mixes = Vec<Mix>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_vary_within_the_schema() {
        let varied = |properties: Value, arguments: Value| {
            let schema = json!({ "type": "object", "properties": properties });
            let tool = json!({ "name": "t", "inputSchema": schema });
            let found = vary(&serde_json::from_value(tool).unwrap(), &arguments);
            assert_eq!(found[0], arguments);
            found
        };
        let integer = json!({ "type": "integer" });
        let found = varied(
            json!({ "a": integer, "b": integer }),
            json!({ "a": 1, "b": 1 }),
        );
        assert_eq!(
            found[1..3],
            [json!({ "a": 2, "b": 3 }), json!({ "a": 3, "b": 5 })]
        );
        assert_eq!(found.len(), 20);
        let small = json!({ "type": "integer", "minimum": 0, "maximum": 1 });
        let found = varied(json!({ "a": small }), json!({ "a": 1 }));
        assert_eq!(found, [json!({ "a": 1 }), json!({ "a": 0 })]);
        let choice = json!({ "enum": [8, 16, 32] });
        assert_eq!(varied(json!({ "a": choice }), json!({ "a": 8 })).len(), 3);
        let number = json!({ "type": "number", "minimum": 0.5 });
        assert_eq!(
            varied(json!({ "a": number }), json!({ "a": 0.5 })).len(),
            20
        );
        for fixed in [json!(true), json!("text"), json!(null)] {
            assert_eq!(varied(json!({}), json!({ "a": fixed })).len(), 1);
        }
    }

    #[test]
    fn tools_that_are_not_called_are_named_with_the_reason() {
        let tool = |json: &str| serde_json::from_str::<Tool>(json).unwrap();
        let unmade = || Err("no arguments".into());
        let reason = |json: &str| why_not(&tool(json), &Allowance::default(), || Ok(Value::Null));
        assert_eq!(
            reason(r#"{"name":"get","inputSchema":{"type":"object"}}"#),
            None
        );
        let refused = reason(r#"{"name":"get","annotations":{"destructiveHint":true}}"#);
        assert_eq!(refused.as_deref(), Some("destructiveHint is true"));
        let unmade = why_not(&tool(r#"{"name":"get"}"#), &Allowance::default(), unmade);
        assert_eq!(unmade.as_deref(), Some("no arguments"));
        let refused = nothing_free(&["a (x)".to_owned(), "b (y)".to_owned()]);
        let text = refused.message.rendered();
        assert!(text.ends_with("named:\n  a (x)\n  b (y)\n"), "{text}");
        let hint = refused.hint.rendered();
        assert!(hint.starts_with("name one"), "{hint}");
    }
}
