"""The bridge between a page and its app: packets, sizes, and the end of either side."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType, web
from aiohttp.test_utils import TestServer

from tui_agent.serve.page_connection import PageConnection

# Draws what it gets, as Textual's web driver would send it; ends at "quit", at the end of input, or if told by a key.
APP = """
import os, sys
def send(kind, data): sys.stdout.buffer.write(kind + len(data).to_bytes(4, "big") + data); sys.stdout.flush()
os.write(1, b"a warning\\n__GANGLION__\\n")
send(b"D", f"{os.environ['COLUMNS']}x{os.environ['ROWS']}".encode())
send(b"P", b"a file")
send(b"M", b'{"type": "open_url", "url": "javascript:alert(1)"}')
send(b"M", b'{"type": "open_url", "url": "https://a.example", "new_tab": false}')
while head := sys.stdin.buffer.read(5):
    data = sys.stdin.buffer.read(int.from_bytes(head[1:], "big"))
    if b"quit" in data: break
    if data == b"exit": send(b"M", b'{"type": "exit"}')
    elif data == b"flood":
        for _ in range(60): send(b"D", b"x" * 1_000_000)
    else: send(b"D", head[:1] + data)
print("ended", file=open("ended", "w"))
"""


@asynccontextmanager
async def opened(
    folder: Path, *, app: str = APP, stall_s: float = 30.0
) -> AsyncIterator[tuple[ClientWebSocketResponse, anyio.Event]]:
    """The page's side of a connection, and an event that is set when the server's side has ended."""
    ended = anyio.Event()

    async def serve(request: web.Request) -> web.WebSocketResponse:
        messages = web.WebSocketResponse()
        await messages.prepare(request)
        try:
            await PageConnection(messages, (sys.executable, "-c", app), folder, stall_s=stall_s).serve(90, 30)
        finally:
            ended.set()
        await messages.close()
        return messages

    application = web.Application()
    application.router.add_get("/", serve)
    async with (
        TestServer(application) as server,
        ClientSession() as client,
        client.ws_connect(server.make_url("/"), max_msg_size=0) as page,
    ):
        yield page, ended


async def test_keys_sizes_and_focus_reach_the_app_and_nonsense_does_not(tmp_path: Path) -> None:
    async with opened(tmp_path) as (page, ended):
        assert await page.receive_bytes() == b"90x30"
        assert json.loads(await page.receive_str()) == [
            "open_url",
            {"url": "https://a.example", "new_tab": True},
        ]
        for nonsense in (
            "",
            "{",
            "{}",
            "[]",
            '["stdin"]',
            '["stdin", 1]',
            '["resize", {}]',
            "[" * 9999,
            '["x", "y"]',
        ):
            await page.send_str(nonsense)
        await page.send_bytes(b'["stdin", "bytes"]')
        for message in (
            ["stdin", "é\ud800"],
            ["resize", {"width": 100_000, "height": -5}],
            ["focus"],
            ["ping", 7],
        ):
            await page.send_str(json.dumps(message))
        answers = [await page.receive() for _ in range(4)]
        assert [answer.data for answer in answers if answer.type == WSMsgType.BINARY] == [
            "Dé?".encode(),
            b'M{"type": "resize", "width": 1000, "height": 1}',
            b'M{"type": "focus"}',
        ]
        assert [answer.data for answer in answers if answer.type == WSMsgType.TEXT] == ['["pong", 7]']
        await page.close()
        await ended.wait()
    assert (tmp_path / "ended").exists()


@pytest.mark.parametrize("app", [APP, "print('no driver')", "import sys; sys.exit(3)"])
async def test_a_page_is_closed_when_its_app_ends(app: str, tmp_path: Path) -> None:
    async with opened(tmp_path, app=app) as (page, ended):
        if app == APP:
            await page.send_str('["stdin", "exit"]')
        while (await page.receive()).type not in (WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.CLOSING):
            pass
        assert ended.is_set()


async def test_a_page_that_does_not_read_loses_its_app(tmp_path: Path) -> None:
    async with opened(tmp_path, stall_s=0.2) as (page, ended):
        await page.send_str('["stdin", "flood"]')
        await ended.wait()
    assert (tmp_path / "ended").exists()
