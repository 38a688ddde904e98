//! The configuration that the command prints is one that it reads.

use mcprove_load::config::LoadConfig;

use crate::support::run;

#[test]
fn the_example_is_valid() {
    let output = run(&["example-config"]);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(output.stderr, "");
    let config = LoadConfig::parse_toml(&output.stdout, "example").unwrap();
    assert_eq!(config.scenario.kind.name(), "sustained");
    assert!(config.warnings.is_empty());
}
