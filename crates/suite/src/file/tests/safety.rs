//! No variable chooses a program or a host.

use super::{errors, plan};

fn refused(server: &str) -> String {
    let text = format!(
        "variables: {{ v: good, c: [x], s: {{ command: x }} }}\nservers:\n  a: {server}\ntools: [{{ name: t, server: a, tool: x }}]\n"
    );
    let errors = errors(&text).0;
    let found = errors.iter().find(|error| {
        error.texts().0.contains("cannot be part of")
            || error.texts().0.contains("cannot stand for")
    });
    let found = found.unwrap_or_else(|| panic!("{server}: {errors:?}"));
    assert_eq!(found.place.unwrap().line, 3, "{found}");
    found.texts().0
}

#[test]
fn programs() {
    for command in [
        "\"${X}\"",
        "\"${v}\"",
        "\"${X:-sh} -c ls\"",
        "\"'${X}' y\"",
        "\"/opt/${X}/bin y\"",
        "'$\"\"{X} y'",
        "'C:\\${X}\\a.exe'",
        "\"  ${X}\"",
        "\"$${X}\"",
        "'a\\ ${X} y'",
        "\"${X\"",
        "[\"${X}\", y]",
        "[\"${v}\"]",
        "[\"C:\\\\${X}\\\\a.exe\"]",
        "\"${c}\"",
    ] {
        let message = refused(&format!("{{ command: {command} }}"));
        assert_eq!(
            message, "a variable cannot be part of a program",
            "{command}"
        );
    }
    assert!(refused("\"${s}\"").contains("a whole server"));
}

#[test]
fn hosts() {
    for url in [
        "http://${X}/mcp",
        "http://${v}/mcp",
        "http://127.0.0.1:${X}/mcp",
        "http://a@${X}/",
        "http://${X}@a/",
        "http://u:${X}@a/",
        "${X}://a/",
        "${X}",
        "http:${X}",
        "http:/${X}/",
        "http://a${X}",
        "http://a.${X}.com/mcp",
        "http://a\\\\${X}/",
        "http://[${X}]/",
        "HTTP://${X}",
        "http://a$${X}/",
        "//${X}/",
    ] {
        let message = refused(&format!("{{ url: \"{url}\" }}"));
        assert_eq!(message, "a variable cannot be part of a host", "{url}");
        let agent = format!(
            "agents: [{{ name: t, model: m, servers: [], prompt: p, provider: {{ base-url: \"{url}\" }} }}]\n"
        );
        let errors = errors(&agent).to_string();
        assert!(
            errors.contains("a variable cannot be part of a host"),
            "{errors}"
        );
    }
}

#[test]
fn agents_and_defaults() {
    for text in [
        "agents: [{ name: t, command: [\"${X}\"], servers: [], prompt: p }]",
        "agents: [{ name: t, command: \"${X} y\", servers: [], prompt: p }]",
        "variables: { p: { base_url: \"http://h\" } }\nagents: [{ name: t, model: m, servers: [], prompt: p, provider: \"${p}\" }]",
        "defaults: { provider: { base_url: \"http://${X}\" } }\nagents: [{ name: t, model: m, servers: [], prompt: p }]",
        "variables: { a: { name: t, model: m, servers: [], prompt: p } }\nagents: [\"${a}\"]",
        "variables: { d: {} }\ndefaults: \"${d}\"\nagents: [{ name: t, model: m, servers: [], prompt: p }]",
    ] {
        let errors = errors(text).to_string();
        assert!(errors.contains("a variable cannot"), "{errors}");
    }
}

/// Neither may a variable bring another one in.
#[test]
fn by_way_of_another_variable() {
    let text = "variables: { c: [\"${X}\"] }\nservers: { a: { command: \"${c}\" } }\ntools: [{ name: t, tool: x }]\n";
    assert!(
        errors(text)
            .to_string()
            .contains("a variable cannot be part of a program")
    );
}

#[test]
fn everywhere_else_they_may_be() {
    let plan = plan(
        r#"
variables: { v: good }
servers:
  a: { command: "python -m ${X} ${v}", args: ["${Y}"], env: { T: "${T}" } }
  b: { url: "http://127.0.0.1:80/${X}?k=${v}", headers: { Authorization: "Bearer ${T}" } }
agents:
  - name: t
    model: m
    servers: [a, b]
    prompt: p
    provider: { type: openai, base_url: "http://127.0.0.1/${X}", api_key_env: KEY }
"#,
    );
    let crate::plan::Reach::Server(server) = &plan.servers["a"].reach else {
        panic!("no server");
    };
    assert_eq!(server.command, "python");
    assert_eq!(server.args, ["-m", "${X}", "good", "${Y}"]);
    assert_eq!(server.env["T"], "${T}");
}
