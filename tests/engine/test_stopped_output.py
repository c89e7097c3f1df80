"""What a call had printed when it was stopped reaches the model with its result."""

import re
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import Bench, EchoTool, Words, call, running, say
from tests.stubs.clock import FakeClock
from tests.stubs.legal_history import check_pairs
from tests.stubs.story import Story
from tui_agent.engine.tools import live_output
from tui_agent.engine.tools.large_results import StoppedOutput
from tui_agent.engine.tools.tool_runner import CallRunner
from tui_agent.folds.transcript.entries import ToolEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.ports.tool import ToolContext, ToolResult
from tui_agent.protocol.commands import Interrupt, SubmitPrompt
from tui_agent.protocol.display_blocks import TerminalBlock
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.ids import AgentId, CallId
from tui_agent.protocol.messages import ToolMessage
from tui_agent.protocol.parts import TextContent, ToolCallPart
from tui_agent.protocol.stored_text import BlobText, text_preview


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


async def _result_after_crash(folder: Path) -> str:
    """Return the result of the call if the engine was killed just after the call's last recorded output."""
    log = folder / "sessions" / "ses_test" / "events.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    last = max(at for at, line in enumerate(lines) if b'"tool.progress"' in line)
    log.write_bytes(b"".join(lines[: last + 1]))
    async with running(folder, [], serve=False) as bench:
        (result,) = _results(bench)
    return result


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
    assert result == "This call was stopped before it finished. Its output:\n3 of 7 tests passed"
    assert "3 of 7 tests passed" in str(told[0].content)


async def test_a_stopped_call_of_a_turn_that_goes_on_keeps_its_output(tmp_path: Path) -> None:
    tool = Chatty()
    async with running(tmp_path, [call(("chatty", "{}")), say("Fine.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="test it"))
        await tool.printed.wait()
        (open_call,) = bench.recorder.state.open_calls
        bench.submit(Interrupt(scope="call", call_id=open_call.call_id))
        await bench.until("turn.finished")
    assert _results(bench) == ["The user stopped this call. Its output:\n3 of 7 tests passed"]


async def test_a_call_that_ran_out_of_time_keeps_its_output(tmp_path: Path) -> None:
    async with running(tmp_path, [call(("chatty", "{}")), say("Fine.")], [Chatty(timeout=1.5)]) as bench:
        bench.submit(SubmitPrompt(text="test it"))
        await bench.until("turn.finished")
    (result,) = _results(bench)
    assert result.startswith("Stopped after 1.5 s")
    assert result.endswith("Its output:\n3 of 7 tests passed")


async def test_a_call_that_is_stopped_just_after_its_time_limit_keeps_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_output = CallRunner._store_output

    async def stop_first(
        runner: CallRunner, stopped_call: ToolCallPart, agent: AgentId, output: live_output.CollectedOutput
    ) -> StoppedOutput:
        assert runner.stop(stopped_call.call_id)
        return await store_output(runner, stopped_call, agent, output)

    monkeypatch.setattr(CallRunner, "_store_output", stop_first)
    async with running(tmp_path, [call(("chatty", "{}")), say("Fine.")], [Chatty(timeout=0.1)]) as bench:
        bench.submit(SubmitPrompt(text="test it"))
        await bench.until("turn.finished")
    (result,) = _results(bench)
    assert result.startswith("Stopped after 0.1 s")
    assert result.endswith("Its output:\n3 of 7 tests passed")


async def test_a_call_that_was_lost_in_a_crash_keeps_what_the_log_has_of_its_output(tmp_path: Path) -> None:
    tool = Chatty()
    async with running(tmp_path, [call(("chatty", "{}"))], [tool]) as bench:
        bench.submit(SubmitPrompt(text="test it"))
        await bench.until("tool.progress")
    result = await _result_after_crash(tmp_path)
    assert result.startswith("tui-agent exited while this call ran.") and "3 of 7 tests passed" in result


class Counter(Chatty):
    """Prints the lines 1 to 60,000 and never ends."""

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        lines = "".join(f"{number}\n" for number in range(1, 60_001))
        for start in range(0, len(lines), 4_096):
            ctx.progress(lines[start : start + 4_096])
        self.printed.set()
        await anyio.sleep_forever()
        raise AssertionError


async def _stop_counter(tmp_path: Path, stop: str) -> ToolFinished:
    """Return the end of a call that printed the lines 1 to 60,000 and was stopped."""
    tool = Counter()
    async with running(tmp_path, [call(("chatty", "{}")), say("Fine.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="count"))
        await tool.printed.wait()
        (open_call,) = bench.recorder.state.open_calls
        bench.submit(Interrupt() if stop == "turn" else Interrupt(scope="call", call_id=open_call.call_id))
        await bench.until("turn.finished")
        (end,) = bench.of(ToolFinished)
        return end


@pytest.mark.parametrize("stop", ["turn", "call"])
async def test_a_stopped_command_is_recorded_like_a_finished_one(tmp_path: Path, stop: str) -> None:
    end = await _stop_counter(tmp_path, stop)
    assert isinstance(end.full_output, BlobText)
    blob = tmp_path / "sessions" / "ses_test" / "blobs" / end.full_output.blob_sha256
    assert blob.read_text() == "".join(f"{number}\n" for number in range(1, 60_001))
    assert end.artifact is not None and end.artifact.lines == 60_000
    assert end.display == (TerminalBlock(text=end.full_output),)
    (content,) = end.content
    assert isinstance(content, TextContent)
    lines = text_preview(content.text).split("\n")
    assert len("\n".join(lines)) < 3_000
    assert lines[1] == "1" and lines[-1] == "60000"
    (note,) = [line for line in lines if "left out" in line]
    before, after = int(lines[lines.index(note) - 1]), int(lines[lines.index(note) + 1])
    assert note == f"[… {after - before - 1:,} lines left out: read_file or grep {end.artifact.id} …]"


async def test_a_crash_leaves_samples_of_a_long_output_and_the_model_is_told(tmp_path: Path) -> None:
    tool = Counter()
    async with running(tmp_path, [call(("chatty", "{}"))], [tool]) as bench:
        bench.submit(SubmitPrompt(text="count"))
        await tool.printed.wait()
        bench.submit(Interrupt())
        await bench.until("turn.finished")
    result = await _result_after_crash(tmp_path)
    head, *rest = result.split("\n")
    assert head.endswith("only the first 64,000 characters and samples of the rest were recorded:")
    assert len(result) < 3_000
    assert all(line.startswith("[…") or int(line) for line in rest)


def test_both_ends_of_a_very_long_output_are_collected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_output, "MAX_COLLECTED_CHARS", 2_000)
    output = live_output.CollectedOutput()
    for number in range(2_000):
        output.add(f"line {number}\n")
    text = output.text()
    assert text.startswith("line 0\n") and text.endswith("line 1999\n")
    assert "characters of output were not kept]" in text and len(text) < 2_100


def _sampler() -> tuple[live_output.OutputSampler, list[str]]:
    recorded: list[str] = []
    clock = FakeClock(tick=1.0)
    return live_output.OutputSampler(clock, lambda text, _skipped: recorded.append(text)), recorded


def test_the_samples_of_a_long_output_have_whole_lines_and_count_the_others() -> None:
    recorded: list[tuple[str, int]] = []
    sampler = live_output.OutputSampler(FakeClock(tick=0.2), lambda *piece: recorded.append(piece))
    lines = "".join(f"{number}\n" for number in range(1, 60_001))
    for start in range(0, len(lines), 4_096):
        sampler.add(lines[start : start + 4_096])
    sampler.finish()
    text = "".join(piece for piece, _ in recorded)
    assert len(text) < 250_000 and text.count("[… ") > 10
    number = 0
    for line in text.splitlines():
        if skipped := re.fullmatch(r"\[… ([0-9,]+) lines? …\]", line):
            number += int(skipped[1].replace(",", ""))
        else:
            number += 1
            assert int(line) == number
    assert text.count("\n") + sum(skipped for _, skipped in recorded) == number

    progress = [
        ToolProgress(call_id=CallId("c1"), text=piece, skipped_lines=count) for piece, count in recorded
    ]
    call = ToolCalled(call_id=CallId("c1"), name="run", arguments={}, iteration=1, verb="run", target="seq")
    chat, story = Transcript(), Story()
    for payload in (call, ToolStarted(call_id=CallId("c1"), writes=True), *progress):
        chat.apply(story(payload))
    (entry,) = chat.view().entries
    assert isinstance(entry, ToolEntry) and entry.output_lines == number


def test_of_one_endless_line_the_beginning_and_the_end_are_recorded() -> None:
    sampler, recorded = _sampler()
    sampler.add("head" + "x" * 70_000 + "end")
    sampler.finish()
    text = "".join(recorded)
    assert text.startswith("headxxxx") and len(text) > 60_000
    assert re.search(r"x\n\[… 5,807 characters …\]\nx{197}end\n\Z", text)


def test_the_newest_lines_of_a_flood_are_recorded_when_it_pauses() -> None:
    sampler, recorded = _sampler()
    for _ in range(20):
        sampler.add("0123456789\n" * 6_000)
    sampler.add("server ready\n")
    sampler.flush()
    assert "".join(recorded).endswith("\n0123456789\nserver ready\n")


def test_an_unfinished_line_is_recorded_if_nothing_follows() -> None:
    sampler, recorded = _sampler()
    sampler.add("0123456789\n" * 12_000 + "Continue? ")
    assert "Continue?" not in "".join(recorded)
    sampler.flush()
    assert "".join(recorded).endswith("\n0123456789\nContinue? ")


async def test_the_live_output_of_a_call_that_prints_megabytes_is_sampled(tmp_path: Path) -> None:
    tool = EchoTool(before=lambda words: None)

    async def flood(args: Words, ctx: ToolContext) -> ToolResult:
        for _ in range(3_000):
            ctx.progress("x" * 1_000 + "\n")
        return ToolResult(ok=True, content=(TextContent(text="done"),))

    tool.run = flood  # type: ignore[method-assign]
    async with running(tmp_path, [call(("echo", "{}")), say("Good.")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until_payload(TurnFinished)
    assert 60_000 < sum(len(event.text) for event in bench.of(ToolProgress)) < 200_000
