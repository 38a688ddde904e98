//! How a healthy server answers: who may ask what, and every method but the call itself.

use crate::prelude::*;

/// How long a client may keep a list or a discovery, in the stateless era.
const CACHE_TTL_MS: u64 = 1_000;

/// What becomes of a request that is served.
pub enum Answer {
    Result(Value),
    /// A valid call of a tool, for the mode to answer.
    Call,
    /// A subscription, which stays open.
    Listen,
}

/// Decides in which revision a request is served, or why it is not.
pub fn admit(host: &Host, session: &Session, request: &Request) -> Result<Revision, Refusal> {
    if request.is_stateless() && host.eras != Eras::Handshake {
        return admit_stateless(host, request);
    }
    if host.eras == Eras::Stateless {
        return Err(refuse_handshake(host, request));
    }
    match (session.revision(), request.method.as_str()) {
        (_, "server/discover") => Err(method_not_found(request)),
        (_, "initialize") => agree(host, session, request),
        (Some(revision), _) => Ok(revision),
        (None, "ping") => Ok(Revision::LATEST_HANDSHAKE),
        (None, _) => Err(Refusal::new(
            INVALID_REQUEST,
            "Invalid request: send initialize first",
        )),
    }
}

fn admit_stateless(host: &Host, request: &Request) -> Result<Revision, Refusal> {
    let Some(version) = request.meta(META_VERSION).and_then(Value::as_str) else {
        return Err(missing(META_VERSION));
    };
    if version != Revision::LATEST_STATELESS.as_str() {
        return Err(Refusal::unsupported_version(
            version,
            &host.eras.revisions(),
        ));
    }
    if !request
        .meta(META_CAPABILITIES)
        .is_some_and(Value::is_object)
    {
        return Err(missing(META_CAPABILITIES));
    }
    Ok(Revision::LATEST_STATELESS)
}

fn refuse_handshake(host: &Host, request: &Request) -> Refusal {
    if request.method != "initialize" {
        return missing(META_VERSION);
    }
    let requested = request.text("protocolVersion").unwrap_or_default();
    let mut refusal = Refusal::unsupported_version(requested, &host.eras.revisions());
    refusal.message = format!(
        "initialize is not supported; this server speaks {}",
        Revision::LATEST_STATELESS
    );
    refusal
}

fn missing(key: &str) -> Refusal {
    Refusal::invalid(format!("Invalid params: _meta lacks {key}"))
}

pub fn method_not_found(request: &Request) -> Refusal {
    Refusal::new(
        METHOD_NOT_FOUND,
        format!("Method not found: {}", request.method),
    )
}

/// Answers an admitted request as far as that takes no time.
pub fn answer(
    behaviour: &dyn Behaviour,
    eras: Eras,
    request: &Request,
    revision: Revision,
) -> Result<Answer, Refusal> {
    let is_stateless = revision.era() == Era::Stateless;
    match request.method.as_str() {
        "initialize" if !is_stateless => Ok(Answer::Result(greeting(behaviour, revision))),
        "ping" if !is_stateless => Ok(Answer::Result(json!({}))),
        "server/discover" if is_stateless => {
            Ok(Answer::Result(discovery(behaviour, eras, revision)))
        }
        "tools/list" => {
            let tools = behaviour.tools(revision);
            list(behaviour, "tools", &tools, request, revision).map(Answer::Result)
        }
        "tools/call" => check_call(behaviour, request, revision),
        "subscriptions/listen" if is_stateless => Ok(Answer::Listen),
        _ => Err(method_not_found(request)),
    }
}

/// What `initialize` is answered.
fn greeting(behaviour: &dyn Behaviour, revision: Revision) -> Value {
    json!({
        "protocolVersion": revision,
        "capabilities": behaviour.capabilities(revision),
        "serverInfo": behaviour.identity(),
    })
}

/// The same with what the server tells about itself.
pub fn introduction(behaviour: &dyn Behaviour, revision: Revision) -> Value {
    introduced(behaviour, greeting(behaviour, revision))
}

fn introduced(behaviour: &dyn Behaviour, mut result: Value) -> Value {
    let instructions = behaviour.instructions();
    if !instructions.is_empty() {
        result["instructions"] = instructions.into();
    }
    result
}

fn discovery(behaviour: &dyn Behaviour, eras: Eras, revision: Revision) -> Value {
    let result = json!({
        "supportedVersions": eras.revisions(),
        "capabilities": behaviour.capabilities(revision),
    });
    introduced(behaviour, cacheable(result, revision))
}

/// Settles the revision at once, so that what follows in the same write is served in it.
fn agree(host: &Host, session: &Session, request: &Request) -> Result<Revision, Refusal> {
    let Some(wanted) = request.text("protocolVersion") else {
        return Err(Refusal::invalid(
            "Invalid params: initialize lacks protocolVersion",
        ));
    };
    let revision = wanted
        .parse()
        .ok()
        .filter(|revision: &Revision| revision.era() == Era::Handshake)
        .unwrap_or(Revision::LATEST_HANDSHAKE);
    let said = |name: &str| request.params.get(name).cloned().unwrap_or_default();
    let said = (said("capabilities"), said("clientInfo"));
    let bytes =
        dispatch::weight_kept(&said.0.to_string()) + dispatch::weight_kept(&said.1.to_string());
    if bytes > AGREEMENT_BYTES_MAX {
        let kibibytes = AGREEMENT_BYTES_MAX / 1024;
        return Err(Refusal::invalid(format!(
            "Invalid params: capabilities and clientInfo take more than {kibibytes} KiB"
        )));
    }
    let Some(charge) = host.kept.charge(bytes) else {
        return Err(Refusal::new(TOO_BUSY, "Too many bytes of sessions"));
    };
    session.agree(revision, said, charge);
    Ok(revision)
}

/// The page of `items` that the cursor of a request asks for, under the key `name`, with the cursor of
/// the next one. A cursor that was never given out is refused.
pub fn list(
    behaviour: &dyn Behaviour,
    name: &str,
    items: &[Value],
    request: &Request,
    revision: Revision,
) -> Outcome {
    let start = match request.params.get("cursor") {
        None => 0,
        Some(cursor) => {
            let start = || cursor.as_str()?.strip_prefix("from-")?.parse().ok();
            start()
                .filter(|start| *start < items.len())
                .ok_or_else(|| Refusal::invalid("Invalid params: unknown cursor"))?
        }
    };
    let end = start.saturating_add(behaviour.page_size().max(1));
    let end = end.min(items.len());
    let mut result = json!({ name: items.get(start..end).unwrap_or_default() });
    if end < items.len() {
        result["nextCursor"] = format!("from-{end}").into();
    }
    Ok(cacheable(result, revision))
}

/// The result with how long a client may keep it, as the stateless era wants of lists.
pub fn cacheable(mut result: Value, revision: Revision) -> Value {
    if revision.era() == Era::Stateless {
        result["ttlMs"] = CACHE_TTL_MS.into();
        result["cacheScope"] = "public".into();
    }
    result
}

fn check_call(
    behaviour: &dyn Behaviour,
    request: &Request,
    revision: Revision,
) -> Result<Answer, Refusal> {
    let tools = behaviour.tools(revision);
    let name = request.text("name");
    let mut tools = tools.iter();
    let tool = tools.find(|tool| name.is_some() && tool["name"].as_str() == name);
    let unknown = || Refusal::invalid(format!("Unknown tool: {}", name.unwrap_or_default()));
    let tool = tool.ok_or_else(unknown)?;
    let arguments = request.arguments()?;
    // A wrong argument is for the model to read and correct, so it is no protocol error.
    Ok(match behaviour.problem(tool, arguments) {
        Some(problem) => Answer::Result(tools::text_result(&problem, true)),
        None => Answer::Call,
    })
}

/// Answers an admitted request, taking the time that the mode takes.
pub async fn route(behaviour: &dyn Behaviour, exchange: &Exchange) {
    let answer = answer(
        behaviour,
        exchange.host.eras,
        &exchange.request,
        exchange.revision,
    );
    match answer {
        Ok(Answer::Result(result)) => exchange.succeed(result).await,
        Ok(Answer::Call) => behaviour.call(exchange).await,
        Ok(Answer::Listen) => changes::listen(exchange).await,
        Err(refusal) if refusal.code == METHOD_NOT_FOUND => exchange.refuse(&refusal).await,
        Err(refusal) => {
            exchange.reply(refusal.response(&exchange.request.id)).await;
        }
    }
}
