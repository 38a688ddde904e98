//! What nearly every file uses: the words of `trace`, and sessions with what comes of their calls.

pub use mcprove_arguments::{self as arguments, ArgumentsError, SchemaCheck};
pub use mcprove_client::server::{Server, Transport};
pub use mcprove_client::session::{
    CallError, ConnectError, Reply, Request, Session, SessionOptions, Violation, ViolationKind,
};
pub use mcprove_client::transport::{Detail, Failure};
pub use mcprove_load::run::FailOn;
pub use mcprove_settings::reader::meant;
pub use mcprove_settings::registry::nearest;
pub use mcprove_trace::prelude::*;
pub use mcprove_trace::protocol::{Era, METHOD_NOT_FOUND, Tool, find_fault, kind};
