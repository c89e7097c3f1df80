"""Calls as providers send them at their worst: each that runs was judged, each has one result, the history stays legal."""

import json
import os
from pathlib import Path

import pytest

from tests.engine.harness import Bench, EchoTool, call, running, say
from tests.stubs.legal_history import check_pairs
from tests.stubs.strict_history import faults_in
from tests.stubs.tool_context import tools_of
from tui_agent.engine.middleware.memory import WorkingMemory
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.model import FinishChunk, ModelChunk, ToolCallChunk
from tui_agent.protocol.commands import DecidePermission, Interrupt, SubmitPrompt
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.parts import TextContent

ODD = {
    "half": ("write", '{"words": "a"'),
    "no JSON": ("write", "words=a"),
    "list": ("write", '["a"]'),
    "number": ("write", "1e999"),
    "not a number": ("write", '{"words": NaN}'),
    "deep": ("write", "[" * 50_000),
    "deep object": ("write", '{"words": ' * 20_000),
    "wrong type": ("write", '{"words": ["a"]}'),
    "unknown": ("no_such_tool", '{"words": "a"}'),
    "unknown and half": ("no_such_tool", '{"words": '),
    "no name": ("", '{"words": "a"}'),
    "escape": ("write\x1b[31m\u202e!", '{"words": "a"}'),
    "long name": ("w" * 5_000, "{}"),
}


def answer(*calls: tuple[str, str, str]) -> list[ModelChunk]:
    """Calls by id, name and arguments."""
    return [
        *(ToolCallChunk(at, name, tool, words) for at, (name, tool, words) in enumerate(calls)),
        FinishChunk("tool_calls"),
    ]


def yes(bench: Bench) -> None:
    """Every question gets a yes."""

    def react(event: Envelope) -> None:
        if isinstance(event.payload, PermissionRequested):
            bench.submit(DecidePermission(request_id=event.payload.request_id, decision="allow"))

    bench.on_event = react


def tools() -> list[EchoTool]:
    return [EchoTool(), EchoTool("write", safe=False, writes=True)]


def sound(bench: Bench, calls: int) -> None:
    """One result a call, a decision in front of every start, ids that are used once."""
    called = [one.call_id for one in bench.of(ToolCalled)]  # type: ignore[attr-defined]
    ended = [one.call_id for one in bench.of(ToolFinished)]  # type: ignore[attr-defined]
    assert len(set(called)) == len(called) == calls and sorted(ended) == sorted(called)
    allowed: set[str] = set()
    for event in bench.events:
        if isinstance(event.payload, PermissionDecided) and event.payload.decision == "allow":
            allowed.add(event.payload.call_id)
        if isinstance(event.payload, ToolStarted):
            assert event.payload.call_id in allowed
    assert faults_in(bench.recorder.messages()) == []
    check_pairs(bench.recorder.messages())


def told(bench: Bench, at: int = 0) -> str:
    result = bench.of(ToolFinished)[at]
    assert isinstance(result.content[0], TextContent)
    return str(result.content[0].text)


@pytest.mark.slow_variants
@pytest.mark.parametrize("kind", list(ODD))
async def test_a_call_that_is_none_runs_nothing_and_the_others_run(tmp_path: Path, kind: str) -> None:
    kit = tools()
    first = answer(("c1", *ODD[kind]), ("c2", "write", '{"words": "b"}'))
    async with running(tmp_path, [first, say("Done.")], kit, policy=RulePolicy().decide) as bench:
        yes(bench)
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        sound(bench, 2)
        assert [one.status for one in bench.of(ToolFinished)] == ["invalid", "ok"]  # type: ignore[attr-defined]
        assert len(told(bench)) < 4_000 and "length limit" not in told(bench)
    assert kit[1].ran == ["b"]


@pytest.mark.parametrize("kind", ["no name", "unknown", "unknown and half"])
async def test_of_a_tool_that_there_is_not_the_model_is_told_which_there_are(
    tmp_path: Path, kind: str
) -> None:
    async with running(tmp_path, [answer(("c1", *ODD[kind])), say("Done.")], tools()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert "There is no tool" in told(bench) and "echo, write" in told(bench)


async def test_a_tool_that_the_request_did_not_offer_is_neither_named_nor_run(tmp_path: Path) -> None:
    calls = answer(("c1", "no_such_tool", "{}"), ("c2", "present_plan", '{"plan": "Do it."}'))
    kit = [*tools(), *tools_of("ask").values(), *tools_of("skills").values()]
    async with running(tmp_path, [calls, say("Done.")], kit, policy=RulePolicy().decide) as bench:
        yes(bench)
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        sound(bench, 2)
        offered = ", ".join(tool.name for tool in bench.model.requests[0].tools)
        assert told(bench, 0) == f"There is no tool 'no_such_tool'. The tools are: {offered}."
        assert "ask_user" in offered and "present_plan" not in offered and "read_skill" not in offered
        assert told(bench, 1) == "present_plan can be called only under the policy plan."
        assert [end.status for end in bench.of(ToolFinished)] == ["invalid", "invalid"]  # type: ignore[attr-defined]


async def test_calls_with_one_id_are_judged_one_by_one(tmp_path: Path) -> None:
    kit = tools()
    calls = [("same", "write", f'{{"words": "{number}"}}') for number in range(4)]
    async with running(tmp_path, [answer(*calls), say("Done.")], kit, policy=RulePolicy().decide) as bench:
        yes(bench)
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        sound(bench, 4)
        assert len(bench.of(PermissionRequested)) == 4
    assert kit[1].ran == ["0", "1", "2", "3"]


@pytest.mark.slow
async def test_two_hundred_calls_are_judged_one_by_one_and_run_in_their_order(tmp_path: Path) -> None:
    kit = tools()
    calls = [
        (f"c{number}", "write" if number % 2 else "echo", f'{{"words": "{number}"}}') for number in range(200)
    ]
    async with running(tmp_path, [answer(*calls), say("Done.")], kit, policy=RulePolicy().decide) as bench:
        yes(bench)
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        sound(bench, 200)
        assert len(bench.of(PermissionRequested)) == 100 and len(bench.of(PermissionDecided)) == 200
    assert kit[1].ran == [str(number) for number in range(1, 200, 2)]


async def test_two_hundred_calls_end_with_one_interruption_at_a_question(tmp_path: Path) -> None:
    kit = tools()
    calls = [(f"c{number}", "write", f'{{"words": "{number}"}}') for number in range(200)]
    async with running(tmp_path, [answer(*calls)], kit, policy=RulePolicy().decide) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("permission.requested")
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        sound(bench, 200)
        assert len(bench.of(PermissionRequested)) == 1
    assert kit[1].ran == []


async def test_a_file_whose_name_is_no_utf_8_is_read_and_changed_by_the_name_that_lists_show(
    tmp_path: Path,
) -> None:
    (tmp_path / "workspace").mkdir()
    odd = tmp_path / "workspace" / os.fsdecode(b"n\xff\xfeame.py")
    odd.write_text("return 1\n")
    name = r"n\udcff\udcfeame.py"
    script = [
        call(("glob", '{"pattern": "*.py"}')),
        call(("read_file", json.dumps({"path": name}))),
        call(("edit_file", json.dumps({"path": name, "old_text": "return 1", "new_text": "return 2"}))),
        say("done"),
    ]
    tools = list(tools_of("files").values())
    memory = lambda recorder: WorkingMemory(lambda: recorder.state, str)  # noqa: E731 - as short as a name
    async with running(tmp_path, script, tools, middlewares=[memory]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        shown, *_ = [one for one in bench.results() if one.name == "glob"]
    (listed,) = shown.content
    assert isinstance(listed, TextContent) and listed.text == name and odd.read_text() == "return 2\n"
