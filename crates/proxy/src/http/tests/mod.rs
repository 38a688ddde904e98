//! The proxy over HTTP, with both ends in the hands of the test.

mod faults;
mod identity;
mod old_transport;
mod peers;
mod recorded;
mod sessions;
