"""One answer: from the index or from a scan to ranked files with their symbols, and to the text.

Invariant: the same files, question and settings give the same bytes.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from tui_agent.context.repomap import ranking
from tui_agent.context.repomap.budget import detailed_files, room_of, symbols_at, tokens_of
from tui_agent.context.repomap.cancellation import Ending
from tui_agent.context.repomap.evidence import Lines, around, chosen, telling
from tui_agent.context.repomap.file_list import Listing
from tui_agent.context.repomap.file_text import read
from tui_agent.context.repomap.index_db import Known
from tui_agent.context.repomap.languages import Languages
from tui_agent.context.repomap.named_files import Alike, mentioned
from tui_agent.context.repomap.path_kinds import by_first_name, is_entry, kind_of, weight_of
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.ranking import Ranked
from tui_agent.context.repomap.redacted_text import Cleaner
from tui_agent.context.repomap.related_files import completed
from tui_agent.context.repomap.rendering import rendered
from tui_agent.context.repomap.scan import Scan
from tui_agent.context.repomap.snapshot import Snapshot
from tui_agent.context.repomap.symbols import symbols_of
from tui_agent.context.repomap.texts import Text, Texts
from tui_agent.context.repomap.views import MapView, RankedFile, Symbol

ENOUGH = 300
"""From so many files that match a question, those that do not are only counted."""

PINNED = ("pinned",)
NO_WORD = ("no word",)
"""Why a file that has no word of the question stands where it does."""


class Ask(NamedTuple):
    """What is asked for."""

    query: Query
    max_tokens: int
    max_files: int | None
    pinned: tuple[str, ...]
    hidden: frozenset[str]
    recent: frozenset[str]


class Basis(NamedTuple):
    """Files in rank order, what else there is, and how their symbols are had."""

    order: list[Ranked]
    rest: list[str]
    skipped: dict[str, int]
    symbols: Callable[[str], tuple[Symbol, ...]]


def from_index(index: Snapshot, listing: Listing, texts: Texts, ask: Ask) -> Basis:
    """The order that the index gives."""
    text: Mapping[str, Known] = index.text
    if ask.hidden:
        text = {path: one for path, one in text.items() if path not in ask.hidden}
    query = ask.query
    if query:
        values = ranking.values_of(query, index.counts(list(query.weights)), len(text))
        weight = ranking.weight_in(index, query)
        words = ranking.by_index(index, values, ask.hidden, weight)
        past = ranking.by_history(index, query, text.keys(), weight)
        order = ranking.ranked(words, past, query, values, texts.of, weight)
        order = ranking.defined_first(order, query, index.symbols)
        order = _named(order, ask, index.alike, lambda path: Lines(texts.of(path), values))
        order = completed(order, index, past, ask.hidden, query)
        if len(order) < ENOUGH:
            order += _unmatched(order, {path: one.rank for path, one in text.items()})
    else:
        ranks = {path: one.rank for path, one in text.items()}
        order = ranking.unasked(ranks, {path: one.language for path, one in text.items()}, ask.recent)
        order = _named(order, ask, index.alike)
    ranked = {one.path for one in order}
    rest = [path for path in index.listed(listing.entries) if path not in ranked]
    skipped = Counter(listing.skipped)
    skipped.update(index.skipped)
    return Basis(order, _visible(rest, ask), dict(skipped), index.symbols)


def _named(
    order: list[Ranked], ask: Ask, alike: Alike, look: ranking.Looker = lambda _: None
) -> list[Ranked]:
    if not ask.query.text:
        return order
    mentions = [one for one in mentioned(ask.query.text, alike) if one.path not in ask.hidden]
    return ranking.named_first(order, mentions, look)


def _unmatched(order: Sequence[Ranked], ranks: Mapping[str, float]) -> list[Ranked]:
    """Files without a word of the question, what others lean on first."""
    there = {one.path for one in order}
    others = sorted(
        (-(rank * (0.3 if kind_of(path) else 1.0)), path) for path, rank in ranks.items() if path not in there
    )
    return [Ranked(path, 0.0, NO_WORD) for _, path in others]


def from_scan(
    listing: Listing, root: str, ask: Ask, known: Languages, cleaner: Cleaner, ending: Ending
) -> Basis:
    """The order that reading every file once gives. Raises `EnvironmentFault` once the map is closed."""
    skipped = dict(listing.skipped)
    names = by_first_name(entry.path for entry in listing.entries) if ask.query.text else {}
    alike: Alike = lambda first: names.get(first, ())  # noqa: E731 - as short as a name
    if not ask.query:
        placed = _texts_first(_by_places(listing, ask), root, room_of(ask.max_tokens), skipped)
        return Basis(_named(placed, ask, alike), [], skipped, _parsing(root, known, cleaner))
    scan = Scan(root, ending.until(listing.entries), ask.query, ask.hidden)
    for reason, count in scan.skipped.items():
        skipped[reason] = skipped.get(reason, 0) + count
    values = ranking.values_of(ask.query, scan.counts, scan.total)
    reading = _reading(root)
    weight: ranking.Weight = lambda path: weight_of(path, ask.query)  # noqa: E731 - as short as a name
    order = ranking.ranked(scan.words, {}, ask.query, values, reading, weight)
    parsing = _parsing(root, known, cleaner)
    order = ranking.defined_first(order, ask.query, parsing)
    order = _named(order, ask, alike, lambda path: Lines(reading(path), values))
    if len(order) < ENOUGH:
        there = {one.path for one in order}
        there |= scan.no_text
        order += [one._replace(reasons=NO_WORD) for one in _by_places(listing, ask) if one.path not in there]
    shown = {one.path for one in order} | scan.no_text
    rest = [entry.path for entry in listing.entries if entry.path not in shown]
    return Basis(order, _visible(rest, ask), skipped, parsing)


def _texts_first(order: list[Ranked], root: str, room: int, skipped: dict[str, int]) -> list[Ranked]:
    """Without what is no text, as far as there is room to show it; that is counted."""
    found: list[Ranked] = []
    for at, one in enumerate(order):
        if room <= 0:
            return found + order[at:]
        reason = read(f"{root}/{one.path}").reason
        if reason:
            skipped[reason] = skipped.get(reason, 0) + 1
        else:
            found.append(one)
            room -= len(one.path) + 1
    return found


def _why_there(path: str, ask: Ask) -> tuple[str, ...]:
    """Why a file of which no more than its place is known is where it is."""
    kind = kind_of(path)
    found: tuple[str, ...] = ("recent",) if path in ask.recent else ()
    found += ("entry",) if is_entry(path) else (kind,) if kind else ()
    return found or ("place",)


def _by_places(listing: Listing, ask: Ask) -> list[Ranked]:
    return [
        Ranked(entry.path, 0.0, _why_there(entry.path, ask))
        for entry in sorted(listing.entries, key=lambda entry: _by_place(entry.path, ask.recent))
        if entry.path not in ask.hidden
    ]


def _by_place(path: str, recent: Collection[str]) -> tuple[bool, bool, bool, int, str]:
    return (path not in recent, not is_entry(path), bool(kind_of(path)), path.count("/"), path)


def _reading(root: str) -> Callable[[str], Text]:
    return lambda path: Text(read(f"{root}/{path}").data)


def _parsing(root: str, known: Languages, cleaner: Cleaner) -> Callable[[str], tuple[Symbol, ...]]:
    return lambda path: symbols_of(path, read(f"{root}/{path}").data, known, cleaner=cleaner)[1]


def _visible(paths: Sequence[str], ask: Ask) -> list[str]:
    return [path for path in paths if path not in ask.hidden] if ask.hidden else list(paths)


def view(basis: Basis, ask: Ask, *, partial: bool) -> MapView:
    """The map of a basis."""
    order = _pinned(basis, ask)
    total = len(order) + len(basis.rest)
    rest = list(basis.rest)
    if ask.max_files is not None:
        rest = sorted([one.path for one in order[ask.max_files :]] + rest)
        order = order[: ask.max_files]
    most = detailed_files(ask.max_tokens)
    best = [_detailed(one, basis, symbols_at(at, ask.max_tokens)) for at, one in enumerate(order[:most])]
    others = [one.path for one in order[most:]]
    text, shown, detailed = rendered(
        best, others, rest, ask.max_tokens, basis.skipped, partial=partial, asked=bool(ask.query)
    )
    kept = [one if at < detailed else one._replace(symbols=()) for at, one in enumerate(best[:shown])]
    kept += [RankedFile(one.path, one.score, one.reasons) for one in order[most:shown]]
    first = {one.path for one in order if one.reasons[:1] == PINNED}
    unpinned = tuple(path for path in dict.fromkeys(ask.pinned) if path not in first)
    return MapView(tuple(kept), basis.skipped, partial, text, tokens_of(text), total, unpinned)


def _pinned(basis: Basis, ask: Ask) -> list[Ranked]:
    if not ask.pinned:
        return basis.order
    there = {one.path: one for one in basis.order}
    unranked = set(basis.rest)
    first = []
    for path in dict.fromkeys(ask.pinned):
        one = there.get(path) or (Ranked(path, 0.0, ()) if path in unranked else None)
        if one is not None:
            first.append(one._replace(reasons=(*PINNED, *one.reasons)))
            if path in unranked:
                basis.rest.remove(path)
    names = {one.path for one in first}
    return first + [one for one in basis.order if one.path not in names]


def _detailed(one: Ranked, basis: Basis, most: int) -> RankedFile:
    symbols = basis.symbols(one.path) if most else ()
    worth = one.lines.worth_of(symbols) if one.lines is not None and one.lines.at else telling(symbols)
    if one.line:
        worth = around(one.line, symbols, worth)
    return RankedFile(one.path, one.score, one.reasons, chosen(symbols, worth, most))
