"""L3: the expansion of words: a word of the syntax tree and the state of the shell give the values it becomes.

Invariant: every text that bash could make of a word is one of its values, fits a pattern of theirs, or is `UNKNOWN`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from tui_agent.policy.bash import syntax
from tui_agent.policy.catalog.variables import Variables
from tui_agent.policy.interpreter.patterns import ANY_PATH, NUMBERS, OPTION_SIGNS, escape, prefix_of
from tui_agent.policy.interpreter.report import Certainty, Value
from tui_agent.policy.interpreter.state import START, State, folder_text

_BLANKS = re.compile(r"[ \t\n]+")
_NUMBER_NAMES = frozenset(
    {"?", "#", "$", "!", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID"}
)
STREAM = "/dev/fd/63"
"""The name of a stream that `<(…)` stands for; which number it has does not matter."""
_USUAL_FOLDERS = {"XDG_CONFIG_HOME": "~/.config", "XDG_DATA_HOME": "~/.local/share"}
"""The folders that variables usually name: guards are heard for them."""
_PATTERN_SIGNS = frozenset("*?[")

RunScript = Callable[[syntax.Script, State], Value]
"""Interprets the script of a substitution and returns its output."""


def number_value(source: str) -> Value:
    """A value of digits."""
    return Value(source, Certainty.BOUNDED, NUMBERS, may_be_empty=True, content="number")


def known_value(text: str, source: str = "") -> Value:
    """A value of which the exact text is known."""
    return Value(source or text, Certainty.KNOWN, text)


def unknown_value(source: str, *, many: bool = False) -> Value:
    """A value of which nothing is known."""
    return Value(source, Certainty.UNKNOWN, many=many, may_be_option=True)


@dataclass(frozen=True, slots=True)
class Expander:
    """Expands words in one state."""

    _state: State
    _variables: Variables
    _run: RunScript

    def expand(self, word: syntax.Word) -> tuple[Value, ...]:
        """Expand a word of a command: it becomes any number of values."""
        if word.literal is not None:
            return (known_value(word.literal, word.source),)
        return tuple(_join(parts, word.source) for parts in self._split(word.pieces))

    def expand_whole(self, word: syntax.Word) -> Value:
        """Expand a word where bash neither splits it nor looks for files: a value that is assigned, a text of `<<<`."""
        parts: list[Value] = []
        for piece in word.pieces:
            whole = syntax.Text(piece.text) if isinstance(piece, syntax.Pattern) else piece
            _add(parts, self._value(whole, parts))
        return _join(parts, word.source)

    def _split(self, pieces: Iterable[syntax.Piece]) -> Iterator[list[Value]]:
        """Yield the parts of each word that bash makes of one."""
        parts: list[Value] = []
        for piece in pieces:
            value = self._value(piece, parts)
            if not isinstance(piece, syntax.Variable | syntax.Substitution) or piece.quoted:
                _add(parts, value)
            elif value.known is None:
                _add(parts, replace(value, many=True, splits=value.splits or not value.content))
            else:
                for place, text in enumerate(_BLANKS.split(value.known)):
                    if place and parts:
                        yield parts
                        parts = []
                    if text:
                        _add(parts, self._split_off(text, value.source))
        if parts:
            yield parts

    def _split_off(self, text: str, source: str) -> Value:
        """A word that bash splits off a known value; it looks for files that fit it."""
        if _PATTERN_SIGNS.isdisjoint(text):
            return known_value(text)
        # Which backslashes quote a sign, and which stay, depends on bash's version.
        return unknown_value(source) if "\\" in text else self._file_pattern(text)

    def _value(self, piece: syntax.Piece, before: Sequence[Value]) -> Value:
        """The value of a piece behind others."""
        match piece:
            case syntax.Text():
                return known_value(piece.text)
            case syntax.Pattern():
                return self._file_pattern(piece.text)
            case syntax.Variable():
                return _in_place(self._variable(piece.name), before)
            case syntax.Substitution():
                return _in_place(self._run(piece.script, self._state), before)
            case syntax.ProcessOutput():
                self._run(piece.script, self._state)
                return known_value(STREAM)
            case _:
                assert_never(piece)

    def _file_pattern(self, text: str) -> Value:
        folders = self._state.folders
        return Value(
            text, Certainty.BOUNDED, text, many=True, may_be_option=True, names_files=True, found_in=folders
        )

    def _variable(self, name: str) -> Value:
        if name in self._state.variables:
            return self._state.variables[name]
        if name in _NUMBER_NAMES:
            return number_value(f"${name}")
        if name == "HOME":
            return known_value("~", "$HOME")
        folder = folder_text(self._state.folders) if name == "PWD" else None
        if folder is not None:
            return known_value(folder, "$PWD")
        value = unknown_value(f"${name}", many=name in ("@", "*"))
        named = name.isidentifier() and self._variables.may_hold_secret(name)
        return replace(value, suffix=_USUAL_FOLDERS.get(name, ""), shows=(name,) if named else ())


def _in_place(value: Value, before: Sequence[Value]) -> Value:
    """A path that stands for the home or this folder is only that where a path may begin."""
    if not before or value.known is None or not value.known.startswith(("~", START)):
        return value
    text = before[-1].known
    begins = text is not None and (text[-1:] in ("", "=", ":", " ", "\n", '"', "'") or text.endswith("://"))
    return value if begins else unknown_value(value.source)


def _add(parts: list[Value], part: Value) -> None:
    """Add a part of a word; texts behind each other become one."""
    if part.known is not None and parts and parts[-1].known is not None:
        part = replace(part, text=parts.pop().text + part.text)
    parts.append(part)


def _join(parts: Sequence[Value], source: str) -> Value:
    """Return the word that parts behind each other are."""
    uncertain = [part for part in parts if part.known is None]
    many = any(part.many for part in parts)
    if not uncertain:
        return Value(source, Certainty.KNOWN, "".join(part.text for part in parts), many=many)
    pattern = _join_patterns(parts)
    begins = parts[0].known or ""
    prefix = begins + prefix_of(uncertain[0])
    splits = any(part.splits for part in parts)
    found_in = {part.found_in for part in uncertain}
    names_files = pattern is not None and len(found_in) == 1 and all(part.names_files for part in uncertain)
    # Numbers and names of revisions with text around them may be other revisions.
    contents = {part.content for part in uncertain}
    return Value(
        source,
        Certainty.UNKNOWN if pattern is None else Certainty.BOUNDED,
        pattern or "",
        many=many,
        may_be_option=splits or (prefix[0] in OPTION_SIGNS if prefix else parts[0].may_be_option),
        names_files=names_files,
        may_be_empty=all(part.may_be_empty for part in parts),
        found_in=found_in.pop() if names_files else None,
        splits=splits,
        prefix=prefix if pattern is None else "",
        suffix=uncertain[-1].suffix + (parts[-1].known or ""),
        content="" if "" in contents else parts[0].content if len(parts) == 1 else "revision",
        shows=tuple(dict.fromkeys(name for part in parts for name in part.shows)),
    )


def _join_patterns(parts: Iterable[Value]) -> str | None:
    """Return the pattern of values behind each other, None where nothing bounds them."""
    joined = ""
    behind_nothing = False
    for part in parts:
        if part.certainty is Certainty.UNKNOWN:
            return None
        text = part.text if part.known is None else escape(part.text)
        if behind_nothing and text.startswith("/"):
            return None  # it may be an absolute path
        behind_nothing = part.may_be_empty and not joined.endswith("/")
        if text.startswith(ANY_PATH) and joined and not joined.endswith("/"):
            return None
        if joined.endswith(ANY_PATH) and text and not text.startswith("/"):
            joined += "/*"
        joined += text
    return joined
