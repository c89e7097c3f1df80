"""The effects of a call in words, in their fixed order, and what each of its commands does, in rows.

Invariant: pure; paths and hosts stand whole, with hidden characters shown; what is not known is said to be not known.
"""

from collections.abc import Sequence
from typing import TypeAlias

from tui_agent.protocol.effects import Effect, NetworkEffect, ReadEffect, RunEffect, WriteEffect
from tui_agent.protocol.events.policy import CommandEffect, PermissionRequested
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.text import named
from tui_agent.tui.text import width as cells
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import wrap

Piece: TypeAlias = tuple[str, Role, bool]
"""Text, its role, and whether it is bold."""
Numbered: TypeAlias = tuple[int, str, tuple[CommandEffect, ...]]
"""Which command of the line it is, what it is, and what it does."""
WORD = 9
BETWEEN = 3
NARROW = 36
_CHANGES = frozenset({"writes", "deletes", "removes"})
"""The words of effects that are about files; logs of old sessions have `removes`."""


def question_of(request: PermissionRequested) -> str:
    """The question in three words."""
    effects = request.effects
    if any(isinstance(one, RunEffect) for one in effects):
        return "Run a command?"
    writes = [one for one in effects if isinstance(one, WriteEffect)]
    if writes:
        if all(one.removes for one in writes):
            return "Remove a file?"
        what = "a file" if len({one.path for one in writes}) == 1 else "some files"
        return f"Create {what}?" if all(one.creates for one in writes) else f"Change {what}?"
    if any(isinstance(one, NetworkEffect) for one in effects):
        return "Use the network?"
    if any(isinstance(one, ReadEffect) for one in effects):
        return "Read a file?"
    return f"Use {named(request.tool)[:60]}?"


def effect_lines(request: PermissionRequested, policy: str, workspace: str) -> list[tuple[str, str]]:
    """Label and sentence of every row. Where commands run, their rows (`deed_lines`) say what is read and written."""
    effects = request.effects
    if request.commands:
        return [("Undo", _undo(request, workspace, unknown=True)), ("Asked", _asked(request.reason, policy))]
    runs = any(isinstance(one, RunEffect) for one in effects)
    unknown = runs or not effects
    return [
        ("Reads", _reads(effects, unknown)),
        ("Writes", _writes(effects, unknown, workspace)),
        ("Network", _network(effects, unknown)),
        ("Undo", _undo(request, workspace, unknown)),
        ("Asked", _asked(request.reason, policy)),
    ]


def deed_lines(request: PermissionRequested) -> list[tuple[str, tuple[CommandEffect, ...]]]:
    """Every command with its effects, cleaned."""
    return [
        (
            named(deed.command),
            tuple(
                one.model_copy(update={"verb": named(one.verb), "target": named(one.target)})
                for one in deed.effects
            )
            or (CommandEffect(verb="only reads"),),
        )
        for deed in request.commands
    ]


def _reads(effects: Sequence[Effect], unknown: bool) -> str:
    paths = [
        named(one.path) + ("/**" if one.recursive else "") for one in effects if isinstance(one, ReadEffect)
    ]
    if paths:
        return ", ".join(dict.fromkeys(paths))
    return "not known" if unknown else "nothing new"


def _writes(effects: Sequence[Effect], unknown: bool, workspace: str) -> str:
    said: list[str] = []
    for one in effects:
        if isinstance(one, WriteEffect):
            how = ", removed" if one.removes else ", a new file" if one.creates else ""
            outside = "" if _inside(one.path, workspace) else ", outside this workspace"
            said.append(named(one.path) + how + outside)
    if said:
        return "; ".join(dict.fromkeys(said))
    return "not known" if unknown else "nothing"


def _network(effects: Sequence[Effect], unknown: bool) -> str:
    hosts = [named(one.host) for one in effects if isinstance(one, NetworkEffect)]
    if hosts:
        return ", ".join(dict.fromkeys(hosts))
    return "not held off: it can use it" if unknown else "none"


def _undo(request: PermissionRequested, workspace: str, unknown: bool) -> str:
    effects = request.effects
    written = [one.path for one in effects if isinstance(one, WriteEffect)]
    told = (one.target for deed in request.commands for one in deed.effects if one.verb in _CHANGES)
    written += [path for about in told for path in about.split(", ")]
    if not all(_inside(path, workspace) for path in written):
        return "/undo puts nothing outside this workspace back"
    if unknown:
        return "/undo puts its files back, nothing else that it does"
    changed = {one.path for one in effects if isinstance(one, WriteEffect)}
    if changed:
        return f"/undo puts {format_count(len(changed), 'file')} back; /diff shows what changed"
    if any(isinstance(one, NetworkEffect) for one in effects):
        return "/undo does not reach what it does elsewhere"
    return "nothing to undo"


def _asked(reason: str, policy: str) -> str:
    said = named(reason).strip().removesuffix(".")
    if not said:
        return f"because policy {policy} wants a yes"
    return said if said.startswith("because") else f"because {said[:1].lower()}{said[1:]}"


def _inside(path: str, workspace: str) -> bool:
    return not path.startswith(("/", "~", "..")) or (
        bool(workspace) and path.startswith(workspace.rstrip("/") + "/")
    )


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
        role: Role = "warning" if one.risky else "t2"
        lines += [(piece, role) for piece in wrap(f"{one.verb} {one.target}".strip(), left)]
    heads = [str(number), *[""] * (len(lines) - 1)]
    return [
        [(head.ljust(indent), "t3", False), (text, role, role == "warning")]
        for head, (text, role) in zip(heads, lines, strict=True)
    ]


def _column(all_effects: Sequence[tuple[CommandEffect, ...]], room: int) -> int:
    """Where the second effect of a row begins: behind the widest first one that leaves room for another."""
    widths = [_width(effects[0]) for effects in all_effects if len(effects) > 1]
    fitting = [one for one in widths if one + BETWEEN < room // 2]
    return max(fitting, default=0) + BETWEEN


def _width(effect: CommandEffect) -> int:
    return max(WORD, cells(effect.verb) + 1) + cells(effect.target)


def _lines(effects: Sequence[CommandEffect], room: int, column: int) -> list[list[Piece]]:
    lines: list[list[Piece]] = []
    used = 0
    for effect in effects:
        gap = max(column, used + BETWEEN) - used if used else 0
        if used and used + gap + _width(effect) <= room:
            lines[-1] += [(" " * gap, "t1", False), *_effect(effect, effect.target)]
            used += gap + _width(effect)
            continue
        pieces = wrap(effect.target, max(8, room - WORD)) or [""]
        lines.append(_effect(effect, pieces[0]))
        lines += [[(" " * WORD, "t1", False), (piece, "t1", False)] for piece in pieces[1:]]
        used = _width(effect) if len(pieces) == 1 else room
    return lines


def _effect(effect: CommandEffect, about: str) -> list[Piece]:
    word = effect.verb.ljust(WORD - 1) + " "
    return [(word, "warning" if effect.risky else "t2", effect.risky), (about, "t1", False)]
