//! Mocks, tested with raw bytes over every transport.

use mcprove_recording::Recording;
use serde_json::{Value, json};

use super::{ListenerKind, Listening, Mock, MockOptions};
use crate::fixture::tests::{Pipe, initialize, request};
use crate::tools_file::parse;

mod answers;
mod batches;
mod cancellation;
mod faults_http;
mod faults_stdio;
mod limits;
mod log;
mod other_transports;
mod together;

/// A server with a tool of everything.
const TOOLS: &str = r#"
name: demo
instructions: be kind
pageSize: 2
tools:
  - name: search
    inputSchema:
      type: object
      properties: { query: { type: string }, limit: { type: integer, minimum: 1 } }
      required: [query]
      additionalProperties: false
    response: "found ${args.query}"
    responses:
      - { when: { query: boom }, error: { code: -32000, message: "no ${args.query}", data: { q: "${args.query}" } } }
      - { when: { query: many }, sequence: [first, { error: { code: 7, message: gone } }, second] }
  - name: deep
    response: { content: ["a", { type: text, text: "b ${args.n}" }], structuredContent: { n: "${args.n}" }, isError: true }
    responses:
      - { when: { filter: { b: 1, a: [1, 2.0] } }, response: nested }
      - { when: { n: null }, response: "null" }
  - name: echo
  - name: weather
    outputSchema: { type: object, properties: { degrees: { type: number } }, required: [degrees] }
resources:
  - { uri: "file:///a", mimeType: text/plain, text: "costs ${args.x}" }
  - { uri: "file:///b", name: bytes, blob: aGk= }
resourceTemplates:
  - { uriTemplate: "page:///{id}", text: "page ${args.id}" }
prompts:
  - name: sum
    description: Sums up.
    arguments: [{ name: topic, required: true }, style]
    messages: ["Sum up ${args.topic}", { role: assistant, content: "Gladly." }]
"#;

fn mock(faults: &[&str]) -> Mock {
    mock_with(TOOLS, faults, None)
}

fn mock_with(tools: &str, faults: &[&str], recording: Option<Recording>) -> Mock {
    let spec = parse(tools, "tools.yml").unwrap().spec;
    let faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    let options = MockOptions {
        faults,
        recording,
        ..MockOptions::default()
    };
    Mock::new(spec, options).unwrap()
}

/// A client of a mock, over a pipe, with the handshake done.
async fn ready(mock: &Mock) -> Pipe {
    let (output, input) = mock.spawn_in_memory();
    let mut pipe = Pipe::over(output, input);
    pipe.ask(&initialize(0, "2025-11-25")).await;
    pipe
}

async fn listening(mock: &Mock, kind: ListenerKind) -> Listening {
    mock.listen(kind, "127.0.0.1:0".parse().unwrap())
        .await
        .unwrap()
}

fn search(id: u64, query: &str) -> Value {
    call(id, "search", json!({ "query": query }))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "reads better where it is called"
)]
fn call(id: u64, tool: &str, arguments: Value) -> Value {
    request(
        id,
        "tools/call",
        json!({ "name": tool, "arguments": arguments }),
    )
}

fn found(id: u64, query: &str) -> Value {
    let text = format!("found {query}");
    json!({
        "jsonrpc": "2.0",
        "id": id,
        "result": { "content": [{ "type": "text", "text": text }], "isError": false },
    })
}
