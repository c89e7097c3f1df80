"""Middlewares: one of a plugin's own, their order around calls, and the prompt that they make together."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.engine.harness import EchoTool, call, running, say
from tests.stubs.clock import FakeClock, SequentialIds
from tui_agent.config.session_options import SessionOptions
from tui_agent.engine.middleware.prompt_sections import BUNDLED, PromptTexts, prompt_sections
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.plugin_api import (
    BaseMiddleware,
    Fragment,
    ModelNext,
    ModelReply,
    ModelRequest,
    TextContent,
    ToolCallPart,
    ToolNext,
    ToolResult,
    TurnContext,
)
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.session.headless_turn import run_turn
from tui_agent.wiring.session import open_session
from tui_agent.wiring.startup_context import load_startup_context

TOOLS = ("write_todos", "write_file", "edit_file", "spawn_subtask")

DOCS = Path(__file__).parents[2] / "docs"


class Noting(BaseMiddleware):
    """Writes down what it sees, and contributes one line."""

    def __init__(self, name: str, seen: list[str], priority: int) -> None:
        self.name = name
        self.seen = seen
        self.priority = priority

    async def on_turn_start(self, turn: TurnContext) -> None:
        self.seen.append(f"{self.name} start")

    def contribute(self, state: SessionStateView) -> Sequence[Fragment]:
        return (Fragment(id=self.name, text=f"Section of {self.name}.", priority=self.priority),)

    async def wrap_model(self, request: ModelRequest, call_next: ModelNext) -> ModelReply:
        self.seen.append(f"{self.name} asks")
        reply = await call_next(request)
        self.seen.append(f"{self.name} heard")
        return reply

    async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult:
        self.seen.append(f"{self.name} calls")
        result = await call_next(call)
        return ToolResult(ok=result.ok, content=(*result.content, TextContent(text=f"seen by {self.name}")))

    async def on_turn_end(self, turn: TurnContext) -> None:
        self.seen.append(f"{self.name} end: {turn.reason}")


async def test_middlewares_stand_around_calls_in_the_order_of_registration(tmp_path: Path) -> None:
    seen: list[str] = []
    chain = [Noting("outer", seen, 20), Noting("inner", seen, 10)]
    answers = [call(("echo", "{}")), say("Done.")]
    async with running(tmp_path, answers, [EchoTool()], middlewares=chain) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        system = bench.model.requests[0].system
    once = ["outer asks", "inner asks", "inner heard", "outer heard"]
    assert seen == [
        "outer start",
        "inner start",
        *once,
        "outer calls",
        "inner calls",
        *once,
        "outer end: finished",
        "inner end: finished",
    ]
    (end,) = bench.of(ToolFinished)
    words = [piece.text for piece in end.content if isinstance(piece, TextContent)]
    assert words[1:] == ["seen by inner", "seen by outer"]
    assert system == "Section of inner.\n\nSection of outer."


def test_the_prompt_plans_then_delegates_between_identity_and_guidance() -> None:
    sections = prompt_sections(PromptTexts(), "Linux", TOOLS)
    fragments = [each for section in sections for each in section.contribute(SessionStateView())]
    ordered = [each.id for each in sorted(fragments, key=lambda each: each.priority)]
    assert ordered == ["identity", "workspace", "planning", "subagents", "guidance"]


async def test_what_the_prompt_says_of_a_plugins_tools_goes_with_the_plugin(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text("answers:\n  - text: Done.\n")
    for disabled, gone in (("subagent", "subagents"), ("todo", "planning")):
        folder = tmp_path / disabled
        (folder / "work").mkdir(parents=True)
        config = folder / "config" / "tui-agent"
        config.mkdir(parents=True)
        (config / "config.toml").write_text(f'plugins_disabled = ["{disabled}"]\n')
        options = SessionOptions(
            cwd=folder / "work",
            client="headless",
            interactive=False,
            data_dir=folder / "data",
            model=f"scripted:{script}",
            policy="bypass",
            no_plugins=True,
        )
        environment = {"HOME": str(folder), "XDG_CONFIG_HOME": str(folder / "config")}
        seen: list[Record] = []
        async with open_session(options, load_startup_context(options, environment)) as opened:
            await run_turn(opened, "go", seen.append)
        payloads = [one.payload for one in seen if isinstance(one, Envelope)]
        (packed,) = [one for one in payloads if isinstance(one, ContextPacked)]
        told = {"planning", "subagents"} & {one.id for one in packed.fragments}
        assert told == {"planning", "subagents"} - {gone}, disabled


def test_the_prompt_texts_say_what_they_are_for() -> None:
    identity, planning, sandbox, delegation = (
        PromptTexts().get(name) for name in ("identity", "planning", "sandbox", "subagents")
    )
    assert "Before you act" in identity and "into one answer. They run in order" in identity
    assert "mark an item before you start it and as soon as it is done" in planning
    assert "split big ones" in planning
    assert "only to the workspace and a private /tmp, and have no network" in sandbox
    assert "Hand off work that needs none of this conversation" in delegation
    assert "Tell it all it must know, and check its report" in delegation


def test_every_prompt_text_is_documented() -> None:
    page = (DOCS / "prompts.md").read_text(encoding="utf-8")
    assert not [path.name for path in BUNDLED.glob("*.md") if f"`{path.name}`" not in page]


COMMIT = re.compile(r'(?<="commit":")[0-9a-f]{40}')


@pytest.mark.slow
async def test_two_runs_of_a_script_differ_in_nothing_but_ids_and_times(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(
        "answers:\n"
        "  - calls: [{list_directory: {}}, {write_todos: {todos: [{content: One}]}}]\n"
        "  - calls: [{write_file: {path: a.txt, content: x}}]\n"
        "  - text: Done.\n"
    )
    first, second = [await _events(tmp_path / name, script) for name in ("one", "two")]
    assert [kind for kind, _ in first] == [kind for kind, _ in second]
    assert first == second


async def _events(folder: Path, script: Path) -> list[tuple[str, str]]:
    work = folder / "work"
    work.mkdir(parents=True)
    options = SessionOptions(
        cwd=work,
        client="headless",
        interactive=False,
        data_dir=folder / "data",
        model=f"scripted:{script}",
        policy="bypass",
        no_plugins=True,
    )
    base = load_startup_context(options, {"HOME": str(folder)}, clock=FakeClock(), ids=SequentialIds())
    seen: list[Record] = []
    async with open_session(options, base) as opened:
        await run_turn(opened, "go", seen.append)
    return [
        (
            record.payload.kind,
            COMMIT.sub("COMMIT", record.payload.model_dump_json().replace(str(folder), "FOLDER")),
        )
        for record in seen
        if isinstance(record, Envelope) and record.payload.kind not in ("model.delta", "context.packed")
    ]
