"""MCP servers: what they offer, how calls are answered, and what becomes of those that misbehave."""

import json
import math
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import mcp_types as types
import pytest

from tests.stubs.memory_blobs import MemoryBlobs
from tui_agent.errors import ConfigError, ToolError
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.mcp.content.elicitation import Elicitation
from tui_agent.mcp.content.prompts import PromptCommand
from tui_agent.mcp.offered_tools import CallServices
from tui_agent.mcp.server_runner import ServerRunner
from tui_agent.mcp.server_settings import ServerSettings
from tui_agent.mcp.servers import McpServers, StartTimes
from tui_agent.ports.tool import Answer, ToolResult
from tui_agent.protocol.events.plugin import NOT_ANSWERED, PluginFailed, PluginLoaded
from tui_agent.protocol.parts import ImageContent, TextContent
from tui_agent.workspace.local.environment import LocalEnvironment

SERVER = Path(__file__).parents[2] / "stubs" / "mcp_server.py"


def server(mode: str, file: Path | None = None, *, timeout: float = 20.0) -> ServerSettings:
    more = () if file is None else (str(file),)
    return ServerSettings(mode, sys.executable, (str(SERVER), mode, *more), timeout=timeout)


class Changes:
    """Wakes the test whenever a server changed."""

    def __init__(self) -> None:
        self._news = anyio.Event()

    def tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()

    async def wait(self) -> None:
        await self._news.wait()


@asynccontextmanager
async def running(
    tmp_path: Path, settings: ServerSettings, delays: tuple[float, ...] = ()
) -> AsyncIterator[tuple[ServerRunner, Changes]]:
    env, changes = LocalEnvironment(tmp_path), Changes()
    runner = ServerRunner(settings, env, str(tmp_path), changes.tell, delays)
    async with anyio.create_task_group() as group:
        with anyio.fail_after(60):
            group.start_soon(runner.run)
            await runner.settled.wait()
            yield runner, changes
        runner.close()
    assert await env.aclose() == 0


async def call(runner: ServerRunner, tool: str, name: str = "Ada") -> ToolResult:
    return await runner.call(tool, {"name": name}, CallServices(lambda text: None, MemoryBlobs()))


async def test_a_server_offers_its_tools_and_answers_calls(tmp_path: Path) -> None:
    async with running(tmp_path, server("good")) as (runner, _):
        assert [tool.name for tool in runner.tools] == ["greet", "fail", "slow", "look"]
        assert [tool.read_only for tool in runner.tools] == [False, False, False, True]
        greeted = await call(runner, "greet")
        assert greeted.ok and greeted.content == (TextContent(text="Hello, Ada!"),)
        assert greeted.data == {"structured": {"greeted": "Ada"}} and greeted.summary == "Hello, Ada!"
        failed = await call(runner, "fail")
        assert not failed.ok and failed.content == (TextContent(text="It is broken."),)
        (image,) = (await call(runner, "look")).content
        assert isinstance(image, ImageContent) and image.media_type == "image/png"


async def test_progress_is_shown_and_a_cancelled_call_is_told_to_the_server(tmp_path: Path) -> None:
    shown: list[str] = []
    async with running(tmp_path, server("good", tmp_path / "cancelled")) as (runner, _):
        async with anyio.create_task_group() as group:

            def show(text: str) -> None:
                shown.append(text)
                if len(shown) == 3:
                    group.cancel_scope.cancel()

            group.start_soon(runner.call, "slow", {"name": "Ada"}, CallServices(show, MemoryBlobs()))
        assert (await call(runner, "greet")).ok
    assert shown == ["1/3 part 1\n", "2/3 part 2\n", "3/3 part 3\n"]
    assert (tmp_path / "cancelled").read_text() == "cancelled"


async def test_text_of_a_server_has_no_terminal_sequences(tmp_path: Path) -> None:
    async with running(tmp_path, server("escapes")) as (runner, _):
        assert [tool.description for tool in runner.tools] == ["Red text"]
        assert (await call(runner, "greet")).content == (TextContent(text="Hello, Ada!Red text"),)


async def test_changed_tools_are_listed_again_with_another_digest(tmp_path: Path) -> None:
    async with running(tmp_path, server("changes", tmp_path / "changed")) as (runner, changes):
        before = {tool.name: tool.digest for tool in runner.tools}
        await call(runner, "greet")
        while "new" not in {tool.name for tool in runner.tools}:
            await changes.wait()
        after = {tool.name: tool.digest for tool in runner.tools}
    assert after["greet"] != before["greet"] and "fail" not in after


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("mode", "fault"),
    [
        ("exits", "it ended with 1: no such option: --mcp. The server is off for the rest of this session."),
        ("dies", "it ended with 1: no database here. The server is off for the rest of this session."),
        ("floods", "it writes lines to standard output that are not MCP messages: garbage …"),
        ("long-line", "it wrote a line of more than 16 MB. The server is off for the rest of this session."),
        ("silent", "it did not answer within 1 s. The server is off for the rest of this session."),
    ],
)
async def test_a_server_that_fails_is_named_with_the_reason(tmp_path: Path, mode: str, fault: str) -> None:
    timeout = 1.0 if mode == "silent" else 20.0
    async with running(tmp_path, server(mode, timeout=timeout)) as (runner, changes):
        while not runner.fault:
            await changes.wait()
        assert runner.tools == ()
        assert re.sub("(garbage )+.*", "garbage …", runner.fault) == fault
        with pytest.raises(ToolError, match=f"The MCP server {mode} is off"):
            await call(runner, "greet")


async def test_an_invalid_tool_is_left_out_and_named(tmp_path: Path) -> None:
    env = LocalEnvironment(tmp_path)
    servers = McpServers([server("untyped")], env, str(tmp_path), StartTimes(tmp_path / "times"))
    async with anyio.create_task_group() as group:
        group.start_soon(servers.run)
        with anyio.fail_after(60):
            await servers.wait_until_settled("")
        offers = servers.offers()
        assert [tool.spec.name for _, tool in offers.tools] == ["mcp_untyped_greet"]
        assert isinstance(await call(servers._runners[0], "greet"), ToolResult)
        await servers.aclose()
    await env.aclose()
    (event,) = offers.events
    assert isinstance(event, PluginLoaded) and event.left_out == (
        "The tool list is left out, because its description is not valid: "
        "inputSchema.type: Input should be 'object'.",
    )


async def test_tools_of_the_same_name_are_named_and_left_out(tmp_path: Path) -> None:
    async with running(tmp_path, server("doubles")) as (runner, _):
        assert [tool.name for tool in runner.tools] == ["greet", "a.b", "a/b"]
        assert runner.left_out == ("The server has two tools named greet; the second tool is left out.",)


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("mode", "reason"), [("no-prompts", "Method not found"), ("mute-prompts", "did not answer within 5 s")]
)
async def test_a_server_that_cannot_list_its_prompts_keeps_its_tools(
    tmp_path: Path, mode: str, reason: str
) -> None:
    async with running(tmp_path, server(mode)) as (runner, _):
        assert (await call(runner, "greet")).ok and runner.prompts == () and not runner.fault
        (sentence,) = runner.left_out
        assert sentence.startswith("Its prompts are left out: ") and reason in sentence


async def test_a_program_that_is_not_there_is_not_tried_again(tmp_path: Path) -> None:
    settings = ServerSettings("gone", "no-such-program-at-all")
    async with running(tmp_path, settings, (60.0,)) as (runner, _):
        assert runner.fault == (
            "The program no-such-program-at-all was not found. The server is off for the rest of this session."
        )


async def test_lines_that_are_no_messages_are_skipped(tmp_path: Path) -> None:
    async with running(tmp_path, server("chatty")) as (runner, _):
        assert (await call(runner, "greet")).content == (TextContent(text="Hello, Ada!"),)


async def test_a_call_that_waits_for_the_first_start_gets_the_answer_of_the_second(tmp_path: Path) -> None:
    env, changes = LocalEnvironment(tmp_path), Changes()
    runner = ServerRunner(server("second-start", tmp_path / "started"), env, "", changes.tell, (0.0,))
    async with anyio.create_task_group() as group:
        with anyio.fail_after(20):
            group.start_soon(runner.run)
            assert (await call(runner, "greet")).ok
        runner.close()
    await env.aclose()


async def test_a_session_ends_at_once_while_a_server_waits_for_its_restart(tmp_path: Path) -> None:
    env = LocalEnvironment(tmp_path)
    servers = McpServers([server("exits")], env, str(tmp_path), StartTimes(tmp_path / "times"))
    async with anyio.create_task_group() as group:
        group.start_soon(servers.run)
        await servers.wait_until_settled("")
        began = anyio.current_time()
        await servers.aclose()
        assert anyio.current_time() - began < 2.0
    await env.aclose()


async def test_a_server_that_dies_in_a_call_is_started_again(tmp_path: Path) -> None:
    async with running(tmp_path, server("dies-in-call"), (0.0, 0.0)) as (runner, changes):
        with pytest.raises(ToolError):
            await call(runner, "greet")
        while not runner.fault:
            await changes.wait()
        assert runner.fault == "it ended with 3. The server is started again."
        assert (await call(runner, "look")).ok
        assert runner.fault == ""


async def test_servers_start_side_by_side_and_tell_what_they_offer(tmp_path: Path) -> None:
    env = LocalEnvironment(tmp_path)
    settings = [server("good"), ServerSettings("gone", "no-such-program"), server("liar"), server("many")]
    servers = McpServers(settings, env, str(tmp_path), StartTimes(tmp_path / "times"))
    async with anyio.create_task_group() as group:
        assert servers.offers().events == []
        assert servers.explain_absence("mcp_good_greet") == "The MCP server good has not started yet."
        group.start_soon(servers.run)
        with anyio.fail_after(60):
            await servers.wait_until_settled("")
        offers = servers.offers()
        await servers.wait_for_tools(["mcp_good_greet", "mcp_gone_any", "read_file"])
        assert servers.explain_absence("mcp_gone_any").startswith("The MCP server gone is off: The program")
        assert [servers.explain_absence(tool) for tool in ("mcp_good_greet", "read_file")] == ["", ""]
        assert servers.offers().events == []
        await servers.aclose()
    by_name = {event.plugin: event for event in offers.events}
    assert sorted(by_name) == ["mcp:gone", "mcp:good", "mcp:liar", "mcp:many"]
    good, gone = by_name["mcp:good"], by_name["mcp:gone"]
    assert isinstance(good, PluginLoaded) and good.version == "1.0"
    assert good.contributions[:2] == ("command:good:stand-up", "tool:mcp_good_fail")
    assert isinstance(gone, PluginFailed) and "no-such-program" in gone.message
    assert [command.offer.name for _, command in offers.commands] == ["good:stand-up"]
    names = [tool.spec.name for _, tool in offers.tools]
    assert names[:4] == ["mcp_good_greet", "mcp_good_fail", "mcp_good_slow", "mcp_good_look"]
    assert await env.aclose() == 0


@pytest.mark.slow
async def test_a_run_waits_shortly_for_servers_that_do_not_answer_and_only_once(tmp_path: Path) -> None:
    env, silent = LocalEnvironment(tmp_path), server("silent", timeout=60.0)
    times = StartTimes(tmp_path / "times")

    async def wait(settings: ServerSettings, prompt: str = "go") -> tuple[list[str], float]:
        """Return the messages about failed servers, and the seconds that the run waited after the other server."""
        servers = McpServers([server("good"), settings], env, str(tmp_path), times)
        async with anyio.create_task_group() as group:
            group.start_soon(servers.run)
            await servers._runners[0].settled.wait()
            began = anyio.current_time()
            await servers.wait_until_settled(prompt)
            seconds, events = anyio.current_time() - began, servers.offers().events
            await servers.aclose()
        return [event.message for event in events if isinstance(event, PluginFailed)], seconds

    late = [NOT_ANSWERED]
    messages, first = await wait(silent)
    assert messages == late and first > 1.5
    assert times.patience(silent, "go") == 0.0
    messages, second = await wait(silent)
    assert messages == late
    messages, named = await wait(silent, "ask Silent, please")
    assert messages == late and named > 9.0 and named > second
    assert (await wait(replace(silent, args=(str(SERVER), "chatty"))))[0] == []
    await env.aclose()


@pytest.mark.slow
async def test_a_run_waits_longer_while_no_server_is_ready(tmp_path: Path) -> None:
    env, times = LocalEnvironment(tmp_path), StartTimes(tmp_path / "times")
    waits = list[float]()
    for _ in range(2):
        servers = McpServers([server("silent", timeout=60.0)], env, str(tmp_path), times)
        async with anyio.create_task_group() as group:
            group.start_soon(servers.run)
            began = anyio.current_time()
            await servers.wait_until_settled("")
            waits.append(anyio.current_time() - began)
            await servers.aclose()
    assert waits[0] > 4.5 and waits[0] > waits[1]
    await env.aclose()


async def test_the_duration_of_a_start_is_remembered(tmp_path: Path) -> None:
    env, times, settings = LocalEnvironment(tmp_path), StartTimes(tmp_path / "times"), server("good")
    times.save(settings, math.inf)
    assert times.patience(settings, "go") == 0.0
    servers = McpServers([settings], env, str(tmp_path), times)
    async with anyio.create_task_group() as group:
        group.start_soon(servers.run)
        await servers.wait_for_tools(["mcp_good_greet"])
        assert len(servers.offers().tools) == 4
        await servers.aclose()
    assert times.patience(settings, "go") > 0.0
    await env.aclose()


@pytest.mark.parametrize(
    ("seconds", "prompt", "patience"),
    [(0.3, "", 2.0), (1.5, "", 4.5), (5.0, "", 10.0), (11.0, "", 0.0), (11.0, "use GOOD.", 10.0)],
)
def test_a_run_waits_longer_for_a_server_that_took_longer(
    tmp_path: Path, seconds: float, prompt: str, patience: float
) -> None:
    times = StartTimes(tmp_path / "times")
    assert times.patience(server("good"), "goods") == 2.0
    times.save(server("good"), seconds)
    assert times.patience(server("good"), prompt) == patience


async def test_of_very_many_tools_those_that_a_search_found_are_listed(tmp_path: Path) -> None:
    env = LocalEnvironment(tmp_path)
    servers, changed = McpServers([server("many")], env, str(tmp_path), StartTimes(tmp_path / "times")), []

    def listed() -> list[str]:
        return [tool.spec.name for _, tool in servers.offers().tools if tool.spec.listed]

    async with anyio.create_task_group() as group:
        group.start_soon(servers.run)
        with anyio.fail_after(60):
            await servers.wait_until_settled("")
        servers.on_change = lambda: changed.append(listed())
        assert listed() == ["mcp_many_search_tools"] and len(servers.offers().tools) == 1_001
        _, search = servers.offers().tools[0]
        result = await search.run(search.spec.args(query="do thing 7 please"), None)  # type: ignore[arg-type]
        assert "mcp_many_tool_7: Does thing number 7." in str(result.content)
        assert len(changed) == 1 and len(changed[0]) == 11 and "mcp_many_tool_7" in changed[0]
        await servers.aclose()
    await env.aclose()


async def test_an_event_says_that_a_tool_of_the_same_name_has_another_description(tmp_path: Path) -> None:
    env, changed = LocalEnvironment(tmp_path), anyio.Event()
    settings = server("rewords", tmp_path / "changed")
    servers = McpServers([settings], env, str(tmp_path), StartTimes(tmp_path / "times"))
    async with anyio.create_task_group() as group:
        group.start_soon(servers.run)
        with anyio.fail_after(60):
            await servers.wait_until_settled("")
            before = servers.offers()
            assert len(before.events) == 1 and not servers.offers().events
            servers.on_change = changed.set
            await call(servers._runners[0], "greet")
            await changed.wait()
        after = servers.offers()
        assert after.events == before.events and not servers.offers().events
        assert "Then send all files" in after.tools[0][1].spec.description
        await servers.aclose()
    await env.aclose()


async def test_a_prompt_is_a_slash_command(tmp_path: Path) -> None:
    async with running(tmp_path, server("good")) as (runner, _):
        (prompt,) = runner.prompts
        command, state = PromptCommand("good", prompt, runner.get_prompt), SessionStateView()
        assert command.offer.arguments == "day [tone]" and command.offer.help == "Report."
        for typed, given in [
            ("monday very dry", {"day": "monday", "tone": "very dry"}),
            ("tone=dry 'next monday'", {"day": "next monday", "tone": "dry"}),
            ("monday", {"day": "monday"}),
        ]:
            answer = await command.answer(typed, state)
            assert answer.prompt == f"Report on {json.dumps(given, sort_keys=True)}."
        with pytest.raises(ConfigError, match="/good:stand-up needs day"):
            await command.answer("tone=dry", state)


async def test_a_question_of_a_server_is_asked_in_its_call_and_declined_without_a_user(
    tmp_path: Path,
) -> None:
    asked: list[tuple[str, tuple[str, ...], str]] = []
    answers = iter([Answer(None, "36"), Answer(1, "warm"), Answer(1, "No")])

    async def ask(question: str, options: Sequence[str], form: str) -> Answer:
        asked.append((question, tuple(options), form))
        return next(answers)

    async with running(tmp_path, server("good")) as (runner, _):
        services = CallServices(lambda text: None, MemoryBlobs(), ask)
        (answered,) = (await runner.call("ask", {}, services)).content
        (declined,) = (await call(runner, "ask")).content
    said = "The MCP server good asks: Who are you?Red text\n"
    assert asked == [
        (f"{said}age", ("Leave it out", "Decline"), "text"),
        (f"{said}tone", ("dry", "warm", "Leave it out", "Decline"), "choice"),
        (f"{said}sure", ("Yes", "No", "Decline"), "choice"),
    ]
    assert isinstance(answered, TextContent) and isinstance(declined, TextContent)
    assert json.loads(str(answered.text)) == {
        "action": "accept",
        "content": {"age": 36, "tone": "warm", "sure": False},
    }
    assert json.loads(str(declined.text)) == {"action": "decline"}


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("answers", "result"),
    [
        (
            [Answer(0, "Leave it out"), Answer(None, "leave it out"), Answer(0, "Yes")],
            {"action": "accept", "content": {"sure": True}},
        ),
        ([Answer(None, "decline")], {"action": "decline"}),
        ([Answer(1, "Decline")], {"action": "decline"}),
        ([Answer(None, "36"), Answer(3, "Decline")], {"action": "decline"}),
    ],
)
async def test_a_field_is_left_out_or_the_question_declined_by_choice_or_by_name(
    tmp_path: Path, answers: list[Answer], result: dict[str, object]
) -> None:
    left = iter(answers)

    async def ask(question: str, options: Sequence[str], form: str) -> Answer:
        return next(left)

    async with running(tmp_path, server("good")) as (runner, _):
        (answered,) = (
            await runner.call("ask", {}, CallServices(lambda text: None, MemoryBlobs(), ask))
        ).content
    assert isinstance(answered, TextContent) and json.loads(str(answered.text)) == result
    assert not list(left)


@pytest.mark.parametrize(
    ("schema", "wrong", "fault", "right"),
    [
        ({"type": "string", "format": "email"}, "1", "Enter an e-mail address, such as", "a@b.org"),
        ({"type": "string", "format": "uri"}, "example", "Enter an address, such as", "http://x"),
        ({"type": "string", "format": "date"}, "1.2.2026", "Enter a date, such as", "2026-02-01"),
        ({"type": "string", "minLength": 2}, "a", "Enter at least 2 characters.", "ab"),
        ({"type": "integer", "maximum": 9}, "10", "Enter at most 9.", 9),
        ({"type": "integer"}, "3.5", "Enter a whole number.", 3),
        ({"type": "number", "minimum": 0.5}, "nan", "Enter a number.", 0.5),
        ({"type": "string", "format": 7, "minLength": "x"}, "", "", "any text"),
    ],
)
async def test_a_value_that_the_schema_of_its_field_does_not_allow_is_asked_for_again(
    schema: dict[str, object], wrong: str, fault: str, right: object
) -> None:
    asked: list[str] = []
    answers = iter([Answer(None, wrong)] * bool(wrong) + [Answer(None, str(right))])

    async def ask(question: str, options: Sequence[str], form: str) -> Answer:
        asked.append(question)
        return next(answers)

    wanted = {"type": "object", "properties": {"a": schema}}
    params = types.ElicitRequestFormParams(message="Who?", requested_schema=wanted)
    questions = Elicitation("good")
    with questions.during_call(ask, 5):
        result = await questions.answer(params)
    assert (result.action, result.content) == ("accept", {"a": right})
    assert len(asked) == 1 + bool(wrong) and fault in asked[-1] and "Enter" not in asked[0]


async def test_a_call_without_an_answer_ends_at_the_time_limit(tmp_path: Path) -> None:
    async with running(tmp_path, server("good", tmp_path / "mark", timeout=3.0)) as (runner, _):
        with pytest.raises(ToolError, match="did not answer within 3 s"):
            await call(runner, "slow")


@pytest.mark.slow
async def test_a_server_over_http(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = [sys.executable, str(SERVER.with_name("mcp_http_server.py")), str(port)]
    async with await anyio.open_process(
        program, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        assert process.stderr is not None
        told = b""
        with anyio.fail_after(60):
            while b"Uvicorn running" not in told:
                told += await process.stderr.receive()
        settings = ServerSettings("web", url=f"http://127.0.0.1:{port}/mcp", timeout=20.0)
        async with running(tmp_path, settings) as (runner, _):
            assert [tool.name for tool in runner.tools] == ["add"] and runner.version == "2.0"
            services = CallServices(lambda text: None, MemoryBlobs())
            assert (await runner.call("add", {"a": 1, "b": 2}, services)).data == {
                "structured": {"result": 3}
            }
            process.kill()
            await process.wait()
            with pytest.raises(ToolError):
                await runner.call("add", {"a": 1, "b": 2}, services)
