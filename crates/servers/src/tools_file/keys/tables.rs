//! The tables, key by key.

use super::{Form, Key, Section};

const fn key(name: &'static str, form: Form, explanation: &'static str) -> Key {
    Key {
        name,
        form,
        is_required: false,
        explanation,
    }
}

const fn required(name: &'static str, form: Form, explanation: &'static str) -> Key {
    Key {
        name,
        form,
        is_required: true,
        explanation,
    }
}

const TITLE: Key = key("title", Form::Text, "its name for people");
const DESCRIPTION: Key = key("description", Form::Text, "what it is, for the model");
const ANNOTATIONS: Key = key("annotations", Form::Map, "hints, listed as they are");
const ICONS: Key = key("icons", Form::List, "listed as they are");
const META: Key = key("_meta", Form::Map, "listed as it is");
const MIME_TYPE: Key = key("mimeType", Form::Text, "what kind of data it is");
const BLOB: Key = key(
    "blob",
    Form::Text,
    "the bytes in it, in base64; this or `text`",
);

/// The file.
pub const FILE: Section = Section {
    title: "the file",
    name: "file",
    keys: &[
        key(
            "name",
            Form::Text,
            "the name of the server, by which faults are aimed at it too; that of the file unless given",
        ),
        key("title", Form::Text, "its name for people"),
        key(
            "version",
            Form::Text,
            "its version; that of mcprove unless given",
        ),
        key(
            "instructions",
            Form::Text,
            "what it tells clients about itself",
        ),
        key(
            "pageSize",
            Form::Count,
            "how many items a page of its lists has; all unless given",
        ),
        key("tools", Form::Tables(&TOOL), "its tools"),
        key("resources", Form::Tables(&RESOURCE), "its resources"),
        key(
            "resourceTemplates",
            Form::Tables(&RESOURCE_TEMPLATE),
            "its resources by a pattern of their address",
        ),
        key("prompts", Form::Tables(&PROMPT), "its prompts"),
    ],
};

/// A tool.
pub const TOOL: Section = Section {
    title: "a tool",
    name: "tool",
    keys: &[
        required("name", Form::Text, "its name"),
        TITLE,
        DESCRIPTION,
        key(
            "inputSchema",
            Form::Schema,
            "what arguments it takes; any unless given. A call that does not fit is answered with `isError`",
        ),
        key(
            "outputSchema",
            Form::Schema,
            "what its `structuredContent` is like",
        ),
        ANNOTATIONS,
        key(
            "response",
            Form::Response,
            "what it answers; its arguments unless given",
        ),
        key(
            "responses",
            Form::Tables(&RESPONSE),
            "what it answers calls with certain arguments: the first that fits, before `response`",
        ),
        key("execution", Form::Map, "listed as it is"),
        ICONS,
        META,
    ],
};

/// A conditional response.
pub const RESPONSE: Section = Section {
    title: "one of `responses`",
    name: "response",
    keys: &[
        key(
            "when",
            Form::Map,
            "a value for each argument that must have it; all calls unless given",
        ),
        key("response", Form::Response, "the answer"),
        key("error", Form::Table(&ERROR), "a JSON-RPC error instead"),
        key(
            "sequence",
            Form::Sequence,
            "each next call the next one, and the last from then on",
        ),
    ],
};

/// An error.
pub const ERROR: Section = Section {
    title: "an `error`",
    name: "error",
    keys: &[
        key("code", Form::Integer, "its code; -32000 unless given"),
        required("message", Form::Text, "what it says"),
        key("data", Form::Any, "more about it, for programs"),
    ],
};

/// A whole result of a call.
pub const RESULT: Section = Section {
    title: "a whole result",
    name: "result",
    keys: &[
        key(
            "content",
            Form::List,
            "what is said: texts, or blocks such as `{type: image, …}`; the text of `structuredContent` unless given",
        ),
        key("structuredContent", Form::Any, "the same for programs"),
        key("isError", Form::Boolean, "whether the tool failed"),
        key("_meta", Form::Map, "sent as it is"),
        key("resultType", Form::Text, "sent as it is"),
    ],
};

/// A resource.
pub const RESOURCE: Section = Section {
    title: "a resource",
    name: "resource",
    keys: &[
        required("uri", Form::Text, "its address"),
        key("name", Form::Text, "its name; its address unless given"),
        TITLE,
        DESCRIPTION,
        MIME_TYPE,
        key("text", Form::Text, "the text in it; this or `blob`"),
        BLOB,
        ANNOTATIONS,
        key("size", Form::Integer, "listed as it is"),
        ICONS,
        META,
    ],
};

/// A template of resources.
pub const RESOURCE_TEMPLATE: Section = Section {
    title: "a resource template",
    name: "resourceTemplate",
    keys: &[
        required(
            "uriTemplate",
            Form::Text,
            "the pattern of addresses: `{x}` is anything without `/`, `{+x}` anything",
        ),
        key("name", Form::Text, "its name; the pattern unless given"),
        TITLE,
        DESCRIPTION,
        MIME_TYPE,
        key(
            "text",
            Form::Text,
            "the text in such a resource; `${args.x}` is what stands for `{x}`",
        ),
        BLOB,
        ANNOTATIONS,
        ICONS,
        META,
    ],
};

/// A prompt.
pub const PROMPT: Section = Section {
    title: "a prompt",
    name: "prompt",
    keys: &[
        required("name", Form::Text, "its name"),
        TITLE,
        DESCRIPTION,
        key(
            "arguments",
            Form::PromptArguments,
            "the arguments that it takes: `{name, title, description, required}`",
        ),
        required(
            "messages",
            Form::Messages,
            "its messages, with `${args.x}`; a text is one of the user",
        ),
        ICONS,
        META,
    ],
};

/// An argument of a prompt.
pub const PROMPT_ARGUMENT: Section = Section {
    title: "an argument",
    name: "promptArgument",
    keys: &[
        required("name", Form::Text, "its name"),
        TITLE,
        DESCRIPTION,
        key("required", Form::Boolean, "whether it must be given"),
    ],
};

/// A message of a prompt.
pub const MESSAGE: Section = Section {
    title: "a message",
    name: "message",
    keys: &[
        key(
            "role",
            Form::Text,
            "`user` or `assistant`; the user unless given",
        ),
        required("content", Form::Any, "a text, or a block of content"),
    ],
};
