//! How the provider of a model is spoken to: its name, or a map.

use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::table;
use mcprove_settings::tree::{Data, Field};

use super::keys::{self, PROVIDER, PROVIDERS};
use crate::plan::Provider;

const URL_HINT: &str = "use http:// or https://, such as http://127.0.0.1:11434";

/// What a file says about a provider.
#[derive(Default)]
pub(super) struct ProviderPlan {
    pub kind: Option<Provider>,
    pub base_url: Option<String>,
    pub api_key_env: Option<String>,
}

/// Reads `provider`, if it is there; none only when there were problems.
pub(super) fn read(reader: &mut Reader<'_>, section: &Section<'_>) -> Option<ProviderPlan> {
    let Some(field) = section.get("provider") else {
        return Some(ProviderPlan::default());
    };
    if matches!(field.value.data, Data::Text(_)) {
        let name = reader.choice(section, "provider", PROVIDERS)?;
        return Some(ProviderPlan {
            kind: kind(name),
            ..ProviderPlan::default()
        });
    }
    read_map(reader, field)
}

fn read_map(reader: &mut Reader<'_>, field: &Field) -> Option<ProviderPlan> {
    let label = "`provider`";
    let known = keys::names(&PROVIDER);
    let node = table::spelled(reader, &field.value, label, &known)?;
    let section = table::section(reader, &node, label, &known);
    let name = reader.choice(&section, "type", PROVIDERS);
    let base_url = reader.text(&section, "base_url");
    if let (Some(url), Some(field)) = (base_url, section.get("base_url"))
        && !is_address(url)
    {
        reader.wrong(field, "an http address", URL_HINT);
        return None;
    }
    let api_key_env = reader.text(&section, "api_key_env");
    if let (Some(name), Some(field)) = (api_key_env, section.get("api_key_env"))
        && !is_variable(name)
    {
        // Whoever puts the key itself here should not see it again.
        let message = "`api_key_env` must be the name of a variable of the environment".to_owned();
        let hint = "write OPENAI_API_KEY, and put the key into that variable";
        reader.secret_problem(&field.value.span, message, hint);
        return None;
    }
    Some(ProviderPlan {
        kind: name.and_then(kind),
        base_url: base_url.map(str::to_owned),
        api_key_env: api_key_env.map(str::to_owned),
    })
}

fn kind(name: &str) -> Option<Provider> {
    match name {
        "anthropic" => Some(Provider::Anthropic),
        "openai" => Some(Provider::OpenAi),
        _ => None,
    }
}

fn is_address(url: &str) -> bool {
    let parts = url.split_once("://");
    parts.is_some_and(|(scheme, rest)| {
        let scheme = scheme.to_ascii_lowercase();
        matches!(scheme.as_str(), "http" | "https")
            && !rest.is_empty()
            && !rest.starts_with(['/', '?', '#'])
    })
}

fn is_variable(name: &str) -> bool {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    !name.starts_with(|letter: char| letter.is_ascii_digit()) && name.chars().all(is_allowed)
}
