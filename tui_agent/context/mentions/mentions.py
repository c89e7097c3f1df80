"""Lookup of a message's mentions, and their text for the model.

Invariant: a path that `may_read` refuses is not read, and the text of all mentions has a limit.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Final

import anyio
from anyio import to_thread

from tui_agent.context.budgets import divide_evenly
from tui_agent.context.mentions.definitions import end_of, search_definitions
from tui_agent.errors import EnvironmentFault, ToolError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.text.mention_parser import (
    MAX_ALL_MENTIONS_CHARS,
    MAX_FOLDER_ENTRIES,
    MAX_MENTION_CHARS,
    MentionCandidate,
    MentionedPath,
    find_candidates,
    split_resource,
)
from tui_agent.folds.text.plain_text import decode_text, notes_on_cut_lines, notes_on_text, number_lines
from tui_agent.ports.environment import Environment, FileContent, FileInfo
from tui_agent.ports.symbols_and_skills import FindSymbol, SymbolLocation
from tui_agent.ports.tool import ResourceContent
from tui_agent.protocol.mentions import Mention
from tui_agent.protocol.parts import ImageContent, image_type
from tui_agent.protocol.stored_text import text_size
from tui_agent.protocol.unicode_text import escape_unprintable, format_count
from tui_agent.units import format_bytes, format_number

MAX_LINES: Final = 2_000
MIN_FILE_CHARS: Final = 400
"""Minimum length of a part of a mentioned file, in characters."""
# A smaller part could be mistaken for the whole file.
MAX_IMAGE_BYTES: Final = 5_000_000
MAX_SYMBOL_NAMES: Final = 5
"""Maximum number of symbol lookups per message. A lookup can be slow."""
SYMBOL_SEARCH_S: Final = 4.0
"""Time limit in seconds for all symbol lookups of a message."""
NOT_INDEXED_NOTE: Final = (
    "not found yet, because the repository is still being indexed; mention it again later, or name its file"
)
TOO_MANY_NAMES_NOTE: Final = f"only the first {MAX_SYMBOL_NAMES} names of a message are looked up"
SYMBOL_PLACES: Final = 3
HEX_BYTES: Final = 64
_UNTYPED: Final = "\ufffd"
"""Character that the screen shows for a byte of a file name that is not UTF-8. Nobody types this character."""
MayRead = Callable[[str, str], str]
"""Function (path, real path) that returns the reason not to read a file, or an empty string."""
ReadResource = Callable[[str, str], Awaitable[ResourceContent]]
"""Function (name of an MCP server, URI) that reads a resource. Raises `ToolError`."""
KeepImage = Callable[[bytes], str]
"""Function that stores an image and returns its digest."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The services and limits for looking up mentions.

    `images`: True if the model accepts images.
    `room`: maximum characters of all mentions.
    `names_s`: time limit in seconds for the search for all mentioned symbols.
    """

    env: Environment
    may_read: MayRead
    keep_image: KeepImage
    symbols: FindSymbol | None = None
    servers: Collection[str] = ()
    read_resource: ReadResource | None = None
    images: bool = False
    room: int = MAX_ALL_MENTIONS_CHARS
    names_s: float = SYMBOL_SEARCH_S


@dataclass(frozen=True, slots=True)
class _Lookup:
    """A mention that was found, with its full text.

    `within(limit)`: returns the mention, cut to `limit` characters. `within` is None if the mention is never cut.
    """

    mention: Mention
    within: Callable[[int], Mention] | None = None

    @property
    def chars(self) -> int:
        return text_size(self.mention.text)


@dataclass(slots=True)
class _NameBudget:
    """The remaining symbol lookups of a message: their number, and their common time limit."""

    until: float
    left: int = MAX_SYMBOL_NAMES


def may_mention(text: str, root: str) -> bool:
    """Return True if the text possibly contains a mention."""
    return "@" in text or root in text


async def resolve_mentions(
    text: str, sources: Sources, typed: Collection[str] | None = None
) -> tuple[Mention, ...]:
    """Return the mentions in the message `text`, in order.

    `typed`: the texts of the mentions that the user typed; None if this is not known.
    """
    # In a thread: a pasted log can have thousands of candidates.
    places = await to_thread.run_sync(find_candidates, text, sources.env.root, typed)
    lookups: list[_Lookup] = []
    names = _NameBudget(anyio.current_time() + sources.names_s)
    for place in places:
        lookup = await _look_up(place, sources, names)
        if lookup is not None and not any(_is_same(lookup.mention, earlier.mention) for earlier in lookups):
            lookups.append(lookup)
    rooms = divide_evenly([lookup.chars for lookup in lookups], sources.room)
    mentions = [
        lookup.mention if lookup.within is None or lookup.chars <= room else lookup.within(room)
        for lookup, room in zip(lookups, rooms, strict=True)
    ]
    whole_files = {mention.path for mention in mentions if mention.is_whole_file}
    return tuple(_refer_to_file(mention) if mention.path in whole_files else mention for mention in mentions)


def _refer_to_file(mention: Mention) -> Mention:
    """Replace the text of a symbol by a reference to its file, because the message also contains that whole file."""
    text = str(mention.text)
    if mention.kind != "symbol" or text.count("<symbol ") > 1:
        return mention
    lines = f"{mention.first_line}" if mention.truncated else f"{mention.first_line}-{mention.last_line}"
    head = f'<symbol name={_quote(mention.reference)} path={_quote(mention.path)} lines="{lines}">'
    changed = {"text": f"{head}\n[see the file, which is attached]\n</symbol>", "truncated": False}
    return _with_tokens(mention.model_copy(update=changed))


async def find_refused_paths(paths: Sequence[str], env: Environment, may_read: MayRead) -> list[str]:
    """Return the `paths` of which a message would send nothing: secret files, and files outside the workspace."""
    refused = list[str]()
    for path in paths:
        try:
            await _find_path(path, env)
        except EnvironmentFault:
            refused.append(path)
        else:
            refused += [path] if may_read(path, env.resolve(path)) else []
    return refused


async def _look_up(place: MentionCandidate, sources: Sources, names: _NameBudget) -> _Lookup | None:
    resource = split_resource(place.text, sources.servers)
    if resource is not None and sources.read_resource is not None:
        return await _resource_lookup(place.text, *resource, sources.read_resource, sources)
    refusal = ""
    for reading in place.readings:
        try:
            info = await _find_path(reading.path, sources.env)
        except EnvironmentFault as fault:
            refusal = refusal or fault.message
            continue
        if info is None:
            continue
        try:
            return await _read_mention(reading, info, sources)
        except EnvironmentFault as fault:
            return _Lookup(
                Mention(reference=reading.text, kind="refused", path=reading.path, note=fault.message)
            )
    if place.symbol and not refusal:
        symbol, note = await _find_symbol(place, sources, names)
        if symbol is not None:
            return symbol
        if note and not place.is_certain:
            return _Lookup(Mention(reference=place.text, kind="missing", note=note))
    if not place.is_certain and (not refusal or place.text.startswith("/")):
        return None
    return _Lookup(Mention(reference=place.text, kind="missing", note=refusal or "file not found"))


async def _find_path(path: str, env: Environment) -> FileInfo | None:
    """Return the file or folder at `path`, or None. Raise `EnvironmentFault` for a link without a target."""
    info = await env.stat(path)
    if info is None and _UNTYPED in path:
        info = await _find_by_shown_name(path, env)
    if info is None or info.kind != "link":
        return info
    target = await env.stat(env.resolve(path))
    if target is None:
        raise EnvironmentFault("the target of this link does not exist")
    return target


async def _find_by_shown_name(path: str, env: Environment) -> FileInfo | None:
    """Find a file by its displayed name, if the real name is not UTF-8."""
    for info in await env.listdir(path.rpartition("/")[0]):
        if info.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace") == path:
            return info
    return None


async def _read_mention(reading: MentionedPath, info: FileInfo, sources: Sources) -> _Lookup:
    path = (info.path if _UNTYPED in reading.path else reading.path).rstrip("/") or "."
    refusal = sources.may_read(path, sources.env.resolve(path))
    if refusal:
        return _Lookup(Mention(reference=reading.text, kind="refused", path=path, note=refusal))
    if info.kind == "directory":
        return _Lookup(await _directory_mention(reading, info.path, sources))
    content = await sources.env.read(path)
    media = image_type(content.data)
    if media:
        mention = Mention(
            reference=reading.text,
            kind="image",
            path=content.path,
            sha256=content.digest,
            size=len(content.data),
        )
        return _Lookup(await _image_mention(mention, content.data, media, sources))
    return await to_thread.run_sync(_file_lookup, reading, content)


async def _directory_mention(reading: MentionedPath, path: str, sources: Sources) -> Mention:
    entries = [info for info in await sources.env.listdir(path) if info.path.rpartition("/")[2] != ".git"]
    names = [info.path.rpartition("/")[2] + ("/" if info.kind == "directory" else "") for info in entries]
    shown = "\n".join(escape_unprintable(name) for name in names[:MAX_FOLDER_ENTRIES])
    more = len(names) - MAX_FOLDER_ENTRIES
    note = f"\n[{format_number(more)} more; to list them use list_directory]" if more > 0 else ""
    shown_path = "." if path in ("", ".") else f"{path}/"
    text = f"<directory path={_quote(shown_path)}>\n{shown or '[empty]'}{note}\n</directory>"
    return _with_tokens(
        Mention(
            reference=reading.text,
            kind="directory",
            path=shown_path,
            size=len(names),
            truncated=more > 0,
            text=text,
        )
    )


async def _resource_lookup(
    reference: str, server: str, uri: str, read: ReadResource, sources: Sources
) -> _Lookup:
    mention = Mention(reference=reference, kind="resource")
    try:
        content = await read(server, uri)
    except ToolError as error:
        return _Lookup(mention.model_copy(update={"kind": "refused", "note": error.message}))
    media = image_type(content.data)
    if media:
        image = mention.model_copy(update={"kind": "image", "size": len(content.data)})
        return _Lookup(await _image_mention(image, content.data, media, sources))
    if content.data or not content.text:
        size = format_bytes(len(content.data))
        note = f"binary, {content.media_type or 'unknown type'}, {size}" if content.data else "it is empty"
        return _Lookup(mention.model_copy(update={"kind": "refused", "note": note}))
    head = f"<resource server={_quote(server)} uri={_quote(uri)}>"
    within = partial(_cut_resource, mention, head, content.text)
    return _Lookup(within(MAX_MENTION_CHARS), within)


def _cut_resource(mention: Mention, head: str, text: str, room: int) -> Mention:
    """Return the mention with at most `room` characters of a resource's text."""
    # The text comes from outside, so it must not end its own block.
    body = text[:room].replace("</resource", "&lt;/resource")
    is_cut = len(text) > room
    note = f"\n[the first {format_number(room)} of {format_number(len(text))} characters]" if is_cut else ""
    changed = {"size": len(text), "truncated": is_cut, "text": f"{head}\n{body}{note}\n</resource>"}
    return _with_tokens(mention.model_copy(update=changed))


async def _image_mention(mention: Mention, data: bytes, media: str, sources: Sources) -> Mention:
    if not sources.images:
        note = "the model is not known to accept images; to send images, set images = true in its profile"
        return mention.model_copy(update={"kind": "refused", "note": note})
    if len(data) > MAX_IMAGE_BYTES:
        note = f"larger than {format_bytes(MAX_IMAGE_BYTES)}"
        return mention.model_copy(update={"kind": "refused", "note": note})
    digest = await to_thread.run_sync(sources.keep_image, data)
    place = mention.path or mention.reference
    name = place.rpartition("/")[2]
    image = ImageContent(media_type=media, blob_sha256=digest, size=len(data), name=name)
    text = f"<image path={_quote(place)}>"
    return _with_tokens(mention.model_copy(update={"image": image, "text": text}))


def _file_lookup(reading: MentionedPath, content: FileContent) -> _Lookup:
    mention = Mention(
        reference=reading.text, kind="file", path=content.path, sha256=content.digest, size=len(content.data)
    )
    decoded = decode_text(content.data)
    if decoded is None:
        head = content.data[:HEX_BYTES].hex(" ")
        note = f"binary, {format_bytes(len(content.data))}; only its beginning is shown"
        text = f"<file path={_quote(content.path)}>\n[{note}]\n{head}\n</file>"
        return _Lookup(
            _with_tokens(mention.model_copy(update={"truncated": True, "note": "binary", "text": text}))
        )
    lines = _split_lines(decoded.display_text)
    if reading.first_line > max(len(lines), 1):
        problem = f"it has only {format_count(len(lines), 'line')}"
        return _Lookup(mention.model_copy(update={"kind": "missing", "note": problem}))
    first = reading.first_line or 1
    last = min(reading.last_line or len(lines), len(lines))
    sendable = lines[first - 1 : last][:MAX_LINES]
    part = _LineRange(reading, mention, sendable, first, last, len(lines), notes_on_text(decoded))
    return _Lookup(part.fit_to(MAX_MENTION_CHARS), part.fit_to)


@dataclass(frozen=True, slots=True)
class _LineRange:
    """Lines of a mentioned file.

    `first`, `last`: line numbers.
    `count`: number of lines of the whole file.
    `lines`: texts of these lines.
    `notes`: notes about the encoding and the line ends.
    """

    reading: MentionedPath
    mention: Mention
    lines: Sequence[str]
    first: int
    last: int
    count: int
    notes: Sequence[str]

    def fit_to(self, room: int) -> Mention:
        """Return the mention with as many numbered lines as fit into `room` characters."""
        attributes = f"path={_quote(self.mention.path)}"
        shown, cut_count = number_lines(self.lines, self.first, room)
        end = self.first + len(shown) - 1
        if sum(len(line) + 1 for line in shown) > room or (room < MIN_FILE_CHARS and end < self.last):
            note = "[left out: the other files fill the available room; use read_file]"
            text = f"<file {attributes}>\n{note}\n</file>"
            return _with_tokens(self.mention.model_copy(update={"truncated": True, "text": text}))
        is_short, notes = end < self.last, [*self.notes, *notes_on_cut_lines(cut_count)]
        if is_short:
            notes.append(
                f"[lines {self.first}-{end} of {self.count}; read on with read_file, offset={end + 1}]"
            )
        if not self.count:
            notes.append("[the file is empty]")
        if self.first > 1 or self.last < self.count:
            attributes += f' lines="{self.first}-{end}"'
        shown_range = (self.first, end) if self.reading.first_line or is_short else (0, 0)
        text = "\n".join((f"<file {attributes}>", *shown, *notes, "</file>"))
        changed = {
            "first_line": shown_range[0],
            "last_line": shown_range[1],
            "truncated": is_short or cut_count > 0,
            "text": text,
        }
        return _with_tokens(self.mention.model_copy(update=changed))


@dataclass(frozen=True, slots=True)
class _Definition:
    """A definition of a mentioned symbol. `first`, `last`: its line numbers. `lines`: the lines that can be sent."""

    name: str
    path: str
    first: int
    last: int
    lines: Sequence[str]

    def show(self, room: int) -> tuple[str, int, str]:
        """Return (text, cut to `room` characters; number of its last line in the file; note on the cut for the user)."""
        body, cut_count = number_lines(self.lines, self.first, room)
        end = self.first + len(body) - 1
        notes, cut = notes_on_cut_lines(cut_count), "long lines cut" if cut_count else ""
        if end < self.last:
            cut = f"only lines {self.first}–{end} of {self.first}–{self.last}"
            notes.append(
                f"[lines {self.first}-{end} of {self.first}-{self.last}; read on with read_file, offset={end + 1}]"
            )
        head = f'<symbol name={_quote(self.name)} path={_quote(self.path)} lines="{self.first}-{end}">'
        return "\n".join((head, *body, *notes, "</symbol>")), end, cut


async def _find_symbol(
    place: MentionCandidate, sources: Sources, names: _NameBudget
) -> tuple[_Lookup | None, str]:
    """Return the definitions of the mentioned symbol, or None and a note for the user."""
    names.left -= 1
    if names.left < 0:
        return None, TOO_MANY_NAMES_NOTE if names.left == -1 else ""
    if anyio.current_time() < names.until:
        with anyio.CancelScope(deadline=names.until):
            places, complete = await _find_definitions(place.symbol, sources)
            lookup = await _read_definitions(place, places, sources)
            return lookup, "" if complete else NOT_INDEXED_NOTE
    return None, NOT_INDEXED_NOTE


async def _find_definitions(symbol: str, sources: Sources) -> tuple[Sequence[SymbolLocation], bool]:
    """Return the definitions of a symbol, and True if the list is certainly complete."""
    known = await sources.symbols(symbol) if sources.symbols is not None else None
    if known:
        return known, True
    results, complete = await search_definitions(symbol, sources.env)
    return results, bool(results) or complete or known is not None


async def _read_definitions(
    place: MentionCandidate, places: Sequence[SymbolLocation], sources: Sources
) -> _Lookup | None:
    definitions = list[_Definition]()
    for location in _choose_places(places):
        if sources.may_read(location.path, sources.env.resolve(location.path)):
            continue
        try:
            content = await sources.env.read(location.path)
        except EnvironmentFault:
            continue  # the file has just been deleted; another definition may still exist
        lines = _split_lines(content.text)
        last = min(location.last_line or end_of(lines, location.line), len(lines))
        body = lines[location.line - 1 : last][:MAX_LINES]
        if body:
            definitions.append(_Definition(location.name, location.path, location.line, last, body))
    if not definitions:
        return None
    within = partial(_symbol_mention, place, definitions, len(places))
    return _Lookup(within(MAX_MENTION_CHARS), within)


def _choose_places(places: Sequence[SymbolLocation]) -> Sequence[SymbolLocation]:
    """Return at most `SYMBOL_PLACES` places. Prefer the longest of several definitions of one name in a file."""
    if len(places) <= SYMBOL_PLACES:
        return places
    longest: dict[tuple[str, str], SymbolLocation] = {}
    for place in places:
        key = (place.path, place.name)
        longest[key] = max(longest.get(key, place), place, key=lambda place: place.last_line - place.line)
    longest_places = set(longest.values())
    return sorted(places, key=lambda place: place not in longest_places)[:SYMBOL_PLACES]


def _symbol_mention(
    place: MentionCandidate, definitions: Sequence[_Definition], count: int, room: int
) -> Mention:
    texts, cuts, last = list[str](), list[str](), 0
    rooms = divide_evenly([len(definition.show(room)[0]) for definition in definitions], room)
    for definition, definition_room in zip(definitions, rooms, strict=True):
        text, end, cut = definition.show(definition_room)
        if texts and cut and definition_room < MIN_FILE_CHARS:
            break
        texts.append(text)
        last, cuts = last or end, [*cuts, cut] if cut else cuts
    shown = f"{len(texts)} of " if count > len(texts) else ""
    notes = [f"{shown}{count} places"] if count > 1 else []
    notes += ["not whole"] if cuts and len(texts) > 1 else cuts
    if not _is_named(place.symbol, definitions[0].name):
        notes.insert(0, definitions[0].name)
    return _with_tokens(
        Mention(
            reference=place.text,
            kind="symbol",
            path=definitions[0].path,
            first_line=definitions[0].first,
            last_line=last,
            truncated=bool(cuts or shown),
            note=", ".join(notes),
            text="\n".join(texts),
        )
    )


def _is_named(symbol: str, name: str) -> bool:
    """Return True if the mentioned `symbol` can mean the definition `name`: `total` and `Cart.total` agree."""
    names = (f".{symbol.replace('::', '.')}", f".{name}")
    return names[0].endswith(names[1]) or names[1].endswith(names[0])


def _split_lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def _with_tokens(mention: Mention) -> Mention:
    return mention.model_copy(update={"tokens": -(-text_size(mention.text) // 4)})


def _is_same(first: Mention, second: Mention) -> bool:
    key = (first.kind, first.path, first.first_line, first.last_line)
    return bool(first.path) and key == (second.kind, second.path, second.first_line, second.last_line)


def _quote(text: str) -> str:
    escaped = escape_unprintable(text).replace("&", "&amp;").replace('"', "&quot;")
    return f'"{escaped}"'
