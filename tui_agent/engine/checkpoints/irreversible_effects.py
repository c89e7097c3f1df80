"""Finds effects of undone turns that an undo does not reverse: commits, stashes, files outside the workspace, and deleted
files.

Invariant: only recorded effects of calls and git's own records are used. Other effects of a command stay unknown.
"""

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from tui_agent.config.project.repository import MAX_BYTES, Repository, find_repository, read_small_text
from tui_agent.engine.checkpoints.attribution import read_stored
from tui_agent.engine.recorder import Recorder
from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.catalog.catalog import built_in_catalog
from tui_agent.policy.interpreter.line import read_line
from tui_agent.ports.log import Blobs
from tui_agent.protocol.effects import RunEffect, WriteEffect
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.policy import CommandEffects, PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import MAX_KEPT_COMMITS, MAX_KEPT_PATHS
from tui_agent.protocol.events.tool import ToolFinished, ToolStarted
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.unicode_text import is_invisible

MAX_SUBJECT_CHARS = 72
_NEW_COMMIT = ("commit", "cherry-pick", "revert")
"""The first words of the reflog's lines about a new commit."""
_REMOVED: Final = re.compile(r"^Removing ([^\"/\n].{0,4094})$", re.MULTILINE)
"""Matches a line of the output of `git clean`. A name in quotes has escaped characters, and is left out."""
_MAX_REMOVED_LINES: Final = 1000
"""Maximum number of these lines that are read of one output, and for one undo: each costs system calls."""
MTIME_TOLERANCE_S = 1.0
"""Tolerance for file systems that store the times of files in whole seconds."""
_NO_PATH: Final = re.compile(r"files that it does not name|a new file|\d+ more|.*[*?\[\0].*", re.DOTALL)
"""Matches the parts of a recorded target, such as `a.py, a new file`, that are not the path of one file."""


@dataclass(frozen=True, slots=True)
class IrreversibleEffects:
    """Commits, stashes and files that an undo could not reverse, for the event `session.head_moved`."""

    commits: tuple[str, ...] = ()
    stashes: tuple[str, ...] = ()
    outside_paths: tuple[str, ...] = ()
    deleted_paths: tuple[str, ...] = ()


NO_EFFECTS: Final = IrreversibleEffects()


def find_irreversible_effects(recorder: Recorder, blobs: Blobs, after: int) -> IrreversibleEffects:
    """Return the effects of the turns since the event `after` that were not reversed. Blocks: call it in a thread.

    Call this function after files were restored, and before the undo is recorded.
    """
    records = list(recorder.records_after(after - 1))
    root, spans = Path(recorder.state.workspace), list(_turn_spans(records))
    repository = find_repository(root) if spans else None
    known = {record.payload.path for record in records if isinstance(record.payload, FileChanged)}
    # The workspace of a remote environment is not on this machine.
    is_local = root.is_dir()
    outside, deleted = _find_unrestored(root, _read_changes(records) if is_local else (), known)
    cleaned = islice(_read_cleaned(root, records, blobs), _MAX_REMOVED_LINES) if is_local else ()
    # Other commands of the call could have printed names outside the workspace.
    _, deleted_by_git = _find_unrestored(root, cleaned, known)
    return IrreversibleEffects(
        tuple(find_new_commits(repository, spans)[-MAX_KEPT_COMMITS:]),
        tuple(find_new_stashes(repository, spans)[-MAX_KEPT_COMMITS:]),
        tuple(outside),
        tuple(dict.fromkeys([*deleted, *deleted_by_git]))[:MAX_KEPT_PATHS],
    )


class _Change(NamedTuple):
    """A change of a file by a call, according to the call's recorded effects.

    `time`: start of the call, in seconds since the epoch.
    """

    path: str
    removes: bool
    time: float


def _read_changes(records: Sequence[Record]) -> list[_Change]:
    """Return the changes by the calls that ran, in order."""
    started = {
        record.payload.call_id: record.time for record in records if isinstance(record.payload, ToolStarted)
    }
    missing = {
        (record.payload.call_id, path)
        for record in records
        if isinstance(record.payload, PermissionRequested)
        for path in record.payload.missing_paths
    }
    changes = []
    for record in records:
        payload = record.payload
        if not isinstance(payload, PermissionRequested | PermissionDecided) or payload.call_id not in started:
            continue
        time = started[payload.call_id]
        changes += [
            _Change(effect.path, effect.removes, time)
            for effect in payload.effects
            if isinstance(effect, WriteEffect) and "\0" not in effect.path
        ]
        if isinstance(payload, PermissionRequested):
            changes += [
                _Change(path, removes, time)
                for path, removes in _command_changes(payload.commands)
                if (payload.call_id, path) not in missing
            ]
    return list(dict.fromkeys(changes))


def _read_cleaned(root: Path, records: Iterable[Record], blobs: Blobs) -> Iterator[_Change]:
    """Yield the files and folders that `git clean` deleted. Only its output names them, not its command line."""
    folders: dict[CallId, Path] = {}
    for record in records:
        payload = record.payload
        if isinstance(payload, PermissionDecided) and payload.decision == "allow":
            for effect in payload.effects:
                if isinstance(effect, RunEffect) and (folder := _find_cleaned_folder(effect)) is not None:
                    folders[payload.call_id] = root / effect.cwd / os.path.expanduser(folder)  # noqa: PTH111 - does not raise
        elif isinstance(payload, ToolFinished) and payload.call_id in folders:
            for name in _read_removed_names(payload, blobs):
                yield _Change(str(folders[payload.call_id] / name), True, record.time)


def _find_cleaned_folder(effect: RunEffect) -> str | None:
    """Return the folder in which a command line runs `git clean`, relative to `effect.cwd`, or absolute.

    None if the policy finds no `git clean` in the line, or if the folder is not certain.
    """
    if not any("clean" in text for text in (effect.script, *effect.argv)):
        return None
    commands = read_line(effect, built_in_catalog()).commands
    folders = {folder for command in commands if command.name == "git clean" for folder in command.folders}
    return folders.pop() if len(folders) == 1 else None


def _read_removed_names(result: ToolFinished, blobs: Blobs) -> Iterator[str]:
    """Yield the names of deleted files in the output of `git clean`, relative to its folder.

    Other commands of the call can print such lines too, so absolute paths, paths with `..` and names with invisible
    characters are left out.
    """
    texts = [part.text for part in result.content if isinstance(part, TextContent)]
    for text in texts if result.full_output is None else [result.full_output]:
        printed = (
            text if isinstance(text, str) else read_stored(blobs, text.blob_sha256).decode("utf-8", "replace")
        )
        for match in islice(_REMOVED.finditer(printed), _MAX_REMOVED_LINES):
            name = match[1]
            if ".." not in PurePosixPath(name).parts and not any(map(is_invisible, name)):
                yield name


def _command_changes(commands: Iterable[CommandEffects]) -> Iterator[tuple[str, bool]]:
    """Yield each path that the commands change, and True if they delete it."""
    for command in commands:
        for effect in command.effects:
            if effect.verb in ("writes", "deletes"):
                for path in effect.target.split(", "):
                    if not _NO_PATH.fullmatch(path):
                        yield path, effect.verb == "deletes"


def find_missing_deletions(root: Path, commands: Iterable[CommandEffects]) -> tuple[str, ...]:
    """Return the paths that the commands delete although nothing exists there now. Blocks: call it in a thread.

    Call this before the commands run. `root`: the workspace.
    """
    # The workspace of a remote environment is not on this machine.
    if not root.is_dir():
        return ()
    paths = dict.fromkeys(path for path, removes in _command_changes(commands) if removes)
    places = {path: _find_place(root, path) for path in paths}
    return tuple(path for path, place in places.items() if place is not None and not os.path.lexists(place))


def _find_place(root: Path, path: str) -> Path | None:
    """Return the absolute place of a recorded path, without links in its folder; None if the path is not possible."""
    full = Path.home() / path[2:] if path.startswith("~/") else root / path
    try:
        return Path(os.path.realpath(full.parent)) / full.name
    except (ValueError, OSError):  # the report must not abort the undo
        return None


def _find_unrestored(
    root: Path, changes: Iterable[_Change], known: Collection[str]
) -> tuple[list[str], list[str]]:
    """Return the changed files outside the workspace, and the deleted paths in it.

    `known`: paths in the workspace whose changes are in checkpoints.
    """
    workspace = Path(os.path.realpath(root))
    outside, deleted = dict[str, None](), dict[str, None]()
    for change in changes:
        place = _find_place(root, change.path)
        if place is None:
            continue
        is_gone = change.removes and not os.path.lexists(place)
        if not place.is_relative_to(workspace):
            if is_gone or (not change.removes and _was_written(place, change.time)):
                outside[str(place)] = None
        elif is_gone and (relative := place.relative_to(workspace).as_posix()) not in known:
            deleted[relative] = None
    return list(outside)[:MAX_KEPT_PATHS], list(deleted)[:MAX_KEPT_PATHS]


def _was_written(path: Path, time: float) -> bool:
    """Return True if `path` is a file that was written at or after `time`, in seconds since the epoch."""
    # A sandbox may have refused the write, or the write went to a device or to the sandbox's own folder.
    try:
        facts = path.stat()
    except (ValueError, OSError):
        return False
    return stat.S_ISREG(facts.st_mode) and facts.st_mtime >= time - MTIME_TOLERANCE_S


def _turn_spans(records: Iterable[Record]) -> Iterator[tuple[float, float]]:
    """Yield the start and the end of each turn, in seconds since the epoch.

    `records`: begins with the last event before the first turn.
    """
    start, ended = 0.0, 0.0
    for number, record in enumerate(records):
        payload = record.payload
        if number == 0:
            ended = record.time
        elif number == 1 or isinstance(payload, TurnStarted):
            # Git records whole seconds. A turn begins with the next second, so that a commit is in one turn only.
            is_first = isinstance(payload, TurnStarted) and payload.turn == 1
            start = record.time if is_first else max(record.time, int(ended) + 1.0)
        elif isinstance(payload, TurnFinished):
            yield start, record.time
            ended = record.time


def find_new_commits(repository: Repository | None, spans: Sequence[tuple[float, float]]) -> list[str]:
    """Return the commits that were made during the time spans, oldest first. Blocks: call it in a thread.

    `spans`: (start, end) in seconds since the epoch.
    """
    text = "" if repository is None else read_small_text(repository.git_folder / "logs/HEAD", 16 * MAX_BYTES)
    parents: dict[str, str] = {}
    subjects: dict[str, str] = {}
    for old, new, time, message in _read_reflog(text):
        action, _, subject = message.partition(": ")
        if action == "commit (amend)":
            old = parents.pop(old, old)
        elif action.startswith("reset"):
            parents = _commits_after_reset(new, parents)
        if action.startswith(_NEW_COMMIT) and _is_within(time, spans):
            parents[new], subjects[new] = old, subject
    return [f"{commit[:7]} {_clean(subjects[commit])}" for commit in parents]


def _commits_after_reset(end: str, parents: Mapping[str, str]) -> dict[str, str]:
    """Return the commits of `parents` that are still on the branch after it was reset to the commit `end`.

    `parents`: maps each commit to its parent, oldest first. The reset removes the first child of `end` and all later
    commits.
    """
    remaining: dict[str, str] = {}
    for commit, parent in parents.items():
        if parent == end:
            break
        remaining[commit] = parent
    return remaining


def _clean(subject: str) -> str:
    text = subject.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return text if len(text) <= MAX_SUBJECT_CHARS else f"{text[: MAX_SUBJECT_CHARS - 1]}…"


def find_new_stashes(repository: Repository | None, spans: Sequence[tuple[float, float]]) -> list[str]:
    """Return the messages of the stashes that were made during the time spans and still exist, oldest first.

    Blocks: call it in a thread.

    `spans`: (start, end) in seconds since the epoch.
    """
    # Git removes a stash's line from this reflog when the stash is applied and dropped.
    log = (
        "" if repository is None else read_small_text(repository.common_folder / "logs/refs/stash", MAX_BYTES)
    )
    return [_clean(message) for _, _, time, message in _read_reflog(log) if _is_within(time, spans)]


def _read_reflog(text: str) -> Iterator[tuple[str, str, int, str]]:
    """Yield (old id, new id, time in seconds since the epoch, message) for each valid line of a reflog."""
    for line in text.splitlines():
        head, _, message = line.partition("\t")
        words = head.split()
        if len(words) >= 4 and words[-2].isdigit():
            yield words[0], words[1], int(words[-2]), message


def _is_within(time: int, spans: Iterable[tuple[float, float]]) -> bool:
    return any(int(start) <= time <= end for start, end in spans)
