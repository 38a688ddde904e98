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

/// Those in traces and reports of ours.
const OF_OURS: &str = "\
    A B C COMPLETED CRITICAL Cancelled Churn ColdStart Crash Custom D DEADLOCK Deadlock \
    DeadlockProbe Disconnected ERROR EarlyCall F Fuzzer Hang INCONCLUSIVE INDETERMINATE \
    InterruptedCall LEAK_DETECTED Malformed NO_LEAK PASS Pattern ProtocolError QUEUED RaceCheck \
    Ramp Reconnect SERVER_INIT_ERROR SLOW SUCCESS ServerError SlowMix Soak Spike Sustained \
    TOOLS_LIST_HANG Timeout ToolError WARNING abandoned abort accepted actual advice after agent \
    alone_ms altered annotations answer answer_timeout_secs args at_once at_secs avg_cpu_pct \
    back baseline baseline_calls baseline_concurrent baseline_distinct baseline_duration_secs \
    before best_throughput_per_s breaking_point burst burst_p99_to_p50 busy by_category by_code \
    bytes calibration_per_s call call_index callable callable_exercised caller calls \
    calls_failed calls_forgotten calls_lost calls_struck capacity cases category checked client \
    client_id closed coarse_stretches code cold_start collapse column compared completed \
    completion concurrency concurrent concurrent_calls concurrent_distinct connections_ended \
    connections_forgotten consistent continue control_calls conversation cores corrupt count \
    coverage cpu_pct cpu_share crash crash_count crashed crashes critical crossed cut cut_bytes \
    data deadlock deadlock_count delay_ms descriptors detail details detected_ms detector \
    discarded disconnect divergent doubtful drift drivers dropped duplicate duration_ms \
    duration_secs during empty ended ended_per_s error error_behavior error_rate error_share \
    errors events example examples exercised exit_code expected fail_on failed failed_ms \
    failed_opens fails_more failures fast_alone_p50 fast_mixed_p50 fault faults few_before file \
    final_response final_rss_mb finding findings first_call_ms first_p99_ms flaky \
    flat_since_secs found from_concurrent from_secs fuzz generator grace_period_secs grades \
    grows_by_session growth growth_mb growth_per_call_kb growth_per_session \
    growth_per_session_kb handshake_ms hang hang_count hang_threshold_secs head_of_line \
    held_too_long hint histogram http_status hung idempotentHint impacts in_flight_at_end \
    inconclusive info interrupted intervals is_aimed_at is_answer_due is_error is_judged is_lazy \
    is_limit is_slower isolation iterations jitter kind last_good_concurrent \
    last_good_rate_per_s late_share latency latency_drift_ms_per_sec latency_ms lateness_ms leak \
    left_ms leftovers limit_ms_per_s limited line list_timeout_secs list_tools load load_changed \
    loop_dead lose_reply lose_request losses lost machine malformed max max_recovery_secs \
    max_wait_secs mean mean_ms meaning measured memory memory_growth_mb message meta method \
    metric min min_coverage missed missed_share missing model name noise noise_share none \
    not_back not_begun not_judged notes nothing numbers open opened opened_late other_fault \
    others_cores others_may_suffer out_of_range outcome overall overflows oversized \
    own_arguments own_cores p25_ms p50 p50_latency p50_ms p75_ms p95 p95_latency p95_ms p99 p999 \
    p999_latency p99_latency p99_ms params partial pass passed patterns payload payloads \
    peak_descriptors peak_rss_mb peak_threads phase phases place planned points pressure_share \
    problems process process_dead processes progress_forever prompt protocol queued r_squared \
    race rare_tools rate rate_limit rate_limited rate_per_s ratio readOnlyHint ready_ms \
    real_answer reasons reconnect_count recover_after recovered_ms recovery recovery_secs \
    registered rejected released_secs reorder repeated reply_after_cancel request_id \
    requests_per_sec result retries role rounds rows rss_mb run run_id runs sample_interval_secs \
    samples scenario schema second_call_ms seed sentence server server_message servers_own \
    service_ms service_time_ms session session_ends sessions settings severity share short_after \
    skipped skipped_tools slope_high slope_low slope_mb_per_s slope_ms_per_s slow slow_p50 \
    slow_share slowest slowest_tool spike_at_secs spike_concurrent spike_duration_secs \
    spike_recovery started_at starts startup startup_ms status stays stddev steal_cores \
    step_increment steps still_opening stop stop_reason stopped stored_text struck success \
    successful_requests suffered target targets tests text think_time_secs threads \
    threshold_violations throughput throughput_per_s time_budget timeline times to_concurrent \
    token_budget tokens tool tool_call_budget tool_calls tool_error tool_results tool_stuck \
    tools total total_requests trace trace_path transport truncated ts turn_budget turns \
    unanswered unchecked uncontrolled unit unknown unproven until_back until_secs vanish \
    verdicts version wait_ms waited_ms waited_share warmup warmup_ms warning warnings watched_ms \
    wedged weight went_on wrong_id zombies";

/// Whether a value is a part of a word of the formats.
pub fn is_of_formats(value: &str) -> bool {
    // Words are parted by spaces, so that nothing is found across two.
    !value.contains(' ') && (OF_PROVIDERS.contains(value) || OF_OURS.contains(value))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Every name of a field and every fixed text of a schema.
    fn words_of(schema: &Value, words: &mut Vec<String>) {
        match schema {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("properties", Value::Object(properties)) => {
                            words.extend(properties.keys().cloned());
                            properties.values().for_each(|it| words_of(it, words));
                        }
                        ("enum", Value::Array(texts)) => {
                            words.extend(texts.iter().filter_map(Value::as_str).map(str::to_owned));
                        }
                        ("const", Value::String(text)) => words.push(text.clone()),
                        ("default" | "examples", _) => {}
                        (_, value) => words_of(value, words),
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|it| words_of(it, words)),
            _ => {}
        }
    }

    #[test]
    fn the_words_of_every_schema_that_holds_what_others_said_are_known() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schema");
        for name in ["agent-trace", "trace", "metrics", "suite-report", "summary"] {
            let text = std::fs::read_to_string(folder.join(format!("{name}.v1.json"))).unwrap();
            let mut words = Vec::new();
            words_of(&serde_json::from_str(&text).unwrap(), &mut words);
            assert!(words.len() > 10, "{name}");
            for word in words {
                assert!(is_of_formats(&word), "{word:?} of {name} is missing");
            }
        }
    }

    #[test]
    fn parts_of_words_are_words_and_secrets_are_not() {
        for word in [
            "tool_use",
            "tool",
            "content",
            "completed",
            "assistant",
            "function",
        ] {
            assert!(is_of_formats(word), "{word}");
        }
        for other in ["hunter22", "user system", "user assistant", "searching"] {
            assert!(!is_of_formats(other), "{other}");
        }
    }
}
