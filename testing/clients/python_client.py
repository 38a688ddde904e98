"""What the client of the Python SDK sees of a server: a list of cases on stdin, a list of observations on stdout.

    python python_client.py < cases.json

A case is {"name", "command": [...] or "url", "headers"?, "answers"?, "steps": [...]}; see `step` for what a step can be. The
answers are those to questions of the server: {"elicitation", "sampling"}. Version 1 of the SDK opens with `initialize`,
version 2 as the server likes it best.
"""

import asyncio
import json
import logging
import os
import sys
import time
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from importlib.metadata import version

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

IS_FIRST = version("mcp").startswith("1.")
if IS_FIRST:
    import httpx

    from mcp.shared.exceptions import McpError
else:
    import httpx2 as httpx

    from mcp import MCPError as McpError
    from mcp.client.session import ClientRequestContext

# A few at a time: the machine is small.
TOGETHER = 4


def seconds(milliseconds):
    return timedelta(milliseconds=milliseconds) if IS_FIRST else milliseconds / 1000


def seen(result):
    content = getattr(result, "content", None)
    if content is None:
        return {}
    text = "".join(block.text for block in content if block.type == "text")
    is_error = result.isError if IS_FIRST else result.is_error
    structured = result.structuredContent if IS_FIRST else result.structured_content
    return {"isError": bool(is_error), "blocks": len(content), "length": len(text), "text": text[:100], "structured": structured}


def answering(answers):
    """What answers the questions of the server, as far as the case has answers."""
    kinds = {"elicitation": types.ElicitResult, "sampling": types.CreateMessageResult}

    def callback(name):
        async def answer(*_):
            return kinds[name].model_validate(answers[name])

        return answer

    return {f"{name}_callback": callback(name) for name in answers}


async def ask_and_answer(session, tool, args, timeout, answers=None):
    """Calls a tool that asks; in the stateless era it is called again with the answers."""
    if IS_FIRST:
        return await session.call_tool(tool, args, read_timeout_seconds=timeout)
    result = await session.call_tool(tool, args, read_timeout_seconds=timeout, allow_input_required=True, **(answers or {}))
    requests = getattr(result, "input_requests", None)
    if answers or not requests:
        return result
    given = {}
    for key, request in requests.items():
        context = ClientRequestContext(session=session, request_id=key, meta=None)
        given[key] = await session.dispatch_input_request(context, request)
    answers = {"input_responses": given, "request_state": result.request_state}
    return await ask_and_answer(session, tool, args, timeout, answers)


async def outcome(awaitable, timeout_ms):
    start = time.monotonic()
    try:
        result = await asyncio.wait_for(awaitable, timeout_ms / 1000 + 3)
        found = {"kind": "result", **seen(result)}
    except McpError as error:
        code = error.error.code
        message = error.error.message
        if "imed out" in message:
            found = {"kind": "timeout", "message": message}
        elif "closed" in message.lower():
            found = {"kind": "closed", "message": message}
        else:
            found = {"kind": "error", "code": code, "message": message}
    except TimeoutError:
        found = {"kind": "timeout", "message": "waited too long"}
    except Exception as error:  # noqa: BLE001: whatever the SDK makes of it
        found = {"kind": "broken", "message": f"{type(error).__name__}: {error}"[:300]}
    found["ms"] = round((time.monotonic() - start) * 1000)
    return found


async def step(session, given, noted):
    async def progressed(*_):
        noted["progress"] += 1

    def call(tool, args, progress=False):
        timeout = given["timeout_ms"]
        extra = {"progress_callback": progressed} if progress else {}
        called = session.call_tool(tool, args, read_timeout_seconds=seconds(timeout), **extra)
        return outcome(called, timeout)

    match given["do"]:
        case "list":
            return {"tools": [tool.name for tool in (await session.list_tools()).tools]}
        case "ping":
            return await outcome(session.send_ping(), given["timeout_ms"])
        case "call":
            return await call(given["tool"], given["args"], given.get("progress", False))
        case "together":
            start = time.monotonic()
            order = []

            async def one(index, args):
                await asyncio.sleep(index * given.get("apart_ms", 0) / 1000)
                found = await call(given["tool"], args)
                order.append(index)
                return found

            calls = await asyncio.gather(*(one(index, args) for index, args in enumerate(given["args"])))
            return {"calls": calls, "order": order, "ms": round((time.monotonic() - start) * 1000)}
        case "ask":
            timeout = given["timeout_ms"]
            return await outcome(ask_and_answer(session, given["tool"], given["args"], seconds(timeout)), timeout)
        case "leave":
            # Begins a call; the next thing that the client does is to leave.
            begun = asyncio.create_task(call(given["tool"], given["args"]))
            await asyncio.sleep(given["after_ms"] / 1000)
            noted["begun"] = begun
            return {}
        case "read":
            contents = (await session.read_resource(given["uri"])).contents[0]
            return {"text": contents.text, "mimeType": contents.mimeType if IS_FIRST else contents.mime_type}
        case "wait":
            await asyncio.sleep(given["ms"] / 1000)
            return {}
        case other:
            raise ValueError(f"unknown step {other}")


@asynccontextmanager
async def opened(given):
    if "url" in given:
        async with AsyncExitStack() as stack:
            client = None
            if "headers" in given:
                client = await stack.enter_async_context(httpx.AsyncClient(headers=given["headers"], timeout=30))
            streams = await stack.enter_async_context(streamable_http_client(given["url"], http_client=client))
            yield streams[0], streams[1]
    else:
        program, *args = given["command"]
        async with stdio_client(StdioServerParameters(command=program, args=args), errlog=open(os.devnull, "w")) as streams:
            yield streams


async def take_steps(given, steps, noted):
    """Takes the steps that are left, on a connection of their own."""
    async with opened(given) as (read, write), ClientSession(read, write, **answering(given.get("answers", {}))) as session:
        if IS_FIRST or given.get("handshake"):
            await session.initialize()
        else:
            await session.discover()
        for one in given["steps"][len(steps) :]:
            steps.append(await step(session, one, noted))
    if "begun" in noted:
        # Its connection is gone.
        noted["begun"].cancel()


async def observe(given):
    noted = {"progress": 0}
    steps = []
    # Over stdio another connection would be another server.
    attempts = len(given["steps"]) if "url" in given else 1
    start = time.monotonic()
    for _ in range(attempts):
        try:
            await take_steps(given, steps, noted)
        except BaseException as error:  # noqa: BLE001: a broken connection takes the whole session down in this SDK
            if len(steps) < len(given["steps"]):
                steps.append({"kind": "broken", "message": " ".join(causes(error))[:300]})
        if len(steps) == len(given["steps"]):
            break
    took = round((time.monotonic() - start) * 1000)
    return {"name": given["name"], "steps": steps, "progress": noted["progress"], "ms": took}


def causes(error):
    inner = getattr(error, "exceptions", None)
    if inner is None:
        return [f"{type(error).__name__}: {error}"]
    return [cause for each in inner for cause in causes(each)]


async def main():
    # What the SDK says of broken messages is not asked for.
    logging.disable(logging.CRITICAL)
    cases = json.load(sys.stdin)
    slots = asyncio.Semaphore(TOGETHER)

    async def one(given):
        async with slots:
            return await observe(given)

    observations = await asyncio.gather(*(one(given) for given in cases))
    json.dump(observations, sys.stdout)


asyncio.run(main())
