//! Where the API keys of the lab come from.

use mcprove_lab::ApiKeys;

use crate::prelude::*;

/// The variable with keys, so that they need not be in the arguments, which others can see.
pub const VARIABLE: &str = "MCPROVE_LAB_API_KEYS";

/// The largest file of keys.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

const FORM: &str = "write NAME=KEY or KEY, without spaces";

/// The keys of the arguments, of a file and of the environment, where a network needs them.
pub fn read(given: &[String], file: Option<&PathBuf>, over_network: bool) -> Result<ApiKeys> {
    if !over_network {
        if given.is_empty() && file.is_none() {
            // The variable may be there for another lab.
            return Ok(ApiKeys::default());
        }
        return refuse(
            "API keys have no effect over stdio: the only client is the process that started the server",
            "serve over the network: --http 127.0.0.1:0",
        );
    }
    let mut keys = ApiKeys::default();
    for key in given {
        keys.add(key)
            .map_err(|problem| unusable("--api-key", &problem))?;
    }
    if let Some(path) = file {
        let place = format!("--api-keys-file {}", path.display());
        keys.add_lines(&read_file(path)?)
            .map_err(|problem| unusable(&place, &problem))?;
        if keys.is_empty() {
            // Letting everybody in is not what a file of keys is for.
            return Err(unusable(&place, &"there is no key in it"));
        }
    }
    let Some(text) = std::env::var_os(VARIABLE) else {
        return Ok(keys);
    };
    let Some(text) = text.to_str() else {
        return refuse(format!("{VARIABLE} is not UTF-8"), FORM);
    };
    let before = keys.names().count();
    keys.add_lines(&text.replace(',', "\n"))
        .map_err(|error| unusable(VARIABLE, &error.problem))?;
    if keys.names().count() == before {
        // As a file of keys: who sets it wants a closed door, also when a script left it empty.
        return refuse(
            format!("{VARIABLE} is set, and there is no key in it"),
            format!("{FORM}, separated by commas; or unset it to accept everyone"),
        );
    }
    Ok(keys)
}

fn unusable(place: &str, problem: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("{place}: {problem}"), FORM)
}

fn read_file(path: &Path) -> Result<String> {
    let cannot = |problem: String| {
        let text = format!("cannot read the API keys in {}: {problem}", path.display());
        Failure::new(text, "a line for each key: NAME=KEY or KEY")
    };
    let bytes = input::read(path, FILE_BYTES_MAX).map_err(|error| cannot(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| cannot("it is not UTF-8".to_owned()))
}
