"""Histories of simulations in a browser: the list, the pages, and what is not shown."""

from pathlib import Path

from aiohttp import ClientSession, DummyCookieJar
from aiohttp.test_utils import TestServer

from tui_agent.serve.access import AccessControl
from tui_agent.serve.history_server import HistoryServer

BEARER = {"Authorization": "Bearer secret-token"}


async def test_only_histories_below_the_folder_are_shown_and_only_with_the_token(tmp_path: Path) -> None:
    for name in (
        "t/user-agent/1/chat_history.json",
        "t/orchestrated-simple/2/history.json",
        "t/a/3/result.json",
    ):
        file = tmp_path / "jobs" / name
        file.parent.mkdir(parents=True)
        file.write_text("[]")
    (tmp_path / "history.json").write_text("[]")
    app = HistoryServer(tmp_path / "jobs", AccessControl("secret-token", "127.0.0.1", 8095)).app()
    async with TestServer(app) as server, ClientSession(cookie_jar=DummyCookieJar()) as client:
        async with client.get(server.make_url("/"), headers=BEARER) as answer:
            page = await answer.text()
        assert page.index("2/history.json") < page.index("1/chat_history.json") and "result.json" not in page
        address = server.make_url("/view/t/user-agent/1/chat_history.json")
        async with client.get(address, headers=BEARER) as answer:
            assert "/ws/t/user-agent/1/chat_history.json" in await answer.text()
        async with client.get(address) as answer:
            assert answer.status == 401
        for name in ("view/../history.json", "view/t/a/3/result.json", "ws/t/a/3/result.json"):
            async with client.get(server.make_url(f"/{name}"), headers=BEARER) as answer:
                assert answer.status == 404


async def test_a_single_history_is_opened_at_once(tmp_path: Path) -> None:
    file = tmp_path / "history.json"
    file.write_text("[]")
    app = HistoryServer(file, AccessControl("secret-token", "127.0.0.1", 8095)).app()
    async with (
        TestServer(app) as server,
        ClientSession(cookie_jar=DummyCookieJar()) as client,
        client.get(server.make_url("/"), headers=BEARER, allow_redirects=False) as answer,
    ):
        assert answer.headers["Location"] == "/view/history.json"
