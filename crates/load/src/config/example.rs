//! The configuration that `mcprove example-config` prints.

/// A configuration with everything explained in comments. What is not commented out is valid as it
/// is, for a server that its user edits.
pub fn example() -> &'static str {
    include_str!("example.toml")
}
