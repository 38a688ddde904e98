//! `mcprove demo`.

use crate::support::{finish, mcprove};

#[test]
fn the_demo_passes_and_tells_what_it_caught() {
    let mut command = mcprove(&["demo"]);
    command.env("COLUMNS", "100");
    let output = finish(command);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(output.stderr, "");
    for words in [
        "1. A healthy server",
        "DEADLOCK DETECTED: 1 of 20 concurrent calls to `echo` was never answered",
        "nothing answers any more",
        "callers got the answer to another call",
        "mcprove probe --call-timeout 3s -- mcprove fixture noise",
        "7. An agent that tells of work that it did not do",
        "create_issue",
        "Now yours:",
    ] {
        assert!(output.stdout.contains(words), "{words}: {output:?}");
    }
}
