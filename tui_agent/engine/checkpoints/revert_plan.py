"""Plan of the files that an undo, a redo or a revert restores, and the conflicts with changes by others.

Invariant: an undo asks before it restores a file that somebody else may have changed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace

from anyio import to_thread

from tui_agent.engine.checkpoints.hunk_revert import find_reverted_paths
from tui_agent.engine.recorder import Recorder
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.branches import last_shared, stretches
from tui_agent.ports.checkpoint import CHANGED_BY_YOU, Checkpoints, RestorePlan
from tui_agent.ports.log import OtherChange
from tui_agent.protocol.envelope import Record
from tui_agent.protocol.events.files import (
    LONG_COMMAND_S,
    MAX_PATHS_IN_EVENT,
    CheckpointPlanned,
    FileChanged,
    FolderChange,
    PlannedFileChange,
)
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished, ToolStarted
from tui_agent.protocol.unicode_text import clip_line
from tui_agent.units import format_duration

NO_CHECKPOINT = "There is no checkpoint of the files yet."
MAX_COMMAND_CHARS = 40

ReadOtherChanges = Callable[[str, float], Iterable[OtherChange]]
"""Function (workspace, time) that returns other sessions' changes after this time. Blocks.

The time is in seconds since the epoch.
"""


async def make_restore_plan(
    recorder: Recorder,
    store: Checkpoints,
    source: str,
    to_seq: int,
    read_others: ReadOtherChanges | None,
    *,
    overwrite: tuple[str, ...] = (),
    kept_changes: tuple[tuple[str, str], ...] = (),
) -> RestorePlan:
    """Plan a restore to the checkpoint `source` at the event `to_seq`.

    Files that somebody else may have changed get a conflict. `overwrite`: files that are restored even so.
    `kept_changes`: later file changes that the user kept, each as (commit before, commit after).
    """
    reverted = await find_reverted_paths(recorder, to_seq)
    plan = await store.plan_restore(source, (*overwrite, *reverted.restored_paths), kept_changes)
    moves = recorder.branches.moves
    after = last_shared(stretches(moves, recorder.state.seq), stretches(moves, to_seq))
    workspace = recorder.state.workspace
    shared = await to_thread.run_sync(
        lambda: find_shared_changes(recorder.records_after(after), workspace, read_others)
    )
    actions = []
    for act in plan.actions:
        if act.path in reverted.kept_paths and not act.conflict:
            act = replace(act, conflict=CHANGED_BY_YOU)
        elif act.path in shared and not act.conflict and not act.folder:
            change = shared[act.path]
            act = replace(act, conflict=change.reason, is_uncertain=change.is_uncertain)
        actions.append(act)
    return replace(plan, actions=tuple(actions))


def plan_event(to_seq: int, plan: RestorePlan) -> CheckpointPlanned:
    """Return the event that tells the user which files a restore would change."""
    own = [act for act in plan.actions if not act.folder]
    acts = tuple(
        PlannedFileChange(
            path=act.path,
            operation=act.kind,
            added=act.added,
            removed=act.removed,
            conflict=act.conflict,
            uncertain=act.is_uncertain,
        )
        for act in own[:MAX_PATHS_IN_EVENT]
    )
    return CheckpointPlanned(
        to_seq=to_seq,
        changes=acts,
        unlisted_count=max(0, len(own) - MAX_PATHS_IN_EVENT),
        folders=folder_changes(
            plan,
            [act.path for act in plan.actions if not act.conflict],
            [act.path for act in plan.actions if act.conflict],
        ),
    )


def folder_changes(
    plan: RestorePlan, restored_paths: Sequence[str], kept_paths: Sequence[str]
) -> tuple[FolderChange, ...]:
    """Return the generated folders of a plan, with the numbers of their restored and kept files."""
    folders = {act.path: act.folder for act in plan.actions if act.folder}
    removed_files = removed_paths(plan).intersection(restored_paths)
    restored_counts, removed_counts, kept_counts = (
        Counter(folders[path] for path in paths if path in folders)
        for paths in (restored_paths, removed_files, kept_paths)
    )
    return tuple(
        FolderChange(
            path=folder,
            files=restored_counts[folder],
            removed=removed_counts[folder],
            conflicts=kept_counts[folder],
        )
        for folder in sorted(restored_counts | kept_counts)[:MAX_PATHS_IN_EVENT]
    )


def expand_overwrite(overwrite: Sequence[str], plan: RestorePlan) -> tuple[str, ...]:
    """Return `overwrite`, with each folder replaced by its files in the plan.

    A path that ends with `/` is a folder; `/` alone means all files.
    """
    folders = {path for path in overwrite if path.endswith("/")}
    files = (act.path for act in plan.actions if act.folder in folders or "/" in folders)
    return (*(path for path in overwrite if path not in folders), *files)


def removed_paths(plan: RestorePlan) -> set[str]:
    return {act.path for act in plan.actions if act.kind == "remove"}


def generated_paths(plan: RestorePlan) -> set[str]:
    return {act.path for act in plan.actions if act.folder}


@dataclass(frozen=True, slots=True)
class SharedChange:
    """A file that changed while a command ran.

    `reason`: says who may have changed the file.
    `is_uncertain`: True if only the time of the change points to somebody else.
    """

    reason: str
    is_uncertain: bool


@dataclass(slots=True)
class _CommandRun:
    command: str
    started: float = 0.0
    ended: float = 0.0
    seconds: float = 0.0
    changes: list[FileChanged] = field(default_factory=list)


def find_shared_changes(
    records: Iterable[Record], workspace: str, read_others: ReadOtherChanges | None
) -> dict[str, SharedChange]:
    """Return the files that somebody else may have changed while a command ran. Blocks."""
    runs, edited = _read_runs(records)
    runs = [run for run in runs if run.changes]
    others: dict[str, list[OtherChange]] = {}
    if runs and read_others is not None:
        for other in read_others(workspace, min(run.started for run in runs)):
            others.setdefault(other.change.path, []).append(other)
    shared: dict[str, SharedChange] = {}
    for run in runs:
        for change in run.changes:
            reason = _other_session(run, change, others.get(change.path, ()))
            if reason:
                shared[change.path] = SharedChange(reason, is_uncertain=False)
            elif run.seconds > LONG_COMMAND_S and change.path not in edited:
                reason = f"changed while `{run.command}` ran ({format_duration(run.seconds)})"
                shared.setdefault(change.path, SharedChange(reason, is_uncertain=True))
    return shared


def _read_runs(records: Iterable[Record]) -> tuple[list[_CommandRun], set[str]]:
    """Return the commands with their file changes, and the files changed by edit tools."""
    runs: dict[str, _CommandRun] = {}
    edited: set[str] = set()
    for record in records:
        match record.payload:
            case ToolCalled(call_id=call_id, target=target):
                runs[call_id] = _CommandRun(clip_line(target, MAX_COMMAND_CHARS))
            case ToolStarted(call_id=call_id) if call_id in runs:
                runs[call_id].started = record.time
            case ToolFinished(call_id=call_id) as end if call_id in runs:
                runs[call_id].ended, runs[call_id].seconds = record.time, (end.duration_ms or 0.0) / 1000
            case FileChanged(author="agent", path=path):
                edited.add(path)
            case FileChanged(author="command", call_id=call_id) as change if call_id in runs:
                runs[call_id].changes.append(change)
    return list(runs.values()), edited


def _other_session(run: _CommandRun, change: FileChanged, others: Iterable[OtherChange]) -> str:
    """Return a reason if another session changed the file during the command; otherwise an empty string."""
    for other in others:
        if other.change.author == "agent" and run.started <= other.time <= run.ended:
            return f"changed by the session “{other.session}”"
        if other.change.author == "command" and _contents(other.change) == _contents(change):
            return f"changed while a command of the session “{other.session}” also ran"
    return ""


def _contents(change: FileChanged) -> tuple[str | None, str | None]:
    return change.disk_sha256_before, change.disk_sha256_after
