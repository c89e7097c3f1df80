"""Checkpoints as plain files: what `GitCheckpoints` promises, without git, so that many sequences can be played."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from tui_agent.errors import CheckpointError
from tui_agent.ports.checkpoint import (
    Baseline,
    FileDifference,
    RestoreAction,
    RestorePlan,
    RestoreResult,
    WorkspaceChanges,
)
from tui_agent.protocol.events.files import Author

Files = dict[str, str]


class Commit(TypedDict):
    """What a commit's file holds: the files as they were, and which of them it changed."""

    parent: str
    author: str
    paths: list[str]
    files: Files


def files_in(folder: Path) -> Files:
    """The text of every file below a folder."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in found}


def put_files(folder: Path, files: Files) -> None:
    """Write these files, with their folders."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


class PlainCheckpoints:
    """One JSON file a commit, in the folder `store`."""

    unavailable_reason = ""

    def __init__(self, workspace: Path, store: Path) -> None:
        self._files = workspace
        self._store = store
        self.head = ""

    def files_at(self, commit: str) -> Files:
        """The files of a commit."""
        return self._read(commit)["files"]

    async def begin(self, known: str, *, unchanged: bool = True) -> Baseline | None:
        """See `ports.checkpoint.Checkpoints.begin`."""
        self._store.mkdir(exist_ok=True)
        if known:
            self.head = known
            return None
        self._keep("human")
        return Baseline(self.head, ())

    def take_notices(self) -> tuple[str, ...]:
        """See `ports.checkpoint.Checkpoints.take_notices`."""
        return ()

    async def run_maintenance(self) -> bool:
        """See `ports.checkpoint.Checkpoints.run_maintenance`."""
        return False

    async def find_changes(
        self, paths: Sequence[str] | None = None, *, extra_paths: Sequence[str] = ()
    ) -> WorkspaceChanges:
        """See `ports.checkpoint.Checkpoints.find_changes`."""
        before, after = self.files_at(self.head), files_in(self._files)
        changed = [path for path in _differing(before, after) if paths is None or path in paths]
        files = tuple(_stand(path, before, after) for path in changed)
        return WorkspaceChanges(tuple(changed), files, saved_paths=frozenset(before).intersection(changed))

    async def read_file(self, commit: str, path: str) -> bytes:
        """See `ports.checkpoint.Checkpoints.read_file`."""
        text = self.files_at(commit).get(path)
        if text is None:
            raise CheckpointError(f"{path} is not in the checkpoint {commit}.")
        return text.encode()

    async def changed_after(self, paths: Sequence[str], since: float) -> frozenset[str]:
        """See `ports.checkpoint.Checkpoints.changed_after`."""
        changed = (path for path in paths if (self._files / path).exists())
        return frozenset(path for path in changed if (self._files / path).stat().st_ctime > since)

    async def commit(self, changes: WorkspaceChanges, *, part: int, author: Author, message: str) -> str:
        """See `ports.checkpoint.Checkpoints.commit`."""
        return self._keep(author, set(changes.paths))

    async def plan_restore(
        self, source: str, named_paths: Sequence[str] = (), kept_changes: Sequence[tuple[str, str]] = ()
    ) -> RestorePlan:
        """See `ports.checkpoint.Checkpoints.plan_restore`."""
        here, there = list(self._line(self.head)), list(self._line(source))
        ours = [commit for commit in here if commit not in there]
        changed = list[set[str]]()
        for before, after in kept_changes:
            before_line, after_line = list(self._line(before)), list(self._line(after))
            apart = set(before_line).symmetric_difference(after_line)
            touched = set[str]().union(*(self._touched(one) for one in apart if not self._by_hand(one)))
            changed.append(touched.intersection(_differing(self.files_at(before), self.files_at(after))))
            ours = [one for one in ours if self._by_hand(one) or one in before_line or one not in after_line]
        theirs = [commit for commit in there if commit not in here]
        owned = set(named_paths).union(
            *(self._touched(one) for one in ours + theirs if not self._by_hand(one))
        )
        people = set[str]().union(*(self._touched(one) for one in ours if self._by_hand(one)), *changed)
        now, wanted = files_in(self._files), self.files_at(source)
        since = set(_differing(self.files_at(self.head), now))
        acts = [
            RestoreAction(
                path,
                "remove" if path not in wanted else "write" if path in now else "create",
                1,
                1,
                "changed by someone else" if path in since | people else "",
            )
            for path in _differing(now, wanted)
            if path in owned
        ]
        return RestorePlan(source, self.head, tuple(acts))

    async def restore(self, plan: RestorePlan, overwrite: Sequence[str] = ()) -> RestoreResult:
        """See `ports.checkpoint.Checkpoints.restore`."""
        before, wanted = files_in(self._files), self.files_at(plan.source)
        done = [act.path for act in plan.actions if not act.conflict or act.path in overwrite]
        for path in done:
            if path in wanted:
                put_files(self._files, {path: wanted[path]})
            else:
                (self._files / path).unlink()
        self.head = plan.source
        after = files_in(self._files)
        if after != wanted:
            self._keep("human")
        kept = tuple(act.path for act in plan.actions if act.path not in done)
        return RestoreResult(
            self.head, tuple(done), kept, tuple(_stand(path, before, after) for path in done)
        )

    async def aclose(self) -> None:
        """Nothing works in the background."""

    # -- the store -------------------------------------------------------------------------------------------------

    def _keep(self, author: str, paths: set[str] | None = None) -> str:
        before, now = self.files_at(self.head) if self.head else {}, files_in(self._files)
        changed = [path for path in _differing(before, now) if paths is None or path in paths]
        files = {**before, **{path: now[path] for path in changed if path in now}}
        files = {path: text for path, text in files.items() if path in now or path not in changed}
        held = Commit(parent=self.head, author=author, paths=changed, files=files)
        text = json.dumps(held)
        commit = hashlib.sha256(text.encode()).hexdigest()[:40]
        (self._store / commit).write_text(text)
        self.head = commit
        return commit

    def _read(self, commit: str) -> Commit:
        held: Commit = json.loads((self._store / commit).read_text())
        return held

    def _line(self, commit: str) -> Iterator[str]:
        while commit:
            yield commit
            commit = self._read(commit)["parent"]

    def _touched(self, commit: str) -> set[str]:
        return set(self._read(commit)["paths"])

    def _by_hand(self, commit: str) -> bool:
        return self._read(commit)["author"] == "human"


def _differing(one: Files, other: Files) -> list[str]:
    return sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))


def _stand(path: str, before: Files, after: Files) -> FileDifference:
    old, new = before.get(path), after.get(path)
    return FileDifference(
        path,
        None if old is None else old.encode(),
        None if new is None else new.encode(),
        len(old or ""),
        len(new or ""),
        None if new is None else 0o644,
    )
