//! `mcprove demo`.

use crate::support::{finish, mcprove};

#[test]
fn the_demo_passes_and_tells_what_it_caught() {
    let mut command = mcprove(&["demo"]);
    command.env("COLUMNS", "80");
    let output = finish(command);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(output.stderr, "");
    assert!(output.stdout.lines().count() < 60, "{output:?}");
    for words in [
        "\n7. ",
        "DEADLOCK",
        "`echo`",
        "mcprove probe --call-timeout 3s -- mcprove fixture glued",
        "create_issue",
    ] {
        assert!(output.stdout.contains(words), "{words}: {output:?}");
    }
}
