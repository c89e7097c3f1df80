"""The start of a fork: the event at which it starts, and the initial files if it has its own folder.

Invariant: a fork starts with the conversation and the files of the same event, and the parent session's workspace is
only read.
"""

import os
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from itertools import takewhile
from pathlib import Path

from anyio import to_thread

from tui_agent.errors import CheckpointError, UsageError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.projection import current_branch, fold
from tui_agent.folds.session.branches import Branches, stretches
from tui_agent.folds.session.checkpoints import Commits
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.session.known_files import find_event_with_known_files
from tui_agent.folds.session.state_view import OpenCall
from tui_agent.protocol.envelope import Envelope, Record, find_payload
from tui_agent.protocol.events.files import CheckpointRestored, CheckpointTaken, FileChanged
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested
from tui_agent.protocol.events.session import ForkChange, SessionHeadMoved
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolProgress, ToolStarted
from tui_agent.protocol.events.turn import UserMessageReceived, UserShellStarted, UserSteered
from tui_agent.protocol.ids import MAIN_AGENT, CallId
from tui_agent.protocol.unicode_text import format_count, list_first
from tui_agent.session.fork_workspace import STORE_NAME, checkout_for_fork, load_state
from tui_agent.store.forks import find_fork_point
from tui_agent.store.log_reader import read_marks
from tui_agent.store.writer_lock import is_locked
from tui_agent.units import format_bytes
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

_LATER_CHANGES = (
    CheckpointRestored,
    CheckpointTaken,
    FileChanged,
    SessionHeadMoved,
    ToolStarted,
    UserMessageReceived,
    UserShellStarted,
)
"""Events after which the files or the conversation may differ from those of an earlier event."""
MAX_PLACES = 3
"""Maximum number of folders in a sentence about left-out files."""
NOT_CHECKPOINTED = "The fork lacks the newest file changes before that event, because no checkpoint has them."
BEFORE_FIRST = (
    "There is no checkpoint before that event. The fork gets the files from the start of the session."
)


@dataclass(frozen=True, slots=True)
class FilesAtEvent:
    """The files that a session had at an event.

    - `store`, `commit`: git repository and commit of the checkpoint with the files. `commit` is empty without a
      checkpoint.
    - `workspace`: the session's workspace. Without a checkpoint, the files come from this folder.
    - `note`: sentence for the user if the files may differ from the files at the event.
    """

    workspace: Path
    store: Path
    commit: str
    note: str = ""


def find_files_at(folder: Path, at_seq: int) -> FilesAtEvent:
    """Find the files of a session at an event. Raise `StoreError` if there is no such event."""
    owner = folder.parent / find_fork_point(folder, at_seq).parent_session / STORE_NAME
    state = load_state(folder, at_seq)
    workspace = Path(state.workspace)
    marks = read_marks(folder)
    commits = Commits()
    fold(commits, marks)
    commit = commits.commit_on(stretches(fold(Branches(), marks).moves, at_seq))
    is_before_first = bool(commit) and commits.seqs[0] > at_seq
    # Without a checkpoint of the session's start, the first one has files that are newer than the event.
    if commit and (not is_before_first or _begins_with_baseline(marks)):
        note = BEFORE_FIRST if is_before_first else NOT_CHECKPOINTED if state.uncheckpointed else ""
        return FilesAtEvent(workspace, owner, commit, note)
    note = "There is no checkpoint from that time. The fork gets the workspace's current files."
    return FilesAtEvent(workspace, owner, "", note)


def _begins_with_baseline(marks: Iterable[Record]) -> bool:
    """Return True if the first checkpoint was taken before the session's first change."""
    first = find_payload(marks, CheckpointTaken)
    return first is not None and first.part == -1


def describe_large_files_left_out(
    workspace: Path, dest: Path, file_bytes: int, folders: Collection[str]
) -> str:
    """Return a sentence about the workspace's large files (over `file_bytes` bytes) that the fork lacks.

    Return an empty string if there are no such files. The generated `folders` that were left out are not searched, nor
    are folders that are missing in the fork's folder `dest`.
    """
    counts, total = Counter[str](), 0
    present = {entry.name for entry in os.scandir(dest)}
    for folder, inner, names in os.walk(workspace):
        relative = Path(folder).relative_to(workspace)
        if folder == str(workspace):
            # Folders that the fork lacks as a whole are ignored ones, such as caches. Nobody expects their files.
            inner[:] = [name for name in inner if name in present and name != ".git"]
        inner[:] = [name for name in inner if f"{(relative / name).as_posix()}/" not in folders]
        for name in names:
            size = _regular_size(Path(folder) / name)
            if size > file_bytes and not os.path.lexists(dest / relative / name):
                counts[f"{relative.parts[0]}/" if relative.parts else name] += 1
                total += size
    if not counts:
        return ""
    count = format_count(counts.total(), "file")
    places = list_first([place for place, _ in counts.most_common()], MAX_PLACES)
    return (
        f"Left out: {count} over {format_bytes(file_bytes)} ({format_bytes(total)} in total) in {places}. "
        f"To use them, copy them from {workspace}."
    )


def _regular_size(path: Path) -> int:
    """Return the size of a regular file in bytes; 0 for anything else."""
    try:
        facts = path.lstat()
    except OSError:
        return 0
    return facts.st_size if stat.S_ISREG(facts.st_mode) else 0


async def write_files(files: FilesAtEvent, dest: Path) -> tuple[str, ...]:
    """Write the files into an empty or new folder.

    Ignored and very large files and generated folders are not written. Return the paths of the generated folders that
    were left out (see `checkout_for_fork`). Raise `CheckpointError` if files cannot be read or written.
    """
    existed = await to_thread.run_sync(dest.exists)
    try:
        if files.commit:
            # The workspace may be gone. Reading a checkpoint needs any existing folder.
            shadow = GitCheckpoints(files.store.parent, files.store)
            return await checkout_for_fork(shadow, files.commit, dest, files.workspace)
        async with save_present_files(files) as present:
            shadow = GitCheckpoints(present.store.parent, present.store)
            return await checkout_for_fork(shadow, present.commit, dest, files.workspace)
    except BaseException:  # also if the user cancels: half of the files must not look like a finished fork
        if not existed:
            await to_thread.run_sync(partial(shutil.rmtree, dest, ignore_errors=True))
        raise


@asynccontextmanager
async def save_present_files(files: FilesAtEvent) -> AsyncIterator[FilesAtEvent]:
    """Save the present files of the workspace in a temporary repository, and yield them.

    Raise `CheckpointError` if they cannot be saved.
    """
    with tempfile.TemporaryDirectory(prefix="tui-agent-fork-") as temporary:
        store = Path(temporary) / STORE_NAME
        shadow = GitCheckpoints(files.workspace, store)
        if shadow.unavailable_reason:
            raise CheckpointError(shadow.unavailable_reason, hint="Use --here, or copy the folder yourself.")
        baseline = await shadow.begin("")
        yield replace(files, store=store, commit=shadow.head if baseline is None else baseline.commit)


def has_present_files(folder: Path, records: Iterable[Record], at_seq: int) -> bool:
    """Return True if the files at the event `at_seq` are the present ones.

    This is so if the session is open and no later event can have changed files. The user's newest changes are then in
    no checkpoint yet.
    """
    later = (record.payload for record in records if record.seq > at_seq and isinstance(record, Envelope))
    return is_locked(folder / "lock") and not any(isinstance(payload, _LATER_CHANGES) for payload in later)


@dataclass(frozen=True, slots=True)
class ForkStart:
    """Start of a fork: the last event shared with its parent session, and the user's change."""

    at_seq: int
    change: ForkChange


def find_fork_start(records: Sequence[Record], at_seq: int, change: ForkChange) -> ForkStart:
    """Return the event at which a fork starts, together with the requested change.

    - `records`: all records of the log, of all branches.
    - `at_seq`: the event that the user named.

    The fork normally starts at `at_seq`. If `change` replaces the message or tool result there, the fork starts just
    before it. If a tool call was changing files at that moment, the fork starts after the call's checkpoint. If this
    call never ended, the fork starts before the call. Raise `UsageError` if there is nothing to replace.
    """
    if change.message is not None and change.result is not None:
        raise UsageError("A fork can replace a message or a tool result, not both.")
    until = [record for record in records if record.seq <= at_seq]
    if change.message is not None:
        start_seq = _before_message(until, at_seq)
        return ForkStart(find_event_with_known_files(_until_steered(records, start_seq), start_seq), change)
    if change.result is None:
        return ForkStart(find_event_with_known_files(records, at_seq), change)
    call_id = _call_id_at(until, at_seq) or _only_open_call(until, at_seq)
    start_seq = _before_result(until, call_id, at_seq)
    if call_id not in {call.call_id for call in _open_calls(until, start_seq)}:
        raise UsageError(
            f"The result of {call_id} cannot be replaced: the main agent was not waiting for it at event {start_seq}."
        )
    return ForkStart(start_seq, change.model_copy(update={"call_id": call_id}))


def _before_message(records: Sequence[Record], at_seq: int) -> int:
    last = records[-1] if records else None
    match last:
        case Envelope(
            seq=seq, agent="main", parent=int(parent), payload=UserMessageReceived() | UserSteered()
        ) if seq == at_seq:
            return parent
        case _:
            return at_seq


def _until_steered(records: Sequence[Record], seq: int) -> list[Record]:
    """Return the records before the first message that the user added to the running turn after event `seq`."""
    # The call during which the user sent this message ends after it. A fork after the call would contain the message
    # and its replacement.
    return list(takewhile(lambda record: record.seq <= seq or not _is_steered(record), records))


def _is_steered(record: Record) -> bool:
    return (
        isinstance(record, Envelope)
        and record.agent == MAIN_AGENT
        and isinstance(record.payload, UserSteered)
    )


def _call_id_at(records: Sequence[Record], at_seq: int) -> CallId | None:
    match records[-1] if records else None:
        case Envelope(
            seq=seq,
            payload=ToolCalled(call_id=call_id)
            | ToolStarted(call_id=call_id)
            | ToolProgress(call_id=call_id)
            | ToolFinished(call_id=call_id)
            | PermissionRequested(call_id=call_id)
            | PermissionDecided(call_id=call_id),
        ) if seq == at_seq:
            return call_id
        case _:
            return None


def _before_result(records: Sequence[Record], call_id: CallId, at_seq: int) -> int:
    # A tool that changes files is cut before its start: after it, the files would already contain its changes.
    for record in current_branch(records):
        match record:
            case Envelope(
                parent=int(parent),
                payload=ToolStarted(call_id=event_call_id, writes=True) | ToolFinished(call_id=event_call_id),
            ) if event_call_id == call_id:
                return parent
            case _:
                pass
    return at_seq


def _open_calls(records: Sequence[Record], at_seq: int) -> list[OpenCall]:
    until = current_branch([record for record in records if record.seq <= at_seq])
    return [call for call in fold(SessionState(), until).open_calls if call.agent == MAIN_AGENT]


def _only_open_call(records: Sequence[Record], at_seq: int) -> CallId:
    open_calls = _open_calls(records, at_seq)
    if len(open_calls) == 1:
        return open_calls[0].call_id
    if not open_calls:
        raise UsageError(
            f"The main agent was not waiting for a tool result at event {at_seq}.",
            hint="Name the event in which the call finished; `sessions show ID` lists the events.",
        )
    names = ", ".join(f"{call.name} ({call.call_id})" for call in open_calls)
    raise UsageError(
        f"Several tool calls were unfinished at event {at_seq}: {names}.",
        hint="Give an event that belongs to the call you want.",
    )
