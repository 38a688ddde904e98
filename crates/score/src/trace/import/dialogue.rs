//! What the transcripts of all providers share: a file has one of them or several, each an object
//! with its messages in it, a list of messages, the messages themselves, or a `request` with its
//! `response`. A message that stands after a transcript, such as the last response, continues it.
//!
//! Logged traffic has a request for each reply, and each has everything that was said before: such
//! requests are one run, and so are responses that name the one before them.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::builder::RunBuilder;
use super::document::{Document, Outline};
use super::few::many;
use super::{ImportError, ImportedRuns};

/// How many transcripts back one is looked for that a request repeats: conversations that are logged
/// at once take turns.
const LOOK_BACK_MAX: usize = 16;

/// Reads the messages of one provider.
pub(super) trait Reader: Default {
    /// The keys of a transcript that have messages, in the order in which they were said.
    const LISTS: &'static [&'static str];

    /// What stands beside the messages, before they come.
    fn begin(&mut self, settings: &Settings<'_, '_>) -> Result<(), ImportError>;

    /// The next message.
    fn message(&mut self, message: Value) -> Result<(), ImportError>;

    /// What stands beside the messages, after they came.
    fn end(&mut self, settings: &Settings<'_, '_>) -> Result<(), ImportError>;

    /// What was read.
    fn builder(&mut self) -> &mut RunBuilder;
}

/// What stands beside the messages.
pub(super) struct Settings<'d, 'a> {
    document: &'d Document<'a>,
    outline: &'d Outline<'a>,
    /// What came back, where it stands beside the request.
    response: Option<&'a RawValue>,
}

impl Settings<'_, '_> {
    /// Whether there is such a key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.outline.contains_key(key)
    }

    /// The value of a key; null where there is none.
    pub(super) fn get(&self, key: &str) -> Result<Value, ImportError> {
        match self.outline.get(key) {
            Some(value) => self
                .document
                .parse(value.get())
                .map_err(|error| error.within(key)),
            None => Ok(Value::Null),
        }
    }

    /// What came back; null where it is not told.
    pub(super) fn response(&self) -> Result<Value, ImportError> {
        match self.response {
            Some(response) => self
                .document
                .parse(response.get())
                .map_err(|error| error.within("response")),
            None => Ok(Value::Null),
        }
    }

    /// The id of the response, where it has one.
    fn response_id(&self) -> Result<Option<String>, ImportError> {
        let mut response = match self.response {
            Some(_) => self.response()?,
            None => return Ok(text(self.get("id")?)),
        };
        Ok(response.get_mut("id").map(Value::take).and_then(text))
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// The transcripts of a file.
struct Transcripts<R> {
    readers: Vec<R>,
    /// The one that messages continue.
    current: usize,
    /// The transcript of each response.
    responses: BTreeMap<String, usize>,
    /// Requests that a later one repeats.
    repeated: usize,
}

/// Reads every transcript of a file.
pub(super) fn read<R: Reader>(document: &Document<'_>) -> Result<ImportedRuns, ImportError> {
    let mut transcripts = Transcripts::<R> {
        readers: Vec::new(),
        current: 0,
        responses: BTreeMap::new(),
        repeated: 0,
    };
    for element in &document.elements {
        transcripts
            .read(document, element.json)
            .map_err(|error| element.locate(error))?;
    }
    let mut read = ImportedRuns::default();
    if transcripts.repeated > 0 {
        read.notes.push(format!(
            "{} that a later one repeats and goes on from, read as one run with it",
            many(transcripts.repeated, "request")
        ));
    }
    for mut reader in transcripts.readers {
        read.runs.push(std::mem::take(reader.builder()).finish());
    }
    Ok(read)
}

impl<R: Reader> Transcripts<R> {
    /// Reads a transcript, or one message of the current one.
    fn read<'a>(&mut self, document: &Document<'a>, json: &'a str) -> Result<(), ImportError> {
        if json.starts_with('[') {
            let mut reader = R::default();
            read_messages(document, json, &mut reader)?;
            return self.add(reader);
        }
        let outline: Outline = document.parse(json)?;
        // An item of the Responses API can have an `output` of its own; it names its type.
        let has_list = R::LISTS.iter().any(|list| outline.contains_key(*list));
        if has_list && !outline.contains_key("type") {
            let settings = Settings {
                document,
                outline: &outline,
                response: outline.get("response").map(body),
            };
            return self.read_transcript(&settings);
        }
        if let Some(request) = outline.get("request").filter(|request| is_object(request)) {
            let request: Outline = document
                .parse(body(request).get())
                .map_err(|error| error.within("request"))?;
            let settings = Settings {
                document,
                outline: &request,
                response: outline.get("response").map(body),
            };
            return self.read_transcript(&settings);
        }
        let message = document.parse(json)?;
        if self.readers.is_empty() {
            self.readers.push(R::default());
        }
        match self.readers.get_mut(self.current) {
            Some(reader) => reader.message(message),
            None => Ok(()),
        }
    }

    fn read_transcript(&mut self, settings: &Settings<'_, '_>) -> Result<(), ImportError> {
        let previous = text(settings.get("previous_response_id")?);
        let continued = previous.and_then(|id| self.responses.get(&id).copied());
        if let Some(reader) = continued.and_then(|place| self.readers.get_mut(place)) {
            self.current = continued.unwrap_or(self.current);
            read_parts(settings, reader)?;
        } else {
            let mut reader = R::default();
            read_parts(settings, &mut reader)?;
            self.add(reader)?;
        }
        if let Some(id) = settings.response_id()? {
            self.responses.insert(id, self.current);
        }
        Ok(())
    }

    /// Adds a transcript, in the place of one that it repeats.
    fn add(&mut self, mut reader: R) -> Result<(), ImportError> {
        if reader.builder().is_empty() {
            return Err(ImportError::shape(
                "the transcript has no messages",
                "a transcript has what the user asked and what the model replied, in `messages`",
            ));
        }
        let first = self.readers.len().saturating_sub(LOOK_BACK_MAX);
        for (place, earlier) in self.readers.iter_mut().enumerate().skip(first).rev() {
            if reader.builder().repeats(earlier.builder()) {
                let earlier = std::mem::replace(earlier, reader);
                self.current = place;
                self.repeated += 1;
                self.absorb(earlier);
                return Ok(());
            }
        }
        self.current = self.readers.len();
        self.readers.push(reader);
        Ok(())
    }

    fn absorb(&mut self, mut earlier: R) {
        if let Some(reader) = self.readers.get_mut(self.current) {
            let earlier = std::mem::take(earlier.builder());
            reader.builder().absorb(earlier);
        }
    }
}

/// What a log of HTTP has in the `body` of a request or a response.
pub(super) fn body<'a>(message: &&'a RawValue) -> &'a RawValue {
    let outline: Option<Outline<'a>> = serde_json::from_str(message.get()).ok();
    let body = outline.and_then(|outline| outline.get("body").copied());
    body.filter(|body| is_object(body)).unwrap_or(message)
}

fn is_object(value: &RawValue) -> bool {
    value.get().starts_with('{')
}

fn read_parts<R: Reader>(settings: &Settings<'_, '_>, reader: &mut R) -> Result<(), ImportError> {
    reader.begin(settings)?;
    for list in R::LISTS {
        // A text in the place of a list is a setting.
        if let Some(messages) = settings.outline.get(*list)
            && !matches!(messages.get().as_bytes().first(), Some(b'"' | b'n'))
        {
            read_messages(settings.document, messages.get(), reader)
                .map_err(|error| error.within(list))?;
        }
    }
    reader.end(settings)
}

fn read_messages<'a, R: Reader>(
    document: &Document<'a>,
    json: &'a str,
    reader: &mut R,
) -> Result<(), ImportError> {
    for (index, message) in document.list(json)?.into_iter().enumerate() {
        document
            .parse(message)
            .and_then(|message| reader.message(message))
            .map_err(|error| error.at(index))?;
    }
    Ok(())
}

/// What a provider says went wrong, where it sent that in the place of a reply.
pub(super) fn failure(response: &Value) -> Option<String> {
    let error = response.get("error").filter(|error| !error.is_null())?;
    let message = error.get("message").unwrap_or(error);
    Some(
        message
            .as_str()
            .map_or_else(|| message.to_string(), str::to_owned),
    )
}

/// The error about a message that nobody said.
pub(super) fn no_role() -> ImportError {
    ImportError::shape(
        "the message has no `role`",
        "a message is an object with `role` and `content`",
    )
}
