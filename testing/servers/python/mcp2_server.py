"""A small server on version 2 of the official Python SDK, which speaks the session era and the stateless era.

What a tool needs from the client is a `Resolve` parameter: the SDK sends a request in the session era and
returns `input_required` in the stateless one. Without arguments it talks over stdio; --http PORT serves
streamable HTTP.
"""

from typing import Annotated

import anyio
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, ListRoots, MCPServer, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CreateMessageResult, ListRootsResult, SamplingMessage, TextContent, ToolAnnotations
from pydantic import BaseModel

from serving import arguments, serve

args = arguments(__doc__)
server = MCPServer("mcp2-server", version="1.0.0", log_level="ERROR")


class Name(BaseModel):
    name: str


def ask_name() -> Elicit[Name]:
    return Elicit("What is your name?", Name)


def ask_model(prompt: str) -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(text=prompt))], max_tokens=100)


def ask_roots() -> ListRoots:
    return ListRoots()


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
    raise ToolError("failed on purpose")


@server.tool()
async def progress(steps: int, ctx: Context) -> str:
    """Send one progress notification per step."""
    for step in range(1, steps + 1):
        await ctx.report_progress(step, steps)
    return f"{steps} steps"


@server.tool()
def ask(answer: Annotated[ElicitationResult[Name], Resolve(ask_name)]) -> str:
    """Ask the client's user for a name and return the action taken."""
    return answer.action


@server.tool()
def sample(prompt: str, reply: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    """Let the client's model answer the prompt."""
    return getattr(reply.content, "text", reply.content.type)


@server.tool()
def roots(found: Annotated[ListRootsResult, Resolve(ask_roots)]) -> list[str]:
    """List the client's roots."""
    return [str(root.uri) for root in found.roots]


@server.tool(annotations=ToolAnnotations(destructive_hint=True))
def delete_everything() -> str:
    """Claim to delete everything; nothing happens."""
    return "deleted"


if args.http is not None:
    serve(server.streamable_http_app(stateless_http=args.stateless, json_response=args.json), args.http, "/mcp")
else:
    server.run()
