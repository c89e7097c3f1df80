"""The contract of ports.environment, the same for every environment."""

import hashlib
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from tests.stubs.memory_blobs import MemoryBlobs
from tests.stubs.sandboxed import confinement, require_sandbox
from tui_agent.environments.local import LocalEnvironment
from tui_agent.environments.opening import one_by_one
from tui_agent.environments.recording import RecordingEnvironment
from tui_agent.errors import EnvironmentFault, StaleFile
from tui_agent.ports.environment import Environment, ExecSpec

PYTHON = sys.executable


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture(params=["local", "local, folder by folder", "recording", "sandboxed"])
def env(request: pytest.FixtureRequest, tmp_path: Path) -> Environment:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    if request.param == "sandboxed":
        require_sandbox()
        confined = confinement(root, tmp_path, tmp_path / "records")
        return LocalEnvironment(root, environ=dict(os.environ), confinement=confined)
    way = one_by_one if "folder" in request.param else None
    local = LocalEnvironment(root, environ=dict(os.environ), open_folder=way)
    if "local" in request.param:
        return local
    return RecordingEnvironment(local, MemoryBlobs(), lambda payload: None, None)


@pytest.fixture
def root(env: Environment) -> Path:
    return Path(env.root)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


class Sink:
    """Collects output and lets a test wait for it."""

    def __init__(self) -> None:
        self.data = b""
        self.grown = anyio.Event()

    def __call__(self, data: bytes) -> None:
        self.data += data
        self.grown.set()

    async def until(self, wanted: Callable[[bytes], bool]) -> bytes:
        while not wanted(self.data):
            self.grown = anyio.Event()
            await self.grown.wait()
        return self.data


async def shell(env: Environment, script: str, **kwargs: object):
    sink = Sink()
    result = await env.exec(ExecSpec(script=script, **kwargs), sink)  # type: ignore[arg-type]
    return result, sink


# --- reading ---------------------------------------------------------------------------------------------------------


async def test_read_gives_the_bytes_their_digest_and_the_path_from_the_root(env, root):
    (root / "a").mkdir()
    (root / "a/b.txt").write_bytes(b"\xff\x00x")
    content = await env.read("./a/../a/b.txt")
    assert (content.path, content.data, content.digest) == ("a/b.txt", b"\xff\x00x", digest(b"\xff\x00x"))
    assert (await env.read(str(root / "a/b.txt"))).path == "a/b.txt"


@pytest.mark.parametrize("path", ["missing", "a/missing", "file/below", "", ".", "a", "nul\0", "x" * 300])
async def test_reading_what_is_no_file_is_refused_with_its_name(env, root, path):
    (root / "a").mkdir()
    (root / "file").touch()
    with pytest.raises(EnvironmentFault):
        await env.read(path)


async def test_a_pipe_a_socket_and_a_device_are_refused_without_waiting(env, root):
    os.mkfifo(root / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(root)
        listener.bind("socket")
    finally:
        os.fchdir(here)
        os.close(here)
    (root / "zero").symlink_to("/dev/zero")
    for path in ("pipe", "socket", "zero"):
        with pytest.raises(EnvironmentFault):
            await env.read(path)
        with pytest.raises(EnvironmentFault):
            await env.write(path, b"x", None)
    listener.close()


async def test_a_file_above_the_limit_is_refused_by_its_size(env, root):
    with (root / "big").open("wb") as file:
        file.truncate(5_000_000_000)
    with pytest.raises(EnvironmentFault, match="too big"):
        await env.read("big")
    (root / "small").write_bytes(b"12345")
    assert (await env.read("small", max_bytes=5)).data == b"12345"
    with pytest.raises(EnvironmentFault, match="too big"):
        await env.read("small", max_bytes=4)


OUTSIDE = [
    "../outside/secret.txt",
    "/etc/passwd",
    "a/../../outside/secret.txt",
    "link",
    "folder/secret.txt",
    "folder/../outside/secret.txt",
    "chain",
    "./././../outside/secret.txt",
    "//etc/passwd",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
]


@pytest.fixture
def tricks(root: Path) -> None:
    (root / "a").mkdir()
    (root / "link").symlink_to("../outside/secret.txt")
    (root / "folder").symlink_to(root.parent / "outside")
    (root / "chain").symlink_to("link")
    (root / "dangling").symlink_to("../outside/new.txt")
    (root / "loop").symlink_to("loop")


@pytest.mark.usefixtures("tricks")
@pytest.mark.parametrize(
    "path", [*OUTSIDE, "loop", "loop/x", "dangling", "folder/new.txt", "~/x/../../../../etc/x"]
)
async def test_nothing_outside_the_root_is_read_written_listed_or_removed(env, root, path):
    with pytest.raises(EnvironmentFault):
        await env.read(path)
    for expect in (None, digest(b"secret")):
        with pytest.raises(EnvironmentFault):
            await env.write(path, b"changed", expect)
    with pytest.raises(EnvironmentFault):
        await env.remove(path, digest(b"secret"))
    with pytest.raises(EnvironmentFault):
        await env.listdir(path)
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret"
    assert names(root.parent / "outside") == ["secret.txt"]


@pytest.mark.usefixtures("tricks")
@pytest.mark.parametrize("path", ["..", "/", "folder", "/tmp"])
async def test_no_program_is_started_in_a_folder_outside(env, path):
    with pytest.raises(EnvironmentFault, match="outside"):
        await env.exec(ExecSpec(argv=("true",), cwd=path), lambda data: None)


async def test_a_folder_that_is_swapped_with_a_link_never_leads_outside(env, root):
    (root / "real").mkdir()
    (root / "real/f").write_bytes(b"inside")
    (root / "outward").symlink_to("../outside")
    (root.parent / "outside/f").write_bytes(b"secret")
    done = anyio.Event()

    def swap() -> None:
        for _ in range(2000):
            (root / "real").rename(root / "d")
            (root / "d").rename(root / "real")
            (root / "outward").rename(root / "d")
            (root / "d").rename(root / "outward")

    async def swapping() -> None:
        await anyio.to_thread.run_sync(swap)
        done.set()

    async with anyio.create_task_group() as group:
        group.start_soon(swapping)
        while not done.is_set():
            try:
                content = await env.read("d/f")
                assert content.data == b"inside"
                await env.write("d/f", b"inside", content.digest)
            except EnvironmentFault:
                await anyio.lowlevel.checkpoint()
    assert (root.parent / "outside/f").read_bytes() == b"secret"
    assert names(root.parent / "outside") == ["f", "secret.txt"]


async def test_a_root_next_to_one_with_a_longer_name_does_not_reach_it(env, root):
    beside = root.parent / "root-other"
    beside.mkdir()
    (beside / "x").touch()
    with pytest.raises(EnvironmentFault, match="outside"):
        await env.read(str(beside / "x"))


async def test_a_link_that_stays_inside_is_followed_to_the_real_file(env, root):
    (root / "real.txt").write_text("old")
    (root / "alias").symlink_to("real.txt")
    content = await env.read("alias")
    assert content.path == "real.txt"
    assert (await env.write("alias", b"new", content.digest)).path == "real.txt"
    assert (root / "alias").is_symlink()
    assert (root / "real.txt").read_text() == "new"


# --- writing ---------------------------------------------------------------------------------------------------------


async def test_a_new_file_is_made_with_its_folders(env, root):
    written = await env.write("a/b/c.txt", b"x", None)
    assert (root / "a/b/c.txt").read_bytes() == b"x"
    assert written.digest == digest(b"x")
    assert written.mode == (root / "a/b/c.txt").stat().st_mode & 0o7777


async def test_a_new_file_does_not_replace_one_that_is_there(env, root):
    (root / "a").write_text("old")
    with pytest.raises(StaleFile, match="exists"):
        await env.write("a", b"new", None)
    assert (root / "a").read_text() == "old"


async def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode(env, root):
    (root / "run.sh").write_text("old")
    (root / "run.sh").chmod(0o750)
    before = (root / "run.sh").stat().st_ino
    await env.write("run.sh", b"new", digest(b"old"))
    after = (root / "run.sh").stat()
    assert (root / "run.sh").read_bytes() == b"new"
    assert after.st_mode & 0o7777 == 0o750
    assert after.st_ino != before


@pytest.mark.parametrize("change", ["edited", "gone"])
async def test_a_stale_base_is_refused(env, root, change):
    (root / "a").write_text("edited by someone")
    if change == "gone":
        (root / "a").unlink()
    with pytest.raises(StaleFile):
        await env.write("a", b"new", digest(b"old"))
    with pytest.raises(StaleFile):
        await env.remove("a", digest(b"old"))


async def test_a_failed_write_leaves_no_temporary_file(env, root):
    (root / "a").write_text("old")
    (root / "a").chmod(0o444)
    with pytest.raises(EnvironmentFault, match="write-protected"):
        await env.write("a", b"new", digest(b"old"))
    (root / "folder").mkdir()
    with pytest.raises(EnvironmentFault):
        await env.write("folder", b"new", None)
    with pytest.raises(EnvironmentFault):
        await env.write("a/below", b"new", None)
    assert names(root) == ["a", "folder"]


async def test_a_hard_link_to_a_file_outside_is_cut_not_written_through(env, root):
    outside = root.parent / "outside" / "secret.txt"
    os.link(outside, root / "hard")
    await env.write("hard", b"new", digest(b"secret"))
    assert outside.read_text() == "secret"


async def test_remove_takes_the_file_away_but_never_a_link(env, root):
    (root / "a").write_text("x")
    (root / "l").symlink_to("a")
    with pytest.raises(EnvironmentFault):
        await env.remove("l", digest(b"x"))
    await env.remove("a", digest(b"x"))
    assert names(root) == ["l"]


# --- looking ---------------------------------------------------------------------------------------------------------


async def test_stat_tells_what_is_there_without_following_links(env, root):
    (root / "f").write_bytes(b"123")
    (root / "l").symlink_to("/etc/passwd")
    os.mkfifo(root / "p")
    kinds = [(await env.stat(name)) for name in ("f", "l", "p", ".", "")]
    assert [found.kind for found in kinds] == ["file", "link", "other", "directory", "directory"]
    assert kinds[0].size == 3
    assert await env.stat("missing/below") is None
    assert await env.stat("f/below") is None
    with pytest.raises(EnvironmentFault):
        await env.stat("../outside")


async def test_listdir_is_sorted_and_relative_to_the_root(env, root):
    (root / "d").mkdir()
    for name in ("b", "a", "ä", "C"):
        (root / "d" / name).touch()
    assert [found.path for found in await env.listdir("d")] == ["d/C", "d/a", "d/b", "d/ä"]
    with pytest.raises(EnvironmentFault):
        await env.listdir("missing")


async def walked(env: Environment, path: str = "", *, ignored: bool = False) -> list[str]:
    return [found.path async for found in env.walk(path, ignored=ignored)]


def plant(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()


async def test_walk_respects_ignore_files_at_every_depth(env, root):
    plant(
        root,
        "a.py",
        "a.pyc",
        "src/b.py",
        "src/keep.pyc",
        "src/build/x",
        "build/y",
        "src/gen/z.txt",
        "docs/n.log",
    )
    (root / ".gitignore").write_text("*.pyc\n/build/\n*.log\n[\n")
    (root / "src/.gitignore").write_text("!keep.pyc\ngen/\n")
    assert await walked(env) == [
        ".gitignore",
        "a.py",
        "src/.gitignore",
        "src/b.py",
        "src/build/x",
        "src/keep.pyc",
    ]
    assert await walked(env, "src") == ["src/.gitignore", "src/b.py", "src/build/x", "src/keep.pyc"]
    assert "a.pyc" in await walked(env, ignored=True)


async def test_walk_leaves_out_the_repository_caches_and_installed_code(env, root):
    plant(
        root,
        ".git/config",
        "__pycache__/a.pyc",
        "node_modules/x/i.js",
        ".venv/bin/python",
        "a",
        ".github/w.yml",
    )
    assert await walked(env) == [".github/w.yml", "a"]
    assert await walked(env, ignored=True) == [
        ".github/w.yml",
        ".venv/bin/python",
        "a",
        "node_modules/x/i.js",
    ]


async def test_walk_lists_links_and_never_follows_them(env, root):
    plant(root, "a/b/c")
    (root / "a/b/up").symlink_to("../..")
    (root / "out").symlink_to(root.parent / "outside")
    os.mkfifo(root / "pipe")
    assert await walked(env) == ["a/b/c", "a/b/up", "out"]


async def test_walk_reads_the_rules_of_the_repository_above(tmp_path):
    plant(tmp_path, ".git/info/exclude", "pkg/a.tmp", "pkg/b.py", "pkg/c.own")
    (tmp_path / ".gitignore").write_text("*.tmp\n")
    (tmp_path / ".git/info/exclude").write_text("*.own\n")
    assert await walked(LocalEnvironment(tmp_path / "pkg")) == ["b.py"]


async def test_walk_into_an_ignored_folder_shows_what_is_there(tmp_path):
    plant(tmp_path, ".git/HEAD", "build/pkg/a.py", "build/pkg/b.tmp")
    (tmp_path / ".gitignore").write_text("build/\n")
    assert await walked(LocalEnvironment(tmp_path)) == [".gitignore"]
    assert await walked(LocalEnvironment(tmp_path), "build/pkg") == ["build/pkg/a.py", "build/pkg/b.tmp"]
    assert await walked(LocalEnvironment(tmp_path / "build")) == ["pkg/a.py", "pkg/b.tmp"]


async def test_walk_of_a_deep_tree_and_of_a_missing_folder(env, root):
    deep = "/".join(["d"] * 300)
    plant(root, deep + "/x")
    assert await walked(env) == [deep + "/x"]
    assert await walked(env, "missing") == []


async def test_resolve_tells_where_a_path_leads(env, root):
    (root / "l").symlink_to("/etc")
    assert env.resolve("l/passwd") == "/etc/passwd"
    assert env.resolve("new/file") == str(root / "new/file")


# --- programs --------------------------------------------------------------------------------------------------------


async def test_a_program_gets_its_words_as_they_are(env):
    sink = Sink()
    words = ("a b", "*", "$HOME", "; rm -rf /", "$(x)", "ä")
    code = "import sys; print(sys.argv[1:])"
    result = await env.exec(ExecSpec(argv=(PYTHON, "-c", code, *words)), sink)
    assert result.output.decode() == f"{list(words)}\n"
    assert (result.exit_code, result.ended, result.dropped) == (0, "exited", 0)
    assert sink.data == result.output


async def test_stdout_and_stderr_come_in_the_order_they_were_written(env):
    result, _ = await shell(env, "for i in 1 2 3 4 5; do echo out$i; echo err$i >&2; done")
    assert result.output.split() == [f"{s}{i}".encode() for i in range(1, 6) for s in ("out", "err")]


async def test_a_script_runs_under_bash_in_the_folder_that_was_named(env, root):
    (root / "sub").mkdir()
    result, _ = await shell(env, "[[ $PWD == */sub ]] && pwd | tr a-z A-Z; exit 7", cwd="sub")
    assert result.output.decode().strip() == str(root / "sub").upper()
    assert result.exit_code == 7


async def test_standard_input_is_empty_and_there_is_no_terminal(env):
    result, _ = await shell(env, "cat; tty; : < /dev/tty || echo none; echo end")
    assert result.output.decode().splitlines()[0] == "not a tty"
    assert result.output.decode().splitlines()[-2:] == ["none", "end"]


async def test_children_find_utf8_no_pager_and_no_forced_locale(tmp_path):
    environ = {"PATH": os.environ["PATH"], "FORCE_COLOR": "1", "API_KEY": "k", "HOME": "/h"}
    env = LocalEnvironment(tmp_path, environ=environ, hidden={"API_KEY"})
    result = await env.exec(ExecSpec(argv=("env",), env={"EXTRA": "1"}), lambda data: None)
    found = dict(line.split("=", 1) for line in result.output.decode().splitlines())
    assert {
        name: found.get(name) for name in ("PYTHONUTF8", "TERM", "PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT")
    } == {
        "PYTHONUTF8": "1",
        "TERM": "dumb",
        "PAGER": "cat",
        "GIT_PAGER": "cat",
        "GIT_TERMINAL_PROMPT": "0",
    }
    assert (found["EXTRA"], found["HOME"]) == ("1", "/h")
    assert not {"API_KEY", "FORCE_COLOR", "LC_ALL", "LANG", "NO_COLOR"} & set(found)


@pytest.mark.parametrize("name", ["python", "python3", "python3.11"])
async def test_a_bare_python_is_this_one_where_the_system_has_none(tmp_path, name):
    env = LocalEnvironment(tmp_path, environ={"PATH": "/nowhere"})
    code = "import sys; print(sys.version_info[:2], sys.prefix)"
    result = await env.exec(ExecSpec(argv=(name, "-c", code)), lambda data: None)
    assert result.output.decode().strip() == f"{sys.version_info[:2]} {sys.prefix}"


async def test_a_program_reads_what_it_is_given_and_then_the_end(env):
    given = b"\x00\xff" + b"0123456789" * 200_000
    result = await env.exec(ExecSpec(script="sha256sum; wc -c", stdin=given), Sink())
    assert result.output.split()[0].decode() == digest(given)
    assert result.output.split()[-1] == b"0"


async def test_a_program_that_reads_nothing_of_what_it_is_given_ends_as_well(env):
    result = await env.exec(ExecSpec(script="exit 3", stdin=b"x" * 10_000_000), Sink())
    assert result.exit_code == 3


async def test_errors_are_kept_apart_where_they_are_wanted_so_and_never_stand_in_the_way(env):
    script = "echo out; echo wrong >&2; head -c 5000000 /dev/zero >&2; echo end"
    result = await env.exec(ExecSpec(script=script, errors=10), Sink())
    assert (result.output, result.errors) == (b"out\nend\n", b"wrong\n\0\0\0\0")
    together = await env.exec(ExecSpec(script="echo out; echo wrong >&2"), Sink())
    assert (together.output, together.errors) == (b"out\nwrong\n", b"")


async def test_an_unknown_program_is_told_apart_from_one_that_failed(env, root):
    result = await env.exec(ExecSpec(argv=("no-such-program-here",)), lambda data: None)
    assert (result.ended, result.exit_code) == ("not_found", None)
    assert "no-such-program-here" in result.message
    (root / "plain.txt").write_text("x")
    result = await env.exec(ExecSpec(argv=("./plain.txt",)), lambda data: None)
    assert result.ended == "failed"
    result = await env.exec(ExecSpec(argv=("true",), cwd="missing"), lambda data: None)
    assert (result.ended, "missing" in result.message) == ("not_found", True)
    result = await env.exec(ExecSpec(argv=("echo", "a\0b")), lambda data: None)
    assert result.ended == "failed"
    result = await env.exec(ExecSpec(argv=("echo", "x" * 3_000_000)), lambda data: None)
    assert result.ended == "failed"


async def test_a_program_that_a_signal_ended_says_so(env):
    result, _ = await shell(env, "kill -SEGV $$")
    assert (result.exit_code, result.ended, result.message) == (139, "exited", "ended by SIGSEGV")


async def test_output_streams_while_the_program_runs(env, root):
    os.mkfifo(root / "go")
    sink = Sink()
    async with anyio.create_task_group() as group:
        group.start_soon(env.exec, ExecSpec(script="echo first; cat go; echo last"), sink)
        assert await sink.until(lambda data: b"first" in data) == b"first\n"
        await anyio.Path(root / "go").write_bytes(b"second\n")
    assert sink.data == b"first\nsecond\nlast\n"


async def test_output_above_the_cap_is_counted_and_dropped(env):
    sizes: list[int] = []
    spec = ExecSpec(script="head -c 50000000 /dev/zero", max_output=1_000_000)
    result = await env.exec(spec, lambda data: sizes.append(len(data)))
    assert (len(result.output), result.dropped, sum(sizes)) == (1_000_000, 49_000_000, 50_000_000)
    assert result.exit_code == 0


async def test_bytes_that_are_no_text_come_through(env):
    result, _ = await shell(env, r"printf '\xff\xfe\x00\xc3'")
    assert result.output == b"\xff\xfe\x00\xc3"


async def test_a_program_whose_time_is_up_is_ended_and_keeps_its_output(env):
    result, _ = await shell(env, "echo begun; sleep 1000", timeout=0.3)
    assert (result.ended, result.exit_code, result.output) == ("timeout", None, b"begun\n")
    assert "0.3 s" in result.message


# --- nothing is left behind ------------------------------------------------------------------------------------------

CHILDREN = {
    "plain": "sleep 1000 & echo $!",
    "no output": "sleep 1000 > /dev/null 2>&1 & echo $!",
    "nohup": "nohup sleep 1000 > /dev/null 2>&1 & echo $!",
    "own session": "setsid sleep 1000 & echo $!",
    "own session, no output": "setsid sleep 1000 > /dev/null 2>&1 & echo $!",
    "daemon": "( setsid bash -c 'sleep 1000 & echo $!; exit' ) ",
    "deaf": "bash -c 'trap \"\" TERM HUP INT; echo $$; while :; do sleep 1000; done' &",
    "deaf session": "setsid bash -c 'trap \"\" TERM HUP INT; echo $$; while :; do sleep 1000; done' &",
    "stopped": "sleep 1000 & echo $!; kill -STOP $!",
    "pipeline": "sleep 1000 | cat & echo $!",
    "subshells": "( ( ( sleep 1000 & echo $! ) & ) & )",
    "no environment": "env -i /bin/sleep 1000 & echo $!",
    "python": f"{PYTHON} -c 'import os, time; print(os.getpid(), flush=True); os.setsid(); time.sleep(1000)' &",
}
ENDS = {"exit": "exit 0", "failure": "exit 3", "timeout": "exit 0", "cancel": "exit 0"}


def alive(pid: int) -> bool:
    try:
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


@pytest.mark.parametrize("end", ENDS)
async def test_no_child_outlives_its_command(tmp_path, end):
    env = LocalEnvironment(tmp_path, grace=0.2)
    pids: dict[str, int] = {}
    all_known = anyio.Event()

    async def run(child: str) -> None:
        sink = Sink()
        script = f"{CHILDREN[child]}\nread -r line < '{child}'\n{ENDS[end]}"
        async with anyio.create_task_group() as group:
            group.start_soon(env.exec, ExecSpec(script=script, timeout=1 if end == "timeout" else None), sink)
            pids[child] = int((await sink.until(lambda data: data.endswith(b"\n"))).split()[0])
            if len(pids) == len(CHILDREN):
                all_known.set()

    for child in CHILDREN:
        os.mkfifo(tmp_path / child)
    async with anyio.create_task_group() as group:
        for child in CHILDREN:
            group.start_soon(run, child)
        with anyio.fail_after(30):
            await all_known.wait()
        assert all(map(alive, pids.values()))
        if end == "cancel":
            group.cancel_scope.cancel()
        elif end != "timeout":
            for child in CHILDREN:
                await anyio.Path(tmp_path / child).write_text("\n")
    assert [child for child, pid in pids.items() if alive(pid)] == []


async def test_closing_ends_what_runs_and_counts_it(env):
    sink = Sink()
    results = []

    async def run() -> None:
        results.append(await env.exec(ExecSpec(script="setsid sleep 1000 & echo $!; sleep 1000"), sink))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        pid = int((await sink.until(lambda data: data.endswith(b"\n"))).split()[0])
        assert await env.aclose() >= 2
    assert env.sandbox.kind or not alive(pid)  # in a sandbox processes have numbers of their own
    assert results[0].exit_code == 137
    with pytest.raises(EnvironmentFault, match="closed"):
        await env.exec(ExecSpec(argv=("true",)), sink)


async def test_a_command_that_ends_takes_no_process_of_another_with_it(env, root):
    gates = []
    for name in ("first", "others"):
        os.mkfifo(root / name)
        gates.append(os.open(root / name, os.O_RDWR))
    codes: list[int | None] = []
    first_ended = anyio.Event()

    async def run(gate: str, sink: Sink) -> None:
        script = f"setsid sleep 1000 > /dev/null & echo begun; read -r line < {gate}"
        codes.append((await env.exec(ExecSpec(script=script), sink)).exit_code)
        first_ended.set()

    async with anyio.create_task_group() as group:
        for number in range(13):
            sink = Sink()
            group.start_soon(run, "others" if number else "first", sink)
            await sink.until(lambda data: b"begun" in data)
        os.write(gates[0], b"\n")
        await first_ended.wait()
        os.write(gates[1], b"\n" * 12)
    assert codes == [0] * 13
    for gate in gates:
        os.close(gate)


async def test_many_programs_at_once_leave_no_descriptors_open(env):
    async def one(number: int) -> None:
        result, _ = await shell(env, f"echo {number}")
        assert result.output == f"{number}\n".encode()

    await one(0)
    before = len(names(Path("/dev/fd")))
    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(one, number)
    assert len(names(Path("/dev/fd"))) <= before


# A background job of a script begins with SIGINT ignored, a program under nohup with SIGHUP ignored.
KILLED = """
import signal, sys, anyio
from pathlib import Path
from tui_agent.environments.local import LocalEnvironment
from tui_agent.ports.environment import ExecSpec

def show(data):
    sys.stdout.write(data.decode())
    sys.stdout.flush()

signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
anyio.run(LocalEnvironment(Path(sys.argv[1])).exec, ExecSpec(script=sys.argv[2]), show)
"""


@pytest.mark.parametrize("send", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_no_child_outlives_this_program(tmp_path, send):
    script = "\n".join([*CHILDREN.values(), "echo $$", "sleep 1000"])
    command = (PYTHON, "-c", KILLED, str(tmp_path), script)
    with anyio.fail_after(30):
        async with await anyio.open_process(command, stderr=None) as holder:
            assert holder.stdout is not None
            said = b""
            while said.count(b"\n") <= len(CHILDREN):
                said += await holder.stdout.receive()
            handles = [os.pidfd_open(int(pid)) for pid in said.split()]
            holder.send_signal(send)
            for handle in handles:
                await anyio.wait_readable(handle)
                os.close(handle)


async def test_the_keeper_leaves_with_its_environment(tmp_path):
    env = LocalEnvironment(tmp_path)
    await env.exec(ExecSpec(argv=("true",)), lambda data: None)
    pid = env.keeper
    assert alive(pid)
    await env.aclose()
    await env.aclose()
    assert not alive(pid)
