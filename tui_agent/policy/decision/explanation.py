"""The explanation of a decision: rows for an approval, and lines for `policy check --explain`.

Invariant: every judged command is in a row, or is counted if there are too many rows.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, filterfalse

from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.decision import call_classes
from tui_agent.policy.decision.effect_wording import words_for
from tui_agent.policy.decision.escalations import is_workspace_program, runs_configured_programs
from tui_agent.policy.decision.judgement import Judgement, strongest_judgement
from tui_agent.policy.decision.line_uses import Lines, from_workspace
from tui_agent.policy.interpreter.command_report import (
    Certainty,
    CommandReport,
    FileAction,
    FileUse,
    LineReport,
)
from tui_agent.policy.places.path_places import place
from tui_agent.policy.rules.hosts import host_in_address, read_host
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Effect as CallEffect
from tui_agent.protocol.effects import (
    InternalEffect,
    McpCallEffect,
    NetworkEffect,
    ReadEffect,
    RunEffect,
    WriteEffect,
)
from tui_agent.protocol.events.policy import CommandEffect, CommandEffects

_MAX_PATHS = 4
_COMMAND_WIDTH = 24
_NO_HOST = "host not known"
_BLANKS = re.compile(r"[ \t\n]++")
"""Matches blanks in a shell command."""
# Other space characters are part of a word and must stay visible.
_SERIOUS = frozenset({call_classes.ENDS_PROCESSES, call_classes.DESTRUCTIVE, call_classes.PRIVILEGE})
_MAX_ROWS_CHARS = 12_000
"""Maximum length of all rows together, in characters: they are part of one event in the log."""
_STARTS_NEXT = CommandEffect(verb="starts", target="the command below")
_RUNS_CODE = "runs or changes"
"""The verb of the effect that a command runs or changes a project's code."""
_VERBS: dict[FileAction, str] = {
    "read": "reads",
    "list": "lists",
    "write": "writes",
    "move": "moves",
    "delete": "deletes",
    "mention": "is given",
    "start": "starts",
}


def effect_rows(
    effects: Sequence[CallEffect], lines: Lines, new: Collection[str], facts: PolicyFacts
) -> tuple[CommandEffects, ...]:
    """Return rows that show the user what a call does: one row for each effect or command.

    `new`: files that the call creates.
    """
    rows = list(_rows(effects, lines, new, facts))
    # If there is no room for all rows, those with serious effects are kept.
    order = sorted(range(len(rows)), key=lambda index: _SERIOUS.isdisjoint(rows[index].classes))
    sizes = accumulate(len(rows[index].model_dump_json()) for index in order)
    shown_indexes = {index for index, size in zip(order, sizes, strict=True) if size <= _MAX_ROWS_CHARS}
    omitted_rows = [row for index, row in enumerate(rows) if index not in shown_indexes]
    shown = tuple(rows[index] for index in sorted(shown_indexes))
    return (*shown, _rest(omitted_rows)) if omitted_rows else shown


def explain(lines: Lines, judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """Return the reasons for a decision, one per line. The commands come first, then the judgements."""
    out: list[str] = []
    decided = strongest_judgement(judgements)
    for effect, line in lines.items():
        if line.refusal:
            out.append(f"uses bash syntax that tui-agent does not analyse: {line.refusal}")
        for title, command in zip(_titles(line), line.commands, strict=True):
            out += _explain_command(effect, title, command)
    for judgement in dict.fromkeys(judgements):
        mark = "decides" if judgement == decided else "says"
        out.append(f"{judgement.rule_id} {mark} {judgement.verdict}: {judgement.reason}")
    return tuple(out)


def _explain_command(effect: RunEffect, title: str, command: CommandReport) -> Iterator[str]:
    yield f"command: {_shorten(title, 100)}"
    known = f" ({command.entry})" if command.entry else ": not in the catalog"
    yield f"  known: {_shorten(command.name, 100)}{known}; it {', '.join(sorted(command.effects)) or 'does nothing'}"
    for use in filterfalse(_reads_nothing, command.files):
        unknown = use.certainty is Certainty.UNKNOWN
        path = "an uncertain file" if unknown else from_workspace(effect, use.path)
        yield f"  file: {_VERBS[use.action]} {path}{' and everything below it' if use.below else ''}"
    for doubt in command.doubts:
        yield f"  unclear ({doubt.name}): {doubt.reason}"


def _rest(left: Sequence[CommandEffects]) -> CommandEffects:
    named = call_classes.sort_classes({name for row in left for name in row.classes})
    word = "deletes" if call_classes.DESTRUCTIVE in named else "may do"
    effect = CommandEffect(verb=word, target="more (see the full command above)", risky=True)
    return CommandEffects(command=f"{len(left)} more", classes=named, effects=(effect,))


def _rows(
    effects: Sequence[CallEffect], lines: Lines, new: Collection[str], facts: PolicyFacts
) -> Iterator[CommandEffects]:
    for effect in effects:
        match effect:
            case RunEffect():
                line = lines[effect]
                if line.refusal:
                    why = CommandEffect(verb="may do", target=f"anything: {line.refusal}", risky=True)
                    yield CommandEffects(
                        command=_shorten(line.line), classes=(call_classes.ARBITRARY,), effects=(why,)
                    )
                yield from _command_rows(effect, line, new, facts)
            case ReadEffect():
                yield _row(effect.path, call_classes.READ_ONLY, "reads")
            case WriteEffect():
                yield _row(
                    effect.path, call_classes.WORKSPACE, "deletes" if effect.removes else "writes", grave=True
                )
            case NetworkEffect():
                yield _row(effect.host, call_classes.NETWORK, "network", grave=True)
            case McpCallEffect(server=server, tool=tool):
                yield _row(f"{server}: {tool}", call_classes.ARBITRARY, "calls", grave=True)
            case InternalEffect():
                yield CommandEffects(command=effect.subject, classes=(call_classes.READ_ONLY,))


def _row(subject: str, name: str, word: str, *, grave: bool = False) -> CommandEffects:
    return CommandEffects(
        command=subject,
        classes=(name,),
        effects=(CommandEffect(verb=word, target=subject, risky=grave),),
    )


def _own_doubts(command: CommandReport, line: LineReport) -> CommandReport:
    # The refusal of the whole line has its own row.
    return replace(command, doubts=tuple(doubt for doubt in command.doubts if doubt.reason != line.refusal))


def _titles(line: LineReport) -> Iterator[str]:
    """Yield a title for each command of a line: its source text, or its words if another title has the same text."""
    sources: set[str] = {line.line} if line.refusal else set()
    for command in line.commands:
        words = " ".join(word.source for word in command.words)
        yield words if words and command.source in sources else command.source
        sources.add(command.source)


def _command_rows(
    effect: RunEffect, line: LineReport, new: Collection[str], facts: PolicyFacts
) -> Iterator[CommandEffects]:
    """Yield the rows for a line's commands. A command can share a row with the command that it starts."""
    shown: CommandEffects | None = None
    shown_title, starts_next = "", False
    for title, command in zip(_titles(line), line.commands, strict=True):
        row = _command_row(effect, title, _own_doubts(command, line), new, facts)
        if shown is None:
            shown, shown_title = row, title
        # `uv run pytest` and the started `pytest` share one row.
        elif starts_next and _is_harmless(shown) and shown_title.endswith(f" {title}"):
            shown = _join_rows(shown, row)
        elif not (starts_next and _is_harmless(row) and _does_same(shown, row)):
            yield shown
            shown, shown_title = row, title
        starts_next = command.runs_next
    if shown is not None:
        yield shown


def _is_harmless(row: CommandEffects) -> bool:
    return not any(effect.risky for effect in row.effects)


def _does_same(row: CommandEffects, other: CommandEffects) -> bool:
    return (row.effects, row.classes) == (other.effects, other.classes)


def _join_rows(starter: CommandEffects, started: CommandEffects) -> CommandEffects:
    """Return one row for a command and the command that it starts, with the effects of both."""
    own = tuple(effect for effect in starter.effects if effect != _STARTS_NEXT and effect.verb != _RUNS_CODE)
    return starter.model_copy(
        update={
            "classes": call_classes.sort_classes({*starter.classes, *started.classes}),
            "effects": tuple(dict.fromkeys((*own, *started.effects))),
        }
    )


def _command_row(
    effect: RunEffect, title: str, command: CommandReport, new: Collection[str], facts: PolicyFacts
) -> CommandEffects:
    shown = (
        *_workspace_effects(command, facts),
        *_file_effects(effect, command, new),
        *_other_effects(effect, command, facts),
    )
    if not shown and command.runs_next:
        shown = (_STARTS_NEXT,)
    return CommandEffects(
        command=_shorten(title),
        classes=call_classes.sort_classes(call_classes.command_classes(command, facts)),
        effects=shown,
    )


def _workspace_effects(command: CommandReport, facts: PolicyFacts) -> Iterator[CommandEffect]:
    """Yield one effect if git runs programs from its configuration, and one if the program is a workspace file."""
    if runs_configured_programs(command, (), facts):
        yield CommandEffect(
            verb="runs", target="programs set in this repository's git configuration", risky=True
        )
    if is_workspace_program(command, (), facts):
        yield CommandEffect(verb="runs", target="a program from this workspace", risky=True)


def _reads_nothing(use: FileUse) -> bool:
    """Return True if `use` names the current folder, but the command reads nothing in it."""
    # A `grep` without a file argument is reported this way.
    return (use.action, use.path, use.below) == ("read", ".", False)


def _file_effects(effect: RunEffect, command: CommandReport, new: Collection[str]) -> Iterator[CommandEffect]:
    for action, word in _VERBS.items():
        paths = [
            from_workspace(effect, use.path)
            for use in command.files
            if use.action == action and use.certainty is not Certainty.UNKNOWN and not _reads_nothing(use)
        ]
        if not paths or (action in ("list", "mention", "start") and not command.only_reads):
            continue
        about = _join_some(paths)
        if action == "write" and len(set(paths)) == 1 and paths[0] in new:
            about += ", a new file"
        yield CommandEffect(verb=word, target=about, risky=action in ("write", "move", "delete"))


def _other_effects(effect: RunEffect, command: CommandReport, facts: PolicyFacts) -> Iterator[CommandEffect]:
    actions = {use.action for use in command.files}
    effects = command.effects
    if Effect.CONNECTS in effects:
        unnamed = "package index" if command.program.downloads else _NO_HOST
        about = _join_some([_host_name(host) for host in command.hosts]) or unnamed
        yield CommandEffect(verb="network", target=about, risky=True)
    if command.program.downloads:
        yield CommandEffect(verb="runs", target="code from outside", risky=True)
    elif command.doubts:
        yield CommandEffect(verb="may do", target=f"anything: {command.doubts[0].reason}", risky=True)
    elif call_classes.runs_anything(command):
        yield CommandEffect(verb="may do", target="anything", risky=True)
    elif command.local_program and "start" not in actions:
        yield CommandEffect(verb="runs", target=f"{command.local_program} only if it exists")
    elif Effect.RUNS in effects:
        yield CommandEffect(verb=_RUNS_CODE, target=f"code in {_code_folders(effect, command, facts)}")
    if Effect.DELETES in effects and "delete" not in actions:
        yield CommandEffect(verb="deletes", target="files that it does not name", risky=True)
    if Effect.WRITES in effects and not actions & {"write", "move", "delete"}:
        yield CommandEffect(verb="changes", target="files that it does not name", risky=True)
    for words in words_for(effects):
        if words.row:
            yield CommandEffect(verb=words.row[0], target=words.row[1], risky=True)


def _code_folders(effect: RunEffect, command: CommandReport, facts: PolicyFacts) -> str:
    """Return the folders in which a command runs code. All folders of the workspace count as one."""
    paths = [from_workspace(effect, folder) for folder in command.folders if folder is not None]
    return _join_some(["this workspace" if place(path, facts).inside else path for path in paths])


def _host_name(address: str) -> str:
    return host_in_address(address) or (address if read_host(address) is not None else _NO_HOST)


def _shorten(text: str, width: int = _COMMAND_WIDTH) -> str:
    line = _BLANKS.sub(" ", text.strip(" \t\n"))
    if len(line) <= width:
        return line
    head, blank, _ = line[: width - 1].rpartition(" ")
    return f"{head} …" if blank else f"{line[: width - 1]}…"


def _join_some(names: Sequence[str]) -> str:
    unique = list(dict.fromkeys(names))
    more = f", {len(unique) - _MAX_PATHS} more" if len(unique) > _MAX_PATHS else ""
    return ", ".join(unique[:_MAX_PATHS]) + more
