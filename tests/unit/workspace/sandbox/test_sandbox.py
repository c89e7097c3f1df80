"""What a confined command can still do, what it is told, and what it leaves behind: against the real bubblewrap."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio
import pytest

from tests.stubs.sandboxed import World, confinement, git
from tui_agent.ports.environment import ExecResult, ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.sandbox.command_setup import Confinement
from tui_agent.workspace.sandbox.detection import SandboxSupport
from tui_agent.workspace.sandbox.mounts import Bounds
from tui_agent.workspace.sandbox.placeholders import Placeholders
from tui_agent.workspace.sandbox.sockets import find_listening


def said(result: ExecResult) -> str:
    return result.output.decode()


COMMIT = "git -c user.name=A -c user.email=a@b.c commit -qam second && git log --oneline | wc -l"


async def test_commits_are_made_in_a_sandbox(world: World) -> None:
    result = await world.attempt(
        f"echo b >> a.txt; git add a.txt; {COMMIT}; git checkout -qb other; git stash list; git gc -q"
    )
    await world.env.aclose()
    assert (result.exit_code, said(result).strip()) == (0, "2")
    assert world.damage(result) == []


async def test_commits_are_made_in_a_worktree_whose_repository_lies_elsewhere(base: Path) -> None:
    with World(base / "main") as main:
        git(main.workspace, "worktree", "add", "-q", str(base / "tree"))
        env = LocalEnvironment(
            base / "tree", confinement=confinement(base / "tree", main.home, base / "records")
        )
        made = await env.exec(ExecSpec(script=f"echo b >> a.txt; {COMMIT}"), lambda data: None)
        main.settle()
        tried = await env.exec(
            ExecSpec(
                script=f"echo x >> {main.workspace}/.git/config; touch {main.workspace}/.git/hooks/x; echo gitdir: x > .git"
            ),
            lambda data: None,
        )
        await env.aclose()
        await main.env.aclose()
        assert (made.exit_code, said(made).strip()) == (0, "2")
        assert main.damage(tried) == []
        assert (base / "tree/.git").read_text().startswith(f"gitdir: {main.workspace}")


async def test_commits_are_made_in_a_submodule_that_is_the_workspace(base: Path) -> None:
    with World(base / "inner") as inner, World(base / "main") as main:
        git(
            main.workspace,
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "add",
            "-q",
            str(inner.workspace),
            "sub",
        )
        root = main.workspace / "sub"
        env = LocalEnvironment(root, confinement=confinement(root, main.home, base / "records"))
        made = await env.exec(ExecSpec(script=f"echo b >> a.txt; {COMMIT}"), lambda data: None)
        tried = await env.exec(ExecSpec(script="git config core.fsmonitor x"), lambda data: None)
        await env.aclose()
        assert (made.exit_code, said(made).strip()) == (0, "2")
        assert tried.exit_code != 0


@pytest.mark.parametrize("name", [".gitconfig", ".config/git/config"])
async def test_a_commit_has_its_author_although_the_home_folder_is_below_tmp(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    home = Path(tempfile.mkdtemp(dir="/tmp", prefix=tmp_path.name))
    settings = home / name
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("[user]\nname = Ada\nemail = ada@example.org\n")
    (home / "notes").write_text("private")
    for variable in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_AUTHOR_NAME", "EMAIL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    try:
        with World(base / "main") as main:
            root = main.workspace
            env = LocalEnvironment(root, confinement=confinement(root, home, base / "records"))
            script = f"echo b >> a.txt; git commit -qam second; git log -1 --format=%an; echo >> ~/{name}; cat ~/notes"
            result = await env.exec(ExecSpec(script=script), lambda data: None)
            await env.aclose()
            await main.env.aclose()
        assert said(result).startswith("Ada\n") and "private" not in said(result)
        assert settings.read_text().endswith("ada@example.org\n")
    finally:
        shutil.rmtree(home)


async def test_a_repository_that_only_the_workspace_names_is_not_opened(base: Path) -> None:
    with World(base / "victim") as victim:
        root = base / "hostile"
        root.mkdir()
        (root / ".git").write_text(f"gitdir: {victim.workspace}/.git\n")
        env = LocalEnvironment(root, confinement=confinement(root, victim.home, base / "records"))
        result = await env.exec(ExecSpec(script="git update-ref refs/heads/evil HEAD"), lambda data: None)
        await env.aclose()
        assert result.exit_code != 0
        assert not (victim.workspace / ".git/refs/heads/evil").exists()


BLOCKED = {
    "echo x > <outside>/new": "The command tried to change <outside>/new, which the sandbox does not allow.",
    "rm <outside>/file": "The command tried to change <outside>/file, which the sandbox does not allow.",
    "git config a.b c": "The command tried to change",
    "cat <home>/.netrc": "The command tried to access <home>/.netrc, which the sandbox does not allow.",
    "cat <home>/.ssh/id_ed25519": "The command tried to use <home>/.ssh/id_ed25519, which is not visible in the sandbox.",
    "curl -sS http://127.0.0.1:<tcp>/": "The command tried to use the network, which the sandbox does not allow.",
    "curl -sS http://name.invalid/": "The command tried to use the network, which the sandbox does not allow.",
    "import socket; socket.create_connection(('127.0.0.1', <tcp>))": "The command tried to use the network",
    "unshare -Ur true": "The command made a request that the sandbox blocks (Operation not permitted).",
    "exit 1": "",
    "echo Read-only file system": "",
    "ls nowhere": "",
    "grep -q b a.txt": "",
}


@pytest.mark.slow_variants
@pytest.mark.parametrize("command", BLOCKED)
async def test_what_the_sandbox_refused_is_told(world: World, command: str) -> None:
    result = await world.attempt(command)
    await world.env.aclose()
    wanted = BLOCKED[command].replace("<outside>", str(world.outside)).replace("<home>", str(world.home))
    assert result.blocked.startswith(wanted) if wanted else result.blocked == "", said(result)


async def test_the_network_is_there_where_it_was_granted(world: World) -> None:
    port = world.tcp.getsockname()[1]
    command = ExecSpec(script=f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached", allow_network=True)
    result = await world.env.exec(command, lambda data: None)
    await world.env.aclose()
    assert said(result) == "reached\n"


async def test_abstract_sockets_are_out_of_reach_even_with_the_network(world: World) -> None:
    code = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{world.name}')"
    result = await world.env.exec(
        ExecSpec(argv=(sys.executable, "-c", code), allow_network=True), lambda data: None
    )
    await world.env.aclose()
    assert "PermissionError" in said(result)
    assert world.damage(result) == []


async def test_a_command_has_a_tmp_of_its_own_that_lasts_as_long_as_the_environment(world: World) -> None:
    await world.attempt("echo kept > /tmp/note-4711; mktemp; mktemp -d")
    result = await world.attempt("cat /tmp/note-4711")
    seen = await anyio.Path("/tmp/note-4711").exists()
    await world.env.aclose()
    assert (said(result), seen) == ("kept\n", False)


async def test_a_file_in_tmp_that_a_command_names_is_seen_and_not_written(
    world: World, tmp_path: Path
) -> None:
    note = tmp_path / "note"
    note.write_text("of the user\n")
    result = await world.attempt(f"cat {note}; echo x >> {note}")
    await world.env.aclose()
    assert said(result).startswith("of the user\n")
    assert note.read_text() == "of the user\n"
    assert result.exit_code == 1


async def test_programs_ask_for_their_end_first_and_are_gone_in_time(world: World) -> None:
    code = "trap 'echo ending > ended; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
    result = await world.attempt(code, timeout=3)
    await world.env.aclose()
    assert result.outcome == "timeout"
    assert (world.workspace / "ended").read_text() == "ending\n"


async def test_a_cancelled_command_is_not_waited_for_although_it_ignores_sigterm(world: World) -> None:
    started = anyio.Event()

    async def run() -> None:
        spec = ExecSpec(script="trap '' TERM; setsid sleep 500 & echo ready; sleep 500")
        await world.env.exec(spec, lambda data: started.set())

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        with anyio.fail_after(30):
            await started.wait()
        group.cancel_scope.cancel()  # the group waits for the command, which sleeps longer than a test may take
    await world.env.aclose()


async def test_nothing_stays_in_the_workspace_of_what_guarded_it(base: Path) -> None:
    with World(base, repository=False) as world:
        during = await world.attempt("ls -A")
        await world.env.aclose()
        assert said(during).split() == [".git", "a.txt", "commondir", "refs"]
        assert sorted(one.name for one in world.workspace.iterdir()) == ["a.txt"]
        assert sorted(one.name for one in (base / "records").iterdir()) != []


async def test_two_commands_at_once_guard_the_workspace_until_the_last_has_ended(base: Path) -> None:
    with World(base, repository=False) as world:
        os.mkfifo(world.workspace / "gate")
        gate = os.open(world.workspace / "gate", os.O_RDWR)
        results: list[ExecResult] = []

        async def run(script: str) -> None:
            results.append(await world.env.exec(ExecSpec(script=script), lambda data: None))

        async with anyio.create_task_group() as group:
            group.start_soon(run, "read -r x < gate; mkdir .git && echo ESCAPED; rmdir .git && echo ESCAPED")
            await run("true")
            await run("mkdir .git && echo ESCAPED")
            os.write(gate, b"go\n")
        os.close(gate)
        await world.env.aclose()
        assert [said(result).count("ESCAPED") for result in results] == [0, 0, 0]
        assert sorted(one.name for one in world.workspace.iterdir()) == ["a.txt", "gate"]


async def test_folders_that_a_killed_process_left_are_taken_away_and_no_others(base: Path) -> None:
    with World(base) as world:
        place = base / "records/private"
        left, fresh = place / "left", place / "fresh"
        for folder in (left, fresh):
            folder.mkdir(parents=True)
        os.utime(left, (0, 0))
        await world.attempt("touch /tmp/x")
        (held,) = (one for one in place.iterdir() if one != fresh)
        os.utime(held, (0, 0))
        second = confinement(world.workspace, world.home, base / "records")
        env = LocalEnvironment(world.workspace, confinement=second)
        await env.exec(ExecSpec(script="true"), lambda data: None)
        assert (left.exists(), fresh.exists(), (held / "tmp/x").exists()) == (False, True, True)
        await env.aclose()
        await world.env.aclose()
        assert list(place.iterdir()) == [fresh]


async def test_a_tmp_that_was_tidied_away_is_made_anew(base: Path) -> None:
    with World(base) as world:
        made = confinement(world.workspace, world.home, base / "records")
        env = LocalEnvironment(world.workspace, confinement=made)
        await env.exec(ExecSpec(script="touch /tmp/x"), lambda data: None)
        made.close()
        result = await env.exec(ExecSpec(script="ls /tmp"), lambda data: None)
        await env.aclose()
        # A checkout that lies below the folder for temporary files is seen there.
        assert (result.exit_code, "x" in said(result).split()) == (0, False)


def test_what_a_killed_process_left_is_taken_away_by_the_next_and_nothing_else(tmp_path: Path) -> None:
    mine, theirs = tmp_path / ".git", tmp_path / ".vscode"
    first = Placeholders(str(tmp_path), tmp_path / "records").hold([str(mine), str(theirs)])
    first.__enter__()
    assert mine.is_dir()
    (theirs / "settings.json").write_text("{}")
    with Placeholders(str(tmp_path), tmp_path / "records").hold([str(tmp_path / ".idea")]):
        assert mine.is_dir()  # another still holds it
    first.__exit__(None, None, None)
    assert not mine.exists()
    assert (theirs / "settings.json").read_text() == "{}"
    assert not (tmp_path / ".idea").exists()


KILLED = """
import os, sys
from pathlib import Path
from tui_agent.workspace.sandbox.placeholders import Placeholders
held = Placeholders(sys.argv[1], Path(sys.argv[2])).hold([sys.argv[3]])
held.__enter__()
os._exit(0)
"""


@pytest.mark.parametrize("content", [".\n", ""], ids=["whole", "killed before it had its content"])
def test_a_file_that_a_killed_process_left_is_taken_away_by_the_next(tmp_path: Path, content: str) -> None:
    left, records = tmp_path / ".git" / "commondir", tmp_path / "records"
    left.parent.mkdir()
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path), str(records), str(left)], check=True)
    assert left.read_text() == ".\n"
    left.write_text(content)
    with Placeholders(str(tmp_path), records).hold([]):
        assert not left.exists()


@pytest.mark.parametrize("name", [".tui_agent", ".mcp.json", ".git", ".vscode"])
async def test_nothing_runs_where_a_link_stands_in_place_of_what_is_guarded(base: Path, name: str) -> None:
    with World(base, repository=False) as world:
        (world.workspace / name).symlink_to("a.txt")
        result = await world.attempt("echo ran")
        await world.env.aclose()
        assert (result.outcome, said(result)) == ("failed", "")
        assert result.blocked.startswith(
            "The command was not run, because the sandbox cannot confine it: " + name
        )


def test_a_workspace_that_holds_the_home_folder_has_no_sandbox_and_says_why(tmp_path: Path) -> None:
    for root in (tmp_path, tmp_path / "home"):
        made = Confinement(
            SandboxSupport("bubblewrap"), Bounds(str(root), home=str(tmp_path / "home")), tmp_path
        )
        assert made.sandbox.kind == ""
        assert made.sandbox.unavailable_reason.startswith("The workspace contains your home folder")


def test_a_missing_program_is_told_in_one_sentence(tmp_path: Path) -> None:
    found = SandboxSupport(why_not="bubblewrap is not installed (program: bwrap).")
    made = Confinement(found, Bounds(str(tmp_path), home="/home/ada"), tmp_path)
    assert (made.sandbox.kind, made.sandbox.unavailable_reason) == ("", found.why_not)


def test_sockets_with_a_path_are_found_in_the_kernels_table(tmp_path: Path) -> None:
    table = tmp_path / "unix"
    table.write_text(
        "Num RefCount Protocol Flags Type St Inode Path\n0: 2 0 10000 1 1 5 /no/such.sock\n0: 2 0 0 1 1 6 @x\n"
    )
    assert find_listening(table) == []
