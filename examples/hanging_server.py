"""A server with a deadlock: its first call never returns, and everything else works.

Calls run in a pool of one thread. The first one initialises lazily: it gives that work to the same
pool and waits for it, but the only thread is the one that waits.
"""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

from hello_server import reply

pool = ThreadPoolExecutor(max_workers=1)
model = None


def load():
    return "a large model"


def call(message):
    global model
    if model is None:
        model = pool.submit(load).result()
    print(json.dumps(reply(message)), flush=True)


if __name__ == "__main__":
    for line in sys.stdin:
        message = json.loads(line)
        if message["method"] == "tools/call":
            pool.submit(call, message)
        elif response := reply(message):
            print(json.dumps(response), flush=True)
