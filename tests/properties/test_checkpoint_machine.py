"""Checkpoints against a plain dictionary: random edits by everyone, faults, restores, and restores of restores."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.stubs.checkpoints import (
    QUIET,
    FailingActs,
    Killed,
    KilledActs,
    Snapshot,
    git,
    shadow,
    snapshot,
    write,
)
from tests.stubs.examples import example_count
from tui_agent.errors import CheckpointError
from tui_agent.ports.checkpoint import RestoreResult
from tui_agent.protocol.events.files import Author
from tui_agent.workspace.checkpoints.atomic_restore import FileOperations
from tui_agent.workspace.checkpoints.checkpoint_limits import Limits
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

LARGEST = 900
LIMITS = Limits(file_bytes=LARGEST, baseline_bytes=100_000)
NAMES = (
    *("a", "b", "dir/a", "dir/b", "dir/sub/c", "a/x", "dir/sub", "dir"),
    *("A", "dir/A", "Dir/a", "README", "readme"),
    *(
        "-n",
        "dir/new\nline",
        "ü \"q'",
        "\u00e9",
        "e\u0301",
        ":(top)x",
        "*",
        "#c",
        "!n",
        "back\\slash",
        " ",
        "\t",
        "git~1",
    ),
    *("x.log", "build/out", "dir/build/deep/y", "build", "l" * 200),
)
PATHS = st.sampled_from(NAMES)
FOLDERS = st.sampled_from(["dir", "dir/sub", "build", "Dir", "moved", "dir/moved"])
CONTENTS = st.one_of(
    st.binary(max_size=40),
    st.sampled_from([b"", b"x\r\ny\n", b"one\ntwo\n" * 9, b"\0\xff", b"$Id$\n", b"big" * LARGEST]),
)
AUTHORS = st.sampled_from(["agent", "command", "human"])
TARGETS = ["a", "/etc", "../..", "missing", "../outside", "../../outside", "dir"]
IGNORED = "*.log\nbuild/\n"


def clear(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def real(root: Path, name: str) -> bool:
    """Whether the way to a path is made of folders, not of links."""
    return (root / name).parent.resolve() == (root / name).parent


def place(root: Path, name: str) -> Path:
    """A free place, whatever stood there or in the way before."""
    path = root / name
    for parent in reversed(path.relative_to(root).parents):
        if os.path.lexists(root / parent) and ((root / parent).is_symlink() or not (root / parent).is_dir()):
            clear(root / parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or not path.is_file():
        clear(path)
    return path


def differing(one: Snapshot, other: Snapshot) -> set[str]:
    return {path for path in one.keys() | other.keys() if one.get(path) != other.get(path)}


def kept(files: Snapshot) -> Snapshot:
    """What a checkpoint could hold."""
    return {path: found for path, found in files.items() if found[0] != "special"}


def ignored(path: str) -> bool:
    parts = path.split("/")
    return any(part.endswith(".log") for part in parts) or "build" in parts[:-1]


class CheckpointMachine(RuleBasedStateMachine):
    """`states` are the files at each commit; `legs` the paths that each commit changed, by whom, and its parent."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="checkpoints-")).resolve()
        self.files = self.root / "workspace"
        self.files.mkdir()
        write(self.root / "outside", {"a": "outside\n", "c": "outside\n", "sub/c": "outside\n"})
        self.outside = snapshot(self.root / "outside")
        self.repository = False
        self.shadow = self.opened()
        self.other: GitCheckpoints | None = None
        self.states: dict[str, Snapshot] = {}
        self.legs: dict[str, tuple[str, str, set[str]]] = {}
        self.left: dict[str, set[str]] = {}

    def opened(self, acts: FileOperations | None = None) -> GitCheckpoints:
        return shadow(self.files, limits=LIMITS, acts=acts)

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def run(self, act: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> Any:
        return anyio.run(act, *args)

    def users_git(self, *words: str) -> None:
        """The user's own git, which may refuse."""
        env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        who = ("-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "core.fsync=none")
        subprocess.run(
            ["git", *who, *words], cwd=self.files, env={**env, **QUIET}, capture_output=True, check=False
        )

    @initialize(repository=st.booleans())
    def begin(self, repository: bool) -> None:
        write(self.files, {"a": "first\n", "dir/a": "x\r\ny\r\n", ".gitignore": IGNORED})
        self.repository = repository
        if repository:
            write(self.files, {".gitattributes": "* text=auto ident\n"})
            git(self.files, "init", "-q")
            git(self.files, "add", "-A")
            git(self.files, "commit", "-q", "-m", "all")
            trap = f"touch {self.root}/outside/trap; cat"
            for key, value in {"autocrlf": "true", "fsmonitor": trap, "hooksPath": str(self.root)}.items():
                git(self.files, "config", f"core.{key}" if key != "fsmonitor" else "trap.monitor", value)
            for act in ("clean", "smudge"):
                git(self.files, "config", f"filter.trap.{act}", trap)
            write(self.files, {".git/info/attributes": "*.trap filter=trap\nb filter=trap\n"})
        write(self.files, {"b": "not committed\n"})
        made = self.run(self.shadow.begin, "")
        self.states[made.commit] = self.advanced({}, snapshot(self.files))
        self.legs[made.commit] = ("", "human", set())

    # -- what changes files ----------------------------------------------------------------------------------------

    @rule(name=PATHS, content=CONTENTS)
    def edit(self, name: str, content: bytes) -> None:
        place(self.files, name).write_bytes(content)

    @rule(name=PATHS, content=CONTENTS)
    def replace(self, name: str, content: bytes) -> None:
        path = place(self.files, name)
        draft = path.with_name(".draft")
        draft.write_bytes(content)
        draft.replace(path)

    @rule(name=PATHS, to=st.sampled_from(TARGETS))
    def link(self, name: str, to: str) -> None:
        path = place(self.files, name)
        clear(path)
        path.symlink_to(to)

    @rule(name=PATHS, to=PATHS)
    def hard_link(self, name: str, to: str) -> None:
        source = self.files / name
        if real(self.files, name) and source.is_file() and not source.is_symlink():
            held = self.root / "held"
            held.unlink(missing_ok=True)
            held.hardlink_to(source)
            path = place(self.files, to)
            clear(path)
            path.hardlink_to(held)

    @rule(name=PATHS)
    def pipe(self, name: str) -> None:
        path = place(self.files, name)
        clear(path)
        os.mkfifo(path)

    @rule(name=PATHS, bits=st.sampled_from([0o600, 0o644, 0o755, 0o640, 0o700, 0o400]))
    def mode(self, name: str, bits: int) -> None:
        path = self.files / name
        if path.is_file() and not path.is_symlink() and real(self.files, name):
            path.chmod(bits)

    @rule(name=PATHS)
    def delete(self, name: str) -> None:
        if real(self.files, name):
            clear(self.files / name)

    @rule(name=PATHS, to=PATHS)
    def rename(self, name: str, to: str) -> None:
        source = self.files / name
        if real(self.files, name) and os.path.lexists(source) and not source.is_dir():
            held = source.rename(self.root / "held")
            path = place(self.files, to)
            clear(path)
            held.rename(path)

    @rule(name=FOLDERS, to=FOLDERS)
    def rename_folder(self, name: str, to: str) -> None:
        source = self.files / name
        if real(self.files, name) and source.is_dir() and not source.is_symlink():
            clear(self.root / "held")
            held = source.rename(self.root / "held")
            path = place(self.files, to)
            clear(path)
            held.rename(path)

    @rule(name=FOLDERS)
    def empty_folder(self, name: str) -> None:
        path = self.files / name
        if real(self.files, name) and path.parent.is_dir() and not os.path.lexists(path):
            path.mkdir()

    @rule(name=FOLDERS, whole=st.booleans())
    def nest(self, name: str, whole: bool) -> None:
        """A repository in the workspace, or what looks like one."""
        path = self.files / name
        if real(self.files, name) and path.is_dir() and not path.is_symlink():
            if whole:
                git(path, "init", "-q")
            else:
                (path / ".git").mkdir(exist_ok=True)

    @precondition(lambda self: self.repository)
    @rule(how=st.sampled_from(["commit", "stash", "pop", "switch", "back", "reset"]))
    def use_git(self, how: str) -> None:
        match how:
            case "commit":
                self.users_git("add", "-A")
                self.users_git("commit", "-q", "-m", "more")
            case "stash":
                self.users_git("stash", "-u", "-q")
            case "pop":
                self.users_git("stash", "pop", "-q")
            case "switch":
                self.users_git("switch", "-q", "-C", "other", "HEAD~1")
            case "back":
                self.users_git("switch", "-q", "-f", "-")
            case _:
                self.users_git("reset", "-q", "--hard", "HEAD~1")
        self.forget_traps()

    def forget_traps(self) -> None:
        """The user's own git runs the user's own filters."""
        (self.root / "outside" / "trap").unlink(missing_ok=True)

    @rule(name=PATHS, content=CONTENTS)
    def other_session(self, name: str, content: bytes) -> None:
        """Another session at work in the same workspace, with a restore of its own."""
        if self.other is None:
            self.other = GitCheckpoints(self.files, self.root / "other.git", limits=LIMITS)
            self.run(self.other.begin, "")
        other = self.other

        async def work() -> None:
            await other.commit(await other.find_changes(), part=1, author="human", message="m")
            here = other.head
            place(self.files, name).write_bytes(content)
            await other.commit(await other.find_changes([name]), part=2, author="agent", message="m")
            await other.restore(await other.plan_restore(here))

        self.run(work)

    # -- what looks, keeps and puts back ---------------------------------------------------------------------------

    def nested(self, path: str) -> bool:
        parts = path.split("/")
        return any(
            os.path.lexists(self.files / "/".join(parts[:end]) / ".git") for end in range(1, len(parts))
        )

    def seen(self, path: str, now: Snapshot, *, named: bool) -> bool:
        """Whether a file that no checkpoint holds yet is taken up."""
        fit = not self.nested(path) and len(now[path][2]) <= LARGEST
        return fit and (named or not ignored(path))

    def advanced(self, before: Snapshot, files: Snapshot, named: set[str] = frozenset()) -> Snapshot:  # type: ignore[assignment]
        """What a checkpoint holds that is taken now, after one that holds `before`."""
        now = kept(files)
        return {
            path: found
            for path, found in now.items()
            if path in before or self.seen(path, now, named=path in named)
        }

    @rule(author=AUTHORS, everywhere=st.booleans())
    def checkpoint(self, author: Author, everywhere: bool) -> None:
        before, files = self.states[self.shadow.head], snapshot(self.files)
        names = differing(before, files)
        after = self.advanced(before, files, set() if everywhere else names)
        changed = differing(before, after)
        changes = self.run(self.shadow.find_changes, None if everywhere else sorted(names))
        assert set(changes.paths) == changed, changes.skipped
        if changes:
            parent = self.shadow.head

            async def commit() -> str:
                return await self.shadow.commit(changes, part=1, author=author, message="m")

            made = self.run(commit)
            self.states[made] = after
            self.legs[made] = (parent, author, changed)

    @rule()
    def open_again(self) -> None:
        known = self.shadow.head
        self.shadow = self.opened()
        assert self.run(self.shadow.begin, known) is None

    @rule()
    def settle(self) -> None:
        self.run(self.shadow.run_maintenance)

    @precondition(lambda self: self.repository)
    @rule()
    def prune(self) -> None:
        """The user's history is rewritten, and what it held is thrown away, after upkeep."""
        self.run(self.shadow.run_maintenance)
        if self.other is not None:
            self.run(self.other.run_maintenance)
        self.users_git("update-ref", "-d", "HEAD")
        self.users_git("stash", "clear")
        self.users_git("update-ref", "-d", "refs/heads/other")
        self.users_git("read-tree", "--empty")
        self.users_git("commit", "-q", "--allow-empty", "-m", "anew")
        self.users_git("reflog", "expire", "--expire=now", "--all")
        self.users_git("gc", "-q", "--prune=now")
        self.forget_traps()

    def line(self, commit: str) -> list[str]:
        found = []
        while commit:
            found.append(commit)
            commit = self.legs[commit][0]
        return found

    def owned(self, source: str) -> tuple[set[str], set[str]]:
        """The paths that the session changed between here and there, and those that a person changed since.

        What a person removed and the session made again is no longer the person's.
        """
        here, there = self.line(self.shadow.head), self.line(source)
        ours = [commit for commit in here if commit not in there]
        theirs = [commit for commit in there if commit not in here]
        session = [self.legs[commit][2] for commit in ours + theirs if self.legs[commit][1] != "human"]
        session += [self.left.get(commit, set()) for commit in ours + theirs]
        people, removed = set[str](), set[str]()
        for commit in reversed(ours):
            _, author, paths = self.legs[commit]
            if author == "human":
                people |= paths
                removed = (removed - paths) | (paths - self.states[commit].keys())
            else:
                people -= removed & paths
                removed -= paths
        left = set[str]().union(*(self.left.get(commit, set()) for commit in ours))
        return set().union(*session), people | left

    @precondition(lambda self: len(self.states) > 1)
    @rule(data=st.data(), overwrite=st.booleans())
    def restore(self, data: st.DataObject, overwrite: bool) -> None:
        source = data.draw(st.sampled_from(list(self.states)))
        self.put_back(source, overwrite)

    @precondition(lambda self: len(self.states) > 1)
    @rule(data=st.data())
    def restore_and_back(self, data: st.DataObject) -> None:
        self.checkpoint("human", True)
        before, here = snapshot(self.files), self.shadow.head
        self.put_back(data.draw(st.sampled_from(list(self.states))), False)
        done = differing(before, snapshot(self.files))
        _, people = self.owned(here)
        self.put_back(here, False)
        assert differing(before, snapshot(self.files)) <= done & people

    @precondition(lambda self: len(self.states) > 1)
    @rule(data=st.data(), at=st.integers(1, 14), killed=st.booleans())
    def cut_restore(self, data: st.DataObject, at: int, killed: bool) -> None:
        """A restore in which an act fails, or with which the program ends: all is as it was, and goes on."""
        source, known = data.draw(st.sampled_from(list(self.states))), self.shadow.head
        before = snapshot(self.files)
        self.shadow = self.opened(KilledActs(at) if killed else FailingActs(at))
        self.run(self.shadow.begin, known)
        plan = self.run(self.shadow.plan_restore, source)
        try:
            restored = self.run(self.shadow.restore, plan, [])
        except CheckpointError as fault:
            assert "the disk says no" in str(fault)
            assert snapshot(self.files) == before
            assert self.shadow.head == known
        except Killed:
            self.shadow = self.opened()
            self.run(self.shadow.begin, known)
            assert snapshot(self.files) == before
            assert self.shadow.take_notices() == ()
        else:
            self.after_restore(source, known, restored)
        self.open_again()

    def put_back(self, source: str, overwrite: bool) -> None:
        before, head = snapshot(self.files), self.shadow.head
        session, people = self.owned(source)
        since = differing(self.states[head], before)
        plan = self.run(self.shadow.plan_restore, source)
        wanted = differing(before, self.states[source]) & session
        assert {act.path for act in plan.actions} == wanted
        assert {act.path for act in plan.actions if act.conflict} >= wanted & (since | people)
        assert snapshot(self.files) == before
        named = [act.path for act in plan.actions if act.conflict] if overwrite else []
        restored = self.run(self.shadow.restore, plan, named)
        after = snapshot(self.files)
        assert set(restored.paths) | set(restored.kept_paths) == wanted
        assert not set(restored.paths) & set(restored.kept_paths)
        assert differing(before, after) == set(restored.paths)
        for path in restored.paths:
            assert after.get(path) == self.states[source].get(path)
        self.after_restore(source, head, restored)

    def after_restore(self, source: str, head: str, restored: RestoreResult) -> None:
        commit = restored.commit
        assert self.shadow.head == commit
        after = self.advanced(self.states[head], snapshot(self.files), set(restored.paths))
        if restored.kept_paths:
            assert commit != source
            self.left[commit] = set(restored.kept_paths)
        if commit not in self.states:
            self.states[commit] = after
            self.legs[commit] = (source, "human", differing(after, self.states[source]))
        assert self.states[commit] == after
        assert not self.run(self.shadow.find_changes)

    @invariant()
    def nothing_of_ours_is_left(self) -> None:
        assert not list(self.files.glob(".tui-agent*"))

    @invariant()
    def nothing_outside_is_touched_and_no_trap_fires(self) -> None:
        assert snapshot(self.root / "outside") == self.outside


def examples(count: int, **changes: Any) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    return settings(max_examples=count, stateful_step_count=25, suppress_health_check=slow, **changes)


@pytest.mark.slow
def test_checkpoints_agree_with_the_files_that_they_were_taken_of() -> None:
    # To shrink a failure takes minutes of git: this test would run into the timeout and hide the reason. The long
    # run below shrinks.
    unshrunk = examples(example_count(12), phases=[Phase.explicit, Phase.reuse, Phase.generate])
    run_state_machine_as_test(CheckpointMachine, settings=unshrunk)


@pytest.mark.soak
def test_checkpoints_agree_for_long() -> None:
    run_state_machine_as_test(CheckpointMachine, settings=examples(800))
