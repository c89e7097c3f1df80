"""File tools end, whatever they are pointed at: big, deep, many, endless. Counted, not timed."""

import gzip
import os
import subprocess
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.stubs.left_out import linux_only
from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.errors import EnvironmentFault, ToolError
from tui_agent.ports.environment import ExecResult, ExecSpec, FileContent, OutputSink
from tui_agent.workspace.local.containment import MAX_DEPTH
from tui_agent.workspace.local.environment import LocalEnvironment

GIGABYTE = 1_000_000_000
LINE = 10_000_000
DEEPEST = 2_100
"""Folders below each other, whose path is longer than the 4,096 characters that Linux takes."""


class Counting(LocalEnvironment):
    """Counts what is read, and has no ripgrep."""

    counts: Counter[str]

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        return ExecResult(None, "not_found", b"", 0, 0.0)

    async def read(self, path: str, max_bytes: int = 20_000_000) -> FileContent:
        content = await super().read(path, max_bytes)
        self.counts["bytes"] += len(content.data)
        self.counts["files"] += 1
        return content


class Bare(Counting):
    """The same with ripgrep where it is installed."""

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        return await LocalEnvironment.exec(self, spec, on_output)


@pytest.fixture(params=[Counting, Bare])
async def env(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Counting]:
    made: Counting = request.param(tmp_path)
    made.counts = Counter()
    yield made
    await made.aclose()


@pytest.fixture
def bench(env: Counting, tmp_path: Path) -> Bench:
    return Bench(tmp_path, {**tools_of("files"), **tools_of("search")}, inner=env)


async def refused(bench: Bench, name: str, **arguments: object) -> str:
    with pytest.raises((EnvironmentFault, ToolError)) as found:
        await bench.run(name, **arguments)
    return str(found.value)


async def test_a_file_of_a_gigabyte_is_refused_by_its_size(bench: Bench, env: Counting) -> None:
    with (bench.folder / "huge").open("wb") as file:
        file.truncate(GIGABYTE)
    assert "too large" in await refused(bench, "read_file", path="huge")
    assert "too large" in await refused(bench, "edit_file", path="huge", old_text="a", new_text="b")
    assert "too large" in await refused(bench, "write_file", path="huge", content="x", overwrite=True)
    assert "too large" in await refused(bench, "grep", pattern="a", path="huge")
    assert text(await bench.run("grep", pattern="a")) == "No match for a."
    assert text(await bench.run("glob", pattern="h*")) == "huge"
    assert env.counts["bytes"] == 0


@pytest.mark.slow
async def test_a_line_of_ten_megabytes_is_read_cut_searched_and_edited(bench: Bench) -> None:
    bench.write("long", b"x" * LINE + b"\nhit\n")
    shown = text(await bench.run("read_file", path="long"))
    assert len(shown) < 3_000 and shown.endswith("[1 long line cut at 2000 characters]")
    assert text(await bench.run("grep", pattern="hit", path="long")) == "long\n2:hit"
    assert len(text(await bench.run("grep", pattern="x", path="long"))) < 1_000
    await bench.run("edit_file", path="long", old_text="hit", new_text="hat")
    assert bench.bytes("long") == b"x" * LINE + b"\nhat\n"


async def test_what_never_ends_is_never_read(bench: Bench, env: Counting) -> None:
    os.mkfifo(bench.folder / "pipe")
    for name, target in (("zero", "/dev/zero"), ("random", "/dev/urandom"), ("kmsg", "/proc/kmsg")):
        (bench.folder / name).symlink_to(target)
    for path in ("pipe", "zero", "random", "kmsg", "/dev/zero", "/dev/tty"):
        await refused(bench, "read_file", path=path)
        await refused(bench, "edit_file", path=path, old_text="a", new_text="b")
        await refused(bench, "write_file", path=path, content="x", overwrite=True)
        await refused(bench, "grep", pattern="a", path=path)
        await refused(bench, "list_directory", path=path)
    assert text(await bench.run("grep", pattern="a")) == "No match for a."
    assert text(await bench.run("glob", pattern="**")) == "kmsg\nrandom\nzero"
    assert env.counts["files"] == 0


async def test_packed_content_is_not_unpacked(bench: Bench, env: Counting) -> None:
    packed = gzip.compress(b"\0" * 20_000_000)
    bench.write("bomb.gz", packed)
    assert "gzip data" in await refused(bench, "read_file", path="bomb.gz")
    assert text(await bench.run("grep", pattern="a")) == "No match for a."
    assert env.counts["bytes"] <= 2 * len(packed)


@linux_only("it takes a file of /proc")
async def test_a_file_that_is_longer_than_it_says_is_refused_once_it_is() -> None:
    env = LocalEnvironment(Path("/proc/self"))
    assert (await env.read("status", 100_000)).data
    with pytest.raises(EnvironmentFault, match="more than 100 B"):
        await env.read("status", 100)
    await env.aclose()


@pytest.mark.slow
async def test_many_entries_are_cut_with_a_note(bench: Bench) -> None:
    (bench.folder / "many").mkdir()
    for number in range(5_000):
        (bench.folder / "many" / f"f{number:04}").touch()
    listed = text(await bench.run("list_directory", path="many"))
    assert listed.count("\n") == 500 and "4,500 more entries" in listed
    found = text(await bench.run("glob", pattern="f*"))
    assert found.count("\n") == 300 and "4,700 more" in found


@pytest.fixture
def deep(tmp_path: Path) -> Iterator[Path]:
    """`DEEPEST` folders below each other, with a file in some of them."""
    at = os.open(tmp_path, os.O_RDONLY)
    for number in range(1, DEEPEST + 1):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
        if number in (5, MAX_DEPTH - 1, MAX_DEPTH + 1, DEEPEST):
            os.close(os.open("leaf", os.O_CREAT | os.O_WRONLY, dir_fd=at))
    os.close(at)
    yield tmp_path
    subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)


@pytest.mark.slow
async def test_what_lies_too_deep_is_left_out_and_refused(bench: Bench, deep: Path) -> None:
    found = text(await bench.run("glob", pattern="leaf")).split("\n")
    assert sorted(path.count("/") for path in found) == [5, MAX_DEPTH - 1]
    found = text(await bench.run("grep", pattern="x"))
    assert found.removesuffix("\n[1 path could not be read: …]") == "No match for x."
    for depth in (MAX_DEPTH + 1, DEEPEST):
        path = "d/" * depth + "leaf"
        assert "folders" in await refused(bench, "read_file", path=path)
        await refused(bench, "write_file", path=path, content="x", overwrite=True)
        await refused(bench, "write_file", path="e/" * depth + "leaf", content="x")
        await refused(bench, "list_directory", path="d/" * depth)
    assert not (deep / "e").exists()


@pytest.mark.parametrize(
    "path",
    ["../" * 3000 + "etc/passwd", "x" * 5000, "x/../" * 3000 + "../../etc/passwd", "x/../" * 3000 + "plain"],
)
async def test_a_path_that_is_longer_than_any_is_not_looked_up(
    bench: Bench, env: Counting, path: str
) -> None:
    bench.write("plain", "x")
    assert env.resolve(path).startswith("/")
    for name, more in (("read_file", {}), ("edit_file", {"old_text": "x", "new_text": "y"})):
        await refused(bench, name, path=path, **more)
