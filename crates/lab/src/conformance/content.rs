//! Tools that answer with one kind of content each.

use mcprove_trace::protocol::Revision;
use serde_json::json;

use crate::call::{Reply, content, text};
use crate::media;
use crate::registry::{Entry, nothing};

const fn entry(
    name: &'static str,
    explanation: &'static str,
    answer: for<'a> fn(crate::call::Call<'a>) -> mcprove_trace::BoxFuture<'a, Reply>,
) -> Entry {
    Entry {
        name,
        group: "conformance",
        explanation,
        input: nothing,
        output: None,
        since: Revision::V2024_11_05,
        answer,
    }
}

/// A text.
pub const SIMPLE_TEXT: Entry = entry("test_simple_text", "Answers with a text.", |_| {
    Box::pin(async { content(&[text("This is a simple text response for testing.")]) })
});

/// A picture.
pub const IMAGE: Entry = entry("test_image_content", "Answers with a picture.", |_| {
    Box::pin(async { content(&[media::image()]) })
});

/// A sound.
pub const AUDIO: Entry = Entry {
    since: Revision::V2025_03_26,
    ..entry("test_audio_content", "Answers with a sound.", |_| {
        Box::pin(async { content(&[media::audio()]) })
    })
};

/// A resource.
pub const EMBEDDED_RESOURCE: Entry =
    entry("test_embedded_resource", "Answers with a resource.", |_| {
        Box::pin(async {
            let resource = json!({
                "uri": "test://embedded-resource",
                "mimeType": "text/plain",
                "text": "This is an embedded resource content.",
            });
            content(&[json!({ "type": "resource", "resource": resource })])
        })
    });

/// Several kinds.
pub const MULTIPLE: Entry = entry(
    "test_multiple_content_types",
    "Answers with a text, a picture and a resource.",
    |_| {
        Box::pin(async {
            let resource = json!({
                "uri": "test://mixed-content-resource",
                "mimeType": "application/json",
                "text": r#"{"test":"data","value":123}"#,
            });
            content(&[
                text("Multiple content types test:"),
                media::image(),
                json!({ "type": "resource", "resource": resource }),
            ])
        })
    },
);

/// A failure of the tool.
pub const ERROR: Entry = entry("test_error_handling", "Always fails.", |_| {
    Box::pin(async {
        let block = text("This tool intentionally returns an error for testing");
        Reply::Whole(json!({ "content": [block], "isError": true }))
    })
});
