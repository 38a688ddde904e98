"""A small server on the fastmcp package, which speaks the session era and the stateless era.

It has no call that asks the client in both eras, so `input_from_client` sends a request in the session era
and returns `input_required` in the stateless one. Without arguments it talks over stdio; --http PORT serves
streamable HTTP.
"""

import anyio
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
    ToolAnnotations,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from serving import arguments, serve

args = arguments(__doc__)
server = FastMCP("fastmcp-server", version="1.0.0")


async def input_from_client(ctx, capability, request, result_type):
    if getattr(ctx.session.client_capabilities, capability, None) is None:
        data = {"requiredCapabilities": {capability: {}}}
        raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, f"The client has no {capability} capability", data)
    if ctx.request_context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        same_stream = ServerMessageMetadata(related_request_id=ctx.request_id)
        return await ctx.session.send_request(request, result_type, metadata=same_stream)
    if ctx.input_responses and "input" in ctx.input_responses:
        return ctx.input_responses["input"]
    return InputRequiredResult(input_requests={"input": request})


@server.tool
def echo(message: str) -> str:
    """Return the message."""
    return message


@server.tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@server.tool
async def slow(milliseconds: int) -> str:
    """Sleep, then answer."""
    await anyio.sleep(milliseconds / 1000)
    return f"slept {milliseconds} ms"


@server.tool
def fail() -> str:
    """Always fail."""
    raise ToolError("failed on purpose")


@server.tool
async def progress(steps: int, ctx: Context) -> str:
    """Send one progress notification per step."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps)
    return f"{steps} steps"


@server.tool
async def ask(ctx: Context) -> str | InputRequiredResult:
    """Ask the client's user for a name and return the action taken."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    params = ElicitRequestFormParams(message="What is your name?", requested_schema=schema)
    reply = await input_from_client(ctx, "elicitation", ElicitRequest(params=params), ElicitResult)
    return reply if isinstance(reply, InputRequiredResult) else reply.action


@server.tool
async def sample(prompt: str, ctx: Context) -> str | InputRequiredResult:
    """Let the client's model answer the prompt."""
    message = SamplingMessage(role="user", content=TextContent(text=prompt))
    params = CreateMessageRequestParams(messages=[message], max_tokens=100)
    reply = await input_from_client(ctx, "sampling", CreateMessageRequest(params=params), CreateMessageResult)
    return reply if isinstance(reply, InputRequiredResult) else getattr(reply.content, "text", reply.content.type)


@server.tool
async def roots(ctx: Context) -> list[str] | InputRequiredResult:
    """List the client's roots."""
    reply = await input_from_client(ctx, "roots", ListRootsRequest(), ListRootsResult)
    return reply if isinstance(reply, InputRequiredResult) else [str(root.uri) for root in reply.roots]


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def delete_everything() -> str:
    """Claim to delete everything; nothing happens."""
    return "deleted"


if args.http is not None:
    serve(server.http_app(path="/mcp", stateless_http=args.stateless, json_response=args.json), args.http, "/mcp")
else:
    server.run(show_banner=False, log_level="ERROR")
