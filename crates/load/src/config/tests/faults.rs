//! `[[faults]]`: what is read, what is written, and what is wrong.

use std::time::Duration;

use mcprove_settings::tree::Document;

use super::super::schema::schema;
use super::{scenario, toml, toml_errors, yaml};

const FAULTS: &str = "
[[faults]]
name = 'late'
kind = 'slow'
delay-ms = 250
target = { tool = 'a' }
start = '2s'
duration = '1500ms'
max_recovery = '3s'
others_may_suffer = false
seed = '18446744073709551615'

[[faults]]
kind = 'flaky'
rate = 0.25
calls = '5-'
";

#[test]
fn faults_are_read_written_and_of_the_schema() {
    let config = toml(&format!("{}\n{FAULTS}", scenario("type = \"sustained\"")));
    let [late, flaky] = &config.faults[..] else {
        panic!("{:?}", config.faults);
    };
    assert_eq!(late.window.end(), Some(Duration::from_millis(3_500)));
    assert_eq!(late.max_recovery, Some(Duration::from_secs(3)));
    assert_eq!(late.others_may_suffer, Some(false));
    assert_eq!(flaky.spec.to_string(), "flaky:0.25,calls=5-");
    assert!(!flaky.window.is_given());
    let written = config.to_toml();
    assert_eq!(toml(&written), config, "{written}");
    let validator = jsonschema::validator_for(&schema()).unwrap();
    let document = Document::from_toml(&written, "x").unwrap();
    let json = document.root.to_json().unwrap();
    assert!(validator.is_valid(&json), "{written}");
}

#[test]
fn yaml_and_one_line_mean_the_same() {
    let config = yaml(
        "
server: { command: x }
scenario: { type: sustained }
faults:
  - slow:250,tool=a,start=2s,duration=1s,max-recovery=3s,others-may-suffer=false
  - kind: slow
    name: again
    delay_ms: 250
    tool: a
    start: 2s
    duration: 1s
    max-recovery: 3s
    others-may-suffer: false
",
    );
    let [one, other] = &config.faults[..] else {
        panic!("{:?}", config.faults);
    };
    let mut renamed = other.clone();
    renamed.spec.name.clone_from(&one.spec.name);
    assert_eq!(*one, renamed);
}

#[test]
fn what_is_wrong_has_its_place() {
    let base = format!("{}\n", scenario("type = \"sustained\"\nduration = \"10s\""));
    let above = base.matches('\n').count();
    for (lines, place, message, hint) in [
        ("strat = '5s'", (3, 1), "key \"strat\"", "\"start\"?"),
        ("start = 5", (3, 9), "must be a duration", "\"5s\""),
        ("duration = '0s'", (3, 12), "more than 0", "units are"),
        (
            "others_may_suffer = 1",
            (3, 21),
            "must be true or false",
            "without quotes",
        ),
        (
            "name = 'late'\n[[faults]]\nkind = 'slow'\nname = 'late'",
            (6, 8),
            "two faults are called \"late\"",
            "another `name`",
        ),
    ] {
        let errors = toml_errors(&format!("{base}[[faults]]\nkind = 'slow'\n{lines}\n"));
        let [error] = &errors.0[..] else {
            panic!("not one: {errors}");
        };
        let found = error.place.unwrap();
        assert_eq!((found.line - above, found.column), place, "{error}");
        assert!(error.texts().0.contains(message), "{error}");
        assert!(
            error.texts().1.as_deref().unwrap().contains(hint),
            "{error}"
        );
    }
    let late = toml_errors(&format!("{base}[[faults]]\nkind = 'slow'\nstart = '10s'\n"));
    assert!(
        late.to_string()
            .contains("\"slow\" starts when the load is over")
    );
    let churn = scenario("type = \"churn\"");
    let errors = toml_errors(&format!("{churn}\n[[faults]]\nkind = 'hang'\n"));
    let told = "the scenario churn takes no faults";
    assert!(errors.to_string().contains(told), "{errors}");
}
