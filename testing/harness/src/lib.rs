//! What tests need to run against real servers: where `cargo xtask setup` put them, how each is
//! started, and what to do when something is not there. And [`model`], a model that says what a test wants.
//!
//! ```no_run
//! use harness::{RealServers, ServerKind, require};
//!
//! let servers = RealServers::locate();
//! if !require("the real servers (cargo xtask setup)", servers.is_some()) {
//!     return;
//! }
//! let Some(servers) = servers else { return };
//! let running = servers.start_http(ServerKind::Mcp2, &["--json"]).unwrap();
//! assert!(running.url().ends_with("/mcp"));
//! ```

pub mod browser;
mod error;
mod kind;
mod layout;
pub mod model;
pub mod problem_table;
mod requirement;
mod running;
mod servers;
pub mod values;

pub use error::StartError;
pub use kind::ServerKind;
pub use layout::Layout;
pub use requirement::{REQUIRE_ALL_VARIABLE, require};
pub use running::RunningServer;
pub use servers::{RealServers, ServerCommand};
