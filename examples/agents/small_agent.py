#!/usr/bin/env python3
"""A small agent without a model, to show how mcprove runs an agent that is a process.

The servers are in the file that MCPROVE_MCP_CONFIG names, in the form that MCP clients read; the task comes on standard
input. The agent calls every tool whose name stands in the task, tries once more what fails, and prints
what came of it. Nothing but the standard library is needed.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import urllib.request

PATIENCE_SECONDS = 5
REVISION = "2025-06-18"


class Stdio:
    """A server that is a process: one line per message."""

    def __init__(self, entry):
        command = [entry["command"], *entry.get("args", [])]
        env = {**os.environ, **entry.get("env", {})}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, message):
        self.send(message)
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE_SECONDS)
            except queue.Empty:
                self.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": message["id"]}})
                raise TimeoutError("no answer") from None
            if line is None:
                raise ConnectionError("the server is gone")
            answer = json.loads(line)
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=PATIENCE_SECONDS)


class Http:
    """A server at an address."""

    def __init__(self, entry):
        self.url = entry["url"]
        self.headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}

    def send(self, message):
        request = urllib.request.Request(self.url, json.dumps(message).encode(), self.headers)
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
            if session := response.headers.get("mcp-session-id"):
                self.headers["mcp-session-id"] = session
            return response.read().decode()

    def ask(self, message):
        body = self.send(message)
        data = [line[5:] for line in body.splitlines() if line.startswith("data:")]
        for text in data or [body]:
            answer = json.loads(text)
            if answer.get("id") == message["id"]:
                return answer
        raise ConnectionError("no answer")

    def close(self):
        pass


class Server:
    def __init__(self, entry):
        self.wire = Http(entry) if "url" in entry else Stdio(entry)
        self.count = 0
        client = {"name": "small-agent", "version": "1"}
        self.ask("initialize", {"protocolVersion": REVISION, "capabilities": {}, "clientInfo": client})
        self.wire.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method, params):
        self.count += 1
        answer = self.wire.ask({"jsonrpc": "2.0", "id": self.count, "method": method, "params": params})
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        return answer["result"]

    def tools(self):
        return self.ask("tools/list", {})["tools"]

    def call(self, tool, task):
        properties = tool["inputSchema"].get("properties", {})
        texts = {name: task for name, schema in properties.items() if schema.get("type") == "string"}
        result = self.ask("tools/call", {"name": tool["name"], "arguments": texts})
        if result.get("isError"):
            raise RuntimeError("the tool failed")
        return " ".join(block.get("text", "") for block in result["content"])


def main():
    task = sys.stdin.read().strip()
    with open(os.environ["MCPROVE_MCP_CONFIG"], encoding="utf-8") as file:
        entries = json.load(file)["mcpServers"]
    said = []
    for entry in entries.values():
        server = Server(entry)
        for tool in server.tools():
            if tool["name"] not in task.split():
                continue
            for last in (False, True):
                try:
                    said.append(f"{tool['name']} says: {server.call(tool, task)}")
                    break
                except Exception as error:
                    print(f"{tool['name']}: {error}", file=sys.stderr)
                    if last:
                        said.append(f"{tool['name']} does not answer.")
        server.wire.close()
    # A text would do; an object can also tell tokens and turns.
    print(json.dumps({"final_response": "\n".join(said) or "There is no tool for this.", "tokens": {"prompt": 0, "completion": 0}}))


if __name__ == "__main__":
    main()
