"""Large results: a preview for the model, the whole in an artifact."""

import errno
import hashlib
from pathlib import Path
from typing import ClassVar

import pytest

from tests.engine.harness import EchoTool, Words, call, running, say
from tests.stubs.legal_history import check_pairs
from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.engine.tools.large_results import (
    MAX_READ_BYTES,
    MAX_RESULT_BYTES,
    MIN_RESULT_BYTES,
    offload_large_result,
    result_limit,
)
from tui_agent.ports.tool import ToolContext, ToolResult, ToolSpec
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.messages import ToolMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.stored_text import BlobText
from tui_agent.store.damage_report import verify_session
from tui_agent.store.file_ops import FileOps

LINES = "".join(f"{number:06d} a line of output\n" for number in range(40_000))
SECRET = "ghp_" + "a1B2" * 9


class Loud(EchoTool):
    """Gives a long text back; `hidden` keeps the most of it beside what is told."""

    spec: ClassVar[ToolSpec]  # type: ignore[misc]

    def __init__(self, said: str, *, hidden: bool = False) -> None:
        super().__init__("loud")
        self.said, self.hidden = said, hidden

    async def run(self, args: Words, ctx: ToolContext) -> ToolResult:
        if self.hidden:
            told = (TextContent(text=self.said[:100]),)
            return ToolResult(ok=True, content=told, full_output=ctx.blobs.put_text(self.said))
        return ToolResult(ok=True, content=(TextContent(text=self.said),))


class NoBlobs(FileOps):
    """The real files, without room for a text of its own."""

    def open(self, path: Path, flags: int) -> int:
        if "blobs" in path.parts:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().open(path, flags)


def told(request: object) -> str:
    results = [one for one in request.messages if isinstance(one, ToolMessage)]  # type: ignore[attr-defined]
    return "\n".join(str(piece.text) for piece in results[-1].content if isinstance(piece, TextContent))


async def finished(tmp_path: Path, tool: EchoTool) -> tuple[ToolFinished, str]:
    async with running(tmp_path, [call(("loud", "{}")), say("done")], [tool]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (end,) = bench.of(ToolFinished)
        return end, told(bench.model.requests[1])


@pytest.mark.parametrize("hidden", [False, True])
async def test_a_megabyte_is_told_as_head_and_tail_and_kept_whole(tmp_path: Path, hidden: bool) -> None:
    end, said = await finished(tmp_path, Loud(LINES, hidden=hidden))
    artifact = end.artifact
    assert artifact is not None and artifact.size == len(LINES) and artifact.lines == 40_000
    file = tmp_path / "sessions/ses_test" / artifact.path
    assert hashlib.sha256(file.read_bytes()).hexdigest() == artifact.sha256
    assert file.read_text() == LINES
    assert len(said) < result_limit(10_000) + 400 and "000000 a line" in said
    assert artifact.id in said and artifact.sha256 not in said and "read_file or grep artifact:" in said
    assert artifact.preview_size <= len(said.encode())
    assert isinstance(end.full_output, BlobText) and end.full_output.blob_sha256 == artifact.sha256


async def test_the_summary_of_a_shortened_result_says_what_the_model_does_not_get(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir(exist_ok=True)
    (tmp_path / "workspace" / "a.txt").write_text(
        "x" * 60 + "\n" + "\n".join(str(number) for number in range(6_000))
    )
    answers = [call(("read_file", '{"path":"a.txt","limit":1500}')), call(("loud", "{}")), say("done")]
    async with running(tmp_path, answers, [Loud(LINES), tools_of("files")["read_file"]]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        read, loud = bench.of(ToolFinished)
        left_out = 1_500 - told(bench.model.requests[1]).count("\t")
        assert 100 < left_out < 1_400 and read.summary == f"1,500 lines, {left_out:,} left out"
        left_out = 40_000 - told(bench.model.requests[2]).count("a line of output")
        assert loud.summary == f"{left_out:,} lines left out"


async def test_what_fits_is_told_whole_and_has_no_artifact(tmp_path: Path) -> None:
    end, said = await finished(tmp_path, Loud("short\n" * 100))
    assert end.artifact is None and said == "short\n" * 100


async def test_an_artifact_that_a_tool_names_is_recorded_even_if_little_is_left_out(tmp_path: Path) -> None:
    bench = Bench(tmp_path, tools_of("shell"))
    result = await bench.run("run_command", command=f"yes {'x' * 99} | head -n 162")
    recorded = await offload_large_result(result, "run_command", 0, bench.blobs)
    assert recorded.artifact is not None and text(result).count(recorded.artifact.id) == 1
    assert recorded.content == result.content


async def test_a_secret_at_the_cut_is_in_no_piece(tmp_path: Path) -> None:
    limit = result_limit(10_000)
    head = round(limit * 2 / 3 * 0.6)
    for at in range(head - 60, head + 10, 7):
        folder = tmp_path / str(at)
        folder.mkdir()
        text = "x " * (at // 2) + SECRET + " y" * 20_000
        _, said = await finished(folder, Loud(text))
        assert "a1B2a1B2" not in said
        log = (folder / "sessions/ses_test/events.jsonl").read_text()
        blobs = [one.read_text() for one in (folder / "sessions/ses_test/blobs").iterdir()]
        assert all("a1B2a1B2" not in one for one in (log, *blobs))


async def test_the_model_reads_on_in_it_and_a_damaged_one_is_told(tmp_path: Path) -> None:
    digest = hashlib.sha256(LINES.encode()).hexdigest()
    ask = f'{{"path":"artifact:{digest[:12]}","offset":30001,"limit":1}}'
    tools = [Loud(LINES), tools_of("files")["read_file"]]
    blob = tmp_path / "sessions/ses_test/blobs" / digest

    async def damage() -> None:
        blob.write_text("something else")

    answers = [
        call(("loud", "{}")),
        call(("read_file", ask)),
        [damage, *call(("read_file", ask))],
        say("done"),
    ]
    async with running(tmp_path, answers, tools) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert "30001\t030000 a line of output" in told(bench.model.requests[2])
        assert "is missing or damaged" in told(bench.model.requests[3])
        assert not check_pairs(bench.recorder.messages())
        assert bench.recorder.state.last_turn_end == "finished"
    assert any(digest[:12] in problem for problem in verify_session(tmp_path / "sessions/ses_test"))


async def test_without_room_on_the_disk_the_call_ends_with_what_fits(tmp_path: Path) -> None:
    async with running(tmp_path, [call(("loud", "{}")), say("done")], [Loud(LINES)], ops=NoBlobs()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        (end,) = bench.of(ToolFinished)
        assert end.artifact is None
        (error,) = bench.of(ErrorRaised)
        assert error.where == "artifact of loud"


def test_the_limit_follows_the_window_and_a_file_that_is_read_gets_more() -> None:
    assert (
        result_limit(0) == MAX_RESULT_BYTES
        and result_limit(200_000) == MAX_RESULT_BYTES
        and result_limit(10_000) == 5_000
    )
    assert result_limit(1_000) == MIN_RESULT_BYTES and result_limit(200_000, is_file=True) == MAX_READ_BYTES
