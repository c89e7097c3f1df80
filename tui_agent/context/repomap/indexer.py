"""Indexing of files: extraction of the symbols and words that the index stores.

Invariant: no content of a file stops the indexing.
"""

import re
import time
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import TypeAlias

from tui_agent.context.repomap.file_list import Entry
from tui_agent.context.repomap.graph import may_change_graph
from tui_agent.context.repomap.index_db import IndexedFile, IndexFile
from tui_agent.context.repomap.languages import KNOWN, Languages
from tui_agent.context.repomap.map_results import Symbol
from tui_agent.context.repomap.redacted_text import PLAIN, Cleaner
from tui_agent.context.repomap.source_reader import read
from tui_agent.context.repomap.symbols import symbols_of
from tui_agent.folds.text.word_forms import MAX_WORD_CHARS, find_words, split_identifier

BATCH = 200
SHORT = 3
_NO_DEFINITION = frozenset({"key", "heading", "id", "rule", "test"})
UNSETTLED = -1
"""Placeholder for the modification time of a file that was written very recently. The file is checked again later."""
# A later write could get the same real time.
_COARSE_NS, _FINE_NS = 2_000_000_000, 20_000_000
MAX_TIMES = 200
"""A word counts at most this many times in one file."""
MAX_REFS = 500
_DISTINCTIVE_WORD = re.compile(r"[^\W\d_]{6}|[^\W\d]\w*?(?:_|[a-z0-9][A-Z])\w")
"""Matches a long or compound word. Such a word is probably a name."""
_BLANK_TABLE = bytes(sign if chr(sign).isalnum() or sign == 95 else 32 for sign in range(128)) + bytes(
    range(128, 256)
)
"""Translation table: replaces ASCII with spaces, except letters, digits and underscores."""


def index_entry(
    root: str, entry: Entry, known: Languages = KNOWN, *, parse: bool = True, cleaner: Cleaner = PLAIN
) -> IndexedFile:
    """Index one file.

    `parse`: if False, the result contains the file's words but no symbols.
    """
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
    """Return the sorted hashes of the names defined in a file, packed as bytes. Short and generic names are left out."""
    names = {
        symbol.name for symbol in symbols if len(symbol.name) > SHORT and symbol.kind not in _NO_DEFINITION
    }
    return array("I", sorted({name_hash(name) for name in names})).tobytes()


def update(
    index_file: IndexFile,
    root: str,
    entries: Sequence[Entry],
    gone: Sequence[str] = (),
    known: Languages = KNOWN,
    cleaner: Cleaner = PLAIN,
) -> None:
    """Index these files and remove the paths in `gone` from the index, in one transaction."""
    new: dict[str, IndexedFile | None] = dict.fromkeys(gone)
    new |= {entry.path: index_entry(root, entry, known, cleaner=cleaner) for entry in entries}
    with index_file.transaction():
        for path, item in new.items():
            if index_file.meta("graph") and may_change_graph(index_file, path, item):
                index_file.set_meta("graph", "")
            if item is None:
                index_file.forget([path])
            else:
                index_file.add_files([item])


def _with_safe_key(entry: Entry) -> Entry:
    """Return `entry`, with the time `UNSETTLED` if the file was written so recently that it must be checked again."""
    # A whole second suggests a file system that stores no fractions.
    tick = _COARSE_NS if entry.mtime_ns % 1_000_000_000 == 0 else _FINE_NS
    fresh = time.time_ns() - entry.mtime_ns < tick
    return entry._replace(mtime_ns=UNSETTLED) if fresh else entry


def name_hash(name: str) -> int:
    """Return a name's hash as a 32-bit number."""
    return zlib.crc32(name.encode("utf-8", "replace"))


Known: TypeAlias = tuple[int, tuple[str, ...]]


class WordCache(dict[str, Known]):
    """Cache of each word's hash and parts. A cache with `LIMIT` words is emptied."""

    LIMIT = 200_000

    def __missing__(self, word: str) -> Known:
        if len(self) >= self.LIMIT:
            self.clear()
        entry = self[word] = (name_hash(word) if _is_likely_name(word) else 0, split_identifier(word))
        return entry


def _is_likely_name(word: str) -> bool:
    if word.isalpha() and word.islower():
        return 6 <= len(word) <= MAX_WORD_CHARS
    return len(word) <= MAX_WORD_CHARS and _DISTINCTIVE_WORD.match(word) is not None


_words = WordCache()
_hash_of = itemgetter(0)


def count_words(data: bytes) -> "Counter[str]":
    """Count each identifier and word in a text. Invalid UTF-8 is allowed."""
    plain = data.translate(_BLANK_TABLE)
    if not data.isascii():
        return _strip_underscores(_decode_words(Counter(plain.split())))
    counts = Counter(plain.decode().split())
    for word in [word for word in counts if word[0] == "_" or word[-1] == "_"]:
        times, stripped = counts.pop(word), word.strip("_")
        if stripped:
            counts[stripped] += times
    return counts


def _decode_words(runs: Mapping[bytes, int]) -> Iterator[tuple[str, int]]:
    for run, times in runs.items():
        if run.isascii():
            yield run.decode(), times
        else:
            for word in find_words(run.decode("utf-8", "replace")):
                yield word, times


def _strip_underscores(words: Iterable[tuple[str, int]]) -> "Counter[str]":
    counts: Counter[str] = Counter()
    for word, times in words:
        if stripped := word.strip("_"):
            counts[stripped] += times
    return counts


def hashes_and_parts(words: Mapping[str, int]) -> tuple[list[int], str]:
    """Return (sorted hashes of the names among the words, the words' parts as one text for the full-text index)."""
    known = list(map(_words.__getitem__, words))
    names = set(islice(filter(None, map(_hash_of, known)), MAX_REFS))
    return sorted(names), _repeat_parts(known, words.values())


def pieces_of_names(names: Iterable[str]) -> str:
    """Return the parts of these names in alphabetical order, as one text."""
    words = count_words("\n".join(names).encode("utf-8", "replace"))
    return _repeat_parts(map(_words.__getitem__, words), words.values())


def _repeat_parts(known: Iterable[Known], times: Iterable[int]) -> str:
    totals: dict[str, int] = {}
    get = totals.get
    for (_, pieces), count in zip(known, times, strict=True):
        for piece in pieces:
            totals[piece] = get(piece, 0) + count
    order = sorted(totals)
    counts = list(map(totals.__getitem__, order))
    if max(counts, default=0) > MAX_TIMES:
        counts = [min(count, MAX_TIMES) for count in counts]
    return " ".join(chain.from_iterable(map(repeat, order, counts)))


def pieces_of(path: str) -> str:
    """Return the parts of a path's words as one text: `src http client query py` for `src/http_client/query.py`."""
    folder, _, name = path.rpartition("/")
    return " ".join([*_folder_parts(folder), *_parts_in_order(name)])


@lru_cache(maxsize=1_024)
def _folder_parts(path: str) -> tuple[str, ...]:
    return _parts_in_order(path)


def _parts_in_order(text: str) -> tuple[str, ...]:
    return tuple([piece for word in find_words(text) for piece in _words[word][1]])
