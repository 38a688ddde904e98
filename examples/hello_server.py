"""A minimal MCP server on stdin and stdout: two tools, the standard library, one line per message."""

import json
import sys

NUMBERS = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}, "required": ["a", "b"]}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOLS = {
    "greet": (NAME, lambda arguments: f"Hello, {arguments['name']}!"),
    "add": (NUMBERS, lambda arguments: str(arguments["a"] + arguments["b"])),
}


def answer(method, params):
    """The result of a request; KeyError for what is not known."""
    if method == "initialize":
        info = {"name": "hello", "version": "1.0"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [
            {"name": name, "inputSchema": schema, "annotations": {"readOnlyHint": True}} for name, (schema, _) in TOOLS.items()
        ]}
    if method == "tools/call":
        text = TOOLS[params["name"]][1](params["arguments"])
        return {"content": [{"type": "text", "text": text}]}
    return {"ping": {}}[method]


def reply(message):
    """The answer to a message, or None where none is wanted."""
    if "id" not in message:
        return None
    try:
        return {"jsonrpc": "2.0", "id": message["id"], "result": answer(message["method"], message.get("params", {}))}
    except KeyError as unknown:
        error = {"code": -32601, "message": f"unknown: {unknown}"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}


if __name__ == "__main__":
    for line in sys.stdin:
        if response := reply(json.loads(line)):
            print(json.dumps(response), flush=True)
