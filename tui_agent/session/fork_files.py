"""The initial files of a fork that works in its own folder.

Invariant: the folder gets the files of the newest checkpoint at or before the fork's event, and not the workspace's
current files. The parent session's workspace is only read.
"""

import os
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import Iterable
from functools import partial
from itertools import takewhile
from pathlib import Path

from anyio import to_thread

from tui_agent.errors import CheckpointError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.base import fold
from tui_agent.folds.session.branches import Branches, stretches
from tui_agent.folds.session.commits import Commits
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.files import CheckpointTaken
from tui_agent.protocol.unicode_text import format_count, list_first
from tui_agent.session.fork_workspace import STORE_NAME, load_state
from tui_agent.store.forks import find_fork_point
from tui_agent.store.log_reader import iterate_records, read_marks
from tui_agent.units import format_bytes
from tui_agent.workspace.checkpoints.shadow_repository import GitCheckpoints

MAX_PLACES = 3
"""Maximum number of folders that are named in a sentence about left-out files."""
BEFORE_FIRST = "There is no checkpoint before that event. The files are those from the start of the session."


def read_records_until(folder: Path, at_seq: int) -> list[Record]:
    """Return all records of a session's log up to the event `at_seq`, including records on other branches."""
    return list(takewhile(lambda record: record.seq <= at_seq, iterate_records(folder)))


@dataclass(frozen=True, slots=True)
class FilesAtEvent:
    """The files that a session had at an event.

    The files are in the checkpoint `commit` of the git repository `store`. If there was no checkpoint, they are in the
    current `workspace`. `note` tells the user if these files can differ from the files at the event.
    """

    workspace: Path
    store: Path
    commit: str
    note: str = ""


def find_files_at(folder: Path, at_seq: int) -> FilesAtEvent:
    """Find the files of a session at an event. Raises `StoreError` if there is no such event."""
    owner = folder.parent / find_fork_point(folder, at_seq).parent_session / STORE_NAME
    workspace = Path(load_state(folder, at_seq).workspace)
    marks = read_marks(folder)
    commits = Commits()
    fold(commits, marks)
    commit = commits.commit_on(stretches(fold(Branches(), marks).moves, at_seq))
    is_before_first = bool(commit) and commits.seqs[0] > at_seq
    # Without a checkpoint of the session's start, the first one has files that are newer than the event.
    if commit and (not is_before_first or _begins_with_baseline(marks)):
        note = BEFORE_FIRST if is_before_first else ""
        return FilesAtEvent(workspace, owner, commit, note)
    note = "There is no checkpoint from that time. The files are the workspace's current files."
    return FilesAtEvent(workspace, owner, "", note)


def _begins_with_baseline(marks: Iterable[Record]) -> bool:
    """Return True if the first checkpoint has the files from the start of the session."""
    payloads = (mark.payload for mark in marks if isinstance(mark, Envelope))
    first = next((payload for payload in payloads if isinstance(payload, CheckpointTaken)), None)
    return first is not None and first.part == -1


def describe_left_out(workspace: Path, dest: Path, file_bytes: int) -> str:
    """Return a sentence about the workspace's files that are too large for the fork's folder `dest`. Empty if there are
    none. Only files above `file_bytes` count. A folder that `dest` lacks completely does not count, for example a
    git-ignored folder. Blocking: call this function in a thread.
    """
    counts, total = Counter[str](), 0
    present = {entry.name for entry in os.scandir(dest)}
    for folder, inner, names in os.walk(workspace):
        relative = Path(folder).relative_to(workspace)
        if folder == str(workspace):
            inner[:] = [name for name in inner if name in present and name != ".git"]
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
        f"Left out: {count} over {format_bytes(file_bytes)}, {format_bytes(total)} in all, in {places}. "
        f"To use them, copy them from {workspace}."
    )


def _regular_size(path: Path) -> int:
    """Return the size of a regular file in bytes; 0 for anything else."""
    try:
        facts = path.lstat()
    except OSError:
        return 0
    return facts.st_size if stat.S_ISREG(facts.st_mode) else 0


async def write_files(files: FilesAtEvent, dest: Path) -> None:
    """Write the files into an empty or new folder. A new folder is removed again if this fails.

    Files that checkpoints leave out (ignored and very large files) are not written. Raises `CheckpointError` if the
    files cannot be read or written.
    """
    existed = await to_thread.run_sync(dest.exists)
    try:
        if files.commit:
            await GitCheckpoints(files.store.parent, files.store).checkout(files.commit, dest)
            return
        with tempfile.TemporaryDirectory(prefix="tui-agent-fork-") as temporary:
            shadow = GitCheckpoints(files.workspace, Path(temporary) / STORE_NAME)
            if shadow.unavailable_reason:
                raise CheckpointError(
                    shadow.unavailable_reason, hint="Use --here, or copy the folder yourself."
                )
            baseline = await shadow.begin("")
            await shadow.checkout(baseline.commit if baseline is not None else shadow.head, dest)
    except BaseException:
        if not existed:
            await to_thread.run_sync(partial(shutil.rmtree, dest, ignore_errors=True))
        raise
