//! The keys of `agent-trace.v1`: what an object of each kind can have, and by which other names people
//! and programs know it.

/// An object of the format.
pub(super) struct Object {
    /// What it is: `a call`.
    pub(super) noun: &'static str,
    pub(super) keys: &'static [Key],
    /// Names that other formats have for a key.
    pub(super) other_names: &'static [(&'static str, &'static str)],
}

/// A key of an object.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) is_required: bool,
}

/// What stands under a key.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text,
    Flag,
    /// A whole number from 0 up.
    Count,
    /// A whole number.
    Mark,
    Number,
    StopReason,
    FaultKind,
    /// Any JSON.
    Any,
    Object(&'static Object),
    List(&'static Object),
}

const fn key(name: &'static str, shape: Shape) -> Key {
    Key {
        name,
        shape,
        is_required: false,
    }
}

const fn required(name: &'static str, shape: Shape) -> Key {
    Key {
        name,
        shape,
        is_required: true,
    }
}

static HINTS: Object = Object {
    noun: "the annotations of a tool",
    keys: &[
        key("readOnlyHint", Shape::Flag),
        key("idempotentHint", Shape::Flag),
        key("destructiveHint", Shape::Flag),
        key("openWorldHint", Shape::Flag),
        key("title", Shape::Text),
    ],
    other_names: &[],
};

pub(super) static TRACE: Object = Object {
    noun: "a trace",
    keys: &[
        key("schema", Shape::Any),
        // By which editors know what may stand in the file.
        key("$schema", Shape::Any),
        required("runs", Shape::List(&RUN)),
    ],
    other_names: &[],
};

pub(super) static RUN: Object = Object {
    noun: "a run",
    keys: &[
        // Of a run that is the whole trace.
        key("schema", Shape::Any),
        key("$schema", Shape::Any),
        key("model", Shape::Text),
        key("prompt", Shape::Text),
        key("final_response", Shape::Text),
        required("tool_calls", Shape::List(&CALL)),
        key("tool_results", Shape::List(&RESULT)),
        key("conversation", Shape::Object(&CONVERSATION)),
        key("faults", Shape::List(&FAULT)),
        key("passed", Shape::Flag),
    ],
    other_names: &[
        ("calls", "tool_calls"),
        ("results", "tool_results"),
        ("response", "final_response"),
        ("answer", "final_response"),
        ("final_answer", "final_response"),
        ("success", "passed"),
        ("pass", "passed"),
        ("stop_reason", "conversation.stop_reason"),
        ("duration_ms", "conversation.duration_ms"),
        ("tokens", "conversation.tokens"),
        ("turns", "conversation.turns"),
    ],
};

static CALL: Object = Object {
    noun: "a call",
    keys: &[
        required("name", Shape::Text),
        key("server", Shape::Text),
        key("args", Shape::Any),
        key("caller", Shape::Any),
        key("meta", Shape::Any),
        key("annotations", Shape::Object(&HINTS)),
        key("client", Shape::Count),
    ],
    other_names: &[
        ("tool", "name"),
        ("tool_name", "name"),
        ("function", "name"),
        ("function_name", "name"),
        ("arg", "args"),
        ("argument", "args"),
        ("arguments", "args"),
        ("input", "args"),
        ("inputs", "args"),
        ("params", "args"),
        ("parameters", "args"),
        ("server_name", "server"),
        ("server_label", "server"),
    ],
};

static RESULT: Object = Object {
    noun: "a result",
    keys: &[
        required("call_index", Shape::Count),
        key("is_error", Shape::Flag),
        key("result", Shape::Any),
    ],
    other_names: &[
        ("call", "call_index"),
        ("index", "call_index"),
        ("output", "result"),
        ("content", "result"),
        ("response", "result"),
        ("value", "result"),
    ],
};

static CONVERSATION: Object = Object {
    noun: "a conversation",
    keys: &[
        key("stop_reason", Shape::StopReason),
        key("duration_ms", Shape::Number),
        key("tokens", Shape::Object(&TOKENS)),
        key("turns", Shape::List(&TURN)),
        key("retries", Shape::List(&RETRY)),
        key("error", Shape::Text),
    ],
    other_names: &[
        ("finish_reason", "stop_reason"),
        ("end_reason", "stop_reason"),
        ("duration", "duration_ms"),
        ("elapsed_ms", "duration_ms"),
        ("usage", "tokens"),
        ("messages", "turns"),
    ],
};

static TOKENS: Object = Object {
    noun: "tokens",
    keys: &[
        key("prompt", Shape::Count),
        key("completion", Shape::Count),
        key("total", Shape::Count),
    ],
    other_names: &[
        ("input", "prompt"),
        ("input_tokens", "prompt"),
        ("prompt_tokens", "prompt"),
        ("output", "completion"),
        ("output_tokens", "completion"),
        ("completion_tokens", "completion"),
        ("total_tokens", "total"),
    ],
};

static TURN: Object = Object {
    noun: "a turn",
    keys: &[required("role", Shape::Text), key("text", Shape::Text)],
    other_names: &[
        ("content", "text"),
        ("message", "text"),
        ("speaker", "role"),
        ("author", "role"),
    ],
};

static RETRY: Object = Object {
    noun: "a retry",
    keys: &[
        required("answer", Shape::Count),
        key("status", Shape::Count),
        required("message", Shape::Text),
        key("waited_ms", Shape::Number),
    ],
    other_names: &[("turn", "answer"), ("code", "status"), ("error", "message")],
};

static FAULT: Object = Object {
    noun: "a fault",
    keys: &[
        required("call_index", Shape::Count),
        key("fault", Shape::Text),
        required("kind", Shape::FaultKind),
        key("delay_ms", Shape::Count),
        key("failures", Shape::Count),
        key("real_answer", Shape::Any),
        key("detected_ms", Shape::Mark),
        key("recovered_ms", Shape::Mark),
        key("watched_ms", Shape::Count),
        key("left_ms", Shape::Count),
        key("went_on", Shape::Flag),
    ],
    other_names: &[
        ("call", "call_index"),
        ("index", "call_index"),
        ("delay", "delay_ms"),
        ("detected", "detected_ms"),
        ("detected_at", "detected_ms"),
        ("detection_ms", "detected_ms"),
        ("recovered", "recovered_ms"),
        ("recovered_at", "recovered_ms"),
        ("recovery_ms", "recovered_ms"),
    ],
};

impl Object {
    /// The names of its keys.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        self.keys.iter().map(|key| key.name)
    }
}
