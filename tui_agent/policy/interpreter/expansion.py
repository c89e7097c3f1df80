"""Expands words of bash's syntax tree into values, for a given state of the shell.

Invariant: a value covers each text that bash can produce from a word.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import assert_never

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.bash import syntax
from tui_agent.policy.catalog.variable_lists import Variables
from tui_agent.policy.interpreter.command_report import Certainty, Value
from tui_agent.policy.interpreter.patterns import ANY_PATH, OPTION_SIGNS, escape, prefix_of
from tui_agent.policy.interpreter.shell_state import START, State, folder_text

_BLANKS = re.compile(r"[ \t\n]+")
_NUMBER_NAMES = frozenset(
    {"?", "#", "$", "!", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID"}
)
STREAM = "/dev/fd/63"
"""Path that stands for a process substitution `<(…)` in a command."""
_USUAL_FOLDERS = {"XDG_CONFIG_HOME": "~/.config", "XDG_DATA_HOME": "~/.local/share"}
"""Maps variables to their usual values, so that guards also protect paths such as `$XDG_CONFIG_HOME/x`."""
_PATTERN_SIGNS = frozenset("*?[")
_MAX_TEXT = 10_000
"""Maximum length of a known text, in characters. A longer text is treated as unknown."""

RunScript = Callable[[syntax.Script, State], Value]
"""Function that interprets the script of a command substitution. Returns a value for the script's output."""


def number_value(source: str) -> Value:
    """Return the value of a word that consists of digits."""
    return Value(source, Certainty.BOUNDED, "*", may_be_empty=True, content="number", one_word=True)


def known_value(text: str, source: str = "") -> Value:
    """Return a value for a known text."""
    return Value(source or text, Certainty.KNOWN, text)


def unknown_value(source: str, *, many: bool = False) -> Value:
    """Return the value of a word that can be any text."""
    return Value(source, Certainty.UNKNOWN, many=many, may_be_option=True)


@dataclass(frozen=True, slots=True)
class Expander:
    """Expands words of a bash script, using the shell's state at that point of the script."""

    _state: State
    _variables: Variables
    _run: RunScript

    def expand(self, word: syntax.Word) -> tuple[Value, ...]:
        """Expand a word of a command, with word splitting, to any number of values."""
        if word.literal is not None:
            return (known_value(word.literal, word.source),)
        return tuple(_join(parts, word.source) for parts in self._split(word.pieces))

    def expand_whole(self, word: syntax.Word) -> Value:
        """Expand a word without word splitting and globbing, as bash does for an assigned value and for `<<<`."""
        parts: list[Value] = []
        for piece in word.pieces:
            text = syntax.Text(piece.text) if isinstance(piece, syntax.Pattern) else piece
            _add(parts, self._value(text, parts))
        return _join(parts, word.source)

    def _split(self, pieces: Iterable[syntax.Piece]) -> Iterator[list[Value]]:
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
        """Return the value of one of the words into which bash splits a text."""
        if "\\" in text:
            # The version of bash decides which backslashes quote a character, perhaps even after the variable.
            return unknown_value(source)
        return known_value(text) if _PATTERN_SIGNS.isdisjoint(text) else self._file_pattern(text)

    def _value(self, piece: syntax.Piece, before: Sequence[Value]) -> Value:
        """Return the value of one piece of a word.

        `before`: the values of the earlier pieces.
        """
        match piece:
            case syntax.Text():
                return known_value(piece.text)
            case syntax.Pattern():
                return self._file_pattern(piece.text)
            case syntax.Variable():
                return _in_place(_operate(self._variable(piece.name), piece), before)
            case syntax.Substitution():
                output = self._run(piece.script, self._state)
                if output.known is not None:
                    output = replace(output, text=output.text.rstrip("\n"))
                return _in_place(output, before)
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
            value = self._state.variables[name]
            # Where other values matter, the hidden assignment itself needs an approval. It needs none in a sandbox.
            return replace(value, background_job=False) if self._state.has_hidden_assignments else value
        if name in _NUMBER_NAMES:
            return replace(number_value(f"${name}"), background_job=name == "!")
        if name == "HOME":
            return known_value("~", "$HOME")
        folder = folder_text(self._state.folders) if name == "PWD" else None
        if folder is not None:
            return known_value(folder, "$PWD")
        value = unknown_value(f"${name}", many=name in ("@", "*"))
        named = name.isidentifier() and self._variables.may_hold_secret(name)
        return replace(value, suffix=_USUAL_FOLDERS.get(name, ""), shows=(name,) if named else ())


def _operate(value: Value, piece: syntax.Variable) -> Value:
    """Apply the operator of a variable to its value (`${name:-none}`, `${name##*/}`)."""
    text, operand = value.known, piece.operand
    if not piece.operator or (piece.operator == ":-" and text):
        return value
    if (
        text is None or "~" in text or not text.isascii()
    ):  # the mark of the start folder (`START`) is not ASCII
        # Guards must apply to the default of `${name:-default}`.
        suffix = f"./{operand}" if piece.operator == ":-" else ""
        return replace(unknown_value(value.source), shows=value.shows, suffix=suffix)
    if piece.operator == ":-":
        return known_value(operand, value.source)
    places = range(len(text) + 1)
    if "#" in piece.operator:
        cuts = [place for place in places if fnmatchcase(text[:place], operand)] or [0]
        return known_value(text[cuts[-1 if len(piece.operator) > 1 else 0] :], value.source)
    cuts = [place for place in places if fnmatchcase(text[place:], operand)] or [len(text)]
    return known_value(text[: cuts[0 if len(piece.operator) > 1 else -1]], value.source)


def _in_place(value: Value, before: Sequence[Value]) -> Value:
    """Return the value of a word's next piece: `value`, or an unknown value.

    The value is unknown if it is the path of a home or start folder and other text precedes it, as in `a$HOME`.

    `before`: the values of the earlier pieces.
    """
    if not before or value.known is None or not value.known.startswith(("~", START)):
        return value
    text = before[-1].known
    begins = text is not None and (text[-1:] in ("", "=", ":", " ", "\n", '"', "'") or text.endswith("://"))
    return value if begins else unknown_value(value.source)


def _add(parts: list[Value], part: Value) -> None:
    if part.known is not None and parts and parts[-1].known is not None:
        text = parts.pop().text + part.text
        part = replace(part, text=text) if len(text) <= _MAX_TEXT else unknown_value(part.source)
    parts.append(part)


def _join(parts: Sequence[Value], source: str) -> Value:
    uncertain = [part for part in parts if part.known is None]
    # `-j$N` is a word even if `$N` is empty.
    has_text = any(part.known for part in parts)
    many = any(part.many and not (part.one_word and has_text) for part in parts)
    if not uncertain:
        return Value(source, Certainty.KNOWN, "".join(part.text for part in parts), many=many)
    pattern = _join_patterns(parts)
    prefix = parts[0].known or ""
    if len(parts) == 1 or not uncertain[0].may_be_empty:
        prefix += prefix_of(uncertain[0])
    # A word begins with the first part that is not empty.
    empty = list(takewhile(lambda part: part.may_be_empty or part.known == "", parts))
    first = parts[: len(empty) + 1]
    splits = any(part.splits for part in parts)
    found_in = {part.found_in for part in uncertain}
    names_files = pattern is not None and len(found_in) == 1 and all(part.names_files for part in uncertain)
    # A number or revision with text around it may be another revision.
    contents = {part.content for part in uncertain}
    return Value(
        source,
        Certainty.UNKNOWN if pattern is None else Certainty.BOUNDED,
        pattern or "",
        many=many,
        may_be_option=splits
        or any(part.may_be_option or prefix_of(part).startswith(OPTION_SIGNS) for part in first),
        names_files=names_files,
        # With word splitting, an empty text is no word at all.
        may_be_empty=len(empty) == len(parts) and not (many and len(parts) == 1),
        found_in=found_in.pop() if names_files else None,
        splits=splits,
        prefix=prefix if pattern is None else "",
        suffix=uncertain[-1].suffix + (parts[-1].known or ""),
        content="" if "" in contents else parts[0].content if len(parts) == 1 else "revision",
        one_word=len(parts) == 1 and parts[0].one_word,
        ends_in_number=len(parts) == 2 and bool(parts[0].known) and parts[1].content == "number",
        background_job=len(parts) == 1 and parts[0].background_job,
        shows=tuple(dict.fromkeys(name for part in parts for name in part.shows)),
    )


def _join_patterns(parts: Sequence[Value]) -> str | None:
    """Join the texts of the values to one pattern. Return None if one of them can be any text."""
    joined = ""
    behind_nothing = False
    for part in parts:
        # Only `*` and `**` also match the empty text.
        missing = part.may_be_empty and len(parts) > 1 and part.text.strip("*")
        if part.certainty is Certainty.UNKNOWN or missing:
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
