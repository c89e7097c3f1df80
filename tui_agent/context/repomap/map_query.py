"""The repository map for one question: ranks files and symbols with the index, or by reading all files.

Invariant: equal files, commits, questions and settings give equal bytes.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from tui_agent.context.repomap import ranking
from tui_agent.context.repomap.commit_search import BEST
from tui_agent.context.repomap.file_list import FileList
from tui_agent.context.repomap.index_db import KnownFile
from tui_agent.context.repomap.index_snapshot import Snapshot
from tui_agent.context.repomap.languages import Languages
from tui_agent.context.repomap.line_scores import (
    WordLines,
    choose_symbols,
    default_scores,
    prefer_line,
    prefer_names,
)
from tui_agent.context.repomap.map_results import MapView, RankedFile, Symbol
from tui_agent.context.repomap.named_files import Alike, find_named_files
from tui_agent.context.repomap.path_kinds import (
    group_by_first_name,
    is_entry,
    is_packaging,
    kind_of,
    vendored_names,
)
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.ranking import FileScore, add_related, find_related, vendored_last
from tui_agent.context.repomap.redacted_text import Cleaner
from tui_agent.context.repomap.rendering import detailed_files, render_map, room_of, symbols_at, tokens_of
from tui_agent.context.repomap.search_without_index import FullScan, search_commits
from tui_agent.context.repomap.source_reader import read
from tui_agent.context.repomap.symbols import symbols_of
from tui_agent.context.repomap.text_cache import Text, TextCache
from tui_agent.errors import EnvironmentFault

T = TypeVar("T")
ENOUGH_MATCHES = 300
"""If at least this many files match, other files are only counted, not listed."""
PINNED = ("pinned",)
NO_WORD = ("no word",)
"""The reasons shown for a file without a word of the question."""


class ClosedFlag:
    """Flag that tells all threads that a repository map was closed."""

    def __init__(self) -> None:
        self._ended = False

    def __bool__(self) -> bool:
        return self._ended

    def close(self) -> None:
        """Mark the repository map as closed."""
        self._ended = True

    def require_open(self) -> None:
        """Raise `EnvironmentFault` if the repository map is closed."""
        if self._ended:
            raise EnvironmentFault("The map was closed.")

    def iterate_while_open(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items. Raise `EnvironmentFault` as soon as the repository map is closed."""
        for item in items:
            self.require_open()
            yield item


class Ask(NamedTuple):
    """A request for a repository map."""

    query: Query
    max_tokens: int
    max_files: int | None
    pinned: tuple[str, ...]
    hidden: frozenset[str]
    recent: frozenset[str]
    brief: bool = False


class Basis(NamedTuple):
    """The input for a repository map: ranked files, unranked files, and a function that returns a file's symbols."""

    order: list[FileScore]
    rest: list[str]
    skipped: dict[str, int]
    symbols: Callable[[str], tuple[Symbol, ...]]


def rank_with_index(index: Snapshot, listing: FileList, texts: TextCache, ask: Ask) -> Basis:
    """Rank the files with the index, without reading all of them."""
    text: Mapping[str, KnownFile] = index.text
    if ask.hidden:
        text = {path: known for path, known in text.items() if path not in ask.hidden}
    query = ask.query
    if query:
        values = ranking.values_of(query, index.counts(list(query.weights)), len(text))
        words = ranking.score_indexed_files(index, values, ask.hidden, query)
        commits = index.similar_commits(ranking.expression(query), BEST)
        past = ranking.score_by_commits(commits, query, text.keys())
        order = ranking.rank_files(words, past, query, values, texts.get)
        order = _mentioned_first(
            order, ask, index.files_with_first_name, lambda path: WordLines(texts.get(path), values)
        )
        order = add_related(order, find_related(order, index, ask.hidden), past, query)
        order = vendored_last(order, query)
        if len(order) < ENOUGH_MATCHES:
            order += _list_unmatched(order, {path: known.rank for path, known in text.items()})
    else:
        ranks = {path: known.rank for path, known in text.items()}
        order = ranking.rank_without_question(
            ranks, {path: known.language for path, known in text.items()}, ask.recent
        )
        order = vendored_last(_mentioned_first(order, ask, index.files_with_first_name), query)
    ranked = {file.path for file in order}
    rest = [path for path in index.visible_paths(listing.entries) if path not in ranked]
    skipped = Counter(listing.skipped)
    skipped.update(index.skipped)
    return Basis(order, _drop_hidden(rest, ask), dict(skipped), index.symbols)


def _mentioned_first(
    order: list[FileScore], ask: Ask, alike: Alike, look: ranking.LineFinder = lambda _: None
) -> list[FileScore]:
    if not ask.query.text:
        return order
    mentions = [
        mention for mention in find_named_files(ask.query.text, alike) if mention.path not in ask.hidden
    ]
    return ranking.named_first(order, mentions, look)


def _list_unmatched(order: Sequence[FileScore], ranks: Mapping[str, float]) -> list[FileScore]:
    listed = {file.path for file in order}
    unmatched = sorted(
        (-(rank * (0.3 if kind_of(path) else 1.0)), path)
        for path, rank in ranks.items()
        if path not in listed
    )
    return [FileScore(path, 0.0, NO_WORD) for _, path in unmatched]


def rank_by_scan(
    listing: FileList, root: str, ask: Ask, known: Languages, cleaner: Cleaner, closed: ClosedFlag
) -> Basis:
    """Rank the files by reading each of them.

    Raise `EnvironmentFault` if the repository map is closed meanwhile.
    """
    skipped = Counter(listing.skipped)
    names = group_by_first_name(entry.path for entry in listing.entries) if ask.query.text else {}
    alike: Alike = lambda first: names.get(first, ())  # noqa: E731 - as short as a name
    if not ask.query:
        ordered = _skip_binary(_order_by_path(listing, ask), root, room_of(ask.max_tokens), skipped)
        return Basis(_mentioned_first(ordered, ask, alike), [], skipped, _symbol_parser(root, known, cleaner))
    scan = FullScan(root, closed.iterate_while_open(listing.entries), ask.query, ask.hidden)
    skipped.update(scan.skipped)
    values, read_text = scan.values, _text_reader(root)
    past = ranking.score_by_commits(search_commits(Path(root), ask.query), ask.query, scan.texts)
    order = ranking.rank_files(scan.words, past, ask.query, values, read_text)
    parse_symbols = _symbol_parser(root, known, cleaner)
    order = _mentioned_first(order, ask, alike, lambda path: WordLines(read_text(path), values))
    order = vendored_last(add_related(order, {}, past, ask.query), ask.query)
    listed = {file.path for file in order} | scan.no_text
    if len(order) < ENOUGH_MATCHES:
        order += [
            file._replace(reasons=NO_WORD) for file in _order_by_path(listing, ask) if file.path not in listed
        ]
        listed |= {file.path for file in order}
    rest = [entry.path for entry in listing.entries if entry.path not in listed]
    return Basis(order, _drop_hidden(rest, ask), skipped, parse_symbols)


def _skip_binary(order: list[FileScore], root: str, room: int, skipped: Counter[str]) -> list[FileScore]:
    """Return `order` without binary files, and count the binary files in `skipped`.

    Only the first files are checked: the files whose paths fit in `room` characters.
    """
    texts: list[FileScore] = []
    for index, file in enumerate(order):
        if room <= 0:
            return texts + order[index:]
        reason = read(f"{root}/{file.path}").reason
        if reason:
            skipped[reason] += 1
        else:
            texts.append(file)
            room -= len(file.path) + 1
    return texts


def _path_reasons(path: str, ask: Ask) -> tuple[str, ...]:
    kind = kind_of(path)
    reasons: tuple[str, ...] = ("recent",) if path in ask.recent else ()
    reasons += ("entry",) if is_entry(path) else (kind,) if kind else ()
    return reasons or ("place",)


def _order_by_path(listing: FileList, ask: Ask) -> list[FileScore]:
    return [
        FileScore(entry.path, 0.0, _path_reasons(entry.path, ask))
        for entry in sorted(listing.entries, key=lambda entry: _path_order(entry.path, ask.recent))
        if entry.path not in ask.hidden
    ]


def _path_order(path: str, recent: Collection[str]) -> tuple[bool, bool, bool, bool, int, str]:
    return (
        path not in recent,
        bool(vendored_names(path)),
        not is_entry(path),
        bool(kind_of(path)),
        path.count("/"),
        path,
    )


def _text_reader(root: str) -> Callable[[str], Text]:
    return lambda path: Text(read(f"{root}/{path}").data)


def _symbol_parser(root: str, known: Languages, cleaner: Cleaner) -> Callable[[str], tuple[Symbol, ...]]:
    return lambda path: symbols_of(path, read(f"{root}/{path}").data, known, cleaner=cleaner)[1]


def _drop_hidden(paths: Sequence[str], ask: Ask) -> list[str]:
    return [path for path in paths if path not in ask.hidden] if ask.hidden else list(paths)


def view(basis: Basis, ask: Ask, *, partial: bool) -> MapView:
    """Build the repository map.

    `partial`: True if the index is incomplete.
    """
    order = _pinned_first(basis, ask)
    total = len(order) + len(basis.rest)
    rest = list(basis.rest)
    if ask.max_files is not None:
        rest = sorted([file.path for file in order[ask.max_files :]] + rest)
        order = order[: ask.max_files]
    if ask.brief:
        order, packaging = _split_packaging(order, ask.query)
        rest += packaging
    detailed_count = detailed_files(ask.max_tokens, brief=ask.brief)
    best = [
        _with_symbols(file, basis, ask.query, symbols_at(index, ask.max_tokens, brief=ask.brief))
        for index, file in enumerate(order[:detailed_count])
    ]
    plain_paths = [file.path for file in order[detailed_count:]]
    text, shown, detailed = render_map(
        best,
        plain_paths,
        rest,
        ask.max_tokens,
        basis.skipped,
        partial=partial,
        asked=bool(ask.query),
        brief=ask.brief,
    )
    shown_files = [
        file if index < detailed else file._replace(symbols=()) for index, file in enumerate(best[:shown])
    ]
    shown_files += [RankedFile(file.path, file.score, file.reasons) for file in order[detailed_count:shown]]
    first = {file.path for file in order if file.reasons[:1] == PINNED}
    unpinned = tuple(path for path in dict.fromkeys(ask.pinned) if path not in first)
    return MapView(tuple(shown_files), basis.skipped, partial, text, tokens_of(text), total, unpinned)


def _split_packaging(order: Sequence[FileScore], query: Query) -> tuple[list[FileScore], list[str]]:
    """Split `order` into the files to show and the paths of the packaging files to hide."""
    shown: list[FileScore] = []
    packaging: list[str] = []
    for file in order:
        is_wanted = file.reasons[:1] in (PINNED, ("named",)) or "version" in query.weights
        if is_wanted or not is_packaging(file.path):
            shown.append(file)
        else:
            packaging.append(file.path)
    return shown, packaging


def _pinned_first(basis: Basis, ask: Ask) -> list[FileScore]:
    if not ask.pinned:
        return basis.order
    ranked = {file.path: file for file in basis.order}
    unranked = set(basis.rest)
    first = []
    for path in dict.fromkeys(ask.pinned):
        file = ranked.get(path) or (FileScore(path, 0.0, ()) if path in unranked else None)
        if file is not None:
            first.append(file._replace(reasons=(*PINNED, *file.reasons)))
            if path in unranked:
                basis.rest.remove(path)
    names = {file.path for file in first}
    return first + [file for file in basis.order if file.path not in names]


def _with_symbols(file: FileScore, basis: Basis, query: Query, limit: int) -> RankedFile:
    symbols = basis.symbols(file.path) if limit else ()
    scores = (
        file.lines.score_symbols(symbols)
        if file.lines is not None and file.lines.positions
        else default_scores(symbols)
    )
    scores = prefer_names(query.names, symbols, scores)
    if file.line:
        scores = prefer_line(file.line, symbols, scores)
    return RankedFile(file.path, file.score, file.reasons, choose_symbols(symbols, scores, limit))
