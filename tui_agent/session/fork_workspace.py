"""The checkpoints of a fork, and a folder of its own for it to work in.

Invariant: a fork borrows its parent's checkpoints as git does, by the path of their objects; before the parent goes
they are linked or copied. The user's repository is touched only by `add_worktree`.
"""

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from anyio import to_thread

from tui_agent.config.settings import CheckpointSettings
from tui_agent.folds.base import branch, fold
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.view import SessionStateView
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken
from tui_agent.session.user_git import users_git
from tui_agent.store.reader import read_records
from tui_agent.workspace.checkpoints.alternates import where_gone
from tui_agent.workspace.checkpoints.limits import Limits, limits_of
from tui_agent.workspace.checkpoints.shadow_repository import GitShadow
from tui_agent.workspace.checkpoints.state import MAIN

STORE = "checkpoints.git"
LOST_NAMED = 8
DEEPEST = 3
"""Forks of forks that borrow from one another; git follows five, one is kept for the user's repository."""
LARGEST = Limits().file_bytes


def state_of(folder: Path, at_seq: int | None = None) -> SessionStateView:
    """The state at the end of a session's branch, or at one event, on the branch that ends there."""
    if at_seq is None:
        return fold(SessionState(), read_records(folder, skip_deltas=True, branch=True))
    until = [record for record in read_records(folder) if record.seq <= at_seq]
    return fold(SessionState(), branch(until))


def fork_checkpoints(parent_folder: Path, child_folder: Path) -> None:
    """Let a fork reach the checkpoints of the session it was forked from, and begin with the one of its last event.

    Nothing where there are none. Raises OSError.
    """
    objects, store = parent_folder / STORE / "objects", child_folder / STORE
    commit = state_of(child_folder).commit
    if not commit or not objects.is_dir():
        return
    for place in ("objects/info", "objects/pack", "refs/heads"):
        (store / place).mkdir(parents=True, exist_ok=True)
    store.chmod(0o700)
    if _depth(parent_folder) < DEEPEST:
        _alternates(child_folder).write_bytes(os.fsencode(objects.absolute()) + b"\n")
    else:
        _take(parent_folder, child_folder)
    (store / MAIN).write_text(f"{commit}\n")
    (store / "HEAD").write_text(f"ref: {MAIN}\n")


def detach_checkpoints(parent_folder: Path, child_folder: Path) -> None:
    """Give a fork its own copy of the checkpoints that it borrows from this parent. Raises OSError."""
    if _line(parent_folder) in _borrowed(child_folder):
        _take(parent_folder, child_folder)


def _take(parent_folder: Path, child_folder: Path) -> None:
    """Link or copy the parent's objects; what the parent borrows itself the child borrows from there."""
    source, target = parent_folder / STORE / "objects", child_folder / STORE / "objects"
    for path in sorted(source.rglob("*")):
        inner = path.relative_to(source)
        if path.is_dir():
            (target / inner).mkdir(parents=True, exist_ok=True)
        elif inner.parts[0] != "info" and not (target / inner).exists():
            _link(path, target / inner)
    lines = [*_borrowed(child_folder), *_borrowed(parent_folder)]
    kept = [line for line in dict.fromkeys(lines) if line != _line(parent_folder)]
    draft = _alternates(child_folder).with_name("alternates.new")
    draft.write_bytes(b"".join(line + b"\n" for line in kept))
    draft.replace(_alternates(child_folder))
    if not kept:
        _alternates(child_folder).unlink()


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:  # another file system, or one without links
        draft = target.with_name(f".tmp-{target.name}")
        shutil.copyfile(source, draft)
        draft.replace(target)


def _alternates(folder: Path) -> Path:
    return folder / STORE / "objects" / "info" / "alternates"


def _line(folder: Path) -> bytes:
    return os.fsencode((folder / STORE / "objects").absolute())


def _borrowed(folder: Path) -> list[bytes]:
    try:
        return [line for line in _alternates(folder).read_bytes().splitlines() if line]
    except FileNotFoundError:
        return []


def _depth(folder: Path) -> int:
    """How many sessions stand behind one another from which this one borrows."""
    depth, here = 0, folder
    while depth <= DEEPEST:
        names = [Path(os.fsdecode(line)) for line in _borrowed(here)]
        behind = [path.parent.parent for path in names if path.parent.name == STORE]
        if not behind:
            break
        depth, here = depth + 1, behind[0]
    return depth


async def verify_checkpoints(folder: Path) -> list[str]:
    """What is wrong with a session's checkpoints, in words; also where its workspace is gone."""
    state, own = state_of(folder), _commits(folder)
    if not (folder / STORE).is_dir():
        return [f"Checkpoints: {folder / STORE} is missing; no files can be put back."] if own else []
    shadow = GitShadow(folder, folder / STORE)
    if shadow.unavailable:
        return []
    found = await shadow.verify()
    missed = bool(await to_thread.run_sync(where_gone, folder / STORE)) and bool(found)
    lost = [] if missed else await shadow.lost(own)
    if lost:
        names = ", ".join(commit[:12] for commit in lost[:LOST_NAMED])
        more = f" and {len(lost) - LOST_NAMED} more" if len(lost) > LOST_NAMED else ""
        found.append(
            f"{len(lost)} of the log's checkpoints are lost ({names}{more}); their files cannot be put back"
        )
    if state.commit and not found:
        await shadow.files_at(state.commit)
    return [f"Checkpoints: {line}." for line in found]


def _commits(folder: Path) -> list[str]:
    """Every checkpoint that the session itself took; what a fork's parent took is in its own log."""
    found = []
    for record in read_records(folder, skip_deltas=True):
        match record:
            case Envelope(session=session, payload=CheckpointTaken() | CheckpointRestored() as payload):
                if session == folder.name:
                    found.append(payload.commit)
    return found


async def checkpoint_notes(folder: Path, settings: CheckpointSettings) -> list[str]:
    """What is good to know of a session's checkpoints and no fault: what stays borrowed because of the quota."""
    shadow = GitShadow(folder, folder / STORE, limits=limits_of(settings))
    if shadow.unavailable or not (folder / STORE).is_dir():
        return []
    told = await shadow.borrowed()
    return [told] if told else []


async def add_worktree(workspace: Path, dest: Path, store: Path, commit: str) -> Path:
    """Make a work tree of the user's repository at `dest`, with the files of the checkpoint `commit` in it.

    Returns the folder in it that stands for `workspace`. Files of the repository's newest commit that the checkpoint
    does not know and that are small enough to be in it are removed. Raises `UsageError` where git refuses,
    `CheckpointError`.
    """
    top = (await users_git(workspace, "rev-parse", "--show-toplevel")).strip()
    await users_git(workspace, "worktree", "add", "--detach", "--", str(dest), "HEAD")
    below = _same_place(workspace, Path(top), dest)
    if not commit:
        return below
    with tempfile.TemporaryDirectory(dir=dest, prefix=".checkpoint-") as place:
        shadow = GitShadow(workspace, store)
        await shadow.checkout(commit, Path(place))
        tracked = (
            (await users_git(workspace, "-C", str(below), "ls-files", "-z")).split("\0")
            if below.is_dir()
            else []
        )
        await to_thread.run_sync(_overlay, Path(place), below, [name for name in tracked if name])
    return below


def _same_place(workspace: Path, top: Path, dest: Path) -> Path:
    return dest / workspace.resolve().relative_to(top.resolve())


def _overlay(files: Path, below: Path, tracked: Sequence[str]) -> None:
    for name in tracked:
        path = below / name
        folder = path.is_dir() and not path.is_symlink()  # a submodule's, which is empty
        if not folder and not os.path.lexists(files / name) and path.lstat().st_size <= LARGEST:
            path.unlink()
            _drop_empty(path.parent, below)
    for inner, _, names in os.walk(files):
        target = below / Path(inner).relative_to(files)
        target.mkdir(parents=True, exist_ok=True)
        for name in names:
            (Path(inner) / name).replace(target / name)


def _drop_empty(folder: Path, top: Path) -> None:
    """Remove a folder that held nothing else, and those above it that then hold nothing."""
    while folder != top and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
