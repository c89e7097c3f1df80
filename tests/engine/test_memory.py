"""The working memory in a running session: recorded, folded, and shown to the model in one mode only."""

import json
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import EchoTool, call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.engine.middleware.memory import WorkingMemory
from tui_agent.engine.recorder import Recorder
from tui_agent.plugin_api import BaseMiddleware, ToolNext, ToolResult
from tui_agent.ports.middleware import Middleware
from tui_agent.protocol.commands import SetContextMode, SubmitPrompt
from tui_agent.protocol.events.context import ContextPacked, MemoryUpdated
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import ToolCallPart
from tui_agent.protocol.settings import ContextMode
from tui_agent.store.redaction.redactor import Redactor


@pytest.mark.parametrize("mode", ["none", "pack", "memory"])
async def test_the_model_sees_it_in_mode_memory_only(tmp_path: Path, mode: ContextMode) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "a.py").write_text("def find():\n    pass\n")
    script = [call(("read_file", '{"path":"a.py"}')), call(("echo", '{"words":"hello"}')), say("Done.")]
    tools = [tools_of("files")["read_file"], EchoTool()]

    def memory(recorder: Recorder) -> Middleware:
        return WorkingMemory(lambda: recorder.state)

    async with running(tmp_path, script, tools, middlewares=[memory]) as bench:
        bench.submit(SetContextMode(mode=mode))
        bench.submit(SubmitPrompt(text="Look at a.py"))
        await bench.until("turn.finished")
        behind = [request.messages[-1] for request in bench.model.requests]
        shown = [isinstance(last, UserMessage) and last.origin == "transient" for last in behind]
        assert shown == [mode == "memory"] * 3
        told = "find (a.py)" in str(behind[-1])
        assert told == (mode == "memory")
        noted = bench.of(MemoryUpdated)
        names = [sorted([*event.blocks, *event.appended]) for event in noted]
        assert names == ([] if mode == "none" else [["task"], ["explored_files", "relevant_symbols"]])
        state = bench.recorder.state
        assert state.memory.get("explored_files") == (None if mode == "none" else ["a.py"])
        packed = bench.of(ContextPacked)
        sections = {section.name for section in packed[-1].sections}
        assert ("working_memory" in sections) == (mode == "memory")
        assert packed[-1].mode == mode
        assert len({one.prefix_digest for one in packed}) == 1


@pytest.mark.parametrize("mode", ["none", "pack"])
async def test_files_that_the_user_mentions_count_as_read(tmp_path: Path, mode: ContextMode) -> None:
    (tmp_path / "workspace").mkdir()
    for name in "ab":
        (tmp_path / "workspace" / f"{name}.py").write_text("X = 1\n")
    async with running(tmp_path, [say("Done.")], []) as bench:
        bench.submit(SetContextMode(mode=mode))
        bench.submit(SubmitPrompt(text="Look at @a.py, @no.py and @b.py"))
        await bench.until("turn.finished")
        assert bench.recorder.state.memory.get("explored_files") == (
            None if mode == "none" else ["a.py", "b.py"]
        )


async def test_nothing_that_calls_at_once_found_is_lost(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    names = [f"m{number}.py" for number in range(6)]
    for name in names:
        (tmp_path / "workspace" / name).write_text(f"def in_{name[:-3]}():\n    pass\n")
    both = Together(len(names))
    script = [call(*(("read_file", json.dumps({"path": name})) for name in names)), say("Done.")]

    def memory(recorder: Recorder) -> Middleware:
        return WorkingMemory(lambda: recorder.state)

    middlewares: list[Middleware | Callable[[Recorder], Middleware]] = [
        memory,
        both,
    ]  # the memory is told of each once all have their result
    async with running(tmp_path, script, [tools_of("files")["read_file"]], middlewares=middlewares) as bench:
        bench.submit(SubmitPrompt(text="Look at all of them"))
        await bench.until("turn.finished")
        held = bench.recorder.state.memory
    assert sorted(map(str, held["explored_files"])) == names  # type: ignore[arg-type]
    assert sorted(map(str, held["relevant_symbols"])) == [f"in_m{n} (m{n}.py)" for n in range(6)]  # type: ignore[arg-type]


async def test_a_secret_is_covered_before_a_line_is_cut(tmp_path: Path) -> None:
    """Cut in its midst it would be no secret's form any more, and stand in the log and before the model."""
    (tmp_path / "workspace").mkdir()
    key = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    command = f"false {'x' * 176} {key}; echo {'y' * 188} {key}; exit 3"
    script = [call(("run_command", json.dumps({"command": command}))), say("Done.")]

    def memory(recorder: Recorder) -> Middleware:
        return WorkingMemory(lambda: recorder.state, Redactor().redact_text)

    async with running(
        tmp_path, script, [tools_of("shell")["run_command"]], middlewares=[memory], policy_name="bypass"
    ) as bench:
        bench.submit(SubmitPrompt(text="Run it"))
        await bench.until("turn.finished")
        [open_one] = bench.recorder.state.memory["open_questions"]  # type: ignore[misc, union-attr]
    assert "ended with 3" in str(open_one)
    assert key[:8] not in str(open_one) and "[redacted" in str(open_one)


class Together(BaseMiddleware):
    """Gives no call its result before all have one."""

    name = "together"

    def __init__(self, many: int) -> None:
        self._missing = many
        self._all = anyio.Event()

    async def wrap_tool(self, call: ToolCallPart, call_next: ToolNext) -> ToolResult:
        result = await call_next(call)
        self._missing -= 1
        if not self._missing:
            self._all.set()
        await self._all.wait()
        return result
