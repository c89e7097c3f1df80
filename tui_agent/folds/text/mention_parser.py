"""Finds possible mentions in a message (`@path`, `@dir/`, `@"a path"`, `@symbol`, pasted workspace paths), and defines
the limits of the texts that mentions add to the message.

Invariant: all functions are pure.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Final

from tui_agent.fast_dataclass import dataclass

MAX_MENTION_CHARS: Final = 50_000
"""Maximum length of the text of one mention, in characters."""
MAX_FOLDER_ENTRIES: Final = 200
"""Maximum number of names that the mention of a folder lists."""
MAX_ALL_MENTIONS_CHARS: Final = 160_000
"""Maximum length of the texts of all mentions of a message, in characters."""


MAX_MENTIONS: Final = 20
MAX_PASTED_PATHS: Final = 5
_AT = re.compile(
    r"""(?<![^\s(\[{"'`<,;>])@(?:"(?P<quoted>[^"\n]{1,1000})"(?P<lines>:\d{1,7}(?:-\d{1,7})?|\#L\d{1,7}(?:-L?\d{1,7})?)?"""
    r"""|(?P<plain>(?:\\\x20|[^\s@"`<>|]){1,1000}))"""
)
_PASTED = re.compile(
    r"""(?<![^\s("'`])(?:"(?P<double>/[^"\n]{1,1000})"|'(?P<single>/[^'\n]{1,1000})'|(?P<plain>/(?:\\\x20|[^\s"'`<>|]){1,1000}))"""
)
_LINES = re.compile(
    r"(?P<path>.+?)(?:#L(?P<a>\d{1,7})(?:-L?(?P<b>\d{1,7}))?|:(?P<c>\d{1,7})(?:-(?P<d>\d{1,7}))?)"
)
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_FENCE = re.compile(r"^[ ]{0,3}(```|~~~).*?(?:^[ ]{0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*(?:\(\))?")
_TRAILING = ".,;:!?)]}…\u2019\u201d"
"""Punctuation that can follow a mention without being part of it."""
_NAME = re.compile(r"[^/]*[^/.]\.[a-z][a-z0-9]{0,4}")
_COMMON = frozenset(
    """c cc cfg conf cpp cs css csv go h hpp html ini java js json jsx kt lock log md mjs php png py rb rs rst
    scss sh sql svg swift toml ts tsx txt vue xml yaml yml""".split()  # noqa: SIM905 - read as prose
)
"""Endings of file names. A word without a slash counts as a path only if it has one of them."""

_ABSOLUTE_STARTS: Final = tuple(
    f"/{name}/"
    for name in (
        *("Applications", "Library", "Users", "Volumes", "dev", "etc", "home", "media", "mnt", "opt"),
        *("private", "proc", "root", "run", "srv", "sys", "tmp", "usr", "var"),
    )
)
"""Beginnings of absolute paths, such as `/home/`. A text with such a beginning is read as a path."""
# Not every `/` is a start: `@/components/x` is an import in some languages.


@dataclass(frozen=True, slots=True)
class MentionedPath:
    """A path that a mention may refer to.

    `text`: text of the mention.
    `first_line`, `last_line`: 0 if the mention names no lines.
    """

    text: str
    path: str
    first_line: int = 0
    last_line: int = 0


@dataclass(frozen=True, slots=True)
class MentionCandidate:
    """A text in the message that is possibly a mention.

    `readings`: paths that the text can refer to, likeliest first.
    `symbol`: name of the symbol that the text can refer to.
    """

    text: str
    readings: tuple[MentionedPath, ...]
    symbol: str = ""
    is_certain: bool = False
    """True if the text can only be a path."""


def find_candidates(text: str, root: str, only: Collection[str] | None = None) -> list[MentionCandidate]:
    """Return all possible mentions in the message, in order and without duplicates.

    `only`: texts of the mentions to return; None for all mentions.
    """
    fences = [match.span() for match in _FENCE.finditer(text)]
    known_texts: set[str] = set()
    mentions: list[MentionCandidate] = []
    places = [*_at_mentions(text, fences), *_pasted_paths(text, root.rstrip("/") + "/", fences)]
    for _, mention in sorted(places, key=lambda place: place[0]):
        if only is not None and mention.text not in only:
            continue
        if mention.text not in known_texts and len(mentions) < MAX_MENTIONS:
            known_texts.add(mention.text)
            mentions.append(mention)
    return mentions


def _at_mentions(text: str, fences: list[tuple[int, int]]) -> Iterator[tuple[int, MentionCandidate]]:
    for match in _AT.finditer(text):
        quoted, plain = match["quoted"], match["plain"]
        if quoted is not None:
            lines = f"{quoted}{match['lines'] or ''}"
            without_lines = () if match["lines"] else (MentionedPath(quoted, quoted),)
            yield (
                match.start(),
                MentionCandidate(lines, (*without_lines, *_with_lines(lines)), is_certain=True),
            )
            continue
        plain = plain.replace("\\ ", " ")
        bare = _strip_punctuation(plain.partition("'")[0])
        if not bare.strip("./"):
            continue
        # As typed, without punctuation at its end, and without a genitive as in `@app.py's`.
        readings = [
            MentionedPath(reading, reading)
            for reading in dict.fromkeys((plain, _strip_punctuation(plain), bare))
        ]
        readings += _with_lines(bare)
        symbol = bare if _SYMBOL.fullmatch(bare) and not _is_inside(match.start(), fences) else ""
        yield (
            match.start(),
            MentionCandidate(bare, tuple(readings), symbol.removesuffix("()"), _is_path(bare)),
        )


def split_resource(reference: str, servers: Collection[str]) -> tuple[str, str] | None:
    """Return (server, URI) of a mention `SERVER:URI`, or None for any other mention."""
    server, _, uri = reference.partition(":")
    return (server, uri) if server in servers and _URI.match(uri) else None


def _strip_punctuation(plain: str) -> str:
    """Remove punctuation at the end of a word, but keep the brackets of a call such as `run()`."""
    bare = plain.rstrip(_TRAILING)
    return f"{bare})" if bare.endswith("(") and plain.startswith(f"{bare})") else bare


def _pasted_paths(
    text: str, root: str, fences: list[tuple[int, int]]
) -> Iterator[tuple[int, MentionCandidate]]:
    """Yield the workspace paths that the user pasted. Paths in stack traces are left out."""
    count = 0
    for match in _PASTED.finditer(text):
        path = match["double"] or match["single"] or match["plain"].replace("\\ ", " ").rstrip(_TRAILING)
        if not path.startswith(root) or len(path) == len(root) or _is_inside(match.start(), fences):
            continue
        after = text[match.end() : match.end() + 8]
        before = text[max(0, match.start() - 5) : match.start()]
        if before.endswith("File ") or after.startswith(", line") or re.search(r":\d+$", path):
            continue
        count += 1
        if count > MAX_PASTED_PATHS:
            return
        relative = path[len(root) :]
        lines = (replace(reading, text=path) for reading in _with_lines(relative))
        yield match.start(), MentionCandidate(path, (MentionedPath(path, relative), *lines))


def _with_lines(path: str) -> list[MentionedPath]:
    """Return the path and the line range of a text such as `src/app.py:10-20`."""
    match = _LINES.fullmatch(path)
    if match is None:
        return []
    first = int(match["a"] or match["c"])
    last = int(match["b"] or match["d"] or first)
    return [MentionedPath(path, match["path"], max(first, 1), max(last, first, 1))]


def _is_path(bare: str) -> bool:
    """Return True if the text is a path, not a handle, a decorator or a package name."""
    if bare.startswith(("./", "../", "~/", *_ABSOLUTE_STARTS)) or bare.endswith("/"):
        return True
    name = bare.rpartition("/")[2]
    with_range = _with_lines(name)
    name = with_range[0].path if with_range else name
    if _NAME.fullmatch(name) is None:
        return False
    return "/" in bare or name.rpartition(".")[2] in _COMMON


def _is_inside(position: int, fences: list[tuple[int, int]]) -> bool:
    return any(start <= position < end for start, end in fences)
