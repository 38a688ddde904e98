//! Holding calls against rules.

use super::{PermissionsBlock, PermissionsReport, Rule, VIOLATIONS, VIOLATIONS_KEPT, Violation};
use crate::prelude::*;

/// A rule with its paths read.
struct Compiled<'a> {
    rule: &'a Rule,
    tool: ToolName<'a>,
    predicates: Vec<(Path, &'a Matcher)>,
}

/// Finds the calls that are not permitted. A path that cannot be read is an error, and so is a call
/// that cannot be judged because its server, or its arguments, are not known.
///
/// ```
/// use mcprove_score::agent::permissions::{PermissionsBlock, Rule, check_permissions};
/// use mcprove_trace::ToolCall;
///
/// let rule = Rule { tool: "delete_*".into(), server: None, args: Default::default() };
/// let block = PermissionsBlock { deny: vec![rule], ..PermissionsBlock::default() };
/// let calls = ["read_file", "delete_file"].map(|name| ToolCall {
///     name: name.into(),
///     ..ToolCall::default()
/// });
/// let report = check_permissions(&calls, &block).unwrap();
/// assert_eq!(report.violations, 1);
/// assert_eq!(report.calls[0].reason, "is denied by deny[0] (`delete_*`)");
/// ```
pub fn check_permissions(
    calls: &[ToolCall],
    block: &PermissionsBlock,
) -> ScoreResult<PermissionsReport> {
    let deny = compile(&block.deny, "deny")?;
    let allow = block
        .allow
        .as_deref()
        .map(|rules| compile(rules, "allow"))
        .transpose()?;
    let mut report = PermissionsReport::default();
    for (call_index, call) in calls.iter().enumerate() {
        let Some(reason) = judge(call_index, call, &deny, allow.as_deref())? else {
            continue;
        };
        report.violations += 1;
        if report.calls.len() < VIOLATIONS_KEPT {
            report.calls.push(Violation {
                call_index,
                name: call.name.clone(),
                server: call.server.clone(),
                reason,
            });
        }
    }
    report.passed = report.violations == 0;
    Ok(report)
}

fn compile<'a>(rules: &'a [Rule], list: &str) -> ScoreResult<Vec<Compiled<'a>>> {
    let compile = |(index, rule): (usize, &'a Rule)| {
        let predicates = rule.args.0.iter().map(|(path, matcher)| {
            let parsed = Path::parse(path).map_err(|error| {
                let message = sentence!(
                    "{list}[{index}] has a wrong path, {path:?}: {}",
                    error.message
                );
                ScoreError::new(VIOLATIONS, message, error.hint)
            });
            Ok((parsed?, matcher))
        });
        Ok(Compiled {
            rule,
            tool: ToolName::pattern(&rule.tool),
            predicates: predicates.collect::<ScoreResult<_>>()?,
        })
    };
    rules.iter().enumerate().map(compile).collect()
}

/// Why a call is not permitted; `None` when it is.
fn judge(
    index: usize,
    call: &ToolCall,
    deny: &[Compiled<'_>],
    allow: Option<&[Compiled<'_>]>,
) -> ScoreResult<Option<Message>> {
    let first = |rules: &[Compiled<'_>], wanted: Fit| {
        rules.iter().position(|rule| rule.matches(call) == wanted)
    };
    if let Some(place) = first(deny, Fit::Yes) {
        let words = deny[place].rule.describe();
        return Ok(Some(sentence!("is denied by deny[{place}] ({words})")));
    }

    // What is unknown matters only where nothing else decides.
    let mut unknown = first(deny, Fit::Unknown).map(|place| &deny[place]);
    if let Some(allow) = allow.filter(|allow| first(allow, Fit::Yes).is_none()) {
        match first(allow, Fit::Unknown) {
            Some(place) => unknown = unknown.or(Some(&allow[place])),
            None if allow.is_empty() => {
                return Ok(Some(sentence!("is not allowed: `allow` has no rules")));
            }
            None => return Ok(Some(sentence!("is allowed by no rule of `allow`"))),
        }
    }
    unknown.map_or(Ok(None), |rule| Err(rule.cannot_judge(index, call)))
}

impl Compiled<'_> {
    fn matches(&self, call: &ToolCall) -> Fit {
        match self.fit_tool(call) {
            Fit::No => Fit::No,
            fit => fit.min(self.fit_arguments(call)),
        }
    }

    /// Whether a call is of the tool and the server of the rule.
    fn fit_tool(&self, call: &ToolCall) -> Fit {
        let server = match (self.rule.server.as_deref(), &call.server) {
            // Whichever it is, `*` fits.
            (None | Some("*"), _) => Fit::Yes,
            (Some(_), None) => Fit::Unknown,
            (Some(wanted), Some(server)) => Fit::of(fits(wanted, server)),
        };
        self.tool.fit(call).min(server)
    }

    fn fit_arguments(&self, call: &ToolCall) -> Fit {
        if self.predicates.is_empty() {
            return Fit::Yes;
        }
        if call.args.is_null() {
            return Fit::Unknown;
        }
        let args = call.args.value();
        let fits = self.predicates.iter().map(|(path, matcher)| {
            match path.resolve(&args).map(|value| matcher.answer(&value)) {
                Ok(Answer::Yes) => Fit::Yes,
                // What the matcher is not about is neither allowed nor denied by it.
                Ok(Answer::Nothing) => Fit::Unknown,
                Ok(Answer::No | Answer::NoByKind) | Err(_) => Fit::No,
            }
        });
        fits.min().unwrap_or(Fit::Yes)
    }

    fn cannot_judge(&self, index: usize, call: &ToolCall) -> ScoreError {
        let (why, hint) = if self.fit_tool(call) == Fit::Unknown {
            (
                "the trace does not have its server",
                sentence!("record the server of each call, or leave the server out of the rule"),
            )
        } else if call.args.is_null() {
            (
                "the trace does not have its arguments",
                sentence!("record the arguments of each call, or leave `args` out of the rule"),
            )
        } else {
            (
                "a matcher of the rule is about another kind of value than the argument is",
                sentence!(
                    "look at the arguments of the call; `schema: {{ type: … }}` asks for a kind"
                ),
            )
        };
        ScoreError::new(
            VIOLATIONS,
            sentence!(
                "call {index}, {}, cannot be judged by the rule {}: {why}",
                quoted(&call.name),
                self.rule.describe(),
            ),
            hint,
        )
    }
}

/// Tells of each argument of a rule of `deny` that no call of its tool has, in any run. An argument
/// that is absent matches nothing, so that a misspelt one lets everything through.
pub fn note_absent(
    block: &PermissionsBlock,
    runs: &[AgentRun],
    card: &mut Scorecard,
) -> ScoreResult {
    for (place, compiled) in compile(&block.deny, "deny")?.into_iter().enumerate() {
        let rule = compiled.rule;
        let calls = || {
            runs.iter()
                .flat_map(|run| &run.tool_calls)
                .filter(|call| !call.args.is_null() && compiled.fit_tool(call) == Fit::Yes)
        };
        for (written, (path, _)) in rule.args.0.keys().zip(&compiled.predicates) {
            let has = |call: &ToolCall| path.resolve(&call.args.value()).is_ok();
            if calls().next().is_some() && !calls().any(has) {
                card.note(sentence!(
                    "permissions: args.{} of deny[{place}] was in no call of {}; is it spelt right?",
                    phrase::text(written),
                    quoted(&rule.tool)
                ));
            }
        }
    }
    Ok(())
}
