"""The tools of hello_server.py over streamable HTTP, for those who know the token.

Usage: http_server.py PORT TOKEN
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from hello_server import reply


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body leave together

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers["Authorization"] != f"Bearer {sys.argv[2]}":
            return self.send(401)
        response = reply(json.loads(body))
        self.send(200, json.dumps(response).encode()) if response else self.send(202)

    def do_GET(self):
        self.send(405)

    def send(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Endpoint).serve_forever()
