"""The working memory in a running session: recorded, folded, and shown to the model in one mode only."""

from pathlib import Path

import pytest

from tests.engine.harness import EchoTool, call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.engine.recorder import Recorder
from tui_agent.middleware.memory import WorkingMemory
from tui_agent.ports.middleware import Middleware
from tui_agent.protocol.commands import SetContextMode, SubmitPrompt
from tui_agent.protocol.events.context import ContextPacked, MemoryUpdated
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.settings import ContextMode


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
        shown = [isinstance(last, UserMessage) and last.kind == "passing" for last in behind]
        assert shown == [mode == "memory"] * 3
        told = "find (a.py)" in str(behind[-1])
        assert told == (mode == "memory")
        noted = [event.blocks for event in bench.of(MemoryUpdated) if isinstance(event, MemoryUpdated)]
        names = [sorted(blocks) for blocks in noted]
        assert names == ([] if mode == "none" else [["task"], ["explored_files", "relevant_symbols"]])
        state = bench.recorder.state
        assert state.memory.get("explored_files") == (None if mode == "none" else ["a.py"])
        packed = [event for event in bench.of(ContextPacked) if isinstance(event, ContextPacked)]
        sections = {section.name for section in packed[-1].sections}
        assert ("working_memory" in sections) == (mode == "memory")
        assert packed[-1].mode == mode
        assert len({one.prefix_digest for one in packed}) == 1
