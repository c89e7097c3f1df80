"""What a reader of a session should know before it trusts what was read, in words.

Invariant: looks only; a log without a flaw is told nothing about.
"""

from collections.abc import Iterable
from pathlib import Path

from tui_agent.folds.text.labels import stepped_over, unknown_events
from tui_agent.protocol.envelope import SCHEMA_VERSION, Record, UnknownEvent
from tui_agent.store.chunks import pieces
from tui_agent.store.line import version_of
from tui_agent.store.lineage import Strand, lineage
from tui_agent.store.scan import lines, order_of

_NAMED = 10


def flaws(folder: Path, records: Iterable[Record]) -> list[str]:
    """What could not be read of a session, a sentence each; `records` is what could. Raises OSError."""
    line = lineage(folder)
    found: list[str] = []
    version = SCHEMA_VERSION
    for strand in line.strands:
        bad, known = _read_through(strand)
        version = max(version, known)
        if bad:
            log = "the log" if strand is line.own else f"the log of {strand.folder.name}"
            found.append(f"{stepped_over(len(bad))} in {log}: {_numbers(bad)}.")
    unknown = [record for record in records if isinstance(record, UnknownEvent)]
    newer = sum(record.newer for record in unknown)
    if version > SCHEMA_VERSION:
        found.append(
            f"{folder.name} was written by a newer version of tui-agent (log version {version}, this one knows "
            f"{SCHEMA_VERSION}): {newer} {'event' if newer == 1 else 'events'} cannot be read."
        )
    if len(unknown) > newer:
        found.append(f"The log holds {unknown_events(len(unknown) - newer)}.")
    return found


def _read_through(strand: Strand) -> tuple[list[int], int]:
    """The numbers of the damaged lines up to the last event that is taken from a log, and its highest version."""
    bad: list[int] = []
    version, number = SCHEMA_VERSION, 0
    for piece in pieces(strand.folder):
        for _, line in lines(piece):
            number += 1
            seq = order_of(line)
            if seq is None:
                bad.append(number)
            elif seq > strand.last:
                return bad, version
            else:
                version = max(version, version_of(line))
    return bad, version


def _numbers(bad: list[int]) -> str:
    named = ", ".join(str(number) for number in bad[:_NAMED])
    rest = f" and {len(bad) - _NAMED} more" if len(bad) > _NAMED else ""
    return f"{'line' if len(bad) == 1 else 'lines'} {named}{rest}"
