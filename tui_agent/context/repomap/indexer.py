"""From files to what the index keeps of them.

Invariant: one file never costs the others: whatever is in it, it ends up in the index, at worst with a reason and no
words.
"""

import time
from array import array
from collections.abc import Sequence

from tui_agent.context.repomap.file_list import Entry
from tui_agent.context.repomap.file_text import read
from tui_agent.context.repomap.index_db import Found, Kept
from tui_agent.context.repomap.languages import KNOWN, Languages
from tui_agent.context.repomap.redacted_text import PLAIN, Cleaner
from tui_agent.context.repomap.symbols import symbols_of
from tui_agent.context.repomap.views import Symbol
from tui_agent.context.repomap.word_counts import name_hash, pieces_of, pieces_of_names, times_of, told

BATCH = 200
SHORT = 3
_NO_DEFINITION = frozenset({"key", "heading", "id", "rule", "test"})
UNSETTLED = -1
"""In place of the time of a file that could be written again within the same tick of its file system."""
_COARSE_NS, _FINE_NS = 2_000_000_000, 20_000_000


def find(
    root: str, entry: Entry, known: Languages = KNOWN, *, parse: bool = True, cleaner: Cleaner = PLAIN
) -> Found:
    """Read one file. Without `parse` it has words and no symbols."""
    entry = _settled(entry)
    source = read(f"{root}/{entry.path}")
    if source.reason:
        return Found(entry, "", source.reason)
    language, symbols = symbols_of(entry.path, source.data, known, parse=parse, cleaner=cleaner)
    spoken_of, body = told(times_of(cleaner.body(source.data)))
    return Found(
        entry,
        language,
        "",
        symbols,
        array("I", spoken_of).tobytes(),
        definitions(symbols),
        pieces_of(entry.path.encode("utf-8", "replace").decode()),
        pieces_of_names({symbol.name for symbol in symbols}),
        body,
    )


def definitions(symbols: Sequence[Symbol]) -> bytes:
    """The names that a file defines and by which files can be told apart, as packed hashes in order."""
    found = {one.name for one in symbols if len(one.name) > SHORT and one.kind not in _NO_DEFINITION}
    return array("I", sorted({name_hash(name) for name in found})).tobytes()


def update(
    kept: Kept,
    root: str,
    entries: Sequence[Entry],
    gone: Sequence[str] = (),
    known: Languages = KNOWN,
    cleaner: Cleaner = PLAIN,
) -> None:
    """Bring the index up to date with these files, in one transaction."""
    found = [find(root, entry, known, cleaner=cleaner) for entry in entries]
    with kept.writing():
        kept.forget(gone)
        kept.put(found)
        kept.set_meta("graph", "")


def _settled(entry: Entry) -> Entry:
    """With a key that will not hold, where the file could be written again within the same tick of its file system."""
    tick = _COARSE_NS if entry.mtime_ns % 1_000_000_000 == 0 else _FINE_NS
    fresh = time.time_ns() - entry.mtime_ns < tick
    return entry._replace(mtime_ns=UNSETTLED) if fresh else entry
