"""Environments that somebody wrote: the examples of the page, served by HTTP and to an agent, and as a verifier."""

import io
import json
import os
import re
import sys
import tarfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import pytest
from aiohttp import ClientSession, DummyCookieJar, web
from aiohttp.test_utils import TestServer
from anyio import to_thread
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.architecture.source import ROOT
from tests.features.test_mcp_servers import follow, of
from tests.stubs.rows import rows
from tui_agent.cli.deploy import environment_tools
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError, EnvironmentFault
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.environments import environment_client
from tui_agent.evals.environments.environment_client import connect
from tui_agent.evals.environments.environment_file import load_environment
from tui_agent.evals.environments.environment_tests import open_copy
from tui_agent.evals.runs.arms_and_cells import ORACLE, Arm, Cell, Plan
from tui_agent.evals.runs.cell_run import run_cell
from tui_agent.evals.runs.pool import run_child
from tui_agent.evals.runs.run_folder import RunFolder
from tui_agent.mcp import servers
from tui_agent.mcp.tool_server import serve_tools_by_http
from tui_agent.ports.environment import Environment
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.serve import environment_server
from tui_agent.serve.access import AccessControl
from tui_agent.serve.environment_server import EnvironmentServer, serve_environment
from tui_agent.wiring.session import open_session
from tui_agent.workspace.local.environment import LocalEnvironment

PAGE = (ROOT / "docs" / "evaluation-environments.md").read_text(encoding="utf-8")
EXAMPLE, CLIENT = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
SUBTRACTS = """

@basics.test
async def subtracts(workspace: Workspace) -> None:
    assert (await workspace.run("python3 calc.py 2 - 3")).output == "-1\\n"
"""
CALCULATOR = "import sys\na, _, b = sys.argv[1:]\nprint(int(a) + int(b))\n"
FAILURE = (
    "the test basics/subtracts failed: AssertionError: "
    'assert (await workspace.run("python3 calc.py 2 - 3")).output == "-1\\n"'
)


def plain(folder: Path) -> Environment:
    return LocalEnvironment(folder)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "calculator.py").write_text(EXAMPLE + SUBTRACTS)
    (tmp_path / "my-calculator").mkdir()
    (tmp_path / "my-calculator" / "calc.py").write_text(CALCULATOR)
    return tmp_path


@asynccontextmanager
async def deployed(file: Path) -> AsyncIterator[str]:
    """Serve an environment in this process; yield the address that the program would print."""
    send, receive = anyio.create_memory_object_stream[str](1)
    with send, receive:
        async with anyio.create_task_group() as group:
            environment = load_environment(file)
            group.start_soon(serve_environment, environment, plain, "127.0.0.1", 0, send.send_nowait)
            yield await receive.receive()
            group.cancel_scope.cancel()


@pytest.mark.slow
async def test_the_example_of_the_page_is_tested_over_http(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, object] = {}
    exec(CLIENT, names)
    async with deployed(folder / "calculator.py") as address:
        await names["check"](address)  # type: ignore[operator]
        assert capsys.readouterr().out == "1 1 2\n"
        async with connect(address, folder / "my-calculator") as session:
            assert session.paths == ("basics/adds", "basics/subtracts")
            report = await session.test()
            assert [(test.path, test.message) for test in report.tests] == [
                ("basics/adds", ""),
                ("basics/subtracts", FAILURE),
            ]
            assert (await session.test("basics/adds")).total == 1
            with pytest.raises(EnvironmentFault, match="calculator has no test 'more'"):
                await session.test("more")
        with pytest.raises(EnvironmentFault, match="Unauthorized: use the address"):
            async with connect(address.partition("?")[0], folder / "my-calculator"):
                pass
    with pytest.raises(
        EnvironmentFault, match=r"cannot be reached: .* Give the address that tui-agent deploy"
    ):
        async with connect(address, folder / "my-calculator"):
            pass
    assert sorted(path.name for path in (folder / "my-calculator").iterdir()) == ["calc.py"]


async def test_a_failed_setup_fails_each_test_and_what_hangs_is_stopped(folder: Path) -> None:
    (folder / "my-calculator" / "calc.py").write_text("(")
    async with open_copy(
        load_environment(folder / "calculator.py"), folder / "my-calculator", plain
    ) as session:
        report = await session.test()
    assert report.failed == 2 and all("SyntaxError" in test.message for test in report.tests)
    text = "import threading\n" + EXAMPLE.replace("timeout_seconds=20", "timeout_seconds=0.2").replace(
        "    assert (await workspace.run", "    threading.Event().wait(20)\n    assert (await workspace.run"
    )
    (folder / "slow.py").write_text(text)
    (folder / "my-calculator" / "calc.py").write_text(CALCULATOR)
    async with open_copy(load_environment(folder / "slow.py"), folder / "my-calculator", plain) as session:
        (test,) = (await session.test()).tests
    assert test.message == "the test basics/adds was stopped after 0.2 s"


async def test_a_test_that_would_end_the_server_fails_and_its_children_may_end(folder: Path) -> None:
    (folder / "ends.py").write_text(
        "import os\nfrom tui_agent.evalenv import test\n\n\n@test\nasync def ends(workspace):\n    os._exit(0)\n"
        "\n\n@test\nasync def forks(workspace):\n    child = os.fork()\n    if not child:\n        os._exit(7)\n"
        "    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
    )
    async with open_copy(load_environment(folder / "ends.py"), folder / "my-calculator", plain) as session:
        report = await session.test()
    assert [test.message for test in report.tests] == [
        "the test ends failed: SystemExit: os._exit(0) would end tui-agent itself; raise an error instead",
        "",
    ]


async def test_a_test_ends_with_the_request_for_it(folder: Path) -> None:
    started = folder / "started"
    os.mkfifo(started)
    (folder / "endless.py").write_text(
        "from tui_agent.evalenv import test\n\n\n@test\nasync def waits(workspace):\n"
        f"    await workspace.run('echo $$ > {started}; exec sleep 600')\n"
    )
    async with (
        deployed(folder / "endless.py") as address,
        anyio.create_task_group() as group,
        connect(address, folder / "my-calculator") as session,
    ):
        group.start_soon(session.test)
        process = int(await to_thread.run_sync(started.read_text))
        group.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)


@rows(
    "text, message",
    [
        ("x = 1", "has no test."),
        ("1 / 0", "failed: ZeroDivisionError: division by zero."),
        (
            "def plain(workspace): pass\ntest(plain)",
            "failed: TypeError: plain cannot be a test: it is not an async",
        ),
        ("suite('a b')", "failed: ValueError: 'a b' is not a valid name for a suite or test."),
        (
            "async def f(w): pass\na, b = suite('a'), suite('a')\na.test(f), b.test(f)",
            "two tests are named 'a/f'.",
        ),
        ("async def f(w): pass\nt = test(f)\na, b = setup(f), setup(f)", "has 2 setups."),
        ("@test\nasync def f(w): pass\n" * 2, "two tests are named 'f'."),
        ("@test\nasync def f(w): pass\n" + "@setup\nasync def g(w): pass\n" * 2, "has 2 setups."),
        ("raise SystemExit(0)", "failed: SystemExit: 0."),
        ("exit()", "failed: SystemExit: None."),
        (
            "import os\nos._exit(3)",
            "failed: SystemExit: os._exit(3) would end tui-agent itself; raise an error instead.",
        ),
    ],
)
def test_a_broken_environment_is_named_with_its_reason(text: str, message: str, folder: Path) -> None:
    (folder / "bad.py").write_text(f"from tui_agent.evalenv import setup, suite, test\n{text}\n")
    with pytest.raises(ConfigError) as caught:
        load_environment(folder / "bad.py")
    assert caught.value.message.startswith(str(folder / "bad.py")) and message in caught.value.message


@rows(
    "answer, message",
    [
        ("x" * 20, "The environment's answer to POST /sessions is larger than 10 B."),
        ("{}", "The environment's answer has an unexpected format: 'session'"),
        ("busy", "busy"),
    ],
)
def test_an_answer_that_cannot_be_used_is_named(
    answer: str, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment_client, "MAX_ANSWER_BYTES", 10)

    async def reply(request: web.Request) -> web.Response:
        return web.Response(text=answer)

    async def ask() -> None:
        app = web.Application()
        app.add_routes([web.post("/sessions", reply)])
        async with TestServer(app) as server, connect(str(server.make_url("/")), folder / "my-calculator"):
            pass

    with pytest.raises(EnvironmentFault, match=message):
        anyio.run(ask)


async def test_an_uploaded_workspace_keeps_links_that_lead_outside(folder: Path) -> None:
    (folder / "my-calculator" / "python").symlink_to(sys.executable)
    (folder / "my-calculator" / "sibling").symlink_to("../elsewhere")
    (folder / "links.py").write_text(
        "from tui_agent.evalenv import test\n\n\n@test\nasync def reads(workspace):\n"
        "    assert False, [str((workspace.path / name).readlink()) for name in ('python', 'sibling')]\n"
    )
    async with (
        deployed(folder / "links.py") as address,
        connect(address, folder / "my-calculator") as session,
    ):
        (result,) = (await session.test()).tests
    assert result.message == f"the test reads failed: AssertionError: {[sys.executable, '../elsewhere']}"


def archive_of(*names: str, link_to: Path | None = None) -> bytes:
    """Return an archive of empty files; the first one is a link if `link_to` is given."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            if link_to and name == names[0]:
                member.type, member.linkname = tarfile.SYMTYPE, str(link_to)
            archive.addfile(member)
    return data.getvalue()


async def test_the_server_refuses_strangers_bad_archives_and_too_many_sessions(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment_server, "MAX_SESSIONS", 1)
    access = AccessControl("secret-token", "127.0.0.1", 8000)
    (folder / "sessions").mkdir()
    environment = load_environment(folder / "calculator.py")
    app = EnvironmentServer(environment, plain, access, folder / "sessions").app()
    bearer = {"Authorization": "Bearer secret-token"}
    foreign = bearer | {"Origin": "https://evil.example"}
    async with TestServer(app) as server, ClientSession(cookie_jar=DummyCookieJar()) as client:

        async def send(method: str, path: str, headers: dict[str, str], data: bytes = b"") -> tuple[int, str]:
            async with client.request(method, server.make_url(path), headers=headers, data=data) as answer:
                return answer.status, await answer.text()

        for method, path in (
            ("GET", "/"),
            ("POST", "/sessions"),
            ("POST", "/sessions/x/test/"),
            ("GET", "/no"),
        ):
            assert (await send(method, path, {}))[0] == 401
            assert (await send(method, path, foreign))[0] == 403
        through_link = archive_of("link", "link/outside", link_to=folder)
        for data in (b"no archive", archive_of("../outside"), archive_of("cut")[:40], through_link):
            status, text = await send("POST", "/sessions", bearer, data)
            assert status == 400 and "The workspace is not a usable tar.gz archive" in text
        assert not list((folder / "sessions").iterdir()) and not (folder / "outside").exists()
        status, text = await send("POST", "/sessions", bearer, archive_of("calc.py"))
        assert status == 200
        assert (await send("POST", "/sessions", bearer, archive_of("calc.py")))[0] == 429
        place = f"/sessions/{json.loads(text)['session']}"
        assert (await send("DELETE", place, bearer))[0] == 200
        assert not list((folder / "sessions").iterdir())
        assert (await send("DELETE", place, bearer))[0] == 404
        assert (await send("POST", f"{place}/test/", bearer))[0] == 404


@pytest.mark.slow
async def test_an_agent_runs_the_tests_as_tools(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    # A busy machine needs more than 10 s to start the server.
    monkeypatch.setattr(servers, "MAX_PATIENCE_S", 60.0)
    config = folder / "config" / "tui-agent" / "config.toml"
    config.parent.mkdir(parents=True)
    words = ["-m", "tui_agent", "deploy", str(folder / "calculator.py"), "--mcp"]
    config.write_text(f"[mcp.calc]\ncommand = {json.dumps(sys.executable)}\nargs = {json.dumps(words)}\n")
    (folder / "script.yaml").write_text(
        "answers:\n  - calls:\n      - mcp_calc_list_tests: {}\n      - mcp_calc_run_tests: {}\n"
        "      - mcp_calc_run_tests: {path: more}\n  - text: Done.\n"
    )
    options = SessionOptions(
        folder / "my-calculator",
        client="headless",
        interactive=False,
        model=f"scripted:{folder / 'script.yaml'}",
        policy="bypass",
        data_dir=folder / "data",
    )
    async with open_session(options) as opened:
        opened.submit(SubmitPrompt(text="test it with calc"))
        events = await follow(opened, lambda events: of(events, TurnFinished))
    answers = [str(event.content[0].text) for event in events if isinstance(event, ToolFinished)]  # type: ignore[union-attr]
    assert answers[:2] == [
        "basics/adds: calc.py adds two numbers.\nbasics/subtracts",
        f"1 passed, 1 failed, 2 in all\n{FAILURE}",
    ]
    assert "calculator has no test 'more'. Tests: basics/adds" in answers[2]


async def test_an_agent_elsewhere_runs_the_tests_over_http(folder: Path) -> None:
    send, receive = anyio.create_memory_object_stream[tuple[str, str]](1)
    tools = environment_tools(load_environment(folder / "calculator.py"), folder / "my-calculator", plain)

    async def serve() -> None:
        await serve_tools_by_http("calc", tools, "127.0.0.1", 0, lambda *given: send.send_nowait(given))

    async with send, receive, anyio.create_task_group() as group:
        group.start_soon(serve)
        address, token = await receive.receive()
        async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as http:
            async with Client(streamable_http_client(address, http_client=http)) as client:
                assert [tool.name for tool in (await client.list_tools()).tools] == [
                    "list_tests",
                    "run_tests",
                ]
                report = await client.call_tool("run_tests", {})
                assert report.content[0].text == f"1 passed, 1 failed, 2 in all\n{FAILURE}"  # type: ignore[union-attr]
                (folder / "my-calculator" / "calc.py").unlink()
                assert (await client.call_tool("run_tests", {"path": "more"})).is_error
                assert "0 passed" in str((await client.call_tool("run_tests", {"path": "basics"})).content)
            for headers in ({"Authorization": "Bearer no"}, {"Authorization": ""}):
                answer = await http.post(address, headers=headers, json={})
                assert (answer.status_code, answer.text[:12]) == (401, "Unauthorized")
            foreign = await http.post(address, headers={"Host": "evil.example"}, json={})
            assert foreign.status_code in (403, 421)
        group.cancel_scope.cancel()


@pytest.mark.slow_variants
@pytest.mark.parametrize(("sign", "score"), [("int(_ + '1')", 1.0), ("1", 0.5)])
def test_a_case_is_verified_by_an_environment(folder: Path, sign: str, score: float) -> None:
    text = CALCULATOR.replace("int(b)", f"{sign} * int(b)")
    (folder / "case.toml").write_text(
        'prompt = "Write calc.py."\nverifier = { environment = "calculator.py" }\npolicy = "bypass"\n'
        f'[[oracle]]\ncalls = [{{ write_file = {{ path = "calc.py", content = {json.dumps(text)} }} }}]\n'
        '[[oracle]]\ntext = "Done."\n'
    )
    (case,) = load_suite("case.toml", folder).cases
    run, cell = RunFolder(folder / "out"), Cell(case=case.id, arm=ORACLE)
    arms = (Arm(name=ORACLE, model=ORACLE),)
    plan = Plan(suite="case.toml", suite_name="case", here=folder, arms=arms, cases=(case.id,))
    result = anyio.run(run_cell, plan, run, case, cell)
    assert (result.passed, result.score) == (score == 1, score)
    assert result.test_output.startswith(
        "2 passed" if score == 1 else "1 passed, 1 failed, 2 in all\nthe test basics/"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("act", "end"),
    [
        (
            "ctypes.CDLL(None)._exit(0)",
            "its process ended with status 0 without a result; a test or a plugin may have ended it",
        ),
        ("os.kill(os.getpid(), 9)", "its process was ended by SIGKILL"),
    ],
)
def test_a_test_that_ends_the_process_is_suspected(folder: Path, act: str, end: str) -> None:
    (folder / "calculator.py").write_text(
        f"import ctypes, os\nfrom tui_agent.evalenv import test\n\n\n@test\nasync def ends(workspace):\n    {act}\n"
    )
    (folder / "case.toml").write_text(
        'prompt = "Write calc.py."\nverifier = { environment = "calculator.py" }\n[[oracle]]\ntext = "Done."\n'
    )
    (case,) = load_suite("case.toml", folder).cases
    run, cell = RunFolder(folder / "out"), Cell(case=case.id, arm=ORACLE)
    arms = (Arm(name=ORACLE, model=ORACLE),)
    run.save_plan(Plan(suite="case.toml", suite_name="case", here=folder, arms=arms, cases=(case.id,)))
    assert anyio.run(run_child, run, cell)[1] == end
