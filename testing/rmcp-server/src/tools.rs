//! The tools.

use std::time::Duration;

use rmcp::handler::server::tool::InputResponses;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResponse, CallToolResult, ClientCapabilities, ClientResult, ContentBlock,
    CreateMessageRequest, CreateMessageRequestParams, ElicitRequest, ElicitRequestParams,
    ElicitationCapability, Implementation, InputRequest, InputRequests, InputRequiredResult,
    ListRootsRequest, ProgressNotificationParam, ProtocolVersion, RootsCapabilities,
    SamplingCapability, SamplingMessage, ServerCapabilities, ServerConfig, ServerRequest,
};
use rmcp::schemars::{self, JsonSchema};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_handler, tool_router};
use serde::Deserialize;
use serde_json::{Value, json};

/// The server: it keeps no state.
#[derive(Clone)]
pub struct Tools;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Deserialize, JsonSchema)]
struct Slow {
    milliseconds: u64,
}

#[derive(Deserialize, JsonSchema)]
struct Progress {
    steps: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Sample {
    prompt: String,
}

/// What the client had to say to an input request, or that it still has to be asked.
enum Input {
    Reply(Value),
    Required(InputRequiredResult),
}

#[tool_router]
impl Tools {
    /// Return the message.
    #[tool]
    async fn echo(&self, Parameters(args): Parameters<Echo>) -> String {
        args.message
    }

    /// Add two integers.
    #[tool]
    async fn add(&self, Parameters(args): Parameters<Add>) -> String {
        args.a.wrapping_add(args.b).to_string()
    }

    /// Sleep, then answer.
    #[tool]
    async fn slow(&self, Parameters(args): Parameters<Slow>) -> String {
        tokio::time::sleep(Duration::from_millis(args.milliseconds)).await;
        format!("slept {} ms", args.milliseconds)
    }

    /// Always fail.
    #[tool]
    async fn fail(&self) -> CallToolResult {
        CallToolResult::error(vec![ContentBlock::text("failed on purpose")])
    }

    /// Send one progress notification per step.
    #[tool]
    async fn progress(
        &self,
        Parameters(args): Parameters<Progress>,
        context: RequestContext<RoleServer>,
    ) -> Result<String, ErrorData> {
        if let Some(token) = context.meta.get_progress_token() {
            for step in 1..=args.steps {
                let progress = ProgressNotificationParam::new(token.clone(), f64::from(step))
                    .with_total(f64::from(args.steps));
                context
                    .peer
                    .notify_progress(progress)
                    .await
                    .map_err(internal)?;
            }
        }
        Ok(format!("{} steps", args.steps))
    }

    /// Ask the client's user for a name and return the action taken.
    #[tool]
    async fn ask(
        &self,
        responses: InputResponses,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
        let request = InputRequest::Elicitation(ElicitRequest::new(
            ElicitRequestParams::FormElicitationParams {
                meta: None,
                message: "What is your name?".to_owned(),
                requested_schema: serde_json::from_value(schema).map_err(internal)?,
            },
        ));
        Ok(
            match input_from_client(&context, responses, request).await? {
                Input::Reply(reply) => text(reply["action"].as_str().unwrap_or("no action")),
                Input::Required(result) => result.into(),
            },
        )
    }

    /// Let the client's model answer the prompt.
    #[tool]
    async fn sample(
        &self,
        Parameters(args): Parameters<Sample>,
        responses: InputResponses,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let params =
            CreateMessageRequestParams::new(vec![SamplingMessage::user_text(args.prompt)], 100);
        let request = InputRequest::CreateMessage(CreateMessageRequest::new(params));
        Ok(
            match input_from_client(&context, responses, request).await? {
                Input::Reply(reply) => text(reply["content"]["text"].as_str().unwrap_or("no text")),
                Input::Required(result) => result.into(),
            },
        )
    }

    /// List the client's roots.
    #[tool]
    async fn roots(
        &self,
        responses: InputResponses,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let request = InputRequest::ListRoots(ListRootsRequest::default());
        Ok(
            match input_from_client(&context, responses, request).await? {
                Input::Reply(reply) => text(reply["roots"].to_string()),
                Input::Required(result) => result.into(),
            },
        )
    }

    /// Claim to delete everything; nothing happens.
    #[tool(annotations(destructive_hint = true))]
    async fn delete_everything(&self) -> String {
        "deleted".to_owned()
    }
}

#[tool_handler]
impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("rmcp-server", "1.0.0"))
    }
}

fn text(text: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Asks with a request of ours in the session era, and with `input_required` in the stateless one. A client that
/// did not declare the capability is never asked.
async fn input_from_client(
    context: &RequestContext<RoleServer>,
    InputResponses(responses): InputResponses,
    request: InputRequest,
) -> Result<Input, ErrorData> {
    let declared = context.client_capabilities().unwrap_or_default();
    let mut required = ClientCapabilities::default();
    let missing = match &request {
        InputRequest::CreateMessage(_) => {
            required.sampling = Some(SamplingCapability::default());
            declared.sampling.is_none()
        }
        InputRequest::Elicitation(_) => {
            required.elicitation = Some(ElicitationCapability::default());
            declared.elicitation.is_none()
        }
        _ => {
            required.roots = Some(RootsCapabilities::default());
            declared.roots.is_none()
        }
    };
    if missing {
        return Err(ErrorData::missing_required_client_capability(required));
    }
    if context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
    {
        if let Some(reply) = responses.and_then(|mut responses| responses.remove("input")) {
            return Ok(Input::Reply(reply));
        }
        let requests = InputRequests::from([("input".to_owned(), request)]);
        return Ok(Input::Required(InputRequiredResult::from_input_requests(
            requests,
        )));
    }
    let request = match request {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return Err(internal("not a request of this server")),
    };
    let reply: ClientResult = context.peer.send_request(request).await.map_err(internal)?;
    serde_json::to_value(reply)
        .map(Input::Reply)
        .map_err(internal)
}
