//! What `mcprove probe` prints for people: the texts, their width, and no escape codes in a pipe.

use harness::ServerKind;

use crate::probe_real::{command, servers};
use crate::support::{MCPROVE, assert_snapshot, finish, in_parallel, in_parallel_real, mcprove};

/// Modes whose reports have every part, and long words.
const MODES: [&[&str]; 9] = [
    &["normal"],
    &["tool_error"],
    &["asks"],
    &["destructive"],
    &["noise"],
    &["no_id"],
    &["bad_utf8"],
    &["malformed", "--set", "every=1"],
    &["crash", "--set", "every=1"],
];

/// The report of a built-in server at this width.
fn text(mode: &[&str], columns: &str) -> String {
    let arguments = [
        &["probe", "--call-timeout", "2s", "--", MCPROVE, "fixture"],
        mode,
    ]
    .concat();
    let mut command = mcprove(&arguments);
    command.env("COLUMNS", columns);
    finish(command).stdout
}

#[test]
fn the_reports_are_as_reviewed() {
    assert_snapshot!("probe_normal", text(&["normal"], "120"));
    assert_snapshot!("probe_tool_error", text(&["tool_error"], "120"));
    assert_snapshot!("probe_lazy_init", text(&["lazy_init"], "120"));
    assert_snapshot!("probe_crash", text(&["crash", "--set", "every=1"], "120"));
    assert_snapshot!("probe_noise", text(&["noise"], "120"));
    assert_snapshot!("probe_destructive", text(&["destructive"], "120"));
}

/// What is wrong with a text for a terminal of 80 columns and a pipe.
fn problems(label: &str, text: &str) -> Vec<String> {
    let too_wide = text.lines().filter(|line| line.chars().count() > 80);
    let mut problems: Vec<String> = too_wide
        .map(|line| format!("{label}: over 80 columns: {line}"))
        .collect();
    if text.contains('\u{1b}') {
        problems.push(format!("{label}: escape codes: {text:?}"));
    }
    if text.is_empty() {
        problems.push(format!("{label}: nothing"));
    }
    problems
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    in_parallel(MODES, |mode| problems(mode[0], &text(mode, "80")));
}

#[test]
fn no_line_about_a_real_server_is_wider_than_the_terminal() {
    let Some(servers) = servers() else { return };
    let kinds = [ServerKind::Everything, ServerKind::Mcp2, ServerKind::Rmcp];
    in_parallel_real(kinds, |kind| {
        let options = ["probe", "--call-timeout", "3s"];
        let mut arguments = options.map(str::to_owned).to_vec();
        arguments.extend(command(&servers, kind));
        let mut command = mcprove(&arguments);
        command.env("COLUMNS", "80");
        problems(kind.name(), &finish(command).stdout)
    });
}

#[test]
fn a_pipe_gets_no_escape_codes_whatever_the_environment_says() {
    let variables = [
        ("NO_COLOR", "1"),
        ("CLICOLOR_FORCE", "1"),
        ("TERM", "xterm-256color"),
    ];
    for (name, value) in variables {
        let commands: [&[&str]; 4] = [
            &["probe", "--", MCPROVE, "fixture", "tool_error"],
            &["probe", "--help"],
            &["probe", "--nope"],
            &["doctor", "-s", "no-such-program"],
        ];
        for arguments in commands {
            let mut command = mcprove(arguments);
            // The parser follows that one by itself, as its users asked for.
            if name == "CLICOLOR_FORCE" && arguments[0] == "probe" && arguments.len() == 2 {
                continue;
            }
            command.env(name, value);
            let output = finish(command);
            let text = output.stdout + &output.stderr;
            assert!(!text.contains('\u{1b}'), "{name} {arguments:?}: {text:?}");
        }
    }
}
