//! Words of the formats that are written and read: where one stood as `<redacted>`, nobody could read them any more.
//! A value of the environment that is part of one is no secret: everybody knows it.

/// The names of fields, roles, types and reasons in what models and tools are sent and answer.
const OF_PROVIDERS: &str = "\
    additionalProperties allOf anyOf api_error application/json arguments array assistant \
    authentication_error base64 blob boolean cache_control cache_creation_input_tokens \
    cache_read_input_tokens cached_tokens chat.completion chat/completions choices \
    completion_tokens completion_tokens_details content content_filter created default \
    description destructiveHint developer document end_turn ephemeral finish_reason format \
    function function_call id image image/gif image/jpeg image/png image/webp image_url index \
    input input_schema input_text input_tokens insufficient_quota integer invalid_request_error \
    isError items length logprobs maxItems maxLength max_completion_tokens max_tokens maximum \
    media_type messages mimeType minItems minLength minimum not_found_error number object oneOf \
    openWorldHint output_text output_tokens overloaded_error param parameters pattern pause_turn \
    permission_error prompt_tokens prompt_tokens_details properties rate_limit_error \
    reasoning_tokens redacted_thinking refusal required resource resource_link service_tier \
    signature source stop_sequence stop_sequences stream strict string structuredContent system \
    system_fingerprint temperature text/plain thinking title tool_call_id tool_choice \
    tool_result tool_use tool_use_id total_tokens type uri url usage user";

/// Those of our own formats, from their schemas: `cargo xtask schema --write` writes this file.
const OF_OURS: &str = include_str!("words_of_formats.txt");

/// Whether a value is a part of a word of the formats.
pub fn is_of_formats(value: &str) -> bool {
    // White space parts words, so that nothing is found across two.
    !value.contains([' ', '\n']) && (OF_PROVIDERS.contains(value) || OF_OURS.contains(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_words_are_words_and_secrets_are_not() {
        for word in [
            "tool_use",
            "tool",
            "content",
            "completed",
            "assistant",
            "function",
            "spike_recovery",
        ] {
            assert!(is_of_formats(word), "{word}");
        }
        for other in [
            "hunter22",
            "user system",
            "user assistant",
            "tool\ntools",
            "searching",
        ] {
            assert!(!is_of_formats(other), "{other}");
        }
    }
}
