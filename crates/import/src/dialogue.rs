//! What the transcripts of all providers share: a file has one of them or several, each an object
//! with its messages in it, a list of messages, the messages themselves, or a `request` with its
//! `response`. A message that stands after a transcript, such as the last response, continues it.
//!
//! Logged traffic has a request for each reply, and each has everything that was said before: such
//! requests are one run, and so are responses that name the one before them.

use crate::prelude::*;

/// How many transcripts back one is looked for that a request repeats: conversations that are logged
/// at once take turns.
const LOOK_BACK_MAX: usize = 16;

/// How one provider writes messages.
pub trait Provider {
    /// The keys of a transcript that have messages, in the order in which they were said.
    const LISTS: &'static [&'static str];

    /// What stands beside the messages.
    type Beside<'a>: Deserialize<'a>;

    /// Reads what stands beside the messages, before they come.
    fn begin(builder: &mut RunBuilder, beside: &mut Self::Beside<'_>) -> Result;

    /// Reads the next message.
    fn message<'a>(builder: &mut RunBuilder, document: &Document<'a>, json: &'a str) -> Result;

    /// Reads what stands beside the messages, after they came.
    fn end(builder: &mut RunBuilder, beside: Self::Beside<'_>) -> Result;
}

/// The names of a response.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Ids {
    id: Text,
    previous_response_id: Text,
}

/// The transcripts of a file.
#[derive(Default)]
struct Transcripts {
    all: Vec<RunBuilder>,
    /// The one that messages continue.
    current: usize,
    responses: BTreeMap<String, usize>,
    /// Requests that a later one repeats.
    repeated: usize,
}

/// Reads every transcript of a file.
pub fn read<P: Provider>(document: &Document<'_>) -> Result<ImportedRuns> {
    let mut transcripts = Transcripts::default();
    document.each(|element| transcripts.read::<P>(document, element.json))?;
    let mut notes = Vec::new();
    if transcripts.repeated > 0 {
        let requests = many(transcripts.repeated, "request");
        notes.push(format!(
            "{requests} that a later one repeats and goes on from, read as one run with it"
        ));
    }
    let all = transcripts.all.into_iter();
    Ok((all.map(RunBuilder::finish).collect(), notes))
}

impl Transcripts {
    /// Reads a transcript, or one message of the current one.
    fn read<'a, P: Provider>(&mut self, document: &Document<'a>, json: &'a str) -> Result {
        if json.starts_with('[') {
            let mut builder = RunBuilder::default();
            read_messages::<P>(&mut builder, document, json)?;
            return self.add(builder);
        }
        let outline: Outline = document.parse(json)?;
        // An item of the Responses API can have an `output` of its own; it names its type.
        let has_list = P::LISTS.iter().any(|list| outline.contains_key(*list));
        let response = outline.get("response").map(|response| body(response).get());
        let response = response.filter(|response| *response != "null");
        if has_list && !outline.contains_key("type") {
            return self.read_transcript::<P>(document, json, response);
        }
        if let Some(request) = outline.get("request").filter(|request| is_object(request)) {
            return self.read_transcript::<P>(document, body(request).get(), response);
        }
        if self.all.is_empty() {
            self.all.push(RunBuilder::default());
        }
        match self.all.get_mut(self.current) {
            Some(builder) => P::message(builder, document, json),
            None => Ok(()),
        }
    }

    fn read_transcript<'a, P: Provider>(
        &mut self,
        document: &Document<'a>,
        json: &'a str,
        response: Option<&'a str>,
    ) -> Result {
        let ids: Ids = document.parse(json)?;
        let previous = ids.previous_response_id.as_ref();
        if let Some(&place) = previous.and_then(|id| self.responses.get(id))
            && let Some(builder) = self.all.get_mut(place)
        {
            self.current = place;
            read_parts::<P>(builder, document, json, response)?;
        } else {
            let mut builder = RunBuilder::default();
            read_parts::<P>(&mut builder, document, json, response)?;
            self.add(builder)?;
        }
        let ids = response.map_or(Ok(ids), |response| document.parse(response))?;
        if let Maybe(Some(id)) = ids.id {
            self.responses.insert(id, self.current);
        }
        Ok(())
    }

    /// Adds a transcript, in the place of one that it repeats.
    fn add(&mut self, mut builder: RunBuilder) -> Result {
        if builder.is_empty() {
            return refuse(
                "the transcript has no messages",
                "a transcript has what the user asked and what the model replied, in `messages`",
            );
        }
        let first = self.all.len().saturating_sub(LOOK_BACK_MAX);
        let repeated = self
            .all
            .iter_mut()
            .enumerate()
            .skip(first)
            .rev()
            .find(|(_, earlier)| builder.repeats(earlier));
        if let Some((place, earlier)) = repeated {
            builder.absorb(std::mem::take(earlier));
            *earlier = builder;
            self.current = place;
            self.repeated += 1;
        } else {
            self.current = self.all.len();
            self.all.push(builder);
        }
        Ok(())
    }
}

/// What a log of HTTP has in the `body` of a request or a response.
pub fn body<'a>(message: &&'a RawValue) -> &'a RawValue {
    let outline: Option<Outline<'a>> = serde_json::from_str(message.get()).ok();
    let body = outline.and_then(|outline| outline.get("body").copied());
    body.filter(|body| is_object(body)).unwrap_or(message)
}

fn is_object(value: &RawValue) -> bool {
    value.get().starts_with('{')
}

fn read_parts<'a, P: Provider>(
    builder: &mut RunBuilder,
    document: &Document<'a>,
    json: &'a str,
    response: Option<&'a str>,
) -> Result {
    let outline: Outline = document.parse(json)?;
    let mut beside: P::Beside<'a> = document.parse(json)?;
    P::begin(builder, &mut beside)?;
    for list in P::LISTS {
        // A text in the place of a list is a setting.
        if let Some(messages) = outline.get(*list).map(|messages| messages.get())
            && !messages.starts_with(['"', 'n'])
        {
            read_messages::<P>(builder, document, messages).within(list)?;
        }
    }
    if let Some(response) = response {
        P::message(builder, document, response).within("response")?;
    }
    P::end(builder, beside)
}

/// Reads a list of messages.
pub fn read_messages<'a, P: Provider>(
    builder: &mut RunBuilder,
    document: &Document<'a>,
    json: &'a str,
) -> Result {
    for (index, message) in document.list(json)?.into_iter().enumerate() {
        P::message(builder, document, message).at(index)?;
    }
    Ok(())
}

/// Begins the turn of a message, and tells its role. None if it is no message, but an error of the provider.
pub fn open_turn(
    builder: &mut RunBuilder,
    role: &Text,
    error: &Value,
) -> Result<Option<&'static str>> {
    if let Some(word) = role.as_deref() {
        let role = known_role(word)?;
        builder.open(role);
        return Ok(Some(role));
    }
    if error.is_null() {
        return refuse(
            sentence!("the message has no `role`"),
            "a message is an object with `role` and `content`",
        );
    }
    builder.fail(error);
    Ok(None)
}
