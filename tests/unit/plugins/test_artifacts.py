"""read_file and grep on artifacts: reading and searching outputs of which the model saw only the ends."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.errors import ToolError
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.effects import InternalEffect
from tui_agent.protocol.stored_text import BlobText

LINES = [f"line {number} of the log" for number in range(1, 3_001)]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("files") | tools_of("search"))


def store_artifact(bench: Bench, text: str) -> Artifact:
    stored = bench.blobs.put_text(text)
    assert isinstance(stored, BlobText)
    artifact = Artifact.from_blob("run_command", stored, lines=text.count("\n"), preview_size=10)
    bench.state = replace(bench.state, artifacts={artifact.id: artifact})
    return artifact


async def test_lines_are_shown_with_their_numbers_and_where_to_read_on(bench: Bench) -> None:
    artifact = store_artifact(bench, "\n".join(LINES) + "\n")
    result = await bench.run("read_file", path=artifact.id, offset=2_000, limit=2)
    assert text(result) == (
        "2000\tline 2000 of the log\n2001\tline 2001 of the log\n"
        "[lines 2000-2001 of 3000; read on with offset=2002]"
    )
    assert result.data == {"artifact_id": artifact.id, "first": 2_000, "last": 2_001, "lines": 3_000}
    assert artifact.id.startswith("artifact:") and not bench.events, "no file was read"


async def test_reading_on_reaches_the_end_and_shows_every_line_once(bench: Bench) -> None:
    artifact, offset, seen = store_artifact(bench, "\n".join(LINES) + "\n"), 1, list[str]()
    while offset <= len(LINES):
        result = await bench.run("read_file", path=artifact.id, offset=offset)
        assert len(text(result)) <= 16_200
        last = int(str(result.data["last"]))
        seen += [line.partition("\t")[2] for line in text(result).split("\n")[: last - offset + 1]]
        offset = last + 1
    assert seen == LINES


async def test_grep_finds_lines_under_the_numbers_that_read_file_takes(bench: Bench) -> None:
    artifact = store_artifact(bench, "x" * 5_000 + "\n" + "\n".join(LINES) + "\n")
    result = await bench.run("grep", path=artifact.id, pattern=r"LINE 299\d", ignore_case=True, max_results=2)
    assert text(result) == (
        f"{artifact.id}\n2993:line 2990 of the log\n2994:line 2991 of the log\n"
        "[more hits than shown; narrow the search by path, glob or pattern]"
    )
    assert result.data["artifact_id"] == artifact.id
    line = await bench.run("read_file", path=artifact.id, offset=2_993, limit=1)
    assert text(line).startswith("2993\tline 2990 of the log\n")
    around = await bench.run("grep", path=artifact.id, pattern="line 7 of", context=1)
    assert text(around).split("\n")[1:] == [
        "9-line 6 of the log",
        "10:line 7 of the log",
        "11-line 8 of the log",
    ]
    assert text(await bench.run("grep", path=artifact.id, pattern="absent")) == "No match for absent."
    with pytest.raises(ToolError, match="not a valid regular expression"):
        await bench.run("grep", path=artifact.id, pattern="(")


async def test_one_very_long_line_is_read_in_rows(bench: Bench) -> None:
    artifact = store_artifact(bench, "x" * 1_000_000)
    result = await bench.run("read_file", path=artifact.id, offset=499, limit=1)
    assert text(result) == "499\t" + "x" * 2_000 + "\n[lines 499-499 of 500; read on with offset=500]"
    with pytest.raises(ToolError, match="has only 500 lines; offset 501 is past its end"):
        await bench.run("read_file", path=artifact.id, offset=501)


@pytest.mark.parametrize("tool", ["read_file", "grep"])
async def test_only_artifacts_of_the_session_are_read(bench: Bench, tool: str) -> None:
    own = store_artifact(bench, "\n".join(LINES))
    other = bench.blobs.put_bytes(b"of another session")
    arguments = {"pattern": "x"} if tool == "grep" else {}
    for wanted in ("artifact:000000000000", f"artifact:{other[:12]}", "artifact:../../etc/passwd"):
        with pytest.raises(ToolError, match=f"The session has no {wanted}") as refused:
            await bench.run(tool, path=wanted, **arguments)
        assert refused.value.hint == f"The newest are: {own.id} (run_command)."


@pytest.mark.parametrize("tool", ["read_file", "grep"])
async def test_a_damaged_artifact_is_reported(bench: Bench, tool: str) -> None:
    artifact = store_artifact(bench, "\n".join(LINES))
    bench.blobs.kept.clear()
    with pytest.raises(ToolError, match="missing or damaged"):
        await bench.run(tool, path=artifact.id, **({"pattern": "x"} if tool == "grep" else {}))


async def test_an_artifact_is_no_effect_outside_the_session_and_a_file_of_that_name_is(bench: Bench) -> None:
    assert bench.effects("read_file", path="artifact:1") == (InternalEffect(subject="artifacts"),)
    assert bench.effects("grep", path="artifact:1", pattern="x") == (InternalEffect(subject="artifacts"),)
    bench.write("artifact:1", "a file\n")
    assert text(await bench.run("read_file", path="./artifact:1")) == "1\ta file"
