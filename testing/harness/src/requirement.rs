//! Tests that need something which not every machine has.

/// With `1` here, a missing requirement fails the test instead of skipping it.
pub const REQUIRE_ALL_VARIABLE: &str = "MCPROVE_REQUIRE_ALL";

/// Whether the test can go on: `present`. Prints why it is skipped if not.
///
/// # Panics
///
/// If `present` is false and `MCPROVE_REQUIRE_ALL=1`.
pub fn require(what: &str, present: bool) -> bool {
    if !present {
        let required = std::env::var(REQUIRE_ALL_VARIABLE).is_ok_and(|value| value == "1");
        assert!(!required, "needs {what}, and {REQUIRE_ALL_VARIABLE}=1");
        eprintln!("skipped: needs {what}");
    }
    present
}
