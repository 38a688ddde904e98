//! Variables that choose what a launcher runs.

use super::plan;

fn warnings(command: &str) -> Vec<String> {
    let text = format!(
        "variables: {{ v: good }}\nservers:\n  a: {{ {command} }}\ntools: [{{ name: t, tool: x }}]\n"
    );
    let warnings = plan(&text).warnings;
    assert!(
        warnings
            .iter()
            .all(|it| it.place.starts_with("suite.yml:3:")),
        "{warnings:?}"
    );
    warnings.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_run_by_a_variable_is_told() {
    for command in [
        "command: [env, \"${X}\"]",
        "command: [env, A=b, \"${X}\"]",
        "command: [env, -u, A, \"${X}\"]",
        "command: [env, \"PATH=${X}\", y]",
        "command: [sh, -c, \"${X}\"]",
        "command: [/bin/bash, -c, \"exec y ${X}\"]",
        "command: \"bash -c '${X}'\"",
        "command: [sudo, -u, me, env, sh, -c, \"${X}\"]",
        "command: [npx, -y, \"${X}\"]",
        "command: [npx, -p, \"${X}\", y]",
        "command: [npx.cmd, \"@scope/server@${X}\"]",
        "command: [uvx, --from, \"${X}\", y]",
        "command: [python3.12, -c, \"${X}\"]",
        "command: [python, -m, \"${X:-y}\"]",
        "command: [python, -u, \"${X}/server.py\"]",
        "command: [node, -e, \"${X}\"]",
        "command: [npm, exec, \"${X}\"]",
        "command: 'C:/Windows/CMD.EXE /c ${X}'",
        "command: sh, args: [-c, \"${X}\"]",
        "command: [docker, run, -v, \"${Y}:/y\", \"${X}\"]",
    ] {
        let warnings = warnings(command);
        assert_eq!(warnings.len(), 1, "{command}: {warnings:?}");
        assert!(warnings[0].contains("chooses what `"), "{warnings:?}");
    }
}

#[test]
fn what_is_only_an_argument_is_not() {
    for command in [
        "command: [my_server, \"${X}\"]",
        "command: [npx, -y, my-server, \"${X}\"]",
        "command: [python, server.py, \"${X}\"]",
        "command: [python, -m, my_mcp, \"${X}\"]",
        "command: [python, -m, \"${v}_mcp\"]",
        "command: [env, \"TOKEN=${X}\", y, \"${X}\"]",
        "command: [sh, -c, \"y $${X}\"]",
        "command: [sh, -c, 'y \"$1\"', y, \"${X}\"]",
        "command: [docker, run, -e, \"TOKEN=${X}\", image]",
        "command: sh, env: { X: \"${X}\" }",
        "command: [bash, -c, \"y ${MCPROVE_MCP_CONFIG}\"]",
    ] {
        let warnings = warnings(command);
        assert!(warnings.is_empty(), "{command}: {warnings:?}");
    }
}

#[test]
fn commands_of_agents_are_looked_at_too() {
    let plan =
        plan("agents: [{ name: t, servers: [], prompt: p, command: [bash, -c, \"${X}\"] }]\n");
    assert_eq!(plan.warnings.len(), 1, "{:?}", plan.warnings);
}
