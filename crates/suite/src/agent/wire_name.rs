//! What tools are called towards models: `<server>__<tool>`, within what providers allow.
//!
//! Both providers take letters, digits, `_` and `-`, and 64 characters. A name that has others, is longer,
//! or is the same as that of another tool gets a number behind it that depends on server and tool alone,
//! so that it is the same in every run, whatever other tools there are.

use crate::prelude::*;

/// The longest name that every provider takes.
const LENGTH_MAX: usize = 64;
/// Between the name of the server and that of the tool.
const SEPARATOR: &str = "__";
/// How long the number behind a name is, with what is before it.
const SUFFIX_LENGTH: usize = 9;

/// The names of tools towards a model, and back.
#[derive(Debug, Clone, Default)]
pub struct WireNames {
    /// In the order of the tools.
    names: Vec<String>,
    places: HashMap<String, usize>,
}

impl WireNames {
    /// Names these tools.
    pub fn new(tools: &[OfferedTool]) -> Self {
        let plain = tools
            .iter()
            .map(|tool| format!("{}{SEPARATOR}{}", tool.server, tool.name));
        let plain: Vec<String> = plain.collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for name in &plain {
            *counts.entry(name).or_default() += 1;
        }
        let mut made = Self::default();
        for (place, (tool, name)) in tools.iter().zip(&plain).enumerate() {
            let is_alone = counts.get(name.as_str()) == Some(&1);
            let name = if is_alone && is_allowed(name) {
                name.clone()
            } else {
                numbered(tool, name)
            };
            made.places.entry(name.clone()).or_insert(place);
            made.names.push(name);
        }
        made
    }

    /// The name of the tool at this place of the list.
    pub fn name(&self, place: usize) -> Option<&str> {
        self.names.get(place).map(String::as_str)
    }

    /// The place of the tool that a model calls so.
    pub fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }
}

fn is_allowed_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '_' | '-')
}

fn is_allowed(name: &str) -> bool {
    name.len() <= LENGTH_MAX && name.chars().all(is_allowed_character)
}

/// The name as far as it can be kept, and a number.
fn numbered(tool: &OfferedTool, name: &str) -> String {
    let kept = name.replace(|character: char| !is_allowed_character(character), "_");
    // All that is left is one byte for each character.
    let kept = kept.get(..LENGTH_MAX - SUFFIX_LENGTH).unwrap_or(&kept);
    // No name has a zero byte, so that no two pairs are the same.
    let pair = tool.server.bytes().chain([0]).chain(tool.name.bytes());
    let number = fnv_1a(pair);
    format!("{kept}_{:08x}", (number >> 32) ^ (number & 0xffff_ffff))
}

/// The server and the tool that a name stands for by its form alone, where no tool has it.
pub fn taken_apart(name: &str) -> (Option<&str>, &str) {
    match name.split_once(SEPARATOR) {
        Some((server, tool)) if !server.is_empty() && !tool.is_empty() => (Some(server), tool),
        _ => (None, name),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tools(pairs: &[(&str, &str)]) -> Vec<OfferedTool> {
        let tool = |(server, name): &(&str, &str)| OfferedTool {
            server: (*server).to_owned(),
            name: (*name).to_owned(),
            description: None,
            input_schema: json!({}),
            annotations: None,
        };
        pairs.iter().map(tool).collect()
    }

    #[test]
    fn names_are_allowed_unlike_and_lead_back() {
        let long = "x".repeat(80);
        let tools = tools(&[
            ("api", "search"),
            ("web", "search"),
            ("a", "b__c"),
            ("a__b", "c"),
            ("api", "files/read"),
            ("api", "files.read"),
            ("api", &long),
            ("größe", "gib"),
        ]);
        let names = WireNames::new(&tools);
        assert_eq!(names.name(0), Some("api__search"));
        assert_eq!(names.name(1), Some("web__search"));
        let all: Vec<&str> = (0..tools.len()).filter_map(|at| names.name(at)).collect();
        for (place, name) in all.iter().enumerate() {
            assert!(is_allowed(name), "{name}");
            assert_eq!(names.place(name), Some(place), "{name}");
        }
        assert!(all[4].starts_with("api__files_read_"), "{}", all[4]);
        assert_eq!(names.place("search"), None);
        assert_eq!(names.name(99), None);
    }

    #[test]
    fn a_name_does_not_depend_on_the_other_tools() {
        let alone = WireNames::new(&tools(&[("api", "files.read")]));
        let among = WireNames::new(&tools(&[("z", "z"), ("api", "files.read")]));
        assert_eq!(alone.name(0), among.name(1));
    }

    #[test]
    fn a_name_is_taken_apart_by_its_form() {
        assert_eq!(taken_apart("api__search"), (Some("api"), "search"));
        assert_eq!(taken_apart("search"), (None, "search"));
        assert_eq!(taken_apart("__search"), (None, "__search"));
    }
}
