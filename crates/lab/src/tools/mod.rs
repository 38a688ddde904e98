//! The tools of the lab, by their groups. `catalogue/lab.json` declares them.

mod asking;
mod conformance;
mod content;
mod data;
mod effects;
pub mod failure;
mod identity;
mod streaming;

use crate::ask;
use crate::prelude::*;

pub async fn answer(call: Call<'_>, tool: &LabTool) -> Answered {
    if let Some(result) = &tool.result {
        return Ok(render(result, call.arguments));
    }
    let body = match tool.name() {
        "whoami" => identity::whoami(call),
        "echo" => Value::Object(call.arguments.clone()),
        "headers" => identity::headers(call),
        "error" => return failure::error(call),
        "slow" => failure::slow(call).await,
        "flaky" => failure::flaky(call)?,
        "fail_then_succeed" => failure::fail_then_succeed(call)?,
        "fixed_response" => data::fixed_response(call),
        "sized_response" => data::sized_response(call),
        "lorem" => data::lorem(call),
        "progress" => streaming::progress(call).await,
        "long_output" => return Ok(streaming::long_output(call)),
        "chatty" => streaming::chatty(call).await,
        "announce" => streaming::announce(call),
        "write" => effects::write(call)?,
        "count" => effects::count(call),
        "sample" => asking::sample(call).await?,
        "elicit" => asking::elicit(call).await?,
        "roots" => asking::roots(call).await?,
        "resource" => return content::resource(call).await,
        _ if tool.says.is_empty() => return Ok(conformance::answer(call, tool.name()).await),
        "test_input_required_result_multi_round" => return conformance::rounds(call, tool).await,
        "test_input_required_result_capabilities" => {
            return conformance::possible(call, tool).await;
        }
        _ => return ask::answer(call, tool, &ask::questions(call, tool)).await,
    };
    Ok(structured(&body, Vec::new()))
}
