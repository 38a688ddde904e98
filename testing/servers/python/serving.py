"""What the Python servers share: their command line, and serving an ASGI app on 127.0.0.1.

`serve` writes one line `listening on URL` to stderr once connections are accepted.
"""

import argparse
import socket
import sys

import uvicorn


def arguments(about, sse=False):
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--http", type=int, metavar="PORT", help="serve streamable HTTP at /mcp; 0 picks a free port")
    if sse:
        parser.add_argument("--sse", type=int, metavar="PORT", help="serve HTTP+SSE at /sse; 0 picks a free port")
    parser.add_argument("--stateless", action="store_true", help="HTTP without sessions in the session era")
    parser.add_argument("--json", action="store_true", help="answer with JSON bodies instead of SSE streams")
    return parser.parse_args()


class Announcing(uvicorn.Server):
    def __init__(self, config, url):
        super().__init__(config)
        self.url = url

    async def startup(self, sockets=None):
        await super().startup(sockets=sockets)
        if self.started:
            print(f"listening on {self.url}", file=sys.stderr, flush=True)


def serve(app, port, path):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    port = listener.getsockname()[1]
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    Announcing(config, f"http://127.0.0.1:{port}{path}").run(sockets=[listener])
