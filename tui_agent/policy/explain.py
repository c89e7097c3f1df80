"""L3: what a call does, in rows that an approval and `policy check` show.

Invariant: shows exactly what the decision judged; every command of a line has its row, in the order of the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.policy.part import Part
from tui_agent.policy.runs import from_cwd, read_runs
from tui_agent.policy.script import DESTRUCTIVE, NETWORK, PRIVILEGE, READ_ONLY, WORKSPACE, ranked
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.display import TableBlock
from tui_agent.protocol.effects import Connects, Effect, Internal, Reads, Runs, Writes

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that a call does: `what` names it, `effects` are pairs of a word and what it is about."""

    what: str
    classes: tuple[str, ...]
    effects: tuple[tuple[str, str], ...]


def rows(effects: Sequence[Effect]) -> tuple[Row, ...]:
    """Everything that the effects say, a row each."""
    found: list[Row] = []
    for effect in effects:
        match effect:
            case Runs():
                found += [_part(effect, part) for part in read_runs(effect).parts]
            case Reads():
                found.append(Row(effect.path, (READ_ONLY,), (("reads", effect.path),)))
            case Writes():
                verb = "removes" if effect.removes else "writes"
                found.append(Row(effect.path, (WORKSPACE,), ((verb, effect.path),)))
            case Connects():
                found.append(Row(effect.host, (NETWORK,), (("network", effect.host),)))
            case Internal():
                found.append(Row(effect.what, (READ_ONLY,), ()))
    return tuple(found)


def what_it_does(effects: Sequence[Effect]) -> TableBlock:
    """The rows as a table: number, command, effects."""
    cells = tuple(
        (str(number), row.what, "  ".join(f"{word} {about}".strip() for word, about in row.effects))
        for number, row in enumerate(rows(effects), 1)
    )
    return TableBlock(columns=("", "command", "what it does"), rows=cells, align="rll")


def as_json(effects: Sequence[Effect]) -> list[JsonMap]:
    """The rows for programs: `what`, `classes`, `effects` as `[word, about]`."""
    return [
        {
            "what": row.what,
            "classes": list(row.classes),
            "effects": [[word, about] for word, about in row.effects],
        }
        for row in rows(effects)
    ]


def _part(effect: Runs, part: Part) -> Row:
    pairs: list[tuple[str, str]] = []
    for word, paths in (("reads", part.reads), ("writes", part.writes), ("removes", part.removes)):
        if paths:
            pairs.append((word, _few([from_cwd(effect, path) for path in paths])))
    if NETWORK in part.classes:
        pairs.append(("network", _few(part.hosts) or ("package index" if part.downloads else "")))
    if part.downloads:
        pairs.append(("runs", "code from outside"))
    elif WORKSPACE in part.classes and not part.writes:
        pairs.append(("runs", "code of this workspace, or changes it"))
    if DESTRUCTIVE in part.classes and not part.removes:
        pairs.append(("destroys", ""))
    if PRIVILEGE in part.classes:
        pairs.append(("rights", "of another user"))
    if not pairs and not part.harmless:
        pairs.append(("may do", "anything"))
    head = part.program if len(part.text) > 40 else part.text
    return Row(head, ranked(frozenset(part.classes)), tuple(pairs))


def _few(paths: Sequence[str]) -> str:
    unique = list(dict.fromkeys(paths))
    more = f", {len(unique) - _SHOWN} more" if len(unique) > _SHOWN else ""
    return ", ".join(unique[:_SHOWN]) + more
