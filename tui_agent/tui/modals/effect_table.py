"""The effects of a tool call, in words and as a table of its commands.

Invariant: paths and hosts are never shortened, and hidden characters are shown.
"""

import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

from textual.strip import Strip

from tui_agent.protocol.effects import (
    Effect,
    McpCallEffect,
    NetworkEffect,
    ReadEffect,
    RunEffect,
    WriteEffect,
)
from tui_agent.protocol.events.policy import CommandEffect, PermissionRequested
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.untrusted_text import pad, reveal_line
from tui_agent.tui.untrusted_text import width as cells
from tui_agent.tui.widgets.rows import Part, Pen, wrap

VERB_WIDTH = 9
GAP = 3
MIN_CELLS_BESIDE_LABEL = 36
"""On screens narrower than this number of cells, effects are drawn below their command, and texts below their label."""
MIN_TARGET_WIDTH = 10
"""Minimum width, in cells, for the file or host of an effect. If there is less room, effects go below their command."""
_EXACT_VERBS = frozenset(
    {"reads", "lists", "is given", "starts", "writes", "moves", "deletes", "network", "only reads"}
)
"""Verbs of effects that change no other files than those that they name."""
_UNNAMED_FILES = re.compile(r"files that it does not name|[*?\[]|, \d+ more$")
"""Matches targets that stand for files without their names."""
_FILE_VERBS = frozenset({"writes", "deletes", "removes"})
"""Verbs of effects on files. Only logs of older versions contain `removes`."""


class NumberedCommand(NamedTuple):
    """One command of a command line, its number (from 1), and its effects.

    Hidden characters are visible in all texts.
    """

    number: int
    command: str
    effects: tuple[CommandEffect, ...]


_RERUN_QUESTIONS = {
    "outside": "Run it again outside the sandbox?",
    "with_files": "Run it again with access to hidden files?",
}


def question_of(request: PermissionRequested) -> str:
    """Return the sheet's short question, e.g. `Use the network?`."""
    if request.rerun:
        return _RERUN_QUESTIONS[request.rerun]
    effects = request.effects
    if any(isinstance(effect, RunEffect) for effect in effects):
        return "Run a command?"
    servers = [effect.server for effect in effects if isinstance(effect, McpCallEffect)]
    if servers:
        return f"Call a tool of {reveal_line(servers[0])[:40]}?"
    writes = [effect for effect in effects if isinstance(effect, WriteEffect)]
    if writes:
        if all(write.removes for write in writes):
            return "Remove a file?"
        files = "a file" if len({write.path for write in writes}) == 1 else "some files"
        return f"Create {files}?" if all(write.creates for write in writes) else f"Change {files}?"
    if any(isinstance(effect, NetworkEffect) for effect in effects):
        return "Use the network?"
    if any(isinstance(effect, ReadEffect) for effect in effects):
        return "Read a file?"
    return f"Use {reveal_line(request.tool)[:60]}?"


def effect_lines(
    request: PermissionRequested, policy: str, workspace: str, line_break: str = " "
) -> list[tuple[str, str]]:
    """Return (label, sentence) for each effect of a tool call, except the effects drawn by `command_table`.

    `line_break`: text to show in place of a line break in a path.
    """
    effects = request.effects
    # The declared effects do not tell everything that a program or an MCP server does.
    runs = any(isinstance(effect, RunEffect | McpCallEffect) for effect in effects)
    unknown = runs or not effects or bool(request.commands)
    undo = _undo(request, workspace, unknown)
    lines = [("Undo", undo)] if undo else []
    if not request.risk or request.risk.rstrip(".") != request.reason:  # else the warning says the same
        lines.append(("Asked", _reason(request.reason, policy)))
    if request.commands:
        return lines
    return [
        ("Reads", _reads(effects, unknown, line_break)),
        ("Writes", _writes(request, unknown, workspace, line_break)),
        ("Network", _network(effects, unknown)),
        *lines,
    ]


def numbered_commands(request: PermissionRequested, line_break: str = " ") -> list[NumberedCommand]:
    """Return the request's commands with their effects. Hidden characters are made visible.

    `line_break`: text to show in place of a line break in the name of a file or host.
    """
    return [
        NumberedCommand(number, reveal_line(command.command), _reveal_effects(command.effects, line_break))
        for number, command in enumerate(request.commands, 1)
    ]


def _reveal_effects(effects: Sequence[CommandEffect], line_break: str) -> tuple[CommandEffect, ...]:
    return tuple(
        effect.model_copy(
            update={"verb": reveal_line(effect.verb), "target": reveal_line(effect.target, line_break)}
        )
        for effect in effects
    ) or (CommandEffect(verb="only reads"),)


def _join_texts(texts: Sequence[str], otherwise: str, separator: str = ", ") -> str:
    return separator.join(dict.fromkeys(texts)) or otherwise


def _reads(effects: Sequence[Effect], unknown: bool, line_break: str) -> str:
    reads = [effect for effect in effects if isinstance(effect, ReadEffect)]
    paths = [reveal_line(read.path, line_break) + ("/**" if read.recursive else "") for read in reads]
    return _join_texts(paths, "not known" if unknown else "nothing else")


def _writes(request: PermissionRequested, unknown: bool, workspace: str, line_break: str) -> str:
    texts: list[str] = []
    for effect in request.effects:
        if isinstance(effect, WriteEffect):
            change = ", removed" if effect.removes else ", a new file" if effect.creates else ""
            place = "" if _is_inside(effect.path, request, workspace) else ", outside this workspace"
            texts.append(reveal_line(effect.path, line_break) + change + place)
    return _join_texts(texts, "not known" if unknown else "nothing", "; ")


def _network(effects: Sequence[Effect], unknown: bool) -> str:
    hosts = [reveal_line(effect.host) for effect in effects if isinstance(effect, NetworkEffect)]
    runner = "MCP server" if any(isinstance(effect, McpCallEffect) for effect in effects) else "tool"
    return _join_texts(hosts, f"not blocked: the {runner} can use the network" if unknown else "none")


def _undo(request: PermissionRequested, workspace: str, unknown: bool) -> str:
    changed = {effect.path for effect in request.effects if isinstance(effect, WriteEffect)}
    targets = [
        path
        for command in request.commands
        for effect in command.effects
        if effect.verb in _FILE_VERBS
        for path in effect.target.split(", ")
    ]
    if request.unrestorable:
        return f"/undo cannot restore {reveal_line(' and '.join(request.unrestorable))}"
    if not all(_is_inside(path, request, workspace) for path in (*changed, *targets)):
        return "/undo restores nothing outside this workspace"
    if unknown:
        if "/undo" in request.risk:  # the warning about deletions says that /undo may not restore them
            return ""
        if _names_all_changes(request):
            return "/undo restores the changed files, but nothing else"
        return "/undo restores only changed files, and no ignored ones"
    if changed:
        return f"/undo restores {format_count(len(changed), 'file')}; /diff shows what changed"
    if any(isinstance(effect, NetworkEffect) for effect in request.effects):
        return "/undo cannot reverse effects on other machines"
    return "nothing to undo"


def _names_all_changes(request: PermissionRequested) -> bool:
    """Return True if the rows of the request's commands name each file that the commands can change."""
    effects = [effect for command in request.commands for effect in command.effects]
    return bool(request.commands) and all(
        effect.verb in _EXACT_VERBS and not _UNNAMED_FILES.search(effect.target) for effect in effects
    )


def _reason(reason: str, policy: str) -> str:
    text = reveal_line(reason).strip().removesuffix(".")
    if not text:
        return f"because policy {policy} requires your approval"
    return text if text.startswith("because") else f"because {text[:1].lower()}{text[1:]}"


def _is_inside(path: str, request: PermissionRequested, workspace: str) -> bool:
    if path in request.outside_paths:
        return False
    is_relative = not path.startswith(("/", "~", ".."))
    return is_relative or (bool(workspace) and path.startswith(workspace.rstrip("/") + "/"))


def command_table(commands: Sequence[NumberedCommand], pen: Pen, room: int) -> list[Strip]:
    """Draw a table of commands in `room` cells: the number, the text and the effects of each command."""
    if not commands:
        return []
    number_width = len(str(commands[-1].number)) + 2
    longest = max(cells(command.command) for command in commands)
    name_width = min(longest + GAP, max(12, room * 2 // 5))
    effect_room = room - number_width - name_width
    verb = max((cells(effect.verb) for command in commands for effect in command.effects), default=0)
    if room < MIN_CELLS_BESIDE_LABEL or effect_room < verb + MIN_TARGET_WIDTH:
        return [row for command in commands for row in _stacked_rows(command, pen, number_width, room)]
    # The second effect of a row is aligned after the widest first effect that leaves room for another one.
    firsts = [_width(command.effects[0]) for command in commands if len(command.effects) > 1]
    column = max((first for first in firsts if first + GAP < effect_room // 2), default=0) + GAP
    rows: list[Strip] = []
    for number, text, effects in commands:
        names = wrap(text, name_width - 1)
        lines = _effect_lines(effects, pen, effect_room, column)
        for head, name, line in zip_longest([str(number)], names, lines):
            left = [pen.part((head or "").ljust(number_width), "t3"), pen.part(pad(name or "", name_width))]
            rows.append(pen.line(room, [*left, *(line or [])]))
    return rows


def _stacked_rows(command: NumberedCommand, pen: Pen, indent: int, room: int) -> list[Strip]:
    wrapped = [(pen.style(), wrap(command.command, max(1, room - indent)))]
    for effect in command.effects:
        style = pen.style("warning" if effect.risky else "t2", bold=effect.risky)
        wrapped.append((style, wrap(f"{effect.verb} {effect.target}".strip(), max(1, room - indent))))
    rows: list[Strip] = []
    for style, pieces in wrapped:
        for piece in pieces:
            head = "" if rows else str(command.number)
            rows.append(pen.line(room, [pen.part(head.ljust(indent), "t3"), (piece, style)]))
    return rows


def _width(effect: CommandEffect) -> int:
    return max(VERB_WIDTH, cells(effect.verb) + 1) + cells(effect.target)


def _effect_lines(effects: Sequence[CommandEffect], pen: Pen, room: int, column: int) -> list[list[Part]]:
    lines: list[list[Part]] = []
    used = 0
    for effect in effects:
        verb = effect.verb.ljust(VERB_WIDTH - 1) + " "
        verb_part = pen.part(verb, "warning" if effect.risky else "t2", bold=effect.risky)
        gap = max(column, used + GAP) - used
        if used and used + gap + _width(effect) <= room:
            lines[-1] += [pen.part(" " * gap), verb_part, pen.part(effect.target)]
            used += gap + _width(effect)
            continue
        # Text after a long verb, such as "runs or changes", continues below the verb, not in a narrow column.
        prefix = verb if cells(verb) > VERB_WIDTH else ""
        indent = 0 if prefix else cells(verb)
        first, *others = wrap(prefix + effect.target, max(8, room - indent)) or [""]
        lines.append([verb_part, pen.part(first[len(prefix) :])])
        lines += [[pen.part(" " * indent + piece)] for piece in others]
        used = room if others else _width(effect)
    return lines
