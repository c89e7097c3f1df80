"""Every route of the server, and an address without one, checks token, origin and host."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from aiohttp import ClientSession, DummyCookieJar, WSServerHandshakeError, web
from aiohttp.test_utils import TestServer

from tui_agent.config.session_options import SessionOptions
from tui_agent.serve.access import AccessControl
from tui_agent.serve.hosted_sessions import HostedSessions
from tui_agent.serve.web_server import WebServer

TOKEN = "secret-token"
COOKIE = {"Cookie": f"tui_agent_8123={TOKEN}"}
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@asynccontextmanager
async def served(
    tmp_path: Path, host: str = "127.0.0.1"
) -> AsyncIterator[tuple[web.Application, TestServer, ClientSession]]:
    options = SessionOptions(cwd=tmp_path, client="web", data_dir=tmp_path / "data")
    async with anyio.create_task_group() as group:
        sessions = HostedSessions(options, group)
        app = WebServer(options, sessions, AccessControl(TOKEN, host, 8123), "ses_first").app()
        async with TestServer(app) as server, ClientSession(cookie_jar=DummyCookieJar()) as client:
            yield app, server, client
        group.cancel_scope.cancel()


async def test_no_route_answers_without_token_or_to_another_site(tmp_path: Path) -> None:
    async with served(tmp_path) as (app, server, client):
        routes = {
            (route.method, route.resource.canonical.replace("{session}", "ses_x"))
            for route in app.router.routes()
            if route.resource is not None
        }
        assert {("GET", "/ws/ses_x"), ("POST", "/api/chat"), ("GET", "/static"), ("GET", "/")} <= routes
        own = {"Origin": f"http://127.0.0.1:{server.port}"}
        foreign = {"Origin": "https://evil.example"}
        refusals: list[tuple[dict[str, str], int]] = [
            ({}, 401),
            (own, 401),
            ({"Authorization": "Bearer wrong"}, 401),
            ({"Authorization": f"Bearer {TOKEN}é"}, 401),
            ({"Cookie": f"tui_agent_9999={TOKEN}"}, 401),
            (BEARER | foreign, 403),
            (COOKIE | foreign, 403),
            (BEARER | {"Origin": "null"}, 403),
            (BEARER | {"Host": "evil.example"}, 403),
        ]
        for method, path in sorted(routes | {("GET", "/no/such/route"), ("POST", "/s/ses_x")}):
            for headers, status in refusals:
                async with client.request(method, server.make_url(path), headers=headers) as answer:
                    assert answer.status == status, (method, path, headers)
                    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
            if method == "POST":
                async with client.post(server.make_url(path), headers=COOKIE) as answer:
                    assert answer.status == 403, path


async def test_a_socket_needs_the_pages_own_origin(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, server, client):
        for headers, status in ((COOKIE, 403), ({}, 401), (COOKIE | {"Origin": "https://evil.example"}, 403)):
            with pytest.raises(WSServerHandshakeError) as refused:
                await client.ws_connect(server.make_url("/ws/ses_x"), headers=headers)
            assert refused.value.status == status


async def test_the_token_of_the_address_becomes_a_cookie_and_leaves_the_address(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, server, client):
        url = server.make_url("/").with_query(token=TOKEN)
        async with client.get(url, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (302, "/s/ses_first")
            cookie = answer.headers["Set-Cookie"]
            assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert cookie.startswith(f"tui_agent_8123={TOKEN};")
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        for path in ("/page.js", "/ws/ses_x", "/new", "/api/sessions"):
            async with client.get(server.make_url(path).with_query(token=TOKEN)) as answer:
                assert answer.status == 401, path
        async with client.get(server.make_url("/s/ses_none"), headers=COOKIE) as answer:
            assert answer.status == 404


async def test_the_address_of_a_session_may_have_the_token_too(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, server, client):
        url = server.make_url("/s/ses_x").with_query(token=TOKEN)
        async with client.get(url, allow_redirects=False) as answer:
            assert (answer.status, answer.headers["Location"]) == (302, "/s/ses_x")
            assert answer.headers["Set-Cookie"].startswith(f"tui_agent_8123={TOKEN};")
        for headers, query, status in (
            ({"Origin": "https://evil.example"}, TOKEN, 403),
            ({"Host": "evil.example"}, TOKEN, 403),
            ({}, "wrong", 401),
        ):
            async with client.get(url.with_query(token=query), headers=headers) as answer:
                assert answer.status == status
        async with client.post(url) as answer:
            assert answer.status == 401


async def test_the_page_names_only_addresses_of_its_own_server(tmp_path: Path) -> None:
    async with served(tmp_path) as (_, server, client):
        async with client.get(server.make_url("/new"), headers=COOKIE) as answer:
            page = await answer.text()
        assert page.count("://") == 1 and f"ws://127.0.0.1:{server.port}/ws/ses_" in page
        for path in ("/page.js", "/static/js/textual.js", "/static/css/xterm.css"):
            assert path in page
            async with client.get(server.make_url(path), headers=COOKIE) as answer:
                assert answer.status == 200


async def test_a_server_for_other_machines_has_any_name_but_one_origin(tmp_path: Path) -> None:
    async with served(tmp_path, "0.0.0.0") as (_, server, client):
        url, name = server.make_url("/page.js"), {"Host": "box.lan:8123"}
        for headers, status in (
            (BEARER | name, 200),
            (BEARER | name | {"Origin": "http://box.lan:8123"}, 200),
            (BEARER | name | {"Origin": "http://127.0.0.1:8123"}, 403),
        ):
            async with client.get(url, headers=headers) as answer:
                assert answer.status == status
