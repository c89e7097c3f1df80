"""The map as a text for a model: the best files with their best symbols, then paths, then folders.

Invariant: pure, and the same input gives the same bytes; the order of files is the order of ranks; never longer than
the room that it is given.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from tui_agent.context.repomap.budget import DETAIL_SHARE, TAIL, detailed_files, room_of
from tui_agent.context.repomap.views import RankedFile, Symbol
from tui_agent.protocol.unicode_text import counted, replaced

MAX_FOLDERS = 12
NOTE_ROOM = 160
_THINGS = frozenset({"link", "lock file", "session export", "submodule", "translation"})
"""The reasons for leaving files out that are things; the others say how a file is."""
IN_ORDER = 10
MANY_TOPS = 4
"""From so many names at the top on those are told, below it the folders in them."""


def rendered(
    files: Sequence[RankedFile],
    others: Sequence[str],
    rest: Sequence[str],
    max_tokens: int,
    skipped: Mapping[str, int],
    *,
    partial: bool,
    asked: bool,
) -> tuple[str, int, int]:
    """The text, how many of `files` and then `others` are in it, and how many of them in detail.

    `others` are the paths that come next in rank, for which there is room as paths at most; `rest` have no rank.
    """
    room = room_of(max_tokens)
    head = _head(len(files) + len(others) + len(rest), asked=asked)
    note = _note(skipped, partial=partial)
    left = room - len(head) - len(note)
    detail = int(left * DETAIL_SHARE)
    blocks: list[str] = []
    for one in files[: detailed_files(max_tokens)]:
        block = _fitting(one, detail)
        if not block:
            break
        blocks.append(block)
        detail -= len(block)
        left -= len(block)
    bare = [*(one.path for one in files[len(blocks) :]), *others]
    paths, used = _paths(bare, left - int(room * TAIL))
    tail = _folders([*bare[len(paths) :], *rest], left - used)
    shown = len(blocks) + len(paths)
    grouped = "".join(f"{clean(path)}\n" for path in _ordered(paths, len(blocks)))
    return f"{head}{''.join(blocks)}{grouped}{tail}{note}", shown, len(blocks)


def _head(total: int, *, asked: bool) -> str:
    order = "best matches first" if asked else "most leaned on first"
    return f"Files of the repository ({total}), {order}; lines and symbols below a path.\n"


def left_out(reason: str, count: int) -> str:
    """How many files are left out for a reason: `2 links`, `3 binary`."""
    return counted(count, reason, "" if reason in _THINGS else reason)


def _note(skipped: Mapping[str, int], *, partial: bool) -> str:
    parts = [
        left_out(reason, count)
        for reason, count in sorted(skipped.items(), key=lambda each: (-each[1], each[0]))
    ]
    note = f"Left out: {', '.join(parts)}.\n" if parts else ""
    if len(note) > NOTE_ROOM:
        note = f"Left out: {counted(sum(skipped.values()), 'file')}.\n"
    return note + ("The index is still being built: this map is partial.\n" if partial else "")


def _fitting(one: RankedFile, room: int) -> str:
    """The file with as many of its symbols as fit; empty where not even its path does."""
    lines = [f"{clean(one.path)}\n", *(_line(symbol) for symbol in one.symbols)]
    while len(lines) > 1 and sum(map(len, lines)) > room:
        lines.pop()
    return "".join(lines) if sum(map(len, lines)) <= room and (len(lines) > 1 or not one.symbols) else ""


def _line(symbol: Symbol) -> str:
    lines = f"{symbol.line}-{symbol.end}" if symbol.end > symbol.line else f"{symbol.line}"
    parent = f"{symbol.parent}: " if symbol.parent else ""
    return f"  {lines} {clean(parent + symbol.signature)}\n"


def _paths(paths: Sequence[str], room: int) -> tuple[list[str], int]:
    found: list[str] = []
    used = 0
    for path in paths:
        size = len(path) + 1
        if used + size > room:
            break
        found.append(path)
        used += size
    return found, used


def _ordered(paths: Sequence[str], place: int) -> list[str]:
    """Paths, the first of which has this place: the first `IN_ORDER` files stay in rank order, then paths of one folder
    come together, folders in the order of their best."""
    firm = max(0, IN_ORDER - place)
    folders: dict[str, list[str]] = {}
    for path in paths[firm:]:
        folders.setdefault(path.rpartition("/")[0], []).append(path)
    return [*paths[:firm], *(path for found in folders.values() for path in found)]


class _FolderOf(dict[str, str]):
    """The folder of each path, worked out once. Bounded: it forgets all when it holds `LIMIT` paths."""

    LIMIT = 200_000

    def __missing__(self, path: str) -> str:
        if len(self) >= self.LIMIT:
            self.clear()
        found = self[path] = path.rpartition("/")[0]
        return found


_folder_of = _FolderOf()


def _folders(paths: Sequence[str], room: int) -> str:
    """Where the others lie, in one line."""
    if not paths:
        return ""
    lying = Counter(map(_folder_of.__getitem__, paths))
    tops = {name.partition("/")[0] for name in lying if name}
    depth = 2 if len(tops) + lying[""] < MANY_TOPS else 1
    counts: Counter[str] = Counter()
    for name, count in lying.items():
        counts["/".join(name.split("/")[:depth]) or "."] += count
    text = f"{len(paths)} more:"
    for number, (folder, count) in enumerate(sorted(counts.items(), key=lambda each: (-each[1], each[0]))):
        piece = f" {clean(folder)}/ {count}," if folder != "." else f" top {count},"
        if number >= MAX_FOLDERS or len(text) + len(piece) + 2 > room:
            break
        text += piece
    text = text.rstrip(",:") + "\n"
    return text if len(text) <= room else ""


def clean(text: str) -> str:
    """One line without anything that a terminal obeys or an eye cannot see; bytes of names that are no UTF-8 are escaped,
    as every tool that lists names does, and takes them."""
    if text.isascii() and text.isprintable():
        return text
    return replaced(text.encode("utf-8", "backslashreplace").decode("utf-8"), "�", "").replace("\n", "�")
