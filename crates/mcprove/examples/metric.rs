//! A metric of one's own: how many words the closing text has, and a gate on it.
//!
//! ```sh
//! cargo run --example metric
//! ```

use mcprove::eval::{
    About, AgentRun, Case, Metric, RunCard, ScoreError, Settings, Target, import, parse_gates,
    score_with,
};

/// The metric.
struct Brevity;

/// What its block in a gates file holds.
#[derive(Debug, Settings)]
struct BrevityBlock {
    /// How many words are allowed.
    #[setting(default = 50, kind = limit(1))]
    max_words: u64,
}

impl Default for BrevityBlock {
    fn default() -> Self {
        Self::initial()
    }
}

impl Metric for Brevity {
    type Block = BrevityBlock;

    const ABOUT: About = About {
        name: "brevity",
        explanation: "whether the closing text is short",
        targets: &[Target::highest(
            "brevity.words",
            "words of the closing text",
        )],
        default_gate: "at most `max_words`",
        ..About::PLAIN
    };

    fn score_run(
        &self,
        run: &AgentRun,
        case: &Case<'_, BrevityBlock>,
        card: &mut RunCard<'_>,
    ) -> Result<(), ScoreError> {
        let text = run.final_response.as_deref().unwrap_or_default();
        let words = text.split_whitespace().count();
        card.set("brevity.words", words);
        if let Some(block) = case.block
            && words as u64 > block.max_words
        {
            let message = format!("{words} words, and {} are allowed", block.max_words);
            card.fail("brevity.words", block.max_words, words, message);
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = r#"{"tool_calls":[],"final_response":"I looked it up: it is sunny today."}"#;
    let trace = import(text)?.trace;
    for yaml in [
        "brevity: { max_words: 10 }",
        "brevity: { max_words: 5 }",
        "expect: [{ target: brevity.words, matcher: { exact: 8 } }]",
        "brevity: { max_word: 5 }",
    ] {
        println!("{yaml}");
        let gates = match parse_gates(yaml, "gates.yml", &[&Brevity]) {
            Ok(gates) => gates,
            Err(errors) => {
                println!("{errors}");
                continue;
            }
        };
        let report = score_with(&trace, &gates, &[&Brevity]);
        println!("  brevity.words = {}", report.targets["brevity.words"]);
        match report.failures.first() {
            Some(failure) => println!("  failed: {}", failure.message.rendered()),
            None => println!("  passed: {}", report.passed),
        }
    }
    Ok(())
}
