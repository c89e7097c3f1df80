"""A repository map as text for a model: the best files with their best symbols, then paths, then folders.

Invariant: equal input gives equal bytes, and the text never exceeds its maximum length.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, takewhile

from tui_agent.context.repomap.map_results import RankedFile, Symbol
from tui_agent.protocol.unicode_text import format_count, replace_invisible

MAX_FOLDERS = 12
NOTE_CHARS = 160
_NOUN_REASONS = frozenset({"link", "lock file", "session export", "submodule", "translation"})
"""Reasons for leaving out a file that are nouns. Only nouns get a plural: `2 links`, but `3 binary`."""
IN_ORDER = 10
BRIEF_SYMBOL_CHARS = 80
MIN_BRIEF_FILES = 3
MAX_BRIEF_FILES = 7
TOKENS_PER_BRIEF_FILE = 128
"""The limit of a brief map in tokens, divided by this, gives the number of files whose symbols it shows (3 to 7)."""
MANY_TOPS = 4
"""If a map has fewer top-level names than this, it counts files by subfolder (`src/app/` instead of `src/`)."""
CHARS_PER_TOKEN = 3.3
DETAIL_FRACTION = 0.55
"""Fraction of a map's characters for files with symbols."""
TAIL = 0.06
"""Fraction of a map's characters reserved for folders and for the note about left-out files."""


def room_of(max_tokens: int) -> int:
    """Return the maximum number of characters in a repository map of `max_tokens` tokens."""
    return max(200, int(max_tokens * CHARS_PER_TOKEN))


def tokens_of(text: str) -> int:
    """Return the estimated tokens of a repository map's text."""
    return round(len(text) / CHARS_PER_TOKEN)


def symbols_at(place: int, max_tokens: int, *, brief: bool = False) -> int:
    """Return the number of symbols to show for the file at rank `place`, counted from 0."""
    if brief:
        if place >= min(MAX_BRIEF_FILES, max(MIN_BRIEF_FILES, max_tokens // TOKENS_PER_BRIEF_FILE)):
            return 0
        return 3 if place < 3 else 1
    if max_tokens < 1_500:
        return 4 if place < 3 else 3 if place < 5 else 1 if place < 15 else 0
    if max_tokens < 3_000:
        return 5 if place < 5 else 2 if place < 20 else 0
    if max_tokens < 6_000:
        return 7 if place < 5 else 4 if place < 12 else 2 if place < 40 else 0
    return 10 if place < 5 else 6 if place < 20 else 2 if place < 60 else 0


def detailed_files(max_tokens: int, *, brief: bool = False) -> int:
    """Return the maximum number of files shown with symbols."""
    return next(place for place in range(1_000) if symbols_at(place, max_tokens, brief=brief) == 0)


def render_map(
    files: Sequence[RankedFile],
    others: Sequence[str],
    rest: Sequence[str],
    max_tokens: int,
    skipped: Mapping[str, int],
    *,
    partial: bool,
    asked: bool,
    brief: bool = False,
) -> tuple[str, int, int]:
    """Return a map's text, the number of ranked paths in the text, and the number of files with symbols.

    `others`: ranked paths that are shown after `files`, without symbols.
    `rest`: paths without a rank.
    `brief`: show few symbols with short signatures, and other files only by their folders.
    """
    room = room_of(max_tokens)
    head = _head(len(files) + len(others) + len(rest), asked=asked)
    note = _note(skipped, partial=partial)
    remaining = room - len(head) - len(note)
    detail_room = int(remaining * DETAIL_FRACTION)
    blocks: list[str] = []
    for file in files[: detailed_files(max_tokens, brief=brief)]:
        block = _fit_file(file, detail_room, BRIEF_SYMBOL_CHARS if brief else None)
        if not block:
            break
        blocks.append(block)
        detail_room -= len(block)
        remaining -= len(block)
    if brief and any(file.symbols for file in files[: len(blocks)]):
        # Files without symbols at the end would only repeat what the counts by folder say.
        while not files[len(blocks) - 1].symbols:
            remaining += len(blocks.pop())
    plain_paths = [*(file.path for file in files[len(blocks) :]), *others]
    paths, used = ([], 0) if brief else _fit_paths(plain_paths, remaining - int(room * TAIL))
    tail = _describe_folders([*plain_paths[len(paths) :], *rest], remaining - used)
    shown = len(blocks) + len(paths)
    grouped = "".join(f"{clean(path)}\n" for path in _group_by_folder(paths, len(blocks)))
    return f"{head}{''.join(blocks)}{grouped}{tail}{note}", shown, len(blocks)


def _head(total: int, *, asked: bool) -> str:
    order = "best matches first" if asked else "most used first"
    return f"Files of the repository ({total}), {order}, with line numbers of symbols:\n"


def describe_skipped(reason: str, count: int) -> str:
    """Describe how many files were left out for a reason: `2 links`, `3 binary`."""
    return format_count(count, reason, "" if reason in _NOUN_REASONS else reason)


def _note(skipped: Mapping[str, int], *, partial: bool) -> str:
    parts = [
        describe_skipped(reason, count)
        for reason, count in sorted(skipped.items(), key=lambda item: (-item[1], item[0]))
    ]
    note = f"Left out: {', '.join(parts)}.\n" if parts else ""
    if len(note) > NOTE_CHARS:
        note = f"Left out: {format_count(sum(skipped.values()), 'file')}.\n"
    return note + ("The index is still being built: this map is partial.\n" if partial else "")


def _fit_file(file: RankedFile, room: int, most_chars: int | None) -> str:
    """Return the file's path with as many symbols as fit.

    `most_chars`: maximum characters of a symbol's text.
    """
    lines = [f"{clean(file.path)}\n", *(_line(symbol, most_chars) for symbol in file.symbols)]
    while len(lines) > 1 and sum(map(len, lines)) > room:
        lines.pop()
    return "".join(lines) if sum(map(len, lines)) <= room and (len(lines) > 1 or not file.symbols) else ""


def _line(symbol: Symbol, most_chars: int | None) -> str:
    lines = f"{symbol.line}-{symbol.end}" if symbol.end > symbol.line else f"{symbol.line}"
    parent = f"{symbol.parent}: " if symbol.parent else ""
    text = clean(parent + symbol.signature)
    if most_chars is not None and len(text) > most_chars:
        text = f"{text[: most_chars - 1]}…"
    return f"  {lines} {text}\n"


def _fit_paths(paths: Sequence[str], room: int) -> tuple[list[str], int]:
    """Return the first paths that fit, one per line, and their size in characters."""
    sizes = list(takewhile(room.__ge__, accumulate(len(path) + 1 for path in paths)))
    return list(paths[: len(sizes)]), max(sizes, default=0)


def _group_by_folder(paths: Sequence[str], place: int) -> list[str]:
    """Keep the map's first `IN_ORDER` files in order of rank, and group the other paths by folder.

    `place`: the first path's rank in the map.
    """
    fixed_count = max(0, IN_ORDER - place)
    folders: dict[str, list[str]] = {}
    for path in paths[fixed_count:]:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    return [*paths[:fixed_count], *(path for grouped in folders.values() for path in grouped)]


def _describe_folders(paths: Sequence[str], room: int) -> str:
    if not paths:
        return ""
    paths_by_folder = Counter([path.rpartition("/")[0] for path in paths])
    tops = {name.partition("/")[0] for name in paths_by_folder if name}
    depth = 2 if len(tops) + paths_by_folder[""] < MANY_TOPS else 1
    counts: Counter[str] = Counter()
    for name, count in paths_by_folder.items():
        counts["/".join(name.split("/")[:depth]) or "."] += count
    text = f"{len(paths)} more:"
    for number, (folder, count) in enumerate(sorted(counts.items(), key=lambda item: (-item[1], item[0]))):
        piece = f" {clean(folder)}/ {count}," if folder != "." else f" top {count},"
        if number >= MAX_FOLDERS or len(text) + len(piece) + 2 > room:
            break
        text += piece
    text = text.rstrip(",:") + "\n"
    return text if len(text) <= room else ""


def clean(text: str) -> str:
    """Return a file name as one line without control and invisible characters."""
    if text.isascii() and text.isprintable():
        return text
    return replace_invisible(text.encode("utf-8", "backslashreplace").decode("utf-8"), "�", "").replace(
        "\n", "�"
    )
