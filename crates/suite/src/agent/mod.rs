//! Agents: a task, a model and tools in, the trace of a run out.
//!
//! [`model`] is what a provider is asked and answers, as bytes; [`toolbox`] is what the tools of the
//! servers are and answer. Both are traits, so that a run is the same with the network, with a recording
//! of it, and with a recording instead of it. [`provider`] turns a conversation into the bytes of a
//! request and the bytes of a reply into an answer; [`run`] goes back and forth between model and tools
//! until the agent is done or a budget is; [`injected`] are the faults that its calls meet. [`wire`] and
//! [`live_toolbox`] are the real ways to models and servers, [`cassette`] is their recording. [`command`] is for agents
//! that are processes of the user.

pub mod cassette;
pub mod command;
pub mod injected;
pub mod live_toolbox;
pub mod model;
mod model_content;
pub mod provider;
pub mod run;
pub mod toolbox;
pub mod wire;
mod wire_name;

pub use wire_name::WireNames;
