//! What each scenario asks a client to do, once it is connected.
//!
//! Only calls are chosen here. Metadata, headers, event streams, answers to the server's questions
//! and further rounds are the library's business.

use anyhow::{Context as _, bail};
use mcprove_client::session::{Request, Session};
use serde_json::{Value, json};

/// Does what scenario `name` asks for.
pub async fn play(name: &str, context: &Value, session: &Session) -> anyhow::Result<()> {
    match name {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => {
            session.list_tools().await?;
            Ok(())
        }
        "tools_call" => call_every_tool(session, &json!({ "a": 2, "b": 3 })).await,
        "elicitation-sep1034-client-defaults" | "sse-retry" | "sep-2322-client-request-state" => {
            call_every_tool(session, &json!({})).await
        }
        "http-invalid-tool-headers" => {
            call_every_tool(session, &json!({ "region": "us-west1" })).await
        }
        "http-custom-headers" => make_calls_of(context, session).await,
        "http-standard-headers" => use_everything(session).await,
        "json-schema-2020-12-preservation" => echo_schema(session).await,
        // The skills extension is not supported. A client that declares no support and asks for
        // nothing is connected, and done.
        _ if name.starts_with("sep-2640-client-") => Ok(()),
        _ => bail!("nothing is known of the scenario {name:?}"),
    }
}

async fn call_every_tool(session: &Session, arguments: &Value) -> anyhow::Result<()> {
    for tool in session.list_tools().await? {
        call(session, &tool.name, arguments).await?;
    }
    Ok(())
}

async fn call(session: &Session, tool: &str, arguments: &Value) -> anyhow::Result<()> {
    let reply = session
        .call_tool(tool, arguments)
        .await
        .with_context(|| format!("tool {tool}"))?;
    eprintln!("{tool}: {}", reply.result());
    Ok(())
}

/// The calls that the suite lists in the context.
async fn make_calls_of(context: &Value, session: &Session) -> anyhow::Result<()> {
    session.list_tools().await?;
    let calls = context["toolCalls"]
        .as_array()
        .context("the context lists no toolCalls")?;
    for wanted in calls {
        let tool = wanted["name"]
            .as_str()
            .context("a tool call without a name")?;
        call(session, tool, &wanted["arguments"]).await?;
    }
    Ok(())
}

async fn use_everything(session: &Session) -> anyhow::Result<()> {
    call_every_tool(session, &json!({})).await?;
    for resource in session.list_resources().await? {
        let params = json!({ "uri": resource["uri"] });
        session
            .request(&Request::new("resources/read").params(&params))
            .await?;
    }
    for prompt in session.list_prompts().await? {
        let params = json!({ "name": prompt["name"] });
        session
            .request(&Request::new("prompts/get").params(&params))
            .await?;
    }
    Ok(())
}

/// Sends one tool's input schema, as the library holds it, to the other tool.
async fn echo_schema(session: &Session) -> anyhow::Result<()> {
    let tools = session.list_tools().await?;
    let focal = tools
        .iter()
        .find(|tool| tool.name == "json_schema_2020_12_tool")
        .context("the tool json_schema_2020_12_tool is not listed")?;
    call(
        session,
        "json_schema_echo",
        &json!({ "schema": focal.input_schema }),
    )
    .await
}
