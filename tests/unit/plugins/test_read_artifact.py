"""read_artifact: reading on in what a session keeps whole."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.errors import ToolError
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.base import BlobText

LINES = [f"line {number} of the log" for number in range(1, 3_001)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("artifacts"))


def keep(bench: Bench, whole: str) -> Artifact:
    stored = bench.blobs.put_text(whole)
    assert isinstance(stored, BlobText)
    artifact = Artifact.from_blob("run_command", stored, lines=whole.count("\n"), preview_size=10)
    bench.state = replace(bench.state, artifacts={artifact.id: artifact})
    return artifact


async def test_lines_are_told_with_their_numbers_and_where_to_read_on(bench: Bench) -> None:
    kept = keep(bench, "\n".join(LINES) + "\n")
    result = await bench.run("read_artifact", artifact_id=kept.id, offset=2_000, lines=2)
    said = text(result).split("\n")
    assert said[:2] == ["2000\tline 2000 of the log", "2001\tline 2001 of the log"]
    assert said[2] == f"[lines 2000-2001 of 3000 of {kept.id}; read on with offset=2002]"


async def test_reading_on_comes_to_the_end_and_shows_every_line_once(bench: Bench) -> None:
    kept, offset, seen = keep(bench, "\n".join(LINES) + "\n"), 1, list[str]()
    while offset <= len(LINES):
        result = await bench.run("read_artifact", artifact_id=kept.id, offset=offset, lines=1_000)
        assert len(text(result)) <= 16_200
        seen += [line.partition("\t")[2] for line in text(result).split("\n")[:-1]]
        offset = int(str(result.data["last"])) + 1
    assert seen == LINES


async def test_a_pattern_shows_only_the_lines_that_hold_it(bench: Bench) -> None:
    kept = keep(bench, "\n".join(LINES) + "\n")
    result = await bench.run("read_artifact", artifact_id=kept.id, pattern="LINE 299")
    said = text(result)
    assert "2990\tline 2990" in said and " 299\tline 299 " in said and "line 298 " not in said
    assert f"[11 of 3,000 lines of {kept.id} contain 'LINE 299']" in said


async def test_one_line_without_an_end_is_read_in_rows(bench: Bench) -> None:
    kept = keep(bench, "x" * 1_000_000)
    result = await bench.run("read_artifact", artifact_id=kept.id, offset=500, lines=1)
    assert text(result).startswith("500\t" + "x" * 2_000) and "of 500 of" in text(result)


async def test_nothing_there_is_said(bench: Bench) -> None:
    kept = keep(bench, "\n".join(LINES) + "\n")
    beyond = await bench.run("read_artifact", artifact_id=kept.id, offset=9_999)
    assert not beyond.ok and "3,000 lines" in text(beyond)
    absent = await bench.run("read_artifact", artifact_id=kept.id, pattern="no such words")
    assert not absent.ok and "No line" in text(absent)


async def test_only_artifacts_of_the_session_are_read(bench: Bench) -> None:
    keep(bench, "\n".join(LINES))
    other = bench.blobs.put_bytes(b"of another session")
    for wanted in ("art_000000000000", other, f"art_{other[:12]}", "../../etc/passwd"):
        with pytest.raises(ToolError, match="no artifact"):
            await bench.run("read_artifact", artifact_id=wanted)


async def test_a_damaged_one_is_told(bench: Bench) -> None:
    kept = keep(bench, "\n".join(LINES))
    bench.blobs.kept.clear()
    with pytest.raises(ToolError, match="missing or damaged"):
        await bench.run("read_artifact", artifact_id=kept.id)


async def test_it_reads_nothing_outside_the_session(bench: Bench) -> None:
    (effect,) = bench.effects("read_artifact", artifact_id="art_1")
    assert effect.kind == "internal"
