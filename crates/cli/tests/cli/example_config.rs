//! The configuration that the command prints is one that it reads.

use mcprove::suite::LoadConfig;

use crate::support::run;

#[test]
fn the_example_is_valid() {
    let output = run(&["example-config"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(output.stderr, "");
    let config = LoadConfig::parse_toml(&output.stdout, "example").unwrap();
    assert_eq!(config.scenario.kind.name(), "sustained");
    assert_eq!(config.warnings, [""; 0]);
}

#[test]
fn explain_tells_how_to_use_it() {
    let output = run(&["example-config", "--explain"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert!(output.stdout.starts_with("What it does:"), "{output:?}");
    assert!(
        output.stdout.contains("mcprove run bench.toml"),
        "{output:?}"
    );
    assert!(!output.stdout.contains("[server]"), "{output:?}");
}
