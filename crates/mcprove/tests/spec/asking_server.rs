//! A server that answers whatever a client can send, and asks whatever it can be asked.

use std::collections::HashMap;

use mcprove_trace::protocol::{Era, Revision};
use serde_json::{Value, json};

use crate::peer::{Wire, open};

/// What the server asks of its client in a revision: key, method and parameters.
fn questions(revision: Revision) -> Vec<(&'static str, &'static str, Value)> {
    let sampling = json!({
        "messages": [{ "role": "user", "content": { "type": "text", "text": "hi" } }],
        "maxTokens": 10,
    });
    let mut questions = vec![
        ("roots", "roots/list", json!({})),
        ("sampling", "sampling/createMessage", sampling),
    ];
    if revision.era() == Era::Handshake {
        questions.push(("ping", "ping", json!({})));
        questions.push(("unknown", "nothing/such", json!({})));
    }
    if revision >= Revision::V2025_06_18 {
        let mut form = json!({
            "message": "who?",
            "requestedSchema": { "type": "object", "required": ["name", "age"], "properties": {
                "name": { "type": "string", "minLength": 2 },
                "age": { "type": "integer", "minimum": 1, "maximum": 9 },
                "size": { "type": "number", "minimum": 2 },
                "agreed": { "type": "boolean" },
                "color": { "type": "string", "enum": ["red", "green"] },
                // A field that nothing can fill is left out, and is no null.
                "unfillable": { "type": "string", "minLength": 5, "maxLength": 2 },
            } },
        });
        if revision >= Revision::V2025_11_25 {
            form["requestedSchema"]["properties"]["many"] = json!({
                "type": "array", "items": { "type": "string", "enum": ["a", "b"] }, "minItems": 1,
            });
            let url = json!({
                "mode": "url", "message": "sign in", "url": "https://example.com",
                "elicitationId": "e1",
            });
            questions.push(("url", "elicitation/create", url));
        }
        questions.push(("form", "elicitation/create", form));
    }
    questions
}

/// Answers everything properly, and asks when the tool `ask` is called.
pub struct AskingServer {
    revision: Revision,
    /// The call that waits for the client's answers, and how many are still to come.
    asking: Option<(Value, usize)>,
    looks: HashMap<String, u32>,
}

impl AskingServer {
    pub fn new(revision: Revision) -> Self {
        Self {
            revision,
            asking: None,
            looks: HashMap::new(),
        }
    }

    pub fn receive(&mut self, message: &Value, wire: &Wire) {
        if open(message, wire) {
            return;
        }
        let Some(method) = message["method"].as_str() else {
            self.receive_answer(wire);
            return;
        };
        let params = &message["params"];
        match method {
            "tools/list" if params["cursor"].is_null() => {
                let tools = json!([{ "name": "work", "inputSchema": { "type": "object" },
                    "execution": { "taskSupport": "required" } },
                    { "name": "stuck", "inputSchema": { "type": "object" },
                    "execution": { "taskSupport": "required" } }]);
                wire.answer(message, &json!({ "tools": tools, "nextCursor": "2" }));
            }
            "tools/list" => wire.answer(message, &json!({ "tools": [] })),
            "prompts/list" => wire.answer(message, &json!({ "prompts": [] })),
            "resources/list" => wire.answer(message, &json!({ "resources": [] })),
            "resources/templates/list" => {
                wire.answer(message, &json!({ "resourceTemplates": [] }));
            }
            "tools/call" => self.call(message, wire),
            "tasks/get" => self.look(message, wire),
            "subscriptions/listen" | "notifications/cancelled" => {}
            _ if message["id"].is_null() => {}
            _ => wire.answer(message, &json!({ "resultType": "complete" })),
        }
    }

    fn call(&mut self, message: &Value, wire: &Wire) {
        let params = &message["params"];
        let tool = params["name"].as_str().unwrap();
        let done = json!({ "resultType": "complete", "content": [] });
        match (tool, self.revision.era()) {
            ("hang", _) => {}
            ("ask", Era::Handshake) => {
                let questions = questions(self.revision);
                self.asking = Some((message.clone(), questions.len()));
                for (key, method, params) in questions {
                    let id = format!("{method} {key}");
                    wire.send(&json!({
                        "jsonrpc": "2.0", "id": id, "method": method, "params": params,
                    }));
                }
            }
            ("ask" | "ask_without_sampling", Era::Stateless)
                if params["inputResponses"].is_null() =>
            {
                let mut asked = serde_json::Map::new();
                for (key, method, params) in questions(self.revision) {
                    if tool == "ask" || key != "sampling" {
                        asked.insert(key.into(), json!({ "method": method, "params": params }));
                    }
                }
                let required = json!({
                    "resultType": "input_required", "inputRequests": asked, "requestState": "s",
                });
                wire.answer(message, &required);
            }
            ("work" | "stuck", _) if self.revision >= Revision::V2025_11_25 => {
                let task = self.task(tool, "working");
                let created = if self.revision.era() == Era::Stateless {
                    task
                } else {
                    json!({ "task": task })
                };
                wire.answer(message, &created);
            }
            _ => wire.answer(message, &done),
        }
    }

    fn task(&self, id: &str, status: &str) -> Value {
        let mut task = json!({
            "taskId": id, "status": status, "createdAt": "2026-01-01T00:00:00Z",
            "lastUpdatedAt": "2026-01-01T00:00:00Z", "ttl": 1000, "pollInterval": 10,
        });
        if self.revision.era() == Era::Stateless {
            task["resultType"] = "task".into();
        }
        task
    }

    fn look(&mut self, message: &Value, wire: &Wire) {
        let id = message["params"]["taskId"].as_str().unwrap();
        let looks = self.looks.entry(id.to_owned()).or_default();
        *looks += 1;
        let is_stateless = self.revision.era() == Era::Stateless;
        let mut task = match (id, *looks) {
            ("stuck", _) => self.task(id, "working"),
            (_, 1) if is_stateless => {
                let mut task = self.task(id, "input_required");
                task["inputRequests"] = json!({ "roots": { "method": "roots/list" } });
                task
            }
            _ => {
                let mut task = self.task(id, "completed");
                if is_stateless {
                    task["result"] = json!({ "content": [] });
                }
                task
            }
        };
        if is_stateless {
            task["resultType"] = "complete".into();
        }
        wire.answer(message, &task);
    }

    fn receive_answer(&mut self, wire: &Wire) {
        if let Some((call, left)) = &mut self.asking {
            *left -= 1;
            if *left == 0 {
                wire.answer(call, &json!({ "content": [] }));
                self.asking = None;
            }
        }
    }
}
