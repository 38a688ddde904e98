//! Servers of our own, over any transport and in both eras: [`fixture`]: good and bad ones for tests; [`mock`]: one
//! from a tools file; [`hosting`]: what they share. Nothing here uses the client, so that neither hides a mistake of
//! the other.

#![cfg_attr(
    not(feature = "files"),
    allow(dead_code, unused_imports, reason = "what only tools files need")
)]

pub mod fixture;
pub mod hosting;
pub mod mock;
mod prelude;
#[cfg(feature = "files")]
pub mod tools_file;
