//! What every crate of ours needs to talk with its user: settings read from files with positions, problems with
//! hints, text that is safe to print, files that are written whole, and redaction of secrets.
//!
//! | group | modules |
//! |---|---|
//! | settings in files | [`tree`]: values with positions; [`reader`]: reading them; [`error`]: what is wrong, and where; [`outside`]: files that a file names |
//! | things chosen by name | [`registry`]; [`json_schema`]: schemas and their check |
//! | text | [`phrase`], [`quantity`], [`number`], [`printable`], [`text`] |
//! | secrets | [`secret`]: what is one, and taking it out |
//! | files and limits | [`input`], [`private_file`], [`whole_file`], [`loss`], [`own_limits`], [`sync`] |

// The derived code names this crate as others do.
extern crate self as mcprove_settings;

/// What derives JSON Schemas, where they are built.
#[cfg(feature = "schema")]
pub use schemars;
#[cfg(not(feature = "schema"))]
pub mod schemars {}

pub mod error;
pub mod hash;
pub mod input;
#[cfg(feature = "schema")]
pub mod json_schema;
pub mod kind;
pub mod loss;
pub mod message;
pub mod number;
pub mod outside;
pub mod own_limits;
pub mod phrase;
mod prelude;
pub mod printable;
pub mod private_file;
pub mod quantity;
pub mod reader;
pub mod registry;
pub mod secret;
pub mod setting;
pub mod sync;
pub mod table;
pub mod text;
pub mod tree;
pub mod whole_file;
