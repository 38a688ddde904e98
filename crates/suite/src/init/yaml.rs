//! Values as YAML: in one line, with quotes wherever there could be any doubt.

use mcprove_settings::printable::is_hidden;

use crate::prelude::*;

/// Words that YAML, in one version or another, takes for something else than a text.
const OTHER_MEANINGS: &str = "true false null yes no on off y n nan inf infinity";

pub fn text(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

/// A text in which `${` is no variable.
pub fn literal(value: &str) -> String {
    text(&escaped(value))
}

/// A text in which `${` stands for itself, not yet as YAML.
pub fn escaped(text: &str) -> String {
    text.replace("${", "$${")
}

/// A value in one line; texts in it have no variables.
pub fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => literal(text),
        Value::Array(values) if values.is_empty() => "[]".to_owned(),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().map(flow).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(fields) if fields.is_empty() => "{}".to_owned(),
        Value::Object(fields) => {
            // Names of fields are never filled in.
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{}: {}", text(name), flow(value)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    let mut letters = text.chars();
    letters
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && letters.all(|letter| letter.is_ascii_alphanumeric() || "_-./".contains(letter))
        && !has_word(OTHER_MEANINGS, &text.to_ascii_lowercase())
}

/// In double quotes, with everything escaped that YAML does not print.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            letter if is_hidden(letter) => {
                let _ = write!(quoted, "\\U{:08X}", u32::from(letter));
            }
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use mcprove_settings::tree::Document;

    #[test]
    fn whatever_is_written_is_read_again() {
        let texts = [
            "plain",
            "",
            " ",
            "a: b",
            "- x",
            "# no",
            "yes",
            "NO",
            "1",
            "1e3",
            "~",
            "null",
            "a\nb\r\tc",
            "\"quoted\"",
            "it's",
            "back\\slash",
            "\u{0}\u{7}\u{1b}[31m",
            "\u{85}\u{2028}\u{feff}\u{fffe}",
            "ünïcödé 🦀",
            "\u{202e}drow",
            "{a}",
            "[b]",
            "*c",
            "&d",
            "!e",
            "%f",
            "@g",
            "`h`",
            "? i",
            "| j",
            "0x1F",
            "2024-01-01",
            "=",
            "<<",
        ];
        for text in texts {
            let value = json!({ text: [text, { "k": text }], "n": [1, -0.5, 1e300, true, null] });
            let yaml = format!("v: {}\n", flow(&value));
            let document = Document::from_yaml(&yaml, "x.yml")
                .unwrap_or_else(|error| panic!("{yaml}: {error}"));
            assert_eq!(
                document.root.to_json().unwrap(),
                json!({ "v": value }),
                "{yaml}"
            );
        }
    }

    #[test]
    fn variables_are_escaped_in_values_only() {
        assert_eq!(flow(&json!({ "${a}": "${b}" })), r#"{ "${a}": "$${b}" }"#);
    }
}
