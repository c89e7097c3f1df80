"""An undo names what it does not reverse: files outside the workspace, deleted ignored files, and git stashes."""

import json
from pathlib import Path

import pytest

from tests.engine.harness import Bench, call, say
from tests.engine.test_rewind import go, shell, told
from tests.stubs.sandboxed import git
from tui_agent.folds.text.undo_sentences import describe_remains
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.protocol.commands import DecidePermission, Redo, SubmitPrompt, Undo
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.session import SessionHeadMoved


async def approved_turn(bench: Bench, text: str) -> None:
    """Run one turn, and allow every call that the policy asks about."""
    ended, asked = bench.kinds().count("turn.finished"), len(bench.of(PermissionRequested))
    bench.submit(SubmitPrompt(text=text))

    def has_ended() -> bool:
        nonlocal asked
        for request in bench.of(PermissionRequested)[asked:]:
            asked += 1
            bench.submit(DecidePermission(request_id=request.request_id, decision="allow"))
        return bench.kinds().count("turn.finished") > ended

    await bench.until_so(has_ended)


def write_to(path: Path | str) -> object:
    return call(("write_file", json.dumps({"path": str(path), "content": "x"})))


async def test_an_undo_names_the_ignored_files_that_git_clean_deleted(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    (root / "sub" / "build").mkdir(parents=True)
    (root / ".gitignore").write_text("*.log\nbuild/\n")
    for name in ("user.log", "new.txt", "sub/build/a.o", "sub/b.log", "sub/a.txt"):
        (root / name).write_text("only here\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".gitignore", "sub/a.txt")
    git(root, "commit", "-qm", "First", time="1700000000 +0000")
    in_sub = call(("run_command", json.dumps({"command": "git clean -fdX", "cwd": "sub"})))
    async with told(tmp_path, in_sub, shell("git clean -fdx"), say("A.")) as bench:
        await approved_turn(bench, "clean up")
        assert not (root / "new.txt").exists() and not (root / "user.log").exists()
        await go(bench, Undo())
        assert (root / "new.txt").exists()
        assert bench.of(SessionHeadMoved)[-1].deleted_paths == ("sub/b.log", "sub/build", "user.log")


def run(script: str) -> object:
    return call(("run_command", json.dumps({"command": script})))


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("script", "deleted"),
    [
        ("echo git clean; printf 'Removing gone.log\\n'", ()),
        ("git clean -ndx; printf 'Removing gone.log\\n'", ()),
        ("git clean -fdx; printf 'Removing a\\000b/c\\n'", ("sub/b.log", "user.log")),
        ("git clean -fdx; printf 'Removing /gone\\nRemoving ../../gone\\nRemoving sub/../gone\\n'", ("sub/b.log", "user.log")),
        ("git clean -fdx; printf 'Removing link/gone\\n'", ("sub/b.log", "user.log")),
        ("git clean -fdx; printf 'Removing ~/gone\\n'", ("sub/b.log", "user.log", "~/gone")),
        ("git clean -fdx; printf 'Removing a\\033[2Jb\\nRemoving a\\342\\200\\256b\\nRemoving a\\rb\\n'", ("sub/b.log", "user.log")),
        ("git clean -fdx; yes 'Removing a.txt' | head -n 1000; echo Removing late.log", ("sub/b.log", "user.log")),
        ("cd sub && git clean -fdx; cat a.txt", ("sub/b.log",)),
        ("git -C sub clean -fdx", ("sub/b.log",)),
        ("git clean -fd sub; cd sub && git clean -fdx", ()),
    ],
)  # fmt: skip
async def test_only_names_that_git_clean_can_have_printed_are_reported(
    tmp_path: Path, script: str, deleted: tuple[str, ...]
) -> None:
    root, other = tmp_path / "workspace", tmp_path / "other"
    (root / "sub").mkdir(parents=True)
    other.mkdir()
    (root / "link").symlink_to(other)
    (root / ".gitignore").write_text("*.log\n")
    for name in ("a.txt", "sub/a.txt", "user.log", "sub/b.log"):
        (root / name).write_text("old\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "First", time="1700000000 +0000")
    async with told(tmp_path, run(f"{script}; echo new > a.txt"), say("A.")) as bench:
        await approved_turn(bench, "clean up")
        await go(bench, Undo())
        moved = bench.of(SessionHeadMoved)[-1]
        assert (moved.deleted_paths, moved.outside_paths) == (deleted, ())
        assert (root / "a.txt").read_text() == "old\n"


async def test_an_undo_names_files_outside_deleted_files_and_stashes(tmp_path: Path) -> None:
    root, other = tmp_path / "workspace", tmp_path / "other"
    root.mkdir()
    other.mkdir()
    (root / "link").symlink_to(other)
    (root / ".gitignore").write_text("*.log\nlink\n")
    (root / "user.log").write_text("only here\n")
    (root / "a.txt").write_text("old\n")
    git(root, "init", "-q", "-b", "main")
    for key, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
        git(root, "config", key, value)
    git(root, "add", ".")
    git(root, "commit", "-qm", "First", time="1700000000 +0000")  # before the session, to the second
    (root / "a.txt").write_text("mine\n")
    answers = [
        write_to(other / "one.txt"),
        write_to("link/two.txt"),
        shell("rm user.log"),
        write_to("made.log"),
        shell("rm made.log"),
        shell("git stash -q"),
        say("A."),
        say("B."),
    ]
    asks = {"policy": RulePolicy().decide, "policy_name": "accept-edits"}
    async with told(tmp_path, *answers, **asks) as bench:
        await approved_turn(bench, "first")
        assert (other / "two.txt").exists() and not (root / "user.log").exists()
        assert (root / "a.txt").read_text() == "old\n"
        await approved_turn(bench, "second")
        await go(bench, Undo())
        assert describe_remains(bench.of(SessionHeadMoved)[-1]) == ()
        await go(bench, Undo())
        moved = bench.of(SessionHeadMoved)[-1]
        assert moved.outside_paths == (str(other / "one.txt"), str(other / "two.txt"))
        assert moved.deleted_paths == ("user.log",)
        assert [stash.startswith("WIP on main: ") for stash in moved.kept_stashes] == [True]
        assert (root / "a.txt").read_text() == "mine\n"
        outside, deleted, stash = describe_remains(moved)
        assert outside.startswith(f"Not restored (outside this workspace): {other / 'one.txt'}, ")
        assert deleted == "Not restored (deleted files that are in no checkpoint): user.log."
        assert stash == f"Git stash “{moved.kept_stashes[0]}” stays; `git stash list` shows it."
        await go(bench, Redo())
        assert describe_remains(bench.of(SessionHeadMoved)[-1]) == ()


async def test_an_undo_names_only_deleted_files_that_existed(tmp_path: Path) -> None:
    root, other = tmp_path / "workspace", tmp_path / "other"
    (root / "build").mkdir(parents=True)
    other.mkdir()
    (root / ".gitignore").write_text("build/\n")
    (root / "build" / "a.o").write_text("only here\n")
    git(root, "init", "-q", "-b", "main")
    script = f"rm -rf nope.txt build/nope dist {other}/nope ~/.nope; rm -f build/a.o; echo new > b.txt"
    asks = {"policy": RulePolicy().decide, "policy_name": "ask"}
    async with told(tmp_path, run(script), say("A."), **asks) as bench:
        await approved_turn(bench, "clean up")
        assert not (root / "build" / "a.o").exists()
        await go(bench, Undo())
        moved = bench.of(SessionHeadMoved)[-1]
        assert (moved.deleted_paths, moved.outside_paths) == (("build/a.o",), ())
