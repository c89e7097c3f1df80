"""Files named in a question: typed paths, paths in compiler output and stack traces, dotted modules, and code names.

Invariant: at most `MAX_NAMED_FILES` files are returned.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from tui_agent.context.repomap.path_kinds import first_name, kind_of
from tui_agent.folds.text.word_forms import find_words

MAX_NAMED_FILES = 8
MAX_NAMES = 200
MAX_CODE_NAMES, MAX_WORDS = 3, 2_000
"""Maximum number of code names looked up as files, and maximum number of words checked for code names."""
MAX_FILES_PER_NAME = 5
"""If more files than this match a name, the name is ignored as ambiguous."""
_NAME = re.compile(
    r"(?<![`'\"@])(?P<ahead>[`'\"@]*+)"
    r"(?:(?<=@\")(?P<quoted>[^\"\n]{1,300})|(?P<bare>[\w.+@~/\\$\[\]:#-]{2,300}|\b(?:Make|Docker|Rake|Gem|Proc|Just)file\b))"
)
_QUOTES = ("`", "'", '"')
"""Quotes that can surround a file name."""
_FRAME = re.compile(r"File \"(?P<path>[^\"\n]{1,300})\", line (?P<line>\d{1,7})")
_LINE = re.compile(r"(?P<path>.*?[^:])(?::|#L)(?P<line>\d{1,7})(?:\b.*)?$")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:[.$][A-Za-z_]\w*)+")
_PLAIN = re.compile(r"[A-Z][a-z]+\.js")
"""Matches product names that look like file names, such as Node.js."""
_FIRST_PART = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
"""Matches the first word of a code name, such as `use` in `useQuery` and `URL` in `URLBuilder`."""
PACKAGE_FILES = ("__init__", "index", "mod", "lib")
"""Names of files, without suffix, that represent their folder, as `pkg/__init__.py` represents `pkg`."""
_MIN_MODULE_PARTS = 2
_MIN_PARTS_IN_PROSE = 3
"""In plain text, a path without a file suffix must have at least this many parts, as in `a/b/c`."""
# With fewer parts, text such as "read/write" would match.
Alike = Callable[[str], Sequence[str]]
"""Function that returns the files whose names start with a given name (see `path_kinds.first_name`)."""


class NamedFile(NamedTuple):
    """A file that a question names.

    `line`: line of the file that the question names, such as 12 for `a.py:12`; 0 if it names none.
    `number`: position of the mention among the question's mentions. All files that one mention matches have the same
    number.
    """

    path: str
    line: int = 0
    number: int = 0


def find_named_files(text: str, alike: Alike) -> list[NamedFile]:
    """Return the files named in a text, in order.

    For a Python traceback, the frame with the error comes first.
    """
    frames = [_find_path(match["path"], alike, int(match["line"])) for match in _FRAME.finditer(text)]
    mentions: dict[str, NamedFile] = {}
    typed = [*_typed_names(_FRAME.sub(" ", text), alike), *reversed(frames)]
    code_names = islice(_files_of_code_names(text, alike), MAX_CODE_NAMES)
    for number, group in enumerate([*typed, *code_names]):
        for mention in group:
            known = mentions.setdefault(mention.path, mention._replace(number=number))
            if not known.line:
                mentions[mention.path] = known._replace(line=mention.line)
    return list(mentions.values())[:MAX_NAMED_FILES]


def _typed_names(text: str, alike: Alike) -> Iterator[list[NamedFile]]:
    for number, match in enumerate(_NAME.finditer(text)):
        if number >= MAX_NAMES:
            return
        word = match["quoted"] or match["bare"].rstrip(".:,;-#").removeprefix("@")
        marked = match["ahead"].endswith("@") or (
            bool(match["ahead"]) and text.startswith(_QUOTES, match.end())
        )
        if match["quoted"] or marked or _looks_like_path(word):
            yield _find_name(word, alike, marked=marked)


def _files_of_code_names(text: str, alike: Alike) -> Iterator[list[NamedFile]]:
    """Yield files with the same name as a code name, such as useQuery.ts and use_query.rs for `useQuery`."""
    for word in islice(dict.fromkeys(find_words(text)), MAX_WORDS):
        first = _first_of_several_words(word)
        if first:
            plain = _normalize_name(word)
            paths = [
                path
                for group in (plain, first)
                for path in alike(group)
                if _normalize_name(name := _stem(_base(path))) == plain
                and _first_of_several_words(name)
                and not kind_of(path)
            ]
            if 0 < len(paths) <= MAX_FILES_PER_NAME:
                yield [NamedFile(path) for path in paths]


def _first_of_several_words(name: str) -> str:
    """Return the first word of a code name in lower case, or an empty string if the name is one word."""
    match = _FIRST_PART.match(name)
    return match[0].lower() if match is not None and match.end() < len(name) else ""


def _normalize_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _looks_like_path(word: str) -> bool:
    return any(sign in word for sign in "./\\") or "::" in word or word.endswith("file")


def _find_name(word: str, alike: Alike, *, marked: bool) -> list[NamedFile]:
    line = 0
    if (match := _LINE.match(word)) is not None:
        word, line = match["path"], int(match["line"])
    head, twice, _ = word.partition("::")
    if twice and ("/" in head or "." in head):
        word = head
    elif twice:
        word = word.replace("::", ".")
    return _find_path(word, alike, line, marked=marked) or _find_module(word, alike, line)


def _parts(word: str) -> list[str]:
    return [part for part in word.replace("\\", "/").split("/") if part not in ("", ".", "..", "~")]


def _find_path(word: str, alike: Alike, line: int = 0, *, marked: bool = False) -> list[NamedFile]:
    """Return the files whose paths end with `word`."""
    parts = _parts(word)
    if not parts:
        return []
    paths = [path for path in alike(first_name(parts[-1])) if _base(path) == parts[-1]]
    if not paths and not _PLAIN.fullmatch(word):
        lowered = parts[-1].lower()
        paths = [path for path in alike(first_name(lowered)) if _base(path).lower() == lowered]
        parts = [*parts[:-1], _base(paths[0])] if len(paths) == 1 else parts
    if not paths and (len(parts) >= _MIN_PARTS_IN_PROSE or (marked and len(parts) > 1)):
        paths = [path for path in alike(first_name(parts[-1])) if _stem(_base(path)) == parts[-1]]
        return _best_matches(paths, parts, line, bare=True)
    return _best_matches(paths, parts, line, bare=False)


def _find_module(word: str, alike: Alike, line: int) -> list[NamedFile]:
    """Return the file of a dotted module name, such as `app/models.py` for `app.models.User`."""
    if not _MODULE.fullmatch(word):
        return []
    parts = re.split(r"[.$]", word)
    # The last parts can be a class and its method, so up to three parts are left out.
    for end in range(len(parts), max(_MIN_MODULE_PARTS, len(parts) - 3) - 1, -1):
        module_parts = parts[:end]
        for package in ((), *((name,) for name in PACKAGE_FILES)):
            path_parts = [*module_parts, *package]
            paths = [
                path for path in alike(first_name(path_parts[-1])) if _stem(_base(path)) == path_parts[-1]
            ]
            best = _best_matches(
                paths, path_parts, line, bare=True, min_parts=_MIN_MODULE_PARTS + len(package)
            )
            if len(best) == 1:
                return best
    return []


def _best_matches(
    paths: Sequence[str], parts: list[str], line: int, *, bare: bool, min_parts: int = 0
) -> list[NamedFile]:
    """Return those of `paths` that have the longest end in common with the path `parts`.

    `bare`: True if the name has no file suffix.
    """
    shared: dict[str, int] = {}
    for path in paths:
        path_parts = (_stem(path) if bare else path).split("/")
        count = _count_shared([*path_parts[:-1], parts[-1]], parts)
        if count >= max(min_parts, min(_MIN_MODULE_PARTS, len(parts), len(path_parts))):
            shared[path] = count
    longest = max(shared.values(), default=0)
    best = [path for path, count in shared.items() if count == longest]
    full_matches = [path for path in best if path.count("/") + 1 == longest]
    best = full_matches or best
    return [NamedFile(path, line) for path in best] if len(best) <= MAX_FILES_PER_NAME else []


def _count_shared(first: Sequence[str], second: Sequence[str]) -> int:
    count = 0
    for left, right in zip(reversed(first), reversed(second), strict=False):
        if left != right:
            break
        count += 1
    return count


def _base(path: str) -> str:
    return path.rpartition("/")[2]


def _stem(path: str) -> str:
    # From the second character of the name: a dot at its start is a part of the name.
    dot = path.find(".", path.rfind("/") + 2)
    return path if dot < 0 else path[:dot]
