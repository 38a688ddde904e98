//! A model that says what a test wants it to say, behind HTTP, in the shapes of both providers.
//!
//! A script is a function of the request alone, so that it does not matter how many ask at once, or in
//! which order. Every request is kept, to look at its bytes and headers.
//!
//! ```
//! use harness::model::{FakeModel, Said};
//!
//! let model = FakeModel::start(|asked| match asked.calls().last() {
//!     None => Said::call(asked.tool("search"), r#"{"query":"x"}"#),
//!     Some(call) => Said::text(format!("Found: {}", call.result)),
//! });
//! assert!(model.url().starts_with("http://127.0.0.1:"));
//! ```

mod asked;
mod said;
pub mod scripts;
mod server;

pub use asked::{Asked, PastCall, Shape};
pub use said::{Said, Speech, SpeechEnd, SpokenCall};
pub use server::FakeModel;
