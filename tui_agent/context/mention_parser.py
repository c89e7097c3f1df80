"""What in a message looks like a mention: `@path`, `@dir/`, `@"a path"`, `@symbol`, a pasted path of the workspace.

Invariant: pure. Whether it is one is told by looking it up; what is not found stays the text that it is.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

MOST: Final = 20
MOST_PASTED: Final = 5
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
_FENCE = re.compile(r"^[ ]{0,3}(```|~~~).*?(?:^[ ]{0,3}\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)*(?:\(\))?")
_TRAILING = ".,;:!?)]}…\u2019\u201d"
_NAME = re.compile(r"[^/]*[^/.]\.[a-z][a-z0-9]{0,4}")
_COMMON = frozenset(
    [
        "c",
        "cc",
        "cfg",
        "conf",
        "cpp",
        "cs",
        "css",
        "csv",
        "go",
        "h",
        "hpp",
        "html",
        "ini",
        "java",
        "js",
        "json",
        "jsx",
        "kt",
        "lock",
        "log",
        "md",
        "mjs",
        "php",
        "png",
        "py",
        "rb",
        "rs",
        "rst",
        "scss",
        "sh",
        "sql",
        "svg",
        "swift",
        "toml",
        "ts",
        "tsx",
        "txt",
        "vue",
        "xml",
        "yaml",
        "yml",
    ]
)

_ELSEWHERE: Final = tuple(
    f"/{name}/"
    for name in (
        *("Applications", "Library", "Users", "Volumes", "dev", "etc", "home", "media", "mnt", "opt"),
        *("private", "proc", "root", "run", "srv", "sys", "tmp", "usr", "var"),
    )
)
"""Where absolute paths begin that mean a file of this computer; `@/components/x` is an import of some languages."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing that may be meant: a path, with lines where they were given. `given` is how it stands in the message."""

    given: str
    path: str
    first_line: int = 0
    last_line: int = 0


@dataclass(frozen=True, slots=True)
class Possible:
    """One place of a message that may be a mention: what to look for, in order; and the symbol that it may name."""

    given: str
    readings: tuple[Wanted, ...]
    symbol: str = ""
    meant: bool = False
    """It cannot be read as anything but a path: where there is none, the user is told."""


def possible(text: str, root: str) -> list[Possible]:
    """Every place of the message that may be a mention, each reading once, in order."""
    fences = [found.span() for found in _FENCE.finditer(text)]
    seen: set[str] = set()
    listed: list[Possible] = []
    places = [*_at(text, fences), *_pasted(text, root.rstrip("/") + "/", fences)]
    for _, one in sorted(places, key=lambda place: place[0]):
        if one.given not in seen and len(listed) < MOST:
            seen.add(one.given)
            listed.append(one)
    return listed


def _at(text: str, fences: list[tuple[int, int]]) -> Iterator[tuple[int, Possible]]:
    for found in _AT.finditer(text):
        quoted, plain = found["quoted"], found["plain"]
        if quoted is not None:
            lines = f"{quoted}{found['lines'] or ''}"
            whole = () if found["lines"] else (Wanted(quoted, quoted),)
            yield found.start(), Possible(lines, (*whole, *_with_lines(lines)), meant=True)
            continue
        plain = plain.replace("\\ ", " ")
        bare = _bare(plain.partition("'")[0])
        if not bare.strip("./"):
            continue
        readings = [Wanted(one, one) for one in dict.fromkeys((plain, _bare(plain), bare))]
        readings += _with_lines(bare)
        named = bare if _SYMBOL.fullmatch(bare) and not _inside(found.start(), fences) else ""
        yield found.start(), Possible(bare, tuple(readings), named.removesuffix("()"), _is_path(bare))


def _bare(plain: str) -> str:
    """Without the points of the sentence behind it; the brackets of a call stay."""
    bare = plain.rstrip(_TRAILING)
    return f"{bare})" if bare.endswith("(") and plain.startswith(f"{bare})") else bare


def _pasted(text: str, root: str, fences: list[tuple[int, int]]) -> Iterator[tuple[int, Possible]]:
    """Paths of the workspace as they are dropped or pasted; not those that a report or a trace names."""
    count = 0
    for found in _PASTED.finditer(text):
        path = found["double"] or found["single"] or found["plain"].replace("\\ ", " ").rstrip(_TRAILING)
        if not path.startswith(root) or len(path) == len(root) or _inside(found.start(), fences):
            continue
        after = text[found.end() : found.end() + 8]
        before = text[max(0, found.start() - 5) : found.start()]
        if before.endswith("File ") or after.startswith(", line") or re.search(r":\d+$", path):
            continue
        count += 1
        if count > MOST_PASTED:
            return
        relative = path[len(root) :]
        lines = (replace(one, given=path) for one in _with_lines(relative))
        yield found.start(), Possible(path, (Wanted(path, relative), *lines))


def _with_lines(given: str) -> list[Wanted]:
    """The reading with a range of lines behind the path, where it has one."""
    found = _LINES.fullmatch(given)
    if found is None:
        return []
    first = int(found["a"] or found["c"])
    last = int(found["b"] or found["d"] or first)
    return [Wanted(given, found["path"], max(first, 1), max(last, first, 1))]


def _is_path(bare: str) -> bool:
    """Whether it can only be meant as a path: not a handle, a decorator or the name of a package."""
    if bare.startswith(("./", "../", "~/", *_ELSEWHERE)) or bare.endswith("/"):
        return True
    name = bare.rpartition("/")[2]
    found = _with_lines(name)
    name = found[0].path if found else name
    if _NAME.fullmatch(name) is None:
        return False
    return "/" in bare or name.rpartition(".")[2] in _COMMON


def _inside(at: int, fences: list[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in fences)
