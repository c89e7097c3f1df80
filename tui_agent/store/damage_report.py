"""Damage report of a session for a reader, in plain sentences.

Invariant: only reads; an intact log yields nothing.
"""

from collections.abc import Iterable
from pathlib import Path

from tui_agent.folds.text.labels import skipped_lines_notice, unknown_events_notice
from tui_agent.protocol.envelope import SCHEMA_VERSION, Record, UnknownEvent
from tui_agent.protocol.unicode_text import format_count
from tui_agent.store.lineage import HistoryPart, load_lineage
from tui_agent.store.log_chunks import read_chunks
from tui_agent.store.log_line import line_version, pick_foreign_version
from tui_agent.store.log_scan import intact_seq, split_lines

_MAX_LISTED = 10


def describe_damage(folder: Path, records: Iterable[Record]) -> list[str]:
    """Return one sentence for each problem of a session; `records` are the readable ones. Raises OSError."""
    history = load_lineage(folder)
    problems: list[str] = []
    version = SCHEMA_VERSION
    for strand in history.parts:
        bad, strand_version = _scan_strand(strand)
        version = pick_foreign_version((version, strand_version))
        if bad:
            log = "the log" if strand is history.own else f"the log of {strand.folder.name}"
            problems.append(f"{skipped_lines_notice(len(bad))} in {log}: {_format_numbers(bad)}.")
    unknown = [record for record in records if isinstance(record, UnknownEvent)]
    foreign = sum(record.is_other_version for record in unknown)
    if version != SCHEMA_VERSION:
        problems.append(
            f"{folder.name} was written by another version of tui-agent (log version {version}, this one reads "
            f"{SCHEMA_VERSION}): {format_count(foreign, 'event')} cannot be read."
        )
    if len(unknown) > foreign:
        problems.append(f"The log holds {unknown_events_notice(len(unknown) - foreign)}.")
    return problems


def _scan_strand(strand: HistoryPart) -> tuple[list[int], int]:
    """Return the damaged line numbers up to the last inherited event of a log, and its version."""
    damaged: list[int] = []
    version, number = SCHEMA_VERSION, 0
    for piece in read_chunks(strand.folder):
        for _, line in split_lines(piece):
            number += 1
            seq = intact_seq(line)
            if seq is None:
                damaged.append(number)
            elif seq > strand.last:
                return damaged, version
            else:
                version = pick_foreign_version((version, line_version(line)))
    return damaged, version


def _format_numbers(bad: list[int]) -> str:
    listed = ", ".join(str(number) for number in bad[:_MAX_LISTED])
    rest = f" and {len(bad) - _MAX_LISTED} more" if len(bad) > _MAX_LISTED else ""
    return f"{'line' if len(bad) == 1 else 'lines'} {listed}{rest}"
