//! Reading `console` blocks, and what counts in the output of a command.

/// A block of commands that are run one after the other in one folder.
pub struct Block {
    pub commands: Vec<Command>,
    /// Whether its output is all numbers, which differ from run to run: then only how it begins
    /// and the exit code count.
    pub measured: bool,
}

pub struct Command {
    /// As it is given to the shell.
    pub text: String,
    /// The line of the document, counted from 1.
    pub line: usize,
    pub exit_code: i32,
    /// What the document says that it prints.
    pub output: String,
    /// On how many lines.
    pub output_lines: usize,
}

/// The `console` blocks of a document.
pub fn blocks(document: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = document.lines().enumerate();
    while let Some((_, line)) = lines.next() {
        let measured = line == "```console measured";
        if line != "```console" && !measured {
            continue;
        }
        let mut commands: Vec<Command> = Vec::new();
        for (index, line) in lines.by_ref().take_while(|(_, line)| *line != "```") {
            if let Some(text) = line.strip_prefix("$ ") {
                commands.push(read_command(text, index + 1));
            } else {
                let command = commands.last_mut().expect("a block starts with a command");
                command.output.push_str(line);
                command.output.push('\n');
                command.output_lines += 1;
            }
        }
        blocks.push(Block { commands, measured });
    }
    blocks
}

fn read_command(text: &str, line: usize) -> Command {
    let (text, exit_code) = match text.rsplit_once("# exit ") {
        Some((text, code)) => (text, code.trim().parse().expect("an exit code")),
        None => (text, 0),
    };
    Command {
        text: text.trim().to_owned(),
        line,
        exit_code,
        output: String::new(),
        output_lines: 0,
    }
}

/// The output without what differs from run to run and from machine to machine: times, limits, seeds,
/// and where lines are wrapped.
pub fn normalize(output: &str) -> String {
    let words: Vec<&str> = output.split_whitespace().collect();
    let mut normal: Vec<String> = Vec::with_capacity(words.len());
    for (index, word) in words.iter().enumerate() {
        let before = index.checked_sub(1).map_or("", |index| words[index]);
        let after = words.get(index + 1).copied().unwrap_or_default();
        let is_measured = unit(after) == "ms"
            || before == "in" && is_unit(after)
            || before == "to"
            || before == "seed"
            || before.ends_with("_ms\":");
        let follows_time = normal.last().is_some_and(|last| last == "#");
        if is_measured && is_number(word) {
            normal.push("#".into());
        } else if follows_time && is_unit(word) {
            normal.push(word.replacen(unit(word), "ms", 1));
        } else {
            normal.push(without_times(word));
        }
    }
    without_noise(normal.join(" "))
}

/// A report without what it says of a busy machine, which is of the moment.
fn without_noise(text: String) -> String {
    let parts = text
        .split_once(" Machine: busy;")
        .and_then(|(before, rest)| {
            let (_, after) = rest.split_once(" processors.")?;
            Some(format!("{before}{after}"))
        });
    parts.unwrap_or(text)
}

/// Whether two outputs say the same.
pub fn agree(one: &str, other: &str, measured: bool) -> bool {
    if measured {
        one.split_whitespace().next() == other.split_whitespace().next()
    } else {
        normalize(one) == normalize(other)
    }
}

/// A word of compact JSON without the values of `ts` and of what ends in `_ms`.
/// Times with a fraction in one word, as columns have them, are measured; `250ms` is a setting.
fn without_times(word: &str) -> String {
    let number = word.strip_suffix("ms").or_else(|| word.strip_suffix('s'));
    if number.is_some_and(|number| number.contains('.') && is_number(number)) {
        return "#ms".to_owned();
    }
    let mut kept = word.to_owned();
    for key in ["\"ts\":", "_ms\":"] {
        let mut parts = kept.split(key);
        let mut cleaned = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            cleaned.push_str(key);
            cleaned.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.'));
        }
        kept = cleaned;
    }
    kept
}

fn is_number(word: &str) -> bool {
    word.trim_end_matches(',').parse::<f64>().is_ok()
}

fn unit(word: &str) -> &str {
    word.trim_end_matches(|character: char| !character.is_alphabetic())
}

fn is_unit(word: &str) -> bool {
    matches!(unit(word), "ms" | "s")
}

#[test]
fn commands_are_read_with_exit_code_and_output() {
    let document =
        "text\n```console\n$ a --b\none\n\ntwo\n$ c   # exit 1\n```\n```sh\n$ not run\n```\n";
    let blocks = blocks(document);
    assert_eq!(blocks.len(), 1);
    let commands = &blocks[0].commands;
    assert_eq!(
        (commands[0].text.as_str(), commands[0].exit_code),
        ("a --b", 0)
    );
    assert_eq!(
        (commands[0].output.as_str(), commands[0].output_lines),
        ("one\n\ntwo\n", 3)
    );
    assert_eq!((commands[1].text.as_str(), commands[1].exit_code), ("c", 1));
    assert_eq!(commands[1].line, 7);
}

#[test]
fn only_times_and_wrapping_are_overlooked() {
    let same = |one: &str, other: &str| normalize(one) == normalize(other);
    assert!(same("echo  ok  0.8 ms\n", "echo ok 12.5 ms"));
    assert!(same("ready in 9 ms", "ready in 1.20 s"));
    assert!(same("failed  83.5ms  a.yml:3", "failed 107.3ms a.yml:3"));
    assert!(!same("--p99 250ms", "--p99 500ms"));
    assert!(same("up to 20000\nx", "up to 1024 x"));
    assert!(same(
        "{\"ts\":0.1,\"duration_ms\":5}",
        "{\"ts\":2,\"duration_ms\":0.25}"
    ));
    assert!(same("\"startup_ms\": 5.1,", "\"startup_ms\": 16,"));
    assert!(!same("\"duration_ms\": 5.1,", "\"duration_ms\": null,"));
    assert!(!same("no answer within 3 s", "no answer within 4 s"));
    let busy = "a\n\n  Machine: busy; other work may have taken 96% of the time, 1.5 of 2\n  processors.\n\nb";
    assert!(same(busy, "a b"));
    assert!(!same("2 of 2 tools", "1 of 2 tools"));
}
