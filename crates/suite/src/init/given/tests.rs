use std::time::Duration;

use mcprove_client::permission::Allowance;
use mcprove_client::session::SessionOptions;

use super::*;

fn lines(server: &Server) -> (String, Vec<String>) {
    let options = DraftOptions {
        session: SessionOptions::default(),
        accepts_requests: false,
        probe_timeout: Duration::from_secs(1),
        place: StartFolder::Suite,
        allowance: Allowance::default(),
    };
    let given = given(server, &options);
    (given.lines.join("\n"), given.variables)
}

#[test]
fn a_command_is_written_as_it_was_given() {
    let server = Server::stdio("python").args(["-m", "my mcp", "cost: $${x} ${HOME}"]);
    let server = server.env("LOG", "warn").env("N", "1");
    let (text, variables) = lines(&server);
    assert_eq!(
        text,
        "command: [python, \"-m\", \"my mcp\", \"cost: $$${x} $${HOME}\"]\nenv:\n  LOG: warn\n  \"N\": \"1\""
    );
    assert_eq!(variables, [""; 0]);
}

#[test]
fn secrets_become_variables() {
    let server = Server::stdio("serve")
        .args([
            "--api-key",
            "hunter22",
            "--token=hunter33",
            "--db",
            "http://h/?key=hunter44&x=1",
        ])
        .env("GITHUB_TOKEN", "hunter55")
        .env("NOTE", "ghp_hunter66hunter66");
    let (text, variables) = lines(&server);
    assert!(!text.contains("hunter"), "{text}");
    assert_eq!(
        variables,
        ["API_KEY", "TOKEN", "KEY", "GITHUB_TOKEN", "NOTE"]
    );
    assert!(
        text.contains("\"--api-key\", \"${API_KEY}\", \"--token=${TOKEN}\""),
        "{text}"
    );
    assert!(text.contains("\"http://h/?key=${KEY}&x=1\""), "{text}");
    assert!(text.contains("GITHUB_TOKEN: \"${GITHUB_TOKEN}\""), "{text}");

    let server = Server::http("https://me:hunter22@h/mcp?token=hunter33")
        .header("Authorization", "Bearer hunter44")
        .header("X-Trace", "on");
    let (text, variables) = lines(&server);
    assert!(!text.contains("hunter"), "{text}");
    assert!(
        text.contains("url: \"https://h/mcp?token=${TOKEN}\""),
        "{text}"
    );
    assert!(
        text.contains("Authorization: \"${AUTHORIZATION}\""),
        "{text}"
    );
    assert!(text.contains("X-Trace: \"on\""), "{text}");
    assert_eq!(variables, ["TOKEN", "AUTHORIZATION"]);
}

#[test]
fn what_a_server_says_is_masked() {
    let server = Server::stdio("serve")
        .args(["--api-key=hunter22"])
        .env("PASSWORD", "hunter33");
    let options = DraftOptions {
        session: SessionOptions::default(),
        accepts_requests: true,
        probe_timeout: Duration::from_secs(1),
        place: StartFolder::Folder("/srv/x".into()),
        allowance: Allowance::default(),
    };
    let given = given(&server, &options);
    assert_eq!(
        given.masked("bad key hunter22, hunter33"),
        "bad key <redacted>, <redacted>"
    );
    assert!(
        given.lines.contains(&"cwd: \"/srv/x\"".to_owned()),
        "{:?}",
        given.lines
    );
    assert!(given.lines.contains(&"accept_requests: true".to_owned()));
}
