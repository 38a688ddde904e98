//! Traffic between a client and a server, written down as it passes: by a proxy that stands between
//! them, or by a server of ours that sees its clients come.
//!
//! A [`Recording`] is a file in the format `trace.v1`, so that whatever reads the trace of a run reads
//! it too. Its first line, the note [`STARTED`], says who recorded what; the last one is [`ENDED`]. Each
//! [`RecordedSession`] has a number, and numbers its requests itself, for the ids of JSON-RPC may be
//! texts, and may come again. A [`RecordedRequest`] is open until it is answered, fails or is
//! cancelled; it ends once, and what comes after its end is a note. A server whose process dies is a line of the
//! kind `crash`.
//!
//! | note | when | data |
//! |---|---|---|
//! | `recording_started` | first line | [`Origin`] |
//! | `fault` | a fault strikes a call | `session`, `request_id`, `fault`, `kind`, `server`, `tool`, `delay_ms`?, `failures`? |
//! | `cancelled` | the client cancels a request or hangs up on it; after `left`, what it waited for is given up | `session`, `request_id` |
//! | `left` | the client of a session ends its connection | `session` |
//! | `late_reply` | an answer to a request that has ended | `session`, `request_id` |
//! | `notification` | either side tells something | `session`, `from`, `method`, `params`? |
//! | `server_request` | the server asks the client | `session`, `id`, `method`, `params`? |
//! | `client_reply` | the client answers | `session`, `id` |
//! | `recording_ended` | last line | `duration_secs`, `dropped`, `cut` |
//!
//! ```
//! use mcprove_recording::{Origin, Recording};
//! use mcprove_settings::secret::Redactor;
//!
//! let (file, origin) = (Box::new(std::io::sink()), Origin::new("mock", "demo"));
//! let recording = Recording::to_writer(file, &origin, &Redactor::of_process()).unwrap();
//! let session = recording.session();
//! let request = session.request("7", "tools/call", r#"{"name":"echo","arguments":{}}"#);
//! request.answer(br#"{"jsonrpc":"2.0","id":"a","result":{"content":[]}}"#);
//! assert_eq!(recording.finish().requests, 1);
//! ```

mod append;
mod file;
mod prelude;
mod request;
mod session;

#[cfg(test)]
mod tests;

pub use file::{
    ENDED, FLUSH_EVERY, Origin, RESULT_BYTES_MAX, Recording, RecordingSummary, STARTED,
};
pub use request::RecordedRequest;
pub use session::{NOTE_BYTES_MAX, Peer, RecordedSession};
