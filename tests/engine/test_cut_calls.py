"""An answer that reached its length limit: the call at which it was cut is not run, those before it are."""

from pathlib import Path

from tests.engine.harness import EchoTool, running, say
from tui_agent.ports.model import FinishChunk, TextChunk, ToolCallChunk
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.tool import ToolFinished


async def test_the_last_call_of_an_answer_cut_by_length_is_not_run_even_where_its_json_is_whole(
    tmp_path: Path,
) -> None:
    cut = [
        ToolCallChunk(0, "c1", "echo", '{"words": "whole"}'),
        ToolCallChunk(1, "c2", "echo", '{"words": "perhaps"}'),
        FinishChunk("length"),
    ]
    tool = EchoTool()
    async with running(tmp_path, [cut, say("Again.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        told = str(bench.model.requests[1].messages)
    assert tool.ran == ["whole"]
    assert [end.status for end in bench.of(ToolFinished)] == [
        "invalid",
        "ok",
    ]
    assert "reached its length limit at this call" in told


async def test_a_call_that_words_follow_was_complete_and_is_run(tmp_path: Path) -> None:
    cut = [
        ToolCallChunk(0, "c1", "echo", '{"words": "whole"}'),
        TextChunk("And now I"),
        FinishChunk("length"),
    ]
    tool = EchoTool()
    async with running(tmp_path, [cut, say("Done.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert tool.ran == ["whole"]
