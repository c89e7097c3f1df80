"""Stand-ins for providers of remote machines: commands run on this one, with another folder in the workspace's place."""

import base64
import json
import os
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio

from tests.stubs.left_out import leave_out


@contextmanager
def separate_machine(store: Path, root: Path) -> Iterator[tuple[str, ...]]:
    """A process namespace in which `store` is in the place of `root`, and the command that runs a program there.

    Its top folder is its own, with the folders of this machine in it. The program is followed by its folder (`-C FOLDER`), variables and words.
    """
    if os.getuid():
        leave_out("only root can make a process namespace to stand for a machine")
    script = """
    mount --bind "$1" "$2" && mkdir "$1.top" && mount -t tmpfs none "$1.top" || exit
    for entry in /*; do
        if [ -L "$entry" ]; then cp -P "$entry" "$1.top$entry"
        elif [ -d "$entry" ]; then mkdir "$1.top$entry" && mount --rbind "$entry" "$1.top$entry"
        fi
    done
    exec chroot "$1.top" sh -c "echo ready && exec sleep 10000"
    """
    command = [
        "unshare",
        "--pid",
        "--mount",
        "--fork",
        "--mount-proc",
        "--kill-child",
        "sh",
        "-c",
        script,
        "sh",
    ]
    with subprocess.Popen([*command, str(store), str(root)], stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"ready\n"
            children = Path(f"/proc/{holder.pid}/task/{holder.pid}/children").read_text().split()
            yield ("nsenter", "--target", children[0], "--pid", "--mount", "--root", "--", "env")
        finally:
            holder.kill()


# -- the classes of Modal's SDK ----------------------------------------------------------------------------------------


class _Both:
    """A function of the SDK, whose asynchronous form is its attribute `aio`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.aio = function


class _Process:
    def __init__(self, process: anyio.abc.Process) -> None:
        self._process = process
        self._given = b""
        self.stdin = SimpleNamespace(write=self._write, write_eof=lambda: None, drain=_Both(self._drain))
        self.stdout, self.stderr = process.stdout, process.stderr
        self.wait = _Both(process.wait)

    def _write(self, data: bytes) -> None:
        self._given += data

    async def _drain(self) -> None:
        assert self._process.stdin is not None
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the program does not read it
            await self._process.stdin.send(self._given)
        await self._process.stdin.aclose()


def fake_modal(machine: tuple[str, ...], calls: list[tuple[str, object]]) -> SimpleNamespace:
    """The part of the module `modal` that is used. `calls` gets what was created and terminated."""

    async def run(*argv: str, workdir: str, env: dict[str, str], text: bool) -> _Process:
        assert not text
        variables = (f"{key}={value}" for key, value in env.items())
        return _Process(await anyio.open_process((*machine, "-C", workdir, *variables, *argv)))

    async def terminate() -> None:
        calls.append(("terminate", None))

    async def create(*argv: str, **options: object) -> SimpleNamespace:
        calls.append(("create", (argv, options)))
        return SimpleNamespace(exec=_Both(run), terminate=_Both(terminate))

    async def lookup(name: str, *, create_if_missing: bool) -> str:
        return f"app {name}"

    return SimpleNamespace(
        App=SimpleNamespace(lookup=_Both(lookup)),
        Image=SimpleNamespace(
            from_registry=lambda name: f"image {name}",
            debian_slim=lambda: "debian",
            from_dockerfile=lambda path, context_dir: f"built {path} in {context_dir}",
        ),
        Sandbox=SimpleNamespace(create=_Both(create)),
    )


# -- the servers of E2B ------------------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "_Server"

    def log_message(self, format: str, *args: object) -> None: ...

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _answer(self, status: int, value: object = None, data: bytes = b"") -> None:
        body = data if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream" if value is None else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self) -> None:
        self.server.calls.append(("kill", self.path))
        self._answer(204)

    def do_PUT(self) -> None:
        self.server.calls.append(("upload", len(self._body())))
        self._answer(200, {})

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path.startswith("/templates/"):
            self._answer_about_template(url.path)
        else:
            self._answer(200, data=Path(parse_qs(url.query)["path"][0]).read_bytes())

    def do_POST(self) -> None:
        url, body = urlsplit(self.path), self._body()
        if url.path.endswith("/sandboxes"):
            self.server.calls.append(("create", json.loads(body)))
            self.server.keys.append(self.headers.get("X-API-Key", ""))
            known = {"sandboxID": "box1", "templateID": "t", "clientID": "c", "envdVersion": "0.6.0"}
            status = self.server.create_status
            error = {"code": status, "message": "no"}
            self._answer(status, {**error, **known, "alias": "base", "envdAccessToken": "token"})
        elif url.path == "/v3/templates":
            self.server.calls.append(("template", json.loads(body)["name"]))
            names = {"names": ["case"], "tags": [], "aliases": ["case"], "public": False}
            self._answer(202, {"templateID": "t1", "buildID": "b1", **names})
        elif url.path == "/v2/templates/t1/builds/b1":
            steps = [(step["type"], step["args"][:1]) for step in json.loads(body)["steps"]]
            self.server.calls.append(("build", (json.loads(body)["fromImage"], steps)))
            self._answer(202)
        elif url.path.endswith("/timeout"):
            self._answer(204)
        elif url.path == "/files":
            self._write_file(parse_qs(url.query)["path"][0], body)
        elif url.path.endswith("/Start"):
            self._start(json.loads(body[5:])["process"], json.loads(body[5:]).get("stdin", True))
        elif url.path.endswith("/SendInput"):
            given = base64.b64decode(json.loads(body)["input"]["stdin"])
            try:
                self.server.process.stdin.write(given)
                self.server.process.stdin.flush()
            except BrokenPipeError:
                pass  # the program does not read it
            self._answer(200, {})
        elif url.path.endswith("/CloseStdin"):
            with suppress(BrokenPipeError):
                self.server.process.stdin.close()
            self._answer(200, {})
        else:
            self._answer(404, {"code": "unimplemented", "message": url.path})

    def _answer_about_template(self, path: str) -> None:
        if "/files/" in path:
            address = f"http://127.0.0.1:{self.server.server_address[1]}/upload"
            self._answer(201, {"present": False, "url": address})
        elif path.endswith("/status"):
            status = {"templateID": "t1", "buildID": "b1", "logs": [], "logEntries": []}
            reason = {"message": "RUN failed", "logEntries": []}
            self._answer(200, {**status, "status": self.server.build_status, "reason": reason})
        else:
            self._answer(404, {"code": 404, "message": "no such alias"})

    def _write_file(self, path: str, body: bytes) -> None:
        kind = self.headers["Content-Type"]
        if kind.startswith("multipart"):
            parts = message_from_bytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
            body = parts.get_payload()[0].get_payload(decode=True)
        Path(path).write_bytes(body)
        self._answer(200, [{"name": Path(path).name, "type": "file", "path": path}])

    def _start(self, wanted: dict[str, Any], stdin: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/connect+json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        variables = (f"{key}={value}" for key, value in wanted.get("envs", {}).items())
        command = (
            *self.server.machine,
            "-C",
            wanted["cwd"],
            "HOME=/nonexistent",
            *variables,
            wanted["cmd"],
            *wanted["args"],
        )
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        if stdin:
            self.server.process = process
        self._event({"start": {"pid": process.pid}})
        lock = threading.Lock()

        def pass_on(name: str, stream: Any) -> None:
            while data := stream.read1(1 << 16):
                with lock:
                    self._event({"data": {name: base64.b64encode(data).decode()}})

        readers = [
            threading.Thread(target=pass_on, args=(name, getattr(process, name)))
            for name in ("stdout", "stderr")
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
        with suppress(BrokenPipeError), process:  # closes its pipes
            pass
        code = process.wait()
        self._event({"end": {"exitCode": code, "exited": True, "status": f"exit status {code}"}})
        self._frame(2, {})
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, event: dict[str, object]) -> None:
        self._frame(0, {"event": event})

    def _frame(self, flags: int, value: object) -> None:
        data = json.dumps(value).encode()
        frame = struct.pack(">BI", flags, len(data)) + data
        try:
            self.wfile.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")
            self.wfile.flush()
        except OSError:
            pass  # the client has gone


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    machine: tuple[str, ...]
    calls: list[tuple[str, object]]
    keys: list[str]
    process: Any = None
    build_status = "ready"
    create_status = 201
    """The HTTP status of answers to requests for a new sandbox."""


@contextmanager
def e2b_server(machine: tuple[str, ...], calls: list[tuple[str, object]]) -> Iterator[_Server]:
    """Both servers of E2B, the one for sandboxes and the one in a sandbox, at one address of this machine."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.machine, server.calls, server.keys = machine, calls, []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
