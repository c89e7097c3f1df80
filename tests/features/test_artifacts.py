"""Large results: kept whole beside the log; where they cannot be kept, told, and the turn goes on."""

import errno
import hashlib
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.harness import Bench, call, running, say
from tui_agent.plugin_api import FrozenModel
from tui_agent.ports.environment import Environment
from tui_agent.ports.tool import Preview, ToolContext, ToolResult, ToolSpec
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.effects import Effect, InternalEffect
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import TurnFinished
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.stored_text import BlobText
from tui_agent.store.file_ops import FileOps

ROOT = Path(__file__).parents[2]
MEGABYTE = "0123456789abcde\n" * 65_536


class NoArguments(FrozenModel):
    """None."""


class Loud:
    """Prints a megabyte, keeps it, and gives a preview of 20 KB to the model."""

    spec = ToolSpec("loud", "Is loud.", NoArguments, "loud")

    def target(self, args: NoArguments) -> str:
        return ""

    def effects(self, args: NoArguments) -> tuple[Effect, ...]:
        return (InternalEffect(subject="noise"),)

    async def preview(self, args: NoArguments, env: Environment) -> Preview:
        return Preview(())

    async def run(self, args: NoArguments, ctx: ToolContext) -> ToolResult:
        content = (TextContent(text=MEGABYTE[:20_000]),)
        return ToolResult(ok=True, content=content, full_output=ctx.blobs.put_text(MEGABYTE))


class NoBlobs(FileOps):
    """The real files, but nothing can be made in the blobs' folder."""

    def open(self, path: Path, flags: int) -> int:
        if path.parent.name == "blobs":
            raise OSError(errno.EROFS, "Read-only file system")
        return super().open(path, flags)


async def _loud_turn(bench: Bench) -> ToolFinished:
    bench.submit(SubmitPrompt(text="go"))
    await bench.until("turn.finished")
    (end,) = bench.of(ToolFinished)
    return end


async def test_a_megabyte_is_stored_whole_with_its_size_and_hash_and_a_preview(tmp_path: Path) -> None:
    async with running(tmp_path, [call(("loud", "{}")), say("Heard.")], [Loud()]) as bench:
        kept = (await _loud_turn(bench)).full_output
    assert isinstance(kept, BlobText)
    stored = (tmp_path / "sessions" / "ses_test" / "blobs" / kept.blob_sha256).read_bytes()
    assert (hashlib.sha256(stored).hexdigest(), len(stored)) == (kept.blob_sha256, kept.size)
    assert stored.decode() == MEGABYTE and MEGABYTE.startswith(kept.preview) and len(kept.preview) <= 1024


async def test_a_result_that_cannot_be_stored_is_cut_and_told_and_the_turn_goes_on(tmp_path: Path) -> None:
    answers = [call(("loud", "{}")), say("Heard.")]
    async with running(tmp_path, answers, [Loud()], ops=NoBlobs()) as bench:
        end = await _loud_turn(bench)
        assert not bench.troubles
    (told,) = bench.of(ErrorRaised)
    assert told.where == "artifact of loud"
    assert "Read-only file system" in told.message
    shown = end.content[0]
    assert isinstance(shown, TextContent) and isinstance(shown.text, str)
    assert shown.text.startswith("0123456789abcde\n") and "could not be stored" in shown.text
    assert (end.status, end.environment) == ("ok", True)


async def test_an_answer_that_cannot_be_stored_ends_the_turn_with_the_reason(tmp_path: Path) -> None:
    answers = [say("x" * 10_000), say("Short.")]
    async with running(tmp_path, answers, ops=NoBlobs()) as bench:
        bench.submit(SubmitPrompt(text="go"))
        ended = await bench.until_payload(TurnFinished)
        bench.submit(SubmitPrompt(text="and now?"))
        again = (await bench.until("turn.finished", 2)).payload
    assert isinstance(again, TurnFinished)
    assert ended.reason == "error" and "Read-only file system" in ended.detail
    assert again.reason == "finished"


@pytest.mark.slow
def test_a_run_whose_log_cannot_be_written_ends_with_the_reason(tmp_path: Path) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))

    script = tmp_path / "script.yaml"
    script.write_text("answers: [{text: Hi.}]\n")
    ran = subprocess.run(
        [
            sys.executable,
            "-B",
            "-m",
            "tui_agent",
            "run",
            "go",
            "-m",
            f"scripted:{script}",
            "--data-dir",
            "data",
        ],
        preexec_fn=little_room,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        timeout=60,
        check=False,
    )
    assert ran.returncode == 1
    assert "could not be stored" in ran.stderr and ran.stderr.count("\n") == 1
