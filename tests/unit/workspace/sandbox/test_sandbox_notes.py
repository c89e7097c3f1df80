"""What a result says of stand-ins, links and files with secrets is true: against the real bubblewrap."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tests.stubs.sandboxed import World
from tui_agent.ports.environment import ExecResult, ExecSpec, SecretFile
from tui_agent.workspace.sandbox.output_notes import MISSED_SERVER, find_output_notes, misses_server


async def test_a_file_that_a_link_with_a_secret_name_leads_to_is_said_to_be_covered_for_that(
    world: World,
) -> None:
    (world.workspace / "sub").mkdir()
    (world.workspace / "real.txt").write_text("real\n")
    (world.workspace / "sub/.env").symlink_to("../real.txt")
    result = await world.attempt("cat real.txt")
    await world.env.aclose()
    assert "real.txt (through the link sub/.env)" in result.blocked


@pytest.mark.slow_variants
@pytest.mark.parametrize("network", [False, True])
async def test_a_command_that_cannot_reach_a_background_jobs_server_says_why(
    world: World, network: bool
) -> None:
    started = anyio.Event()
    connect = "python3 -c 'import socket; socket.create_connection((\"localhost\", 9))'"
    async with anyio.create_task_group() as group:
        server = ExecSpec(script="echo up; sleep 1000", timeout=60.0)
        group.start_soon(world.env.exec, server, lambda data: started.set())
        await started.wait()
        spec = ExecSpec(script=connect, timeout=30.0, allow_network=network)
        beside = await world.env.exec(spec, lambda data: None)
        other = await world.env.exec(replace(spec, script="grep localhost a.txt"), lambda data: None)
        group.cancel_scope.cancel()
    alone = await world.env.exec(spec, lambda data: None)
    await world.env.aclose()
    assert b"refused" in beside.output
    assert (MISSED_SERVER in beside.notes) == network and beside.blocked.endswith(MISSED_SERVER) != network
    for result in (alone, other):
        assert MISSED_SERVER not in result.notes and MISSED_SERVER not in result.blocked


@pytest.mark.parametrize(
    ("script", "output", "misses"),
    [
        ("curl -s http://localhost:8000", "", True),
        ("wget -qO- 127.0.0.1:80 | jq .", "parse error", True),
        ("pytest", "E  ConnectionRefusedError: [Errno 111] Connection refused: http://127.0.0.1:80", True),
        ("curl -s https://example.org", "", False),
        ("grep localhost a.txt", "", False),
    ],
)
def test_a_failed_connection_to_this_machine_is_found(script: str, output: str, misses: bool) -> None:
    result = ExecResult(1, "exited", output.encode(), 0, 1.0)
    assert misses_server(script, result) == misses
    assert not misses_server(script, replace(result, exit_code=0))


def told(
    words: tuple[str, ...], folder: Path, output: str, stand_ins: tuple[str, ...] = ()
) -> tuple[str, ...]:
    masked = (SecretFile(".env", str(folder / ".env"), committed_size_and_mtime=(1, 1)),)
    return tuple(
        find_output_notes(words, str(folder), output.encode(), masked, stand_ins, is_read_only=False)
    )


def test_git_that_shows_a_covered_file_as_changed_is_not_said_to_show_none(tmp_path: Path) -> None:
    assert not any(
        "commits do not include" in note for note in told(("git status -s",), tmp_path, " M .env\n")
    )
    assert any("commits do not include" in note for note in told(("git status -s",), tmp_path, " M a.txt\n"))


def test_an_archive_is_no_script_that_names_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "x.tar").write_bytes(b".env\0\0\0")
    assert not any("x.tar names" in note for note in told(("git archive -o x.tar HEAD",), tmp_path, ""))


@pytest.mark.parametrize("words", [("ls .git",), ("ls", ".git/"), ("cd .git && ls -A",)])
def test_what_is_there_in_a_listed_folder_is_not_said_to_be_a_stand_in(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / ".git" / "refs").mkdir(parents=True)
    (tmp_path / ".git" / "modules").mkdir()
    stands = tuple(str(tmp_path / name) for name in ("refs", ".git/modules"))
    said = told(words, tmp_path, "HEAD\nmodules\nrefs\n", stands)
    assert said == ("modules does not exist: the output shows an empty placeholder of the sandbox.",)
    assert told(("ls",), tmp_path, "a.txt\nrefs\n", stands) != ()


def test_a_word_at_the_end_of_a_line_is_no_stand_in(tmp_path: Path) -> None:
    stands = (str(tmp_path / "refs"),)
    assert told(("make",), tmp_path, "updating local tracking refs\n", stands) == ()
    assert told(("ls",), tmp_path, "a.txt\nrefs\n", stands) != ()


def test_a_message_that_ends_with_a_name_lists_no_stand_in(tmp_path: Path) -> None:
    stands = (str(tmp_path / ".git"),)
    message = "fatal: not a git repository (or any of the parent directories): .git\n"
    assert told(("./run",), tmp_path, message, stands) == ()
    for listing in (".git\n", "./.git\n", "a.txt  .git\n", "drwxr-xr-x 2 root root 4096 Jan 1 10:00 .git\n"):
        assert told(("./run",), tmp_path, listing + message, stands) != (), listing


async def test_a_leak_check_that_the_sandbox_refuses_is_told(world: World) -> None:
    words = "LeakSanitizer does not work under ptrace (strace, gdb, etc)"
    failed = await world.attempt(f"echo 'HINT: {words}' >&2; exit 1")
    passed = await world.attempt("echo fine")
    await world.env.aclose()
    assert "ASAN_OPTIONS=detect_leaks=0" in " ".join(failed.notes) and not failed.blocked
    assert passed.notes == ()
