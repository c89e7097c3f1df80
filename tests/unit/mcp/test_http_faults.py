"""Addresses where no MCP server answers: each failure is a sentence that a user understands."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.unit.mcp.test_servers import running
from tui_agent.mcp.server_settings import ServerSettings


class Answers(BaseHTTPRequestHandler):
    """Answers with the status in the path; `/html` and `/json` with a page and an object."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = self.path.strip("/")
        self.send_response(200 if kind in ("html", "json") else int(kind))
        self.send_header(
            "Content-Type", {"html": "text/html", "json": "application/json"}.get(kind, "text/plain")
        )
        self.end_headers()
        if kind == "json":
            self.wfile.write(b'{"a": 1}')

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("place", "fault"),
    [
        ("/403", "it answered with HTTP 403"),
        ("/404", "it answered with HTTP 404"),
        ("/500", "it answered with HTTP 500"),
        ("/401", "it refused the Authorization header (HTTP 401)"),
        ("/json", "its answer is not an MCP message"),
        ("/html", "it does not answer like an MCP server: Unexpected content type: text/html"),
    ],
)
async def test_a_wrong_answer_is_named(tmp_path: Path, address: str, place: str, fault: str) -> None:
    headers = {"Authorization": "Bearer some-token"}
    settings = ServerSettings("web", url=f"{address}{place}", headers=headers, timeout=20.0)
    async with running(tmp_path, settings) as (runner, _):
        assert runner.fault == f"{fault}. The server is off for the rest of this session."


async def test_an_address_where_nothing_listens_is_named(tmp_path: Path) -> None:
    settings = ServerSettings("web", url="http://127.0.0.1:9/mcp", timeout=20.0)
    async with running(tmp_path, settings) as (runner, _):
        assert runner.fault.startswith("it cannot be reached: All connection attempts failed")
