import os
import shutil
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tests.stubs.tool_context import Bench, module_of, text, tools_of
from tui_agent.errors import EnvironmentFault, ToolError
from tui_agent.ports.environment import ExecResult, ExecSpec, OutputSink
from tui_agent.protocol.effects import ReadEffect
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.granted_paths import grant_paths

ENGINES = ["own", *(["ripgrep"] if shutil.which("rg") else [])]


class Answering(LocalEnvironment):
    """A real workspace in which every program gives the same answer."""

    def __init__(self, root: Path, result: ExecResult) -> None:
        super().__init__(root)
        self.result = result
        self.specs: list[ExecSpec] = []

    async def exec(self, spec: ExecSpec, on_output: OutputSink) -> ExecResult:
        self.specs.append(spec)
        return self.result


ABSENT = ExecResult(None, "not_found", b"", 0, 0.0)


@pytest.fixture(params=ENGINES)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    inner = Answering(tmp_path, ABSENT) if request.param == "own" else LocalEnvironment(tmp_path)
    return Bench(tmp_path, tools_of("search"), inner=inner)


async def grep(bench: Bench, pattern: str, **more: object) -> str:
    return text(await bench.run("grep", pattern=pattern, **more))


async def test_hits_come_by_file_with_their_line_numbers(bench):
    bench.write("b/z.py", "x = 1\nprint(x)\n")
    bench.write("a.py", "nothing\nx\r\n")
    result = await bench.run("grep", pattern=r"\bx\b")
    assert text(result) == "a.py\n2:x\n\nb/z.py\n1:x = 1\n2:print(x)"
    assert (result.summary, result.data["hits"], result.data["files"]) == ("3 hits", 3, 2)
    assert (await bench.run("grep", pattern="nothing")).summary == "1 hit"


async def test_lines_around_a_hit_are_marked(bench):
    bench.write("a", "".join(f"{n}\n" for n in range(1, 13)))
    assert await grep(bench, "^(2|4|11)$", context=1) == "a\n1-1\n2:2\n3-3\n4:4\n5-5\n--\n10-10\n11:11\n12-12"


async def test_case_counts_unless_it_is_ignored(bench):
    bench.write("a", "Word\nÄRGER\n")
    assert await grep(bench, "word") == "No match for word."
    assert await grep(bench, "word|ärger", ignore_case=True) == "a\n1:Word\n2:ÄRGER"


async def test_a_search_may_be_narrowed_by_path_and_glob(bench):
    for path in ("a.py", "src/b.py", "src/c.ts", "src/deep/d.py", "odd [x]/e.py"):
        bench.write(path, "hit\n")
    assert (
        await grep(bench, "hit", path="src") == "src/b.py\n1:hit\n\nsrc/c.ts\n1:hit\n\nsrc/deep/d.py\n1:hit"
    )
    assert await grep(bench, "hit", glob="*.ts") == "src/c.ts\n1:hit"
    assert await grep(bench, "hit", glob="src/*.py") == "src/b.py\n1:hit"
    assert await grep(bench, "hit", glob="*.{ts,rs}") == "src/c.ts\n1:hit"
    assert await grep(bench, "hit", glob="!*.py") == "src/c.ts\n1:hit"
    assert await grep(bench, "hit", path="src/b.py") == "src/b.py\n1:hit"
    assert await grep(bench, "hit", path="odd [x]") == "odd [x]/e.py\n1:hit"


async def test_a_glob_outside_the_workspace_is_answered_with_the_path_to_use(bench):
    bench.write("src/b.py", "hit\n")
    root = bench.env.root
    with pytest.raises(ToolError) as caught:
        await grep(bench, "hit", glob="../../*.py")
    assert (
        str(caught.value)
        == "../../*.py is outside the workspace. To search another folder, set path to ../.. and glob to *.py."
    )
    assert await grep(bench, "hit", glob=f"{root}/src/*.py") == "src/b.py\n1:hit"
    assert await grep(bench, "hit", glob="./src/*.py") == "src/b.py\n1:hit"
    assert await grep(bench, "hit", glob=f"{root}/*.py") == "No match for hit."
    assert (
        await grep(bench, "hit", glob="/etc/ssl/*.py")
        == "No match for hit.\n[To search another folder, set path to /etc/ssl and glob to *.py.]"
    )


async def test_ignored_binary_and_secret_files_and_caches_are_left_out(bench):
    bench.write(".gitignore", "*.log\n")
    for path in (
        "a.log",
        ".git/config",
        "__pycache__/x",
        "node_modules/m/i.js",
        ".env",
        "key.pem",
        ".env.example",
    ):
        bench.write(path, "hit\n")
    bench.write("bin", b"hit\0\n")
    bench.write(".github/w.yml", "hit\n")
    assert await grep(bench, "hit") == ".env.example\n1:hit\n\n.github/w.yml\n1:hit"


async def test_links_and_pipes_are_not_followed(bench, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("hit\n")
    (bench.folder / "link").symlink_to(outside)
    (bench.folder / "file").symlink_to(outside / "secret")
    os.mkfifo(bench.folder / "pipe")
    (bench.folder / "loop").symlink_to(".")
    assert await grep(bench, "hit") == "No match for hit."
    for path in ("link", "file", "..", "/etc", "link/secret"):
        with pytest.raises((ToolError, EnvironmentFault), match="outside"):
            await grep(bench, "hit", path=path)
    with pytest.raises(ToolError, match="File or folder not found"):
        await grep(bench, "hit", path="missing")


@pytest.mark.parametrize(
    ("path", "hint"),
    [("app/models.py", "Did you mean src/app/models.py?"), ("src/apps", "Did you mean src/app?"), ("no", "")],
)
async def test_a_missing_path_is_told_with_the_paths_that_end_like_it(bench, path, hint):
    bench.write("src/app/models.py", "hit\n")
    with pytest.raises(ToolError) as fault:
        await grep(bench, "hit", path=path)
    assert fault.value.hint == hint


async def test_what_is_shown_is_bounded(bench):
    bench.write("a", "".join(f"hit {n}\n" for n in range(1000)))
    bench.write("b", "hit" + "x" * 5000 + "\n")
    result = await bench.run("grep", pattern="hit", max_results=5)
    assert text(result) == (
        "a\n1:hit 0\n2:hit 1\n3:hit 2\n4:hit 3\n5:hit 4\n"
        "[more hits than shown; narrow the search by path, glob or pattern]"
    )
    assert result.summary == "5+ hits"
    assert await grep(bench, "hit", path="b") == f"b\n1:hit{'x' * 297}… (+4703 characters)"


@pytest.mark.parametrize("pattern", ["-e", "--files", "-x y", "\\$x", "a.b", "ä"])
async def test_a_pattern_is_never_an_option(bench, pattern):
    bench.write("f", "-e --files -x y $x a.b ä\n")
    assert await grep(bench, pattern) == "f\n1:-e --files -x y $x a.b ä"


async def test_lookaround_works_and_a_broken_pattern_is_told(bench):
    bench.write("f", "foobar\nfoobaz\n")
    assert await grep(bench, "foo(?!bar)") == "f\n2:foobaz"
    for broken in ("(", "[a", "*a", "a{2,1}"):
        with pytest.raises(ToolError, match="not a valid regular expression"):
            await grep(bench, broken)
    with pytest.raises(ToolError, match="empty"):
        await grep(bench, "")


async def test_other_encodings_are_searched(bench):
    bench.write("w", "grüße\n".encode("utf-16"))
    bench.write("l", b"gr\xfc\xdfe hit\n")
    assert await grep(bench, "grüße") == "w\n1:grüße"
    assert await grep(bench, "hit") == "l\n1:gr\ufffd\ufffde hit"


# --- the own search --------------------------------------------------------------------------------------------------


async def test_a_pattern_that_never_ends_is_stopped(tmp_path):
    env = Answering(tmp_path, ABSENT)
    (tmp_path / "f").write_text("a" * 60 + "\n")
    query = module_of("search", "text_search").Query("(a|a)*b", "", False, "", False, 10)
    found = await module_of("search", "python_search").search(query, env, lambda path: True, seconds=0.5)
    assert found.incomplete and "the pattern takes too long" in found.notes[0]


async def test_closing_the_search_process_ends_it_whatever_it_does():
    worker = module_of("search", "python_search")
    busy = worker.Worker("(a|a)*b", False, 10)
    assert busy.scan(["b\n"]) == [[1]]
    pid = busy._process.pid
    results: list[object] = []

    def scan() -> None:
        try:
            results.append(busy.scan(["a" * 60]))
        except worker.WorkerEnded as ended:
            results.append(ended)

    async with anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, scan)
        await anyio.lowlevel.checkpoint()
        busy.close()
    assert isinstance(results[0], worker.WorkerEnded)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_search_over_many_files_stops_when_there_is_enough(tmp_path):
    for number in range(300):
        (tmp_path / f"f{number:03}").write_text("hit\n" * 10)
    query, python_search = module_of("search", "text_search"), module_of("search", "python_search")
    found = await python_search.search(
        query.Query("hit", "", False, "", False, 20), Answering(tmp_path, ABSENT), lambda path: True
    )
    assert found.incomplete and len(found.lines) < 100


# --- ripgrep ---------------------------------------------------------------------------------------------------------


async def test_places_that_ripgrep_names_are_read_through_the_environment(tmp_path):
    (tmp_path / "a b:1.txt").write_text("one\ntwo\n")
    (tmp_path / "link").symlink_to("/etc/passwd")
    answer = b"./link\x001:root\n./a b:1.txt\x002:[Omitted long matching line]\n./gone\x001:x\n./a b:1.txt\x009:x\nnoise\n"
    env = Answering(tmp_path, ExecResult(0, "exited", answer, 0, 1.0))
    result = await Bench(tmp_path, tools_of("search"), inner=env).run("grep", pattern="two")
    assert text(result) == "a b:1.txt\n2:two"
    assert result.data["engine"] == "ripgrep"


@pytest.mark.parametrize(
    "result", [replace(ABSENT, outcome="exited", exit_code=2), replace(ABSENT, outcome="failed")]
)
async def test_where_ripgrep_cannot_the_own_search_does(tmp_path, result):
    (tmp_path / "a").write_text("two\n")
    found = await Bench(tmp_path, tools_of("search"), inner=Answering(tmp_path, result)).run(
        "grep", pattern="two"
    )
    assert (text(found), found.data["engine"]) == ("a\n1:two", "own")


async def test_files_that_ripgrep_cannot_read_are_named_beside_its_results(tmp_path):
    (tmp_path / "a").write_text("two\n")
    messages = b"./locked: Permission denied (os error 13)\nrg: ./b/c d: Input/output error (os error 5)\n"
    env = Answering(tmp_path, ExecResult(2, "exited", b"./a\x001:x\n", 0, 1.0, stderr=messages))
    bench = Bench(tmp_path, tools_of("search"), inner=env)
    found = await bench.run("grep", pattern="two")
    assert (text(found), found.data["engine"]) == (
        "a\n1:two\n[2 paths could not be read: b/c d, locked]",
        "ripgrep",
    )
    one_file = await bench.run("grep", pattern="two", path="a")
    assert one_file.data["engine"] == "own", "the environment tells why it cannot read one named file"


async def test_ripgrep_out_of_time_is_told(tmp_path):
    (tmp_path / "a").write_text("two\n")
    env = Answering(tmp_path, ExecResult(None, "timeout", b"./a\x001:x\n", 0, 1.0))
    found = await Bench(tmp_path, tools_of("search"), inner=env).run("grep", pattern="two")
    assert text(found) == "a\n1:two\n[stopped after 20 s: some files were not searched]"


async def test_the_query_is_no_option_of_ripgrep(tmp_path):
    env = Answering(tmp_path, ExecResult(1, "exited", b"", 0, 1.0))
    await Bench(tmp_path, tools_of("search"), inner=env).run("grep", pattern="--pre=evil", glob="*.py")
    argv = env.specs[0].argv
    assert argv[-4:] == ("-e", "--pre=evil", "--", "./")
    assert "--glob=*.py" in argv and "--no-config" in argv


def test_searching_declares_what_it_reads(tmp_path):
    bench = Bench(tmp_path, tools_of("search"))
    assert bench.effects("grep", pattern="x") == (ReadEffect(path=".", recursive=True),)
    assert bench.effects("grep", pattern="x", path="src") == (ReadEffect(path="src", recursive=True),)


async def test_what_is_no_regular_file_is_refused_at_once(bench, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(ToolError, match="not a regular file"):
        await bench.run("grep", pattern="x", path="fifo")


async def test_a_folder_outside_that_the_call_was_allowed_is_searched(bench, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a.py").write_text("hit\n")
    (outside / "b.txt").write_text("hit\n")
    (outside / ".env").write_text("hit\n")
    allowed = Bench(
        bench.folder,
        bench.tools,
        inner=grant_paths(bench.inner, (ReadEffect(path=str(outside), recursive=True),)),
    )
    assert await grep(allowed, "hit", path=str(outside)) == f"{outside}/a.py\n1:hit\n\n{outside}/b.txt\n1:hit"
    assert await grep(allowed, "hit", path=str(outside), glob="*.py") == f"{outside}/a.py\n1:hit"
    assert await grep(allowed, "hit", path=str(outside / "b.txt")) == f"{outside}/b.txt\n1:hit"
    with pytest.raises(EnvironmentFault, match="outside"):
        await grep(allowed, "hit", path=str(outside.parent))
