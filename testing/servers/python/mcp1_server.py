"""A small server on version 1 of the official Python SDK, which speaks the session era only.

Without arguments it talks over stdio; --http PORT serves streamable HTTP and --sse PORT the older HTTP+SSE
transport.
"""

import anyio
from mcp.server.fastmcp import Context, FastMCP
from mcp.types import SamplingMessage, TextContent, ToolAnnotations
from pydantic import BaseModel

from serving import arguments, serve

args = arguments(__doc__, sse=True)
server = FastMCP("mcp1-server", log_level="ERROR", stateless_http=args.stateless, json_response=args.json)


class Name(BaseModel):
    name: str


@server.tool()
def echo(message: str) -> str:
    """Return the message."""
    return message


@server.tool()
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


@server.tool()
async def slow(milliseconds: int) -> str:
    """Sleep, then answer."""
    await anyio.sleep(milliseconds / 1000)
    return f"slept {milliseconds} ms"


@server.tool()
def fail() -> str:
    """Always fail."""
    raise ValueError("failed on purpose")


@server.tool()
async def progress(steps: int, ctx: Context) -> str:
    """Send one progress notification per step."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps)
    return f"{steps} steps"


@server.tool()
async def ask(ctx: Context) -> str:
    """Ask the client's user for a name and return the action taken."""
    return (await ctx.elicit("What is your name?", Name)).action


@server.tool()
async def sample(prompt: str, ctx: Context) -> str:
    """Let the client's model answer the prompt."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    reply = await ctx.session.create_message([message], max_tokens=100, related_request_id=ctx.request_id)
    return getattr(reply.content, "text", reply.content.type)


@server.tool()
async def roots(ctx: Context) -> list[str]:
    """List the client's roots. This SDK asks on the stream that the client opened with GET."""
    return [str(root.uri) for root in (await ctx.session.list_roots()).roots]


@server.tool(annotations=ToolAnnotations(destructiveHint=True))
def delete_everything() -> str:
    """Claim to delete everything; nothing happens."""
    return "deleted"


if args.sse is not None:
    serve(server.sse_app(), args.sse, "/sse")
elif args.http is not None:
    serve(server.streamable_http_app(), args.http, "/mcp")
else:
    server.run()
