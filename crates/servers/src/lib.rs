//! Servers of our own, over any transport and in both eras: [`fixture`]: good and bad ones for tests; [`mock`]: one
//! from a tools file; [`hosting`]: what they share. Nothing here uses the client, so that neither hides a mistake of
//! the other.

pub mod fixture;
pub mod hosting;
pub mod mock;
mod prelude;
pub mod tools_file;
