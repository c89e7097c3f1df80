"""What a call had printed when it was stopped reaches the model with its result."""

from pathlib import Path

import anyio

from tests.engine.harness import Bench, EchoTool, Words, call, running, say
from tests.stubs.legal_history import check_pairs
from tui_agent.engine.tools.live_output import HEAD_CHARS, NOT_RECORDED, TAIL_CHARS, LiveOutputs
from tui_agent.ports.tool import ToolContext, ToolResult
from tui_agent.protocol.base import CallId, text_preview
from tui_agent.protocol.commands import Interrupt, SubmitPrompt
from tui_agent.protocol.events.tool import ToolFinished, ToolProgress
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.messages import ToolMessage
from tui_agent.protocol.parts import TextContent


class Chatty(EchoTool):
    """Prints a line and never ends."""

    def __init__(self, timeout: float | None = None) -> None:
        super().__init__("chatty", writes=True, timeout=timeout)
        self.printed = anyio.Event()

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        ctx.progress("\x1b[32m3 of 7\x1b[0m tests passed\n")
        self.printed.set()
        await anyio.sleep_forever()
        raise AssertionError


def _results(bench: Bench) -> list[str]:
    finished = bench.of(ToolFinished)
    return [
        text_preview(piece.text)
        for event in finished
        for piece in event.content
        if isinstance(piece, TextContent)
    ]


async def test_an_interrupted_turn_tells_the_model_what_its_command_had_printed(tmp_path: Path) -> None:
    tool = Chatty()
    async with running(tmp_path, [call(("chatty", "{}")), say("I see three.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="test it"))
        await tool.printed.wait()
        bench.submit(Interrupt())
        await bench.until("turn.finished")
        bench.submit(SubmitPrompt(text="how far did it get?"))
        await bench.until("turn.finished", 2)
        told = [m for m in bench.model.requests[1].messages if isinstance(m, ToolMessage)]
        assert check_pairs(bench.recorder.messages()) == []
    (result,) = _results(bench)
    assert result == "This call was stopped before it finished. Its recorded output:\n3 of 7 tests passed"
    assert "3 of 7 tests passed" in str(told[0].content)


async def test_a_stopped_call_of_a_turn_that_goes_on_keeps_its_output(tmp_path: Path) -> None:
    tool = Chatty()
    async with running(tmp_path, [call(("chatty", "{}")), say("Fine.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="test it"))
        await tool.printed.wait()
        (open_call,) = bench.recorder.state.open_calls
        bench.submit(Interrupt(scope="call", call_id=open_call.call_id))
        await bench.until("turn.finished")
    assert _results(bench) == ["The user stopped this call. Its recorded output:\n3 of 7 tests passed"]


async def test_a_call_that_ran_out_of_time_keeps_its_output(tmp_path: Path) -> None:
    async with running(tmp_path, [call(("chatty", "{}")), say("Fine.")], [Chatty(timeout=1.5)]) as bench:
        bench.submit(SubmitPrompt(text="test it"))
        await bench.until("turn.finished")
    (result,) = _results(bench)
    assert result.startswith("Stopped after 1.5 s") and result.endswith(
        "Its recorded output:\n3 of 7 tests passed"
    )


async def test_a_call_that_was_lost_in_a_crash_keeps_what_the_log_has_of_its_output(tmp_path: Path) -> None:
    tool = Chatty()
    async with running(tmp_path, [call(("chatty", "{}"))], [tool]) as bench:
        bench.submit(SubmitPrompt(text="test it"))
        await bench.until("tool.progress")
    log = tmp_path / "sessions" / "ses_test" / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if b'"tool.progress"' in line)
    log.write_bytes(b"".join(lines[: last + 1]))
    async with running(tmp_path, [], serve=False) as bench:
        (result,) = _results(bench)
    assert result.startswith("tui-agent exited while this call ran.") and "3 of 7 tests passed" in result


def test_what_is_kept_of_a_long_output_is_its_beginning_and_its_end() -> None:
    printed, call_id = LiveOutputs(), CallId("c1")
    for number in range(20_000):
        printed.add(call_id, f"line {number}\n")
    kept = printed.pop(call_id)
    assert kept.startswith("line 0\n") and kept.endswith("line 19999")
    assert "characters left out" in kept and len(kept) < HEAD_CHARS + TAIL_CHARS + 100
    assert printed.pop(call_id) == ""


async def test_only_the_first_two_megabytes_of_a_calls_output_are_recorded_and_a_note_says_so(
    tmp_path: Path,
) -> None:
    tool = EchoTool(before=lambda words: None)

    async def flood(args: Words, ctx: ToolContext) -> ToolResult:
        for _ in range(3_000):
            ctx.progress("x" * 1_000 + "\n")
        return ToolResult(ok=True, content=(TextContent(text="done"),))

    tool.run = flood  # type: ignore[method-assign]
    async with running(tmp_path, [call(("echo", "{}")), say("Good.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until_payload(TurnFinished)
    recorded = [event.text for event in bench.of(ToolProgress)]
    assert 1_900_000 < sum(map(len, recorded)) < 2_100_000
    assert recorded[-1] == NOT_RECORDED and recorded.count(NOT_RECORDED) == 1
