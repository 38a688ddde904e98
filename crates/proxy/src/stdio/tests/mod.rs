//! The proxy over stdio, with both ends in the hands of the test.

mod endings;
mod held;
mod identity;
mod kinds;
mod recorded;
mod rig;
