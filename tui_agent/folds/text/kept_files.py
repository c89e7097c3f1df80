"""Texts that name the files an undo or revert left unchanged.

Invariant: a text names only a few files, and shows `…` if there are more.
"""

from collections.abc import Sequence
from typing import Final

from tui_agent.protocol.events.files import CheckpointRestored
from tui_agent.protocol.unicode_text import format_count

MAX_FILES_NAMED: Final = 3


def list_names(names: Sequence[str], *, is_complete: bool) -> str:
    """Join the first names with commas, and append `…` if any are missing.

    `is_complete`: False if `names` already lacks some names.
    """
    listed = ", ".join(names[:MAX_FILES_NAMED])
    return listed if is_complete and len(names) <= MAX_FILES_NAMED else f"{listed}, …"


def describe_kept(restored: CheckpointRestored) -> str:
    """Return the kept files with the reasons, e.g. `1 file kept, because you changed it: a.py`.

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
        pronoun = "it" if count == 1 else "them"
        listed = list_names(by_user, is_complete=count <= len(by_user))
        parts.append(f"{format_count(count, 'file')} kept, because you changed {pronoun}: {listed}")
    parts += [
        f"{format_count(len(paths), 'file')} kept, {reason}: {list_names(paths, is_complete=True)}"
        for reason, paths in by_reason.items()
    ]
    return "; ".join(parts)
