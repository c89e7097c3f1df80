"""A small language server for tests: `lsp_server.py MODE LOG`. It appends each start and what it is told to LOG.

Names are found as words in the `.py` files of the workspace. `bad` is a diagnostic. The modes other than `good` err.
"""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

MODE, LOG = sys.argv[1], Path(sys.argv[2])
opened: dict[str, str] = {}
root = Path()


def note(text: str) -> None:
    with LOG.open("a") as file:
        file.write(f"{text}\n")


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
    sys.stdout.buffer.flush()


def receive() -> dict[str, Any]:
    length = 0
    while line := sys.stdin.buffer.readline().strip():
        length = int(line.split(b":")[1])
    if not length:
        sys.exit(0)
    message: dict[str, Any] = json.loads(sys.stdin.buffer.read(length))
    return message


def read(uri: str) -> str:
    return opened.get(uri) or Path(unquote(urlsplit(uri).path)).read_bytes().decode()


def places(word: str) -> list[dict[str, Any]]:
    found = []
    for path in sorted(root.rglob("*.py")):
        for number, line in enumerate(read(path.as_uri()).split("\n")):
            for match in re.finditer(rf"\b{word}\b", line):
                start, end = (len(line[:at].encode("utf-16-le")) // 2 for at in match.span())
                span = {"line": number, "character": start}, {"line": number, "character": end}
                found.append({"uri": path.as_uri(), "range": {"start": span[0], "end": span[1]}})
    return found


def word_at(params: dict[str, Any]) -> str:
    position = params["position"]
    line = read(params["textDocument"]["uri"]).split("\n")[position["line"]]
    rest = line.encode("utf-16-le")[2 * position["character"] :].decode("utf-16-le")
    match = re.match(r"\w+", rest)
    return match.group() if match else ""


def diagnose(uri: str, version: int) -> None:
    items = [
        {"range": place["range"], "severity": 1, "code": "bad", "message": "This is\nbad \x1b[31m."}
        for place in places("bad")
        if place["uri"] == uri
    ]
    tell(uri, version, items)


def tell(uri: str, version: int, items: list[dict[str, Any]]) -> None:
    told = {"uri": uri, "version": version, "diagnostics": items}
    send({"method": "textDocument/publishDiagnostics", "params": told})


def rename(params: dict[str, Any]) -> object:
    new, found = params["newName"], places(word_at(params))
    if MODE == "lies":
        found[0]["range"]["end"]["line"] = 10_000
    if MODE == "forgets":
        found = found[:1]
    if MODE == "outside":
        found.append({**found[0], "uri": "file:///etc/hostname"})
    changes: dict[str, list[object]] = {}
    for place in found:
        changes.setdefault(place["uri"], []).append({"range": place["range"], "newText": new})
    return {"changes": changes}


def answer(method: str, params: dict[str, Any]) -> object:
    global root
    match method:
        case "initialize":
            if MODE == "noise":
                print("Starting up, please wait." * 200, flush=True)
            root = Path(unquote(urlsplit(params["rootUri"]).path))
            return {"capabilities": {}}
        case "textDocument/references" if MODE == "dies" or (MODE == "dies_once" and starts == 1):
            sys.stderr.write("Traceback: out of memory\n")
            sys.stderr.flush()
            os._exit(3)
        case "textDocument/references" if MODE == "hangs":
            while True:
                receive()
        case "textDocument/references" if MODE == "floods":
            for number in range(20_000):
                tell(f"file:///{number}.py", 1, [])
        case "textDocument/definition" if MODE == "lies":
            return [{"uri": 7, "range": "nowhere"}]
        case "textDocument/rename":
            return rename(params)
        case "shutdown":
            return None
    found = places(word_at(params))
    return found[:1] if method == "textDocument/definition" else found


note("start")
starts = LOG.read_text().splitlines().count("start")
while True:
    told = receive()
    name, given = told["method"], told.get("params") or {}
    if "id" in told:
        try:
            send({"id": told["id"], "result": answer(name, given)})
        except LookupError as error:
            send({"id": told["id"], "error": {"code": 1, "message": str(error)}})
        continue
    if name == "textDocument/didOpen":
        document = given["textDocument"]
        opened[document["uri"]] = document["text"]
    elif name == "textDocument/didChange":
        document = given["textDocument"]
        opened[document["uri"]] = given["contentChanges"][0]["text"]
    elif name == "textDocument/didClose":
        opened.pop(given["textDocument"]["uri"], None)
    elif name == "workspace/didChangeWatchedFiles":
        for change in given["changes"]:
            note(f"{Path(change['uri']).name} {change['type']}")
    elif name == "exit":
        note("exit")
        sys.exit(0)
    if name in ("textDocument/didOpen", "textDocument/didChange"):
        diagnose(document["uri"], document["version"])
