"""The arguments of git that name files: revisions (`HEAD:a` is a file in a commit) and path filters (pathspecs).

Invariant: every file that git would show or change is included, in whatever way it is named.
"""

import re

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.interpreter.command_report import Certainty, FileUse, Value
from tui_agent.policy.interpreter.patterns import escape

_STAGE = re.compile(r":[0-3]:")
_FILTER = re.compile(r"(?::\(([^)]*+)\)?|:([/!^]+):?)?(.*)", re.DOTALL)
_SHORT_SIGNS = {"/": "top", "!": "exclude", "^": "exclude"}
_SIGN = re.compile(r"[*?\[\\]")
_KNOWN_MAGIC = frozenset({"top", "literal", "glob", "exclude"})


@dataclass(frozen=True, slots=True)
class GitWord:
    """The files that an argument of git names.

    - `files`: the files. The last file of a path filter covers everything that the filter selects.
    - `doubt`: a reason why the argument can also name any other file; otherwise empty.
    """

    files: tuple[FileUse, ...] = ()
    doubt: str = ""


def _file(path: str, certainty: Certainty = Certainty.BOUNDED, *, from_top: bool = False) -> FileUse:
    """Return the `FileUse` of a path or pattern that git reads.

    `from_top`: True if the path is relative to the top of git's repository.
    """
    return FileUse(path or ".", "read", certainty, from_top=from_top)


def read_revision(value: Value, *, may_be_path: bool) -> GitWord:
    """Return the files that a revision names (`HEAD:a`, `:a`).

    `may_be_path`: True if `value` can also be a path filter. In this case, the files that the filter selects are
    returned too.
    """
    text = value.known
    if text is None:
        return _read_uncertain_revision(value, may_be_path=may_be_path)
    before, colon, path = text.partition(":")
    chosen = read_path_filter(value) if may_be_path and not (before and colon) else GitWord()
    stage = _STAGE.match(text)
    held = text[stage.end() :] if stage else path
    if not colon or held.startswith(("/", "(")):
        return chosen
    # In `git log -L :name:path` the path comes last.
    paths = dict.fromkeys((held, text.rpartition(":")[2]))
    files = (_file(path, Certainty.KNOWN, from_top=True) for path in paths)
    return GitWord((*chosen.files, *files), chosen.doubt)


def _read_uncertain_revision(value: Value, *, may_be_path: bool) -> GitWord:
    head, colon, path = value.text.partition(":")
    if value.content and head and colon and not _SIGN.search(path):
        return GitWord((_file(path, from_top=True),))
    if value.certainty is Certainty.BOUNDED and not colon and (value.content or may_be_path):
        names_revision = value.content and (value.content != "revision" or ".." in value.text)
        return GitWord((_file(value.text),) if may_be_path and not names_revision else ())
    return GitWord(doubt=f"it is not certain which revision {value.source} is")


def read_path_filter(value: Value) -> GitWord:
    """Return the files that a path filter of git selects. A filter that only excludes files selects none."""
    text = value.known
    if text is None:
        if value.certainty is Certainty.BOUNDED and not value.text.startswith(":"):
            return GitWord((_file(value.text),))
        return GitWord(doubt=f"it is not certain which files {value.source} selects")
    signs, path = _split_magic(text)
    if "exclude" in signs:
        return GitWord()
    unknown = f"{value.source} is an unknown kind of path filter" if signs - _KNOWN_MAGIC else ""
    from_top = "top" in signs
    if not _SIGN.search(path) or "literal" in signs:
        return GitWord((_file(path, Certainty.KNOWN, from_top=from_top),), unknown)
    # Rules and guards apply to the names as written, too.
    written = _file(path.removesuffix("/**"), from_top=from_top)
    bound = _file(_as_shell_pattern(path), from_top=from_top)
    return GitWord((written, bound), unknown)


def left_out_path(value: Value) -> str | None:
    """Return the path that a path filter of git excludes; None if the filter excludes nothing."""
    signs, path = _split_magic(value.known or "")
    return path if "exclude" in signs else None


def _split_magic(text: str) -> tuple[set[str], str]:
    """Split a path filter of git into its magic words (`exclude` for `:!x`) and its path."""
    path_filter = _FILTER.fullmatch(text)
    words, signs, path = path_filter.groups("") if path_filter is not None else ("", "", text)
    return {word for word in words.split(",") if word} | {_SHORT_SIGNS[sign] for sign in signs}, path


def _as_shell_pattern(path: str) -> str:
    """Return a shell pattern that matches all files that a git path filter selects, and perhaps more."""
    begin = _SIGN.split(path, maxsplit=1)[0]
    folder = begin.rpartition("/")[0]
    rest = path[len(folder) + 1 if folder else 0 :]
    below = f"{escape(folder)}/**" if folder else "**"
    plain_end = rest.startswith("*") and not _SIGN.search(rest[1:]) and "/" not in rest
    return f"{below}/{rest}" if plain_end else f"{below}/*"
