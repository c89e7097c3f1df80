"""Instructions that the window does not hold: which of them stay, and how much of each.

Invariant: pure. The nearest and the user's own are the last to give way, the farthest the first.
"""

from collections.abc import Sequence
from typing import Final

from tui_agent.context.even_shares import shared
from tui_agent.context.summary import CutText
from tui_agent.context.truncation import head_and_tail

RULES: Final = "the instructions of "
"""What is cut of them begins so, for a person."""
SHORT: Final = 400
"""Characters that stay whole in any case: what is said above all of them, a file of a few lines."""
_LEAST: Final = 60


def cut_rules(ids: Sequence[str], texts: Sequence[str], room: int) -> list[tuple[str, CutText | None]]:
    """Each text as it is with `room` characters for all, the farthest first, and what was cut of it. The user's own has an
    absolute path for its id."""
    sizes = [len(text) for text in texts]
    made = list[tuple[str, CutText | None]]()
    for name, text, most in zip(ids, texts, _rooms(ids, sizes, room), strict=True):
        shown = text
        if most < len(text):
            size = round(len(text.encode("utf-8", "replace")) * max(most, _LEAST) / len(text))
            shown = head_and_tail(text, max_bytes=size, max_lines=len(text) + 1, artifact=True).text
        cut = len(shown) < len(text)
        made.append((shown, CutText(f"{RULES}{name}", text, len(shown))) if cut else (text, None))
    return made


def _rooms(ids: Sequence[str], sizes: Sequence[int], room: int) -> list[int]:
    """Characters of each."""
    rooms = [size if size <= SHORT else 0 for size in sizes]
    room -= sum(rooms)
    long = [at for at, size in enumerate(sizes) if size > SHORT]
    last = [at for at in long if ids[at].startswith("/") or at == long[-1]]
    for group in (last, *([at] for at in reversed(long) if at not in last)):
        for at, most in zip(group, shared([sizes[at] for at in group], room), strict=True):
            rooms[at] = most
            room -= most
    return rooms
