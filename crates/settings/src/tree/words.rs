//! Load configurations are explained in the words of TOML; in a YAML file they are said in those of YAML.

/// The sections of TOML, and what they are in YAML.
const SECTIONS: &[(&str, &str)] = &[
    ("[[scenario.tool_call]]", "`tool_call` of `scenario`"),
    ("[[scenario.pattern]]", "`pattern` of `scenario`"),
    ("[thresholds.tools]", "`tools` of `thresholds`"),
    ("[thresholds]", "`thresholds`"),
    ("[scenario]", "`scenario`"),
    ("[session]", "`session`"),
    ("[server]", "`server`"),
    ("[output]", "`output`"),
];

/// A message of a YAML file.
pub(super) fn message(text: String) -> String {
    let replace = |text: String, (toml, yaml): &(&str, &str)| {
        if text.contains(toml) {
            text.replace(toml, yaml)
        } else {
            text
        }
    };
    SECTIONS.iter().fold(text, replace)
}

/// A hint of a YAML file.
pub(super) fn hint(text: String) -> String {
    message(text).replace(" = ", ": ")
}
