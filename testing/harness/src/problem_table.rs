//! Tables of what is wrong with files, for tests. A table is a text: lines of a file, then
//! `---> place | part of the message | part of the hint`.

#![allow(clippy::missing_panics_doc, reason = "only tests use it")]

use mcprove_settings::error::ConfigErrors;

/// Each case of a table, made a whole file by `wrap`, must have just that problem. Gives how many there are.
pub fn assert_problems(
    table: &str,
    file: &str,
    wrap: &dyn Fn(&str) -> String,
    parse: &dyn Fn(&str) -> Result<(), ConfigErrors>,
) -> usize {
    let mut lines = String::new();
    let mut wrong = Vec::new();
    let mut cases = 0;
    for line in table.lines() {
        let Some(expected) = line.strip_prefix("---> ") else {
            lines.push_str(line);
            lines.push('\n');
            continue;
        };
        let parts: Vec<&str> = expected.splitn(3, '|').map(str::trim).collect();
        let [place, message, hint] = parts[..] else {
            panic!("not three parts: {line}");
        };
        let text = wrap(lines.trim_start_matches('\n'));
        match parse(&text) {
            Ok(()) => wrong.push(format!("{text}{line}\nit was taken\n")),
            Err(errors) if !is_problem(&errors, file, [place, message, hint]) => {
                wrong.push(format!("{text}{line}\n{errors}\n"));
            }
            Err(_) => {}
        }
        lines.clear();
        cases += 1;
    }
    assert!(lines.trim().is_empty(), "no end: {lines}");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    cases
}

/// Whether there is just this problem.
fn is_problem(errors: &ConfigErrors, file: &str, [place, message, hint]: [&str; 3]) -> bool {
    let [error] = &errors.0[..] else { return false };
    let found = error.place.map(|place| place.to_string());
    let (said, suggested) = error.texts();
    let suggested = suggested.unwrap_or_default();
    found.as_deref() == Some(place)
        && said.contains(message)
        && !suggested.is_empty()
        && suggested.contains(hint)
        && error.file == file
}
