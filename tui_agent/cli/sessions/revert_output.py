"""Output of `sessions revert`: the plan of a revert, or what a revert did, as text or JSON."""

from tui_agent.cli.console.output import say, table, warn
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.text.restored_files import describe_kept_commits, describe_restored
from tui_agent.protocol.commands import Revert
from tui_agent.protocol.events.files import CheckpointPlanned, CheckpointRestored, FolderChange
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.unicode_text import format_count

_ACTS = {"write": "restored", "create": "recreated", "remove": "deleted", "mode": "mode restored"}


@dataclass(frozen=True, slots=True)
class RevertResult:
    """The plan of a revert, and the events that recorded its effects.

    `moved`: None if the conversation was not moved.
    `restored`: None if no file was restored.
    """

    plan: CheckpointPlanned
    moved: SessionHeadMoved | None = None
    restored: CheckpointRestored | None = None
    needs_answer: bool = False
    """True if nothing was done, because the user must confirm: someone else also changed every file in the plan."""
    blocked: tuple[str, ...] = ()
    """Messages about the files that could not be restored, with the reasons."""


def as_json(session: str, result: RevertResult) -> dict[str, object]:
    """Return the plan and the result of a revert as a JSON object."""
    plan, moved, restored = result.plan, result.moved, result.restored
    return {
        "session": session,
        "to": plan.to_seq,
        "acts": [act.model_dump(mode="json") for act in plan.changes],
        "more": plan.unlisted_count,
        "unavailable": plan.unavailable,
        "moved_from": None if moved is None else moved.from_seq,
        "reason": None if moved is None else moved.reason,
        "kept_commits": [] if moved is None else list(moved.kept_commits),
        "restored": None if restored is None else list(restored.paths),
        "restored_more": 0 if restored is None else restored.unlisted_count,
        "kept": [] if restored is None else list(restored.skipped_paths),
        "folders": [
            folder.model_dump(mode="json") for folder in (plan if restored is None else restored).folders
        ],
    }


def print_plan(plan: CheckpointPlanned) -> None:
    """Print what a revert would do to each file."""
    if plan.unavailable:
        say(plan.unavailable)
        return
    if not plan.changes and not plan.folders:
        say("No file would change.")
        return
    rows = [
        [
            act.path,
            _ACTS[act.operation],
            f"+{act.added}" if act.added else "",
            f"-{act.removed}" if act.removed else "",
            act.conflict,
        ]
        for act in plan.changes
    ]
    rows += [
        [
            folder.path,
            format_count(folder.files + folder.conflicts, "generated file"),
            "",
            "",
            _describe_conflicts(folder),
        ]
        for folder in plan.folders
    ]
    table(rows, ["path", "action", "+", "-", "conflict"])
    if plan.unlisted_count:
        say(f"and {format_count(plan.unlisted_count, 'more file')}")


def print_result(result: RevertResult, request: Revert) -> None:
    """Print what a revert did to the conversation and the files."""
    moved, restored = result.moved, result.restored
    if moved is not None and request.conversation:
        say(f"The conversation is now at event {moved.to_seq}; it was at event {moved.from_seq}.")
        if moved.kept_commits:
            say(describe_kept_commits(moved.kept_commits))
    folders = {folder.path for folder in result.plan.folders}
    known = (
        folders
        | {act.path for act in result.plan.changes}
        | set(restored.paths if restored is not None else ())
    )
    unknown = [path for path in request.overwrite if path not in known]
    if unknown and request.files and not result.plan.unlisted_count:
        warn(f"There is no change to restore in {', '.join(unknown)}.")
    if request.files and result.plan.unavailable:
        say(f"The files were not changed: {result.plan.unavailable}")
    elif request.files and restored is None:
        say("No files needed to be restored.")
    if restored is None:
        return
    say(describe_restored(restored))
    for path in restored.paths:
        say(f"  {path}")
    kept = [*restored.skipped_paths, *(path for path, _ in restored.kept_folders)]
    if kept:
        say(
            "Kept, because you or another program also changed them (to restore one: --files --overwrite PATH):"
        )
        for path in kept:
            reason = restored.skipped_reasons.get(path, "")
            say(f"  {path}" + (f"  {reason}" if reason else ""))


def _describe_conflicts(folder: FolderChange) -> str:
    return f"{format_count(folder.conflicts, 'file')} kept" if folder.conflicts else ""
