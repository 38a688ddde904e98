//! What stands in the place of TOML and YAML in a build that reads neither.

use super::{Parsed, Source, SyntaxError};

pub fn parse(_: &Source) -> Parsed {
    let message = "this build of mcprove reads neither TOML nor YAML";
    Err(vec![SyntaxError {
        span: 0..0,
        message: message.into(),
        hint: "build it with the feature `suite`, or write the file as JSON".into(),
        gist: message,
    }])
}
