"""Checkpoints against a plain dictionary: random edits by everyone, restores, and restores of restores."""

import shutil
import tempfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.stubs.checkpoints import Snapshot, git, shadow, snapshot, write
from tui_agent.protocol.events.files import Author

NAMES = ("a", "b", "dir/a", "dir/b", "dir/sub/c", "a/x", "-n", "dir/new\nline", "ü \"q'", "dir/sub")
PATHS = st.sampled_from(NAMES)
CONTENTS = st.one_of(
    st.binary(max_size=40), st.sampled_from([b"", b"x\r\ny\n", b"one\ntwo\n" * 9, b"\0\xff"])
)
AUTHORS = st.sampled_from(["agent", "command", "human"])


def clear(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)


def place(root: Path, name: str) -> Path:
    """A free place, whatever stood there or in the way before."""
    path = root / name
    for parent in reversed(path.relative_to(root).parents):
        if (root / parent).is_symlink() or (root / parent).is_file():
            clear(root / parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.is_dir():
        clear(path)
    return path


def differing(one: Snapshot, other: Snapshot) -> set[str]:
    return {path for path in one.keys() | other.keys() if one.get(path) != other.get(path)}


class CheckpointMachine(RuleBasedStateMachine):
    """`states` are the files at each commit; `legs` the paths that each commit changed, by whom, and its parent."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="checkpoints-")).resolve()
        self.files = self.root / "workspace"
        self.files.mkdir()
        self.shadow = shadow(self.files)
        self.states: dict[str, Snapshot] = {}
        self.legs: dict[str, tuple[str, str, set[str]]] = {}

    def teardown(self) -> None:
        shutil.rmtree(self.root)

    def run(self, act: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> Any:
        return anyio.run(act, *args)

    @initialize(repository=st.booleans())
    def begin(self, repository: bool) -> None:
        write(self.files, {"a": "first\n", "dir/a": "x\r\ny\r\n"})
        if repository:
            write(self.files, {".gitattributes": "* text=auto\n"})
            git(self.files, "init", "-q")
            git(self.files, "add", "-A")
            git(self.files, "commit", "-q", "-m", "all")
        write(self.files, {"b": "not committed\n"})
        made = self.run(self.shadow.begin, "")
        self.states[made.commit] = snapshot(self.files)
        self.legs[made.commit] = ("", "human", set())

    @rule(name=PATHS, content=CONTENTS)
    def edit(self, name: str, content: bytes) -> None:
        place(self.files, name).write_bytes(content)

    @rule(name=PATHS, to=st.sampled_from(["a", "/etc", "../..", "missing"]))
    def link(self, name: str, to: str) -> None:
        path = place(self.files, name)
        clear(path)
        path.symlink_to(to)

    @rule(name=PATHS, bits=st.sampled_from([0o600, 0o644, 0o755, 0o640, 0o700]))
    def mode(self, name: str, bits: int) -> None:
        path = self.files / name
        if path.is_file() and path.resolve() == path:
            path.chmod(bits)

    @rule(name=PATHS)
    def delete(self, name: str) -> None:
        if (self.files / name).parent.resolve() == (self.files / name).parent:
            clear(self.files / name)

    @rule(name=PATHS, to=PATHS)
    def rename(self, name: str, to: str) -> None:
        source = self.files / name
        if source.is_file() and source.resolve() == source and name not in to and to not in name:
            content = source.read_bytes()
            source.unlink()
            place(self.files, to).write_bytes(content)

    @rule(author=AUTHORS, everywhere=st.booleans())
    def checkpoint(self, author: Author, everywhere: bool) -> None:
        before = self.states[self.shadow.head]
        changed = differing(before, snapshot(self.files))
        named = None if everywhere else sorted(changed)
        changes = self.run(self.shadow.look, named)
        assert set(changes.paths) == changed, changes.skipped
        if changes:
            parent = self.shadow.head

            async def commit() -> str:
                return await self.shadow.commit(changes, part=1, author=author, message="m")

            made = self.run(commit)
            self.states[made] = snapshot(self.files)
            self.legs[made] = (parent, author, changed)

    @rule()
    def open_again(self) -> None:
        known = self.shadow.head
        self.shadow = shadow(self.files)
        assert self.run(self.shadow.begin, known) is None

    @rule()
    def settle(self) -> None:
        self.run(self.shadow.settle)

    def line(self, commit: str) -> list[str]:
        found = []
        while commit:
            found.append(commit)
            commit = self.legs[commit][0]
        return found

    def owned(self, source: str) -> tuple[set[str], set[str]]:
        """The paths that the session changed between here and there, and those that a person changed since."""
        here, there = self.line(self.shadow.head), self.line(source)
        ours = [commit for commit in here if commit not in there]
        theirs = [commit for commit in there if commit not in here]
        session = [self.legs[commit][2] for commit in ours + theirs if self.legs[commit][1] != "human"]
        people = [self.legs[commit][2] for commit in ours if self.legs[commit][1] == "human"]
        return set().union(*session), set().union(*people)

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

    def put_back(self, source: str, overwrite: bool) -> None:
        before, head = snapshot(self.files), self.shadow.head
        session, people = self.owned(source)
        since = differing(self.states[head], before)
        plan = self.run(self.shadow.plan, source)
        wanted = differing(before, self.states[source]) & session
        assert {act.path for act in plan.acts} == wanted
        assert {act.path for act in plan.acts if act.conflict} >= wanted & (since | people)
        assert snapshot(self.files) == before
        named = [act.path for act in plan.acts if act.conflict] if overwrite else []
        restored = self.run(self.shadow.restore, plan, named)
        after = snapshot(self.files)
        assert set(restored.paths) | set(restored.kept) == wanted
        assert not set(restored.paths) & set(restored.kept)
        assert differing(before, after) == set(restored.paths)
        for path in restored.paths:
            assert after.get(path) == self.states[source].get(path)
        self.after_restore(source, restored.commit, after)

    def after_restore(self, source: str, commit: str, after: Snapshot) -> None:
        assert self.shadow.head == commit
        if commit not in self.states:
            self.states[commit] = after
            self.legs[commit] = (source, "human", differing(after, self.states[source]))
        assert self.states[commit] == after
        assert not self.run(self.shadow.look)

    @invariant()
    def nothing_of_ours_is_left(self) -> None:
        assert not list(self.files.glob(".tui-agent*"))


def examples(count: int) -> settings:
    slow = [HealthCheck.too_slow, HealthCheck.filter_too_much]
    return settings(max_examples=count, stateful_step_count=25, deadline=None, suppress_health_check=slow)


def test_checkpoints_agree_with_the_files_that_they_were_taken_of() -> None:
    run_state_machine_as_test(CheckpointMachine, settings=examples(12))


@pytest.mark.soak
def test_checkpoints_agree_for_long() -> None:
    run_state_machine_as_test(CheckpointMachine, settings=examples(800))
