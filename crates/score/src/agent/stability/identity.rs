//! When two calls are the same: name and server are equal, and the arguments are as
//! [canonical](mcprove_trace::canonical) JSON, so that the order of keys does not matter and `1` is `1.0`.
//! Unknown arguments may be the same as any. A trace has millions of calls: they are numbered once,
//! and numbers are compared from there on.

use std::cmp::Reverse;

use mcprove_trace::canonical::{fingerprint, same_text};

use super::prelude::*;

/// The number of arguments that the trace does not tell.
pub const UNKNOWN: u32 = u32::MAX;

/// Gives equal numbers to equal tools, and to equal arguments.
#[derive(Default)]
pub struct Numbering<'a> {
    tools: BTreeMap<&'a str, u32>,
    /// By fingerprint; but for chance there is one of each.
    arguments: BTreeMap<u64, Vec<(&'a str, u32)>>,
    next_argument: u32,
}

/// What a run calls, as numbers.
pub struct Path {
    /// The tool of each call, by its name.
    pub tools: Vec<u32>,
    /// The arguments of each call, or [`UNKNOWN`].
    pub arguments: Vec<u32>,
}

impl<'a> Numbering<'a> {
    pub fn path(&mut self, run: &'a AgentRun) -> Path {
        let calls = &run.tool_calls;
        Path {
            tools: calls.iter().map(|call| self.tool(&call.name)).collect(),
            arguments: calls.iter().map(|call| self.argument(&call.args)).collect(),
        }
    }

    /// How many different tools there are.
    pub fn tools(&self) -> usize {
        self.tools.len()
    }

    fn tool(&mut self, name: &'a str) -> u32 {
        // More different things than numbers would not fit into memory.
        let next = u32::try_from(self.tools.len()).unwrap_or(u32::MAX);
        *self.tools.entry(name).or_insert(next)
    }

    fn argument(&mut self, arguments: &'a Json) -> u32 {
        if arguments.is_null() {
            return UNKNOWN;
        }
        let text = arguments.text();
        let alike = self.arguments.entry(fingerprint(text)).or_default();
        let is_same = |(known, _): &&(&str, u32)| same_text(known, text);
        if let Some((_, number)) = alike.iter().find(is_same) {
            return *number;
        }
        let number = self.next_argument;
        self.next_argument = number.saturating_add(1);
        alike.push((text, number));
        number
    }
}

/// What a call is: its tool, server and arguments.
type Call<'a> = (u32, Option<&'a str>, u32);

impl Path {
    /// How many different tools the run calls.
    pub fn distinct_tools(&self) -> usize {
        self.tools.iter().collect::<BTreeSet<&u32>>().len()
    }

    /// How many of the run's calls are different ones: at least, where each one with unknown
    /// arguments repeats another one of its tool, and at most, where none does.
    pub fn distinct_calls(&self, calls: &[ToolCall]) -> (usize, usize) {
        let mut identities: Vec<Call<'_>> = self.identities(calls).collect();
        identities.sort_unstable();
        let (mut least, mut most) = (0, 0);
        for of_tool in identities.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            // Sorted, the unknown ones of a tool come after its known ones.
            let known = of_tool.partition_point(|call| call.2 != UNKNOWN);
            let different = of_tool[..known].chunk_by(|one, other| one == other).count();
            least += different.max(1);
            most += different + of_tool.len() - known;
        }
        (least, most)
    }

    /// The call that is made most often, by its first place, and how often; the earliest of several.
    pub fn most_repeated(&self, calls: &[ToolCall]) -> Option<(usize, usize)> {
        let mut repeats: BTreeMap<Call<'_>, (usize, usize)> = BTreeMap::new();
        for (place, call) in self.identities(calls).enumerate() {
            if call.2 != UNKNOWN {
                repeats.entry(call).or_insert((place, 0)).1 += 1;
            }
        }
        repeats
            .into_values()
            .max_by_key(|(place, times)| (*times, Reverse(*place)))
    }

    fn identities<'a>(&'a self, calls: &'a [ToolCall]) -> impl Iterator<Item = Call<'a>> {
        self.tools
            .iter()
            .zip(&self.arguments)
            .zip(calls)
            .map(|((tool, arguments), call)| (*tool, call.server.as_deref(), *arguments))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use harness::values::json_values;

    /// A call as one text, equal for calls that are the same, where its arguments are known.
    fn call_text(call: &ToolCall) -> Option<String> {
        let args = (!call.args.is_null()).then(|| canonical::text(&call.args.value()))?;
        Some(format!("{:?},{:?},{args}", call.name, call.server))
    }

    fn call(name: &str, server: Option<&str>, args: Value) -> ToolCall {
        ToolCall {
            name: name.into(),
            server: server.map(Into::into),
            args: args.into(),
            caller: None,
            meta: None,
            ..ToolCall::default()
        }
    }

    fn run(tool_calls: Vec<ToolCall>) -> AgentRun {
        AgentRun {
            tool_calls,
            ..AgentRun::default()
        }
    }

    #[test]
    fn a_call_is_its_name_server_and_arguments() {
        let run = run(vec![
            call("a", None, json!({"q": 1, "r": 2})),
            call("a", None, json!({"r": 2, "q": 1.0})),
            call("a", Some("x"), json!({"q": 1, "r": 2})),
            call("b", None, json!({})),
            call("b", None, json!({"q": 2})),
            call("b", None, json!({})),
        ]);
        let path = Numbering::default().path(&run);
        assert_eq!(path.distinct_calls(&run.tool_calls), (4, 4));
        assert_eq!(path.distinct_tools(), 2);
        let repeated = path.most_repeated(&run.tool_calls);
        assert_eq!(repeated, Some((0, 2)), "the earlier of two");
        let nothing = Numbering::default().path(&AgentRun::default());
        assert_eq!(nothing.most_repeated(&[]), None);
    }

    #[test]
    fn unknown_arguments_may_be_any() {
        let unknown = |name: &str, server| call(name, server, Value::Null);
        let cases = [
            (vec![unknown("a", None)], (1, 1)),
            (vec![unknown("a", None), unknown("b", None)], (2, 2)),
            (vec![unknown("a", None), unknown("a", Some("x"))], (2, 2)),
            (vec![unknown("a", None), unknown("a", None)], (1, 2)),
            (vec![unknown("a", None), call("a", None, json!({}))], (1, 2)),
            (
                vec![
                    call("a", None, json!({})),
                    unknown("a", None),
                    call("a", None, json!({"q": 1})),
                    unknown("a", None),
                ],
                (2, 4),
            ),
        ];
        for (calls, expected) in cases {
            let run = run(calls);
            let path = Numbering::default().path(&run);
            let distinct = path.distinct_calls(&run.tool_calls);
            assert_eq!(distinct, expected, "{run:?}");
            assert!(
                path.most_repeated(&run.tool_calls)
                    .is_none_or(|(_, times)| times == 1)
            );
        }
    }

    #[test]
    fn an_equal_fingerprint_is_not_enough() {
        assert!(same_text(r#"{"a":1,"b":2}"#, r#"{"b":2.0,"a":1}"#));
        assert!(!same_text("[1]", "[2]"));
        assert!(!same_text("no JSON", "[2]"));
    }

    proptest! {
        #[test]
        fn numbers_are_equal_when_canonical_calls_are(
            arguments in prop::collection::vec(json_values(), 0..6),
        ) {
            let known = arguments.into_iter().filter(|args| !args.is_null());
            let calls = known.map(|args| call("a", None, args));
            let run = run(calls.collect());
            let path = Numbering::default().path(&run);
            let texts: Vec<_> = run.tool_calls.iter().map(call_text).collect();
            for (one, text) in path.arguments.iter().zip(&texts) {
                for (other, other_text) in path.arguments.iter().zip(&texts) {
                    prop_assert_eq!(one == other, text == other_text);
                }
            }
        }
    }
}
