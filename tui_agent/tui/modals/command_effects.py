"""What a command line does, a row for each of its commands.

Invariant: pure; nothing is left out: what has no room beside stands below.
"""

from collections.abc import Sequence
from typing import TypeAlias

from tui_agent.protocol.events.policy import DeedEffect
from tui_agent.tui.text import width as cells
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import wrap

Piece: TypeAlias = tuple[str, Role, bool]
"""Text, its role, and whether it is bold."""
Numbered: TypeAlias = tuple[int, str, tuple[DeedEffect, ...]]
"""Which command of the line it is, what it is, and what it does."""
WORD = 9
BETWEEN = 3
NARROW = 36


def deed_parts(deeds: Sequence[Numbered], room: int) -> list[list[Piece]]:
    """Rows: number, command, then effects side by side as long as there is room, on narrow screens below it."""
    if not deeds:
        return []
    number_width = len(str(max(number for number, _, _ in deeds))) + 2
    if room < NARROW:
        return [row for one in deeds for row in _stacked(one, number_width, room)]
    what_width = min(max(cells(what) for _, what, _ in deeds) + BETWEEN, max(12, room * 2 // 5))
    lead = number_width + what_width
    column = _column([effects for _, _, effects in deeds], room - lead)
    rows: list[list[Piece]] = []
    for number, what, effects in deeds:
        names = wrap(what, what_width - 1)
        lines = _lines(effects, room - lead, column)
        for at in range(max(len(names), len(lines))):
            name = names[at] if at < len(names) else ""
            first = str(number) if at == 0 else ""
            rows.append(
                [
                    (first.ljust(number_width), "t3", False),
                    (name + " " * (what_width - cells(name)), "t1", False),
                    *(lines[at] if at < len(lines) else []),
                ]
            )
    return rows


def _stacked(deed: Numbered, indent: int, room: int) -> list[list[Piece]]:
    number, what, effects = deed
    left = max(1, room - indent)
    lines: list[tuple[str, Role]] = [(piece, "t1") for piece in wrap(what, left)]
    for one in effects:
        role: Role = "warning" if one.grave else "t2"
        lines += [(piece, role) for piece in wrap(f"{one.word} {one.about}".strip(), left)]
    heads = [str(number), *[""] * (len(lines) - 1)]
    return [
        [(head.ljust(indent), "t3", False), (text, role, role == "warning")]
        for head, (text, role) in zip(heads, lines, strict=True)
    ]


def _column(all_effects: Sequence[tuple[DeedEffect, ...]], room: int) -> int:
    """Where the second effect of a row begins: behind the widest first one that leaves room for another."""
    widths = [_width(effects[0]) for effects in all_effects if len(effects) > 1]
    fitting = [one for one in widths if one + BETWEEN < room // 2]
    return max(fitting, default=0) + BETWEEN


def _width(effect: DeedEffect) -> int:
    return max(WORD, cells(effect.word) + 1) + cells(effect.about)


def _lines(effects: Sequence[DeedEffect], room: int, column: int) -> list[list[Piece]]:
    lines: list[list[Piece]] = []
    used = 0
    for effect in effects:
        gap = max(column, used + BETWEEN) - used if used else 0
        if used and used + gap + _width(effect) <= room:
            lines[-1] += [(" " * gap, "t1", False), *_effect(effect, effect.about)]
            used += gap + _width(effect)
            continue
        pieces = wrap(effect.about, max(8, room - WORD)) or [""]
        lines.append(_effect(effect, pieces[0]))
        lines += [[(" " * WORD, "t1", False), (piece, "t1", False)] for piece in pieces[1:]]
        used = _width(effect) if len(pieces) == 1 else room
    return lines


def _effect(effect: DeedEffect, about: str) -> list[Piece]:
    word = effect.word.ljust(WORD - 1) + " "
    return [(word, "warning" if effect.grave else "t2", effect.grave), (about, "t1", False)]
