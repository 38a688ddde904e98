//! Resources and prompts: which there are, and what is in them.

use percent_encoding::percent_decode_str;

use crate::prelude::*;

/// What `resources/read` answers.
pub fn read(spec: &MockSpec, request: &Request, revision: Revision) -> Outcome {
    let Some(uri) = request.text("uri") else {
        return Err(Refusal::invalid("Invalid params: uri is missing"));
    };
    let found = named(&spec.resources, "uri", uri)
        .map(|resource| (resource, Map::new()))
        .or_else(|| {
            spec.resource_templates.iter().find_map(|template| {
                let pattern = text_of(&template.listed, "uriTemplate");
                Some((template, fit(pattern, uri)?))
            })
        });
    let Some((item, variables)) = found else {
        return Err(Refusal::no_resource(uri, revision));
    };
    let too_large = || Refusal::new(INTERNAL_ERROR, "the resource would be too large");
    let mut contents = item.content.render(&variables).ok_or_else(too_large)?;
    contents["uri"] = uri.into();
    if let Some(kind) = item.listed.get("mimeType") {
        contents["mimeType"] = kind.clone();
    }
    Ok(json!({ "contents": [contents] }))
}

/// The item with this name, which is listed under `key`.
fn named<'i>(items: &'i [Item], key: &str, name: &str) -> Option<&'i Item> {
    items.iter().find(|item| text_of(&item.listed, key) == name)
}

/// What stands for the variables of an address pattern in this address; `None` if it does not fit.
///
/// `{name}` stands for what has no `/`, `{+name}` for anything; the shortest that fits is taken.
fn fit(pattern: &str, uri: &str) -> Option<Fields> {
    let mut variables = Map::new();
    let (mut pattern, mut rest) = (pattern, uri);
    loop {
        let Some((literal, after)) = pattern.split_once('{') else {
            return (pattern == rest).then_some(variables);
        };
        rest = rest.strip_prefix(literal)?;
        let (name, behind) = after.split_once('}')?;
        let takes_all = name.starts_with('+');
        let name = name.strip_prefix('+').unwrap_or(name);
        let next = behind.split('{').next().unwrap_or_default();
        let end = if next.is_empty() {
            rest.len()
        } else if behind.len() == next.len() {
            // The last literal is the end of the address.
            rest.strip_suffix(next)?.len()
        } else {
            rest.find(next)?
        };
        let (value, remaining) = rest.split_at_checked(end)?;
        if value.is_empty() || (!takes_all && value.contains('/')) {
            return None;
        }
        variables.insert(name.to_owned(), decoded(value).into());
        (pattern, rest) = (behind, remaining);
    }
}

/// Why no address can fit a pattern.
pub fn pattern_problem(pattern: &str) -> Option<String> {
    let mut rest = pattern;
    let mut is_first = true;
    while let Some((literal, after)) = rest.split_once('{') {
        if literal.is_empty() && !is_first {
            return Some("nothing stands between two variables of the address".to_owned());
        }
        let Some((name, behind)) = after.split_once('}') else {
            return Some("a `{` has no `}`".to_owned());
        };
        let plain = name.strip_prefix('+').unwrap_or(name);
        let is_name = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
        if plain.is_empty() || !plain.chars().all(is_name) || plain.starts_with('.') {
            return Some(format!("{{{name}}} is not a known variable"));
        }
        (rest, is_first) = (behind, false);
    }
    None
}

/// What `%41` and the like stand for; as it is if that is no text.
fn decoded(value: &str) -> String {
    percent_decode_str(value)
        .decode_utf8()
        .map_or_else(|_| value.to_owned(), Cow::into_owned)
}

/// What `prompts/get` answers.
pub fn get(prompts: &[Item], request: &Request) -> Outcome {
    let name = request.tool();
    let prompt = named(prompts, "name", name);
    let prompt = prompt.ok_or_else(|| Refusal::invalid(format!("Unknown prompt: {name}")))?;
    let given = request.arguments()?;
    if let Some(missing) = required(prompt).find(|name| !given.contains_key(*name)) {
        return Err(Refusal::invalid(format!(
            "Missing required argument: {missing}"
        )));
    }
    let messages = prompt.content.render(given);
    let messages =
        messages.ok_or_else(|| Refusal::new(INTERNAL_ERROR, "the prompt would be too large"))?;
    let mut result = json!({ "messages": messages });
    if let Some(words) = prompt.listed.get("description") {
        result["description"] = words.clone();
    }
    Ok(result)
}

fn required(prompt: &Item) -> impl Iterator<Item = &str> {
    let arguments = prompt.listed.get("arguments").and_then(Value::as_array);
    arguments
        .into_iter()
        .flatten()
        .filter(|argument| argument["required"] == true)
        .filter_map(|argument| argument["name"].as_str())
}

#[cfg(test)]
mod tests;
