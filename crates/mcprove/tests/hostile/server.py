# What every hostile server of these tests starts with: an ordinary server, whose methods a test
# replaces one by one. A test appends its own lines to this text and passes it to `python3 -c`.
import base64, hashlib, json, os, signal, socket, struct, subprocess, sys, threading, time

TOOLS = [{"name": "echo", "inputSchema": {"type": "object"}}]
MEBIBYTE = b"x" * (1024 * 1024)


def result(request, value):
    return {"jsonrpc": "2.0", "id": request["id"], "result": value}


def error(request, code, message):
    return {"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}}


def greeting(version="2025-06-18"):
    return {
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "hostile", "version": "1"},
    }


def answer(request, tools):
    method = request.get("method")
    if method is None or "id" not in request:
        return None
    if method == "initialize":
        return result(request, greeting())
    if method == "tools/list":
        return result(request, {"tools": tools})
    if method == "tools/call":
        return result(request, {"content": [{"type": "text", "text": "fine"}]})
    if method == "ping":
        return result(request, {})
    return error(request, -32601, "no such method")


def encode(message):
    return message if isinstance(message, bytes) else json.dumps(message).encode()


# Lines on the standard streams.


def write(message):
    sys.stdout.buffer.write(encode(message))
    if not isinstance(message, bytes):
        sys.stdout.buffer.write(b"\n")
    sys.stdout.buffer.flush()


def serve(on={}, tools=TOOLS):
    for line in sys.stdin.buffer:
        request = json.loads(line)
        handler = on.get(request.get("method"))
        if handler:
            handler(request)
        else:
            reply = answer(request, tools)
            if reply:
                write(reply)


# HTTP, by hand: a handler gets the socket and does with it what it likes.


def listen(handle):
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=quietly, args=(handle, connection), daemon=True).start()


def quietly(handle, connection):
    try:
        handle(connection)
    except OSError:
        pass
    finally:
        connection.close()


def read_http(file):
    first = file.readline().split()
    if not first:
        return None, {}, b""
    headers = {}
    while True:
        line = file.readline().strip()
        if not line:
            break
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    return first[0], headers, file.read(int(headers.get(b"content-length", b"0")))


def head(kind="application/json", length=None, status="200 OK"):
    text = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n"
    if length is not None:
        text += f"Content-Length: {length}\r\n"
    return text.encode() + b"\r\n"


def chunk(data):
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def serve_http(on={}, tools=TOOLS, get=None):
    def handle(connection):
        file = connection.makefile("rb")
        while True:
            verb, _, body = read_http(file)
            if verb is None:
                return
            if verb != b"POST":
                if verb == b"GET" and get:
                    get(connection)
                    return
                connection.sendall(head(length=0, status="405 Method Not Allowed"))
                continue
            request = json.loads(body)
            handler = on.get(request.get("method"))
            if handler:
                handler(connection, request)
                return
            reply = answer(request, tools)
            if reply is None:
                connection.sendall(head(length=0, status="202 Accepted"))
            else:
                data = encode(reply)
                connection.sendall(head(length=len(data)) + data)

    listen(handle)


def forever(connection, data, pause=0.0):
    while True:
        connection.sendall(data)
        if pause:
            time.sleep(pause)


# WebSocket.


def frame(data, opcode=1, final=True, length=None):
    length = len(data) if length is None else length
    first = (0x80 if final else 0) | opcode
    if length < 126:
        return struct.pack("!BB", first, length) + data
    if length < 65536:
        return struct.pack("!BBH", first, 126, length) + data
    return struct.pack("!BBQ", first, 127, length) + data


def read_frame(file):
    start = file.read(2)
    if len(start) < 2:
        return None
    length = start[1] & 127
    if length == 126:
        length = struct.unpack("!H", file.read(2))[0]
    elif length == 127:
        length = struct.unpack("!Q", file.read(8))[0]
    mask = file.read(4)
    data = bytes(byte ^ mask[index % 4] for index, byte in enumerate(file.read(length)))
    return start[0] & 15, data


def serve_websocket(on={}, tools=TOOLS):
    def handle(connection):
        file = connection.makefile("rb")
        _, headers, _ = read_http(file)
        key = headers[b"sec-websocket-key"] + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        accept = base64.b64encode(hashlib.sha1(key).digest()).decode()
        connection.sendall(
            (
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                f"Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: mcp\r\n\r\n"
            ).encode()
        )
        while True:
            received = read_frame(file)
            if received is None or received[0] == 8:
                return
            request = json.loads(received[1])
            handler = on.get(request.get("method"))
            if handler:
                handler(connection, request)
                return
            reply = answer(request, tools)
            if reply:
                connection.sendall(frame(encode(reply)))

    listen(handle)
