"""Sentences about an undo or revert: the files restored, removed or kept, and the effects that were not reversed.

Invariant: a text names only a few files, and shows `…` if there are more.
"""

from collections.abc import Sequence
from typing import Final

from tui_agent.folds.session.changed_files import format_files
from tui_agent.protocol.events.files import UNNAMED_AUTHOR, CheckpointRestored
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.protocol.unicode_text import clip_line, escape_unprintable, format_count, list_first

MAX_FILES_NAMED: Final = 3
MAX_COMMITS_NAMED = 3
"""Maximum number of commits that the sentence names."""
MAX_JOBS_NAMED: Final = 3
MAX_COMMAND_CHARS: Final = 60


def describe_restored(restored: CheckpointRestored) -> str:
    """Describe a restore in a sentence, e.g. `2 files restored, 1 file and .venv/ 2,570 files removed.`"""
    parts = [text for text, _ in _count_restored(restored)]
    return f"{', '.join(parts)}." if parts else "No file was changed."


def list_restored(restored: CheckpointRestored) -> str:
    """Return the number of restored files and the number of removed files, each with the names of some files.

    Example: `2 files restored: a.py, b.py; 1 file removed: c.py`. If `restored` has no names of files, return the
    sentence of `describe_restored`.
    """
    if not restored.paths:
        return describe_restored(restored)
    return "; ".join(f"{text}: {names}" if names else text for text, names in _count_restored(restored))


def _count_restored(restored: CheckpointRestored) -> list[tuple[str, str]]:
    """Return (text with a number, names) for the restored files and for the removed files.

    A kind without files is left out. `names` lists the first files outside generated folders.
    """
    count = len(restored.paths) + restored.unlisted_count - restored.removed_count
    restored_folders = [(folder.path, folder.files - folder.removed) for folder in restored.folders]
    removed_folders = [(folder.path, folder.removed) for folder in restored.folders]
    # The event lists the removed files last.
    kinds = (
        ("restored", count, restored.paths[:count], restored_folders),
        ("removed", restored.removed_count, restored.paths[count:], removed_folders),
    )
    parts = []
    for word, total, paths, folders in kinds:
        counted = [folder for folder in folders if folder[1]]
        if total or counted:
            names = list_names(paths, is_complete=len(paths) == total) if paths else ""
            parts.append((f"{format_files(total, counted)} {word}", names))
    return parts


def list_names(names: Sequence[str], *, is_complete: bool) -> str:
    """Join the first `MAX_FILES_NAMED` file names with commas, and append `…` if any are missing. Escape line breaks in names.

    `is_complete`: False if `names` already lacks some names.
    """
    listed = ", ".join(map(escape_unprintable, names[:MAX_FILES_NAMED]))
    return listed if is_complete and len(names) <= MAX_FILES_NAMED else f"{listed}, …"


def describe_kept_files(restored: CheckpointRestored) -> str:
    """Return the kept files with the reasons, e.g. `1 file kept, changed by the session “Fix b”: b.py`.

    Return an empty string if no file was kept.
    """
    reasons = restored.skipped_reasons
    by_reason: dict[str, list[str]] = {}
    for path in restored.skipped_paths:
        by_reason.setdefault(reasons.get(path, ""), []).append(path)
    by_user = [*by_reason.pop("", []), *(path for path, _ in restored.kept_folders)]
    count = restored.kept_count - sum(map(len, by_reason.values()))
    parts = []
    if count:
        listed = list_names(by_user, is_complete=count <= len(by_user))
        parts.append(f"{format_count(count, 'file')} kept, changed by {UNNAMED_AUTHOR}: {listed}")
    parts += [
        f"{format_count(len(paths), 'file')} kept, {reason}: {list_names(paths, is_complete=True)}"
        for reason, paths in by_reason.items()
    ]
    return "; ".join(parts)


def describe_kept_commits(commits: Sequence[str]) -> str:
    """Return a sentence about the commits of undone turns, with the git command to undo them.

    `commits`: ids with subjects, oldest first.
    """
    if not commits:
        return ""
    named = [f"{commit[:7]} “{commit[8:]}”" for commit in commits[:MAX_COMMITS_NAMED]]
    more = f" and {len(commits) - MAX_COMMITS_NAMED} more" if len(commits) > MAX_COMMITS_NAMED else ""
    if len(commits) == 1:
        subject, pronoun = f"Commit {named[0]} stays", "it"
    else:
        subject, pronoun = f"These commits stay: {', '.join(named)}{more}", "them"
    return f"{subject}. To undo {pronoun} in git and keep all files: git reset {commits[0][:7]}~1"


def describe_remains(move: SessionHeadMoved) -> tuple[str, ...]:
    """Return a sentence for each kind of effect that the undo, redo or revert did not reverse."""
    sentences = (
        describe_stopped_jobs(move.stopped_jobs),
        _describe_unrestored(move.outside_paths, "outside this workspace"),
        _describe_unrestored(move.deleted_paths, "deleted files that are in no checkpoint"),
        _describe_kept_stashes(move.kept_stashes),
        describe_kept_commits(move.kept_commits),
    )
    return tuple(filter(None, sentences))


def _describe_unrestored(paths: Sequence[str], reason: str) -> str:
    return (
        f"Not restored ({reason}): {list_first([*map(escape_unprintable, paths)], MAX_FILES_NAMED)}."
        if paths
        else ""
    )


def _describe_kept_stashes(stashes: Sequence[str]) -> str:
    """Return a sentence about the git stashes that undone turns made. `stashes`: their messages, oldest first."""
    named = list_first([f"“{stash}”" for stash in stashes], MAX_COMMITS_NAMED)
    if len(stashes) < 2:
        return f"Git stash {named} stays; `git stash list` shows it." if stashes else ""
    return f"These git stashes stay: {named}; `git stash list` shows them."


def quote_commands(commands: Sequence[str]) -> str:
    """Return the first commands in backticks, and the number of further commands."""
    return list_first([f"`{clip_line(command, MAX_COMMAND_CHARS)}`" for command in commands], MAX_JOBS_NAMED)


def describe_stopped_jobs(commands: Sequence[str]) -> str:
    """Return a sentence about the background jobs with these commands, which an undo stopped."""
    if not commands:
        return ""
    jobs, pronoun = (
        ("the background job", "it")
        if len(commands) == 1
        else (format_count(len(commands), "background job"), "them")
    )
    return f"Stopped {jobs} {quote_commands(commands)}; a redo does not start {pronoun} again."
