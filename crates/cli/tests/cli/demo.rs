//! `mcprove demo`.

use crate::support::{assert_snapshot, finish, mcprove};

#[test]
fn the_demo_is_as_reviewed_and_passes() {
    let mut command = mcprove(&["demo"]);
    command.env("COLUMNS", "100");
    let output = finish(command);
    assert_eq!(output.code, Some(0), "{output:?}");
    assert_eq!(output.stderr, "");
    assert_snapshot!("demo", output.stdout);
}
