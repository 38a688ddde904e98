//! A mock from the trace of a session: the tools that were listed, and calls answered as they were.
//!
//! A call is answered by its arguments. Equal calls that were answered one after the other are a
//! sequence. What was not recorded is an error that says so, for anything else would be made up.

mod server;

use std::collections::HashMap;

use mcprove_settings::error::{ConfigError, ConfigErrors, Place};
use mcprove_settings::reader::Warning;
use mcprove_settings::tree::too_large;
use mcprove_trace::{TraceError, TraceRecord};
use serde_json::{Map, Value};
use server::Recorded;

use super::{MockFile, RECORDING_BYTES_MAX, WANTED};

/// Names a request.
type Key = (Option<u32>, Option<u64>);

/// Whether a text is a trace: lines of JSON that have a time and a kind.
pub fn is_trace(text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().find(|line| !line.trim().is_empty());
    let record = first.and_then(|line| serde_json::from_str::<Map<String, Value>>(line).ok());
    record.is_some_and(|record| record.contains_key("ts") && record.contains_key("kind"))
}

/// Reads a trace.
pub fn read(text: &str, file: &str) -> Result<MockFile, ConfigErrors> {
    if text.len() > RECORDING_BYTES_MAX {
        return Err(ConfigErrors::of(too_large(
            file,
            RECORDING_BYTES_MAX,
            WANTED,
        )));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut session = Session::default();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let record = TraceRecord::parse(line).map_err(|error| {
            let hint = "a recording is as `mcprove proxy` and `mcprove run` write it";
            ConfigErrors::of(ConfigError {
                place: Some(Place {
                    line: index + 1,
                    column: 1,
                }),
                ..ConfigError::of_file(file, error.to_string(), hint)
            })
        })?;
        session.add(record);
    }
    session.finish(file)
}

/// What was seen so far.
#[derive(Default)]
struct Session {
    /// What was asked, in order; ended ones have their end.
    asked: Vec<Asked>,
    open: HashMap<Key, usize>,
    /// Requests and answers of which only a part was kept.
    cut_requests: u64,
    cut_answers: u64,
}

struct Asked {
    method: String,
    params: Map<String, Value>,
    end: Option<End>,
}

enum End {
    Result(Map<String, Value>),
    /// With what else was answered: the result of a tool error, the `data` of a JSON-RPC error.
    Error(TraceError, Option<Value>),
}

impl Session {
    fn add(&mut self, record: TraceRecord) {
        let key = (record.session, record.request_id);
        match record.kind.as_str() {
            "request" if record.cut.is_some() => self.cut_requests += 1,
            "request" => {
                let params = serde_json::from_value(record.params.unwrap_or_default());
                self.open.insert(key, self.asked.len());
                self.asked.push(Asked {
                    method: record.method.unwrap_or_default(),
                    params: params.unwrap_or_default(),
                    end: None,
                });
            }
            "response" | "error" => {
                let asked = self.open.remove(&key);
                let Some(asked) = asked.and_then(|index| self.asked.get_mut(index)) else {
                    return;
                };
                self.cut_answers += u64::from(record.cut.is_some());
                asked.end = match (record.error, record.result) {
                    (Some(error), result) => Some(End::Error(error, result.or(record.data))),
                    (None, Some(Value::Object(result))) => Some(End::Result(result)),
                    _ => None,
                };
            }
            _ => {}
        }
    }

    fn finish(self, file: &str) -> Result<MockFile, ConfigErrors> {
        let mut mock = Recorded::default();
        for asked in self.asked {
            if let Some(end) = asked.end {
                mock.add(&asked.method, asked.params, end);
            }
        }
        let spec = mock.finish();
        if spec.tools.is_empty() && spec.resources.is_empty() && spec.prompts.is_empty() {
            let message = "nothing was recorded that a mock could answer";
            let hint = "record a session in which tools/list or tools/call was answered";
            return Err(ConfigErrors::of(ConfigError::of_file(file, message, hint)));
        }
        let mut warnings = Vec::new();
        for (count, what) in [
            (self.cut_requests, "requests"),
            (self.cut_answers, "answers"),
        ] {
            if count > 0 {
                let message = format!(
                    "{count} {what} were recorded in part only, so those calls are not answered as they were; a recording of `mcprove proxy` keeps up to 1 MiB of each"
                );
                warnings.push(Warning {
                    place: file.to_owned(),
                    message: message.into(),
                    is_besides: false,
                });
            }
        }
        Ok(MockFile { spec, warnings })
    }
}
