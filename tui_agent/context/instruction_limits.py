"""Division of the available characters among instructions, if they do not all fit.

Invariant: the instructions of the outermost folder are cut first.
"""

from collections.abc import Sequence
from typing import Final

from tui_agent.context.priorities import divide_evenly
from tui_agent.context.summary.summary import CutText
from tui_agent.context.truncation import artifact_id, head_and_tail

RULES_LABEL: Final = "the instructions of "
"""Start of a label that tells the user which instructions were cut."""
MAX_UNCUT_CHARS: Final = 400
"""Texts up to this number of characters are never cut."""
_LEAST: Final = 60


def cut_rules(ids: Sequence[str], texts: Sequence[str], room: int) -> list[tuple[str, CutText | None]]:
    """Cut the texts to `room` characters in total. Return each text with a record of how it was cut (None: not cut).

    `ids`, `texts`: ordered from the outermost folder to the innermost. The user's own file has an absolute path as id.
    """
    sizes = [len(text) for text in texts]
    results = list[tuple[str, CutText | None]]()
    for name, text, limit in zip(ids, texts, _allot_room(ids, sizes, room), strict=True):
        shown = text
        if limit < len(text):
            size = round(len(text.encode("utf-8", "replace")) * max(limit, _LEAST) / len(text))
            shown = head_and_tail(
                text, max_bytes=size, max_lines=len(text) + 1, artifact=artifact_id(text)
            ).text
        cut = len(shown) < len(text)
        results.append((shown, CutText(f"{RULES_LABEL}{name}", text, len(shown))) if cut else (text, None))
    return results


def _allot_room(ids: Sequence[str], sizes: Sequence[int], room: int) -> list[int]:
    rooms = [size if size <= MAX_UNCUT_CHARS else 0 for size in sizes]
    room -= sum(rooms)
    long = [index for index, size in enumerate(sizes) if size > MAX_UNCUT_CHARS]
    last = [index for index in long if ids[index].startswith("/") or index == long[-1]]
    for group in (last, *([index] for index in reversed(long) if index not in last)):
        for index, limit in zip(group, divide_evenly([sizes[index] for index in group], room), strict=True):
            rooms[index] = limit
            room -= limit
    return rooms
