"""Looks up what a message mentions, through the environment, and puts it into words for the model.

Invariant: nothing is read that `may_read` refuses; what is sent of one mention, and of all, is bounded: where all have no
room the short ones are whole and the long ones share what is left; a fault of one mention is its note, never the message's
end.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import anyio
from anyio import to_thread

from tui_agent.context.definitions import end_of, search_definitions
from tui_agent.context.even_shares import shared
from tui_agent.context.mention_parser import Possible, Wanted, possible
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import Environment, FileContent, FileInfo
from tui_agent.ports.knowledge import FindSymbol, SymbolPlace
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.parts import ImageContent
from tui_agent.protocol.unicode_text import counted

MAX_CHARS: Final = 50_000
MAX_LINES: Final = 2_000
LEAST_CHARS: Final = 400
"""A file that has less room is not begun: some words of it are taken for all."""
MAX_ALL_CHARS: Final = 160_000
MAX_ENTRIES: Final = 200
MAX_IMAGE_BYTES: Final = 5_000_000
MOST_SYMBOLS: Final = 5
"""So many names of a message are looked up as symbols: each may take a moment."""
NAMES_S: Final = 4.0
"""And all of them no longer than this, where nothing is indexed yet."""
UNREAD: Final = (
    "not found in time, as the repository is still being read; mention it again later, or its file"
)
TOO_MANY: Final = f"only the first {MOST_SYMBOLS} names of a message are looked up"
SYMBOL_LINES: Final = 60
SYMBOL_PLACES: Final = 3
HEX_BYTES: Final = 64
_UNTYPED: Final = "\ufffd"
MayRead = Callable[[str, str], str]
"""(path as given, where it leads) -> why it may not be read; empty where nothing is against it."""
KeepImage = Callable[[bytes], str]
"""Stores an image; its digest."""


@dataclass(frozen=True, slots=True)
class Sources:
    """What mentions are looked up by. `images`: the model takes images; `room`: characters of all of them together;
    `names_s`: what all names of symbols may take."""

    env: Environment
    may_read: MayRead
    keep_image: KeepImage
    symbols: FindSymbol | None = None
    images: bool = False
    room: int = MAX_ALL_CHARS
    names_s: float = NAMES_S


@dataclass(frozen=True, slots=True)
class _Found:
    """A mention with all of it that may be sent, and how it is with so many characters of text; None: only as it is."""

    mention: Mention
    within: Callable[[int], Mention] | None = None

    @property
    def chars(self) -> int:
        """Characters of its text."""
        return len(self.mention.text) if isinstance(self.mention.text, str) else self.mention.text.size


@dataclass(slots=True)
class _Names:
    """What the names of a message may still take: so many of them, and until when."""

    until: float
    left: int = MOST_SYMBOLS


def may_mention(text: str, root: str) -> bool:
    """Whether it is worth looking closer. Cheap."""
    return "@" in text or root in text


async def expand(text: str, sources: Sources) -> tuple[Mention, ...]:
    """What the message mentions, in order; only those that are found, refused, or could only have been meant as one."""
    places = await to_thread.run_sync(possible, text, sources.env.root)
    found: list[_Found] = []
    names = _Names(anyio.current_time() + sources.names_s)
    for place in places:
        one = await _mention(place, sources, names)
        if one is not None and not any(_same(one.mention, other.mention) for other in found):
            found.append(one)
    rooms = shared([one.chars for one in found], sources.room)
    return tuple(
        one.mention if one.within is None or one.chars <= room else one.within(room)
        for one, room in zip(found, rooms, strict=True)
    )


async def _mention(place: Possible, sources: Sources, names: _Names) -> _Found | None:
    refused = ""
    for wanted in place.readings:
        try:
            info = await _look(wanted.path, sources)
        except EnvironmentFault as fault:
            refused = refused or fault.message
            continue
        if info is None:
            continue
        try:
            return await _found(wanted, info, sources)
        except EnvironmentFault as fault:
            return _Found(Mention(given=wanted.given, kind="refused", path=wanted.path, note=fault.message))
    if place.symbol and not refused:
        symbol, note = await _named(place, sources, names)
        if symbol is not None:
            return symbol
        if note and not place.meant:
            return _Found(Mention(given=place.given, kind="missing", note=note))
    if not place.meant and (not refused or place.given.startswith("/")):
        return None
    return _Found(Mention(given=place.given, kind="missing", note=refused or "there is no such file"))


async def _look(path: str, sources: Sources) -> FileInfo | None:
    """What is there, links followed; None where nothing is."""
    info = await sources.env.stat(path)
    if info is None and _UNTYPED in path:
        info = await _shown_as(path, sources.env)
    if info is None or info.kind != "link":
        return info
    return await sources.env.stat(sources.env.resolve(path))


async def _shown_as(path: str, env: Environment) -> FileInfo | None:
    """The file whose name is no UTF-8 and is shown so: nobody can type it otherwise."""
    for one in await env.listdir(path.rpartition("/")[0]):
        if one.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace") == path:
            return one
    return None


async def _found(wanted: Wanted, info: FileInfo, sources: Sources) -> _Found:
    path = (info.path if _UNTYPED in wanted.path else wanted.path).rstrip("/") or "."
    why = sources.may_read(path, sources.env.resolve(path))
    if why:
        return _Found(Mention(given=wanted.given, kind="refused", path=path, note=why))
    if info.kind == "directory":
        return _Found(await _directory(wanted, info.path, sources))
    content = await sources.env.read(path)
    media = image_type(content.data)
    if media:
        return _Found(await _image(wanted, content, media, sources))
    return await to_thread.run_sync(_file, wanted, content)


async def _directory(wanted: Wanted, path: str, sources: Sources) -> Mention:
    entries = [one for one in await sources.env.listdir(path) if one.path.rpartition("/")[2] != ".git"]
    names = [one.path.rpartition("/")[2] + ("/" if one.kind == "directory" else "") for one in entries]
    shown = "\n".join(_printable(name) for name in names[:MAX_ENTRIES])
    more = len(names) - MAX_ENTRIES
    note = f"\n[{more:,} more; list_directory shows them]" if more > 0 else ""
    shown_path = "." if path in ("", ".") else f"{path}/"
    text = f"<directory path={_quoted(shown_path)}>\n{shown or '[it is empty]'}{note}\n</directory>"
    return _counted(
        Mention(
            given=wanted.given, kind="directory", path=shown_path, size=len(names), cut=more > 0, text=text
        )
    )


async def _image(wanted: Wanted, content: FileContent, media: str, sources: Sources) -> Mention:
    mention = Mention(
        given=wanted.given, kind="image", path=content.path, sha256=content.digest, size=len(content.data)
    )
    if not sources.images:
        return mention.model_copy(update={"kind": "refused", "note": "the model takes no images"})
    if len(content.data) > MAX_IMAGE_BYTES:
        note = f"larger than {MAX_IMAGE_BYTES // 1_000_000} MB"
        return mention.model_copy(update={"kind": "refused", "note": note})
    digest = await to_thread.run_sync(sources.keep_image, content.data)
    image = ImageContent(
        media_type=media, blob_sha256=digest, size=len(content.data), name=content.path.rpartition("/")[2]
    )
    text = f"<image path={_quoted(content.path)}>"
    return _counted(mention.model_copy(update={"image": image, "text": text}))


def _file(wanted: Wanted, content: FileContent) -> _Found:
    mention = Mention(
        given=wanted.given, kind="file", path=content.path, sha256=content.digest, size=len(content.data)
    )
    decoded = _decoded(content.data)
    if decoded is None:
        head = content.data[:HEX_BYTES].hex(" ")
        note = f"binary, {counted(len(content.data), 'byte')}; only its beginning is here"
        text = f"<file path={_quoted(content.path)}>\n[{note}]\n{head}\n</file>"
        return _Found(_counted(mention.model_copy(update={"cut": True, "note": "binary", "text": text})))
    lines, note = _split(decoded[0]), decoded[1]
    if wanted.first_line > max(len(lines), 1):
        why = f"it has {counted(len(lines), 'line')}"
        return _Found(mention.model_copy(update={"kind": "missing", "note": why}))
    first = wanted.first_line or 1
    last = min(wanted.last_line or len(lines), len(lines))
    held, _ = _bounded(lines, first, last, MAX_CHARS)
    part = _Part(wanted, mention, held, first, last, len(lines), note)
    return _Found(part.within(MAX_CHARS), part.within)


@dataclass(frozen=True, slots=True)
class _Part:
    """The lines from `first` to `last` of a file that has `count`, as many of them `held` as may ever be sent; `note` says
    something of its encoding."""

    wanted: Wanted
    mention: Mention
    held: Sequence[str]
    first: int
    last: int
    count: int
    note: str

    def within(self, room: int) -> Mention:
        """As many lines as there is room for."""
        attributes = f"path={_quoted(self.mention.path)}"
        if room < min(LEAST_CHARS, sum(len(line) + 1 for line in self.held)):
            note = "[nothing of it has room beside the other files; read_file reads it]"
            text = f"<file {attributes}>\n{note}\n</file>"
            return _counted(self.mention.model_copy(update={"cut": True, "text": text}))
        shown, end = _bounded(self.held, 1, len(self.held), room)
        end += self.first - 1
        cut, notes = end < self.last, [self.note] if self.note else []
        if cut:
            notes.append(
                f"[lines {self.first}-{end} of {self.count}; read_file reads on with offset={end + 1}]"
            )
        if not self.count:
            notes.append("[the file is empty]")
        if self.first > 1 or self.last < self.count:
            attributes += f' lines="{self.first}-{end}"'
        told = (self.first, end) if self.wanted.first_line or cut else (0, 0)
        text = "\n".join((f"<file {attributes}>", *shown, *notes, "</file>"))
        changed = {"first_line": told[0], "last_line": told[1], "cut": cut, "text": text}
        return _counted(self.mention.model_copy(update=changed))


def _bounded(lines: Sequence[str], first: int, last: int, room: int) -> tuple[list[str], int]:
    """The lines that there is room for, at least the beginning of one, and the last one's number."""
    shown: list[str] = []
    for line in lines[first - 1 : last]:
        if len(shown) == MAX_LINES or (len(line) + 1 > room and shown):
            break
        shown.append(line if len(line) < room else f"{line[:room]}[… {len(line) - room:,} more characters]")
        room -= len(line) + 1
        if room <= 0:
            break
    return shown, first + len(shown) - 1


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a symbol is defined, with as many lines of it as may be sent."""

    path: str
    first: int
    lines: Sequence[str]


async def _named(place: Possible, sources: Sources, names: _Names) -> tuple[_Found | None, str]:
    """The symbol of that name; where there is none, what is to be said of it: nothing where it is nowhere."""
    names.left -= 1
    if names.left < 0:
        return None, TOO_MANY if names.left == -1 else ""
    if anyio.current_time() < names.until:
        with anyio.CancelScope(deadline=names.until):
            places, sure = await _places(place.symbol, sources)
            found = await _symbol(place, places, sources)
            return found, "" if sure else UNREAD
    return None, UNREAD


async def _places(symbol: str, sources: Sources) -> tuple[Sequence[SymbolPlace], bool]:
    """Where a symbol is defined, and whether it is sure that there is no more of it."""
    known = await sources.symbols(symbol) if sources.symbols is not None else None
    if known:
        return known, True
    searched, whole = await search_definitions(re.split(r"\.|::", symbol)[-1], sources.env)
    return searched, bool(searched) or whole or known is not None


async def _symbol(place: Possible, places: Sequence[SymbolPlace], sources: Sources) -> _Found | None:
    found = list[_Place]()
    for one in places[:SYMBOL_PLACES]:
        if sources.may_read(one.path, sources.env.resolve(one.path)):
            continue
        try:
            content = await sources.env.read(one.path)
        except EnvironmentFault:
            continue  # it was there a moment ago; another place may still be
        lines = _split((_decoded(content.data) or ("", ""))[0])
        last = min(one.last_line or end_of(lines, one.line), one.line + SYMBOL_LINES - 1, len(lines))
        body, _ = _bounded(lines, one.line, last, MAX_CHARS // SYMBOL_PLACES)
        if body:
            found.append(_Place(one.path, one.line, body))
    if not found:
        return None
    within = partial(_defined, place, found, len(places))
    return _Found(within(MAX_CHARS), within)


def _defined(place: Possible, found: Sequence[_Place], count: int, room: int) -> Mention:
    texts, last = [], 0
    for one in found:
        body, end = _bounded(one.lines, 1, len(one.lines), max(0, room))
        end += one.first - 1
        head = f'<symbol name={_quoted(place.symbol)} path={_quoted(one.path)} lines="{one.first}-{end}">'
        texts.append("\n".join((head, *body, "</symbol>")))
        last, room = last or end, room - len(texts[-1])
    return _counted(
        Mention(
            given=place.given,
            kind="symbol",
            path=found[0].path,
            first_line=found[0].first,
            last_line=last,
            cut=count > len(texts),
            note=f"{len(texts)} places" if len(texts) > 1 else "",
            text="\n".join(texts),
        )
    )


def _split(text: str) -> list[str]:
    """Its lines as the tools count them: only a line feed ends one."""
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def _decoded(data: bytes) -> tuple[str, str] | None:
    """The content as text, as `read_file` shows it, and what is to be said of its encoding; None where it is binary."""
    for bom, codec in ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(bom):
            return data[len(bom) :].decode(codec, "replace"), ""
    if b"\0" in data[:8192]:
        return None
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        carried = data.decode("utf-8", "surrogateescape")
    bad = sum("\udc80" <= char <= "\udcff" for char in carried)
    if bad > sum(char > "\x7f" for char in carried) - bad:
        return data.decode("latin-1"), "[Latin-1]"
    return data.decode("utf-8", "replace"), "[UTF-8 with invalid bytes]"


def image_type(data: bytes) -> str:
    """The media type of an image that models take; empty for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else ""


def _counted(mention: Mention) -> Mention:
    size = len(mention.text) if isinstance(mention.text, str) else mention.text.size
    return mention.model_copy(update={"tokens": -(-size // 4)})


def _same(one: Mention, other: Mention) -> bool:
    mark = (one.kind, one.path, one.first_line, one.last_line)
    return bool(one.path) and mark == (other.kind, other.path, other.first_line, other.last_line)


def _quoted(text: str) -> str:
    escaped = _printable(text).replace("&", "&amp;").replace('"', "&quot;")
    return f'"{escaped}"'


def _printable(text: str) -> str:
    plain = text.encode("utf-8", "backslashreplace").decode()
    return plain if plain.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in plain)
