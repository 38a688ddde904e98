//! What stands in the place of TOML and YAML in a build that reads neither.

use super::{Node, Source, SyntaxError};

fn refuse(report: &mut dyn FnMut(SyntaxError)) -> Option<Node> {
    report(SyntaxError {
        span: 0..0,
        message: "this build of mcprove reads neither TOML nor YAML".into(),
        hint: "build it with the feature `suite`, or write the file as JSON".into(),
        gist: "this build of mcprove reads neither TOML nor YAML",
    });
    None
}

pub(super) mod toml {
    use super::{Node, Source, SyntaxError, refuse};

    pub fn parse(_: &Source, report: &mut dyn FnMut(SyntaxError)) -> Option<Node> {
        refuse(report)
    }
}

pub(super) mod yaml {
    use super::{Node, Source, SyntaxError, refuse};

    pub fn parse(_: &Source, report: &mut dyn FnMut(SyntaxError)) -> Option<Node> {
        refuse(report)
    }

    pub fn parse_with_repeats(
        _: &Source,
        report: &mut dyn FnMut(SyntaxError),
        _: &mut dyn FnMut(SyntaxError),
    ) -> Option<Node> {
        refuse(report)
    }
}
