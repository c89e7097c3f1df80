"""Indexing of files.

Invariant: a file never stops the others: whatever it contains, it is indexed, if need be with a reason and no words.
"""

import time
from array import array
from collections.abc import Sequence

from tui_agent.context.repomap.file_list import Entry
from tui_agent.context.repomap.file_text import read
from tui_agent.context.repomap.index_db import IndexedFile, IndexFile
from tui_agent.context.repomap.languages import KNOWN, Languages
from tui_agent.context.repomap.redacted_text import PLAIN, Cleaner
from tui_agent.context.repomap.symbols import symbols_of
from tui_agent.context.repomap.views import Symbol
from tui_agent.context.repomap.word_counts import (
    count_words,
    hashes_and_parts,
    name_hash,
    pieces_of,
    pieces_of_names,
)

BATCH = 200
SHORT = 3
_NO_DEFINITION = frozenset({"key", "heading", "id", "rule", "test"})
UNSETTLED = -1
"""Replaces the time of a file that could be written again within the same tick of its file system."""
_COARSE_NS, _FINE_NS = 2_000_000_000, 20_000_000


def find(
    root: str, entry: Entry, known: Languages = KNOWN, *, parse: bool = True, cleaner: Cleaner = PLAIN
) -> IndexedFile:
    """Index one file. Without `parse` it has words but no symbols."""
    entry = _with_safe_key(entry)
    source = read(f"{root}/{entry.path}")
    if source.reason:
        return IndexedFile(entry, "", source.reason)
    language, symbols = symbols_of(entry.path, source.data, known, parse=parse, cleaner=cleaner)
    references, body = hashes_and_parts(count_words(cleaner.redact_body(source.data)))
    return IndexedFile(
        entry,
        language,
        "",
        symbols,
        array("I", references).tobytes(),
        definitions(symbols),
        pieces_of(entry.path.encode("utf-8", "replace").decode()),
        pieces_of_names({symbol.name for symbol in symbols}),
        body,
    )


def definitions(symbols: Sequence[Symbol]) -> bytes:
    """Return the names that a file defines and that can tell files apart, as sorted packed hashes."""
    names = {
        symbol.name for symbol in symbols if len(symbol.name) > SHORT and symbol.kind not in _NO_DEFINITION
    }
    return array("I", sorted({name_hash(name) for name in names})).tobytes()


def update(
    kept: IndexFile,
    root: str,
    entries: Sequence[Entry],
    gone: Sequence[str] = (),
    known: Languages = KNOWN,
    cleaner: Cleaner = PLAIN,
) -> None:
    """Update the index for these files in one transaction."""
    items = [find(root, entry, known, cleaner=cleaner) for entry in entries]
    with kept.transaction():
        kept.forget(gone)
        kept.add_files(items)
        kept.set_meta("graph", "")


def _with_safe_key(entry: Entry) -> Entry:
    """Return the entry with a key that never matches if the file may be written again within the same tick."""
    tick = _COARSE_NS if entry.mtime_ns % 1_000_000_000 == 0 else _FINE_NS
    fresh = time.time_ns() - entry.mtime_ns < tick
    return entry._replace(mtime_ns=UNSETTLED) if fresh else entry
