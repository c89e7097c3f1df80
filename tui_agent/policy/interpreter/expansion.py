"""L3: the expansion of words: a word of the syntax tree and the state of the shell give the values it becomes.

Invariant: every text that bash could make of a word is one of its values, fits a pattern of theirs, or is `UNKNOWN`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Literal, assert_never

from tui_agent.policy.bash.syntax import (
    Pattern,
    Piece,
    ProcessOutput,
    Script,
    Substitution,
    Text,
    Variable,
    Word,
)
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

RunScript = Callable[[Script, State], Value]
"""Interprets the script of a substitution and returns its output."""


def number_value(source: str) -> Value:
    """A value of digits."""
    return Value(source, Certainty.BOUNDED, NUMBERS, content="number")


def known_value(text: str, source: str = "") -> Value:
    """A value of which the exact text is known."""
    return Value(source or text, Certainty.KNOWN, text)


def unknown_value(source: str, *, many: bool = False) -> Value:
    """A value of which nothing is known."""
    return Value(source, Certainty.UNKNOWN, many=many, may_be_option=True)


@dataclass
class _Field:
    """One word in the making."""

    parts: list[Value] = field(default_factory=list)
    quoted: bool = False
    many: bool = False
    splits: bool = False

    def add(self, part: Value) -> None:
        if part.certainty is Certainty.KNOWN and self.parts and self.parts[-1].certainty is Certainty.KNOWN:
            part = replace(part, text=self.parts.pop().text + part.text)
        self.parts.append(part)

    def value(self, source: str) -> Value:
        self.splits = self.splits or any(part.splits for part in self.parts)
        shows = tuple(dict.fromkeys(name for part in self.parts for name in part.shows))
        if not self.parts:
            return known_value("", source)
        if len(self.parts) == 1 and self.parts[0].certainty is Certainty.KNOWN:
            return Value(source, Certainty.KNOWN, self.parts[0].text, many=self.many, shows=shows)
        pattern = _join_patterns(self.parts)
        prefix = self._prefix()
        option = prefix[0] in OPTION_SIGNS if prefix else self.parts[0].may_be_option
        if pattern is None:
            return Value(
                source,
                Certainty.UNKNOWN,
                many=self.many,
                may_be_option=option or self.splits,
                splits=self.splits,
                prefix=prefix,
                suffix=self._suffix(),
                content=self._content(),
                shows=shows,
            )
        return Value(
            source,
            Certainty.BOUNDED,
            pattern,
            many=self.many,
            may_be_option=option or self.splits,
            names_files=all(part.names_files or part.certainty is Certainty.KNOWN for part in self.parts),
            splits=self.splits,
            content=self._content(),
            shows=shows,
        )

    def _suffix(self) -> str:
        known = "" if self.parts[-1].known is None else self.parts[-1].text
        uncertain = next(part for part in reversed(self.parts) if part.known is None)
        return uncertain.suffix + known

    def _content(self) -> Literal["", "number", "hash", "revision"]:
        """The content of all parts together: numbers and names of revisions with text around them may be other revisions."""
        if len(self.parts) == 1:
            return self.parts[0].content
        certain = all(part.content or part.certainty is Certainty.KNOWN for part in self.parts)
        return "revision" if certain else ""

    def _prefix(self) -> str:
        first = prefix_of(self.parts[0])
        if self.parts[0].certainty is Certainty.KNOWN and len(self.parts) > 1:
            return first + prefix_of(self.parts[1])
        return first


def _join_patterns(parts: Iterable[Value]) -> str | None:
    """Return the pattern of values behind each other, None where nothing bounds them."""
    joined = ""
    for part in parts:
        if part.certainty is Certainty.UNKNOWN:
            return None
        text = escape(part.text) if part.certainty is Certainty.KNOWN else part.text
        if text.startswith(ANY_PATH) and joined and not joined.endswith("/"):
            return None
        if joined.endswith(ANY_PATH) and text and not text.startswith("/"):
            joined += "/*"
        joined += text
    return joined


class Expander:
    """Expands words in one state."""

    def __init__(self, state: State, variables: Variables, run: RunScript) -> None:
        self._state = state
        self._variables = variables
        self._run = run

    def expand(self, word: Word) -> tuple[Value, ...]:
        """Expand a word of a command: it becomes any number of values."""
        literal = word.literal
        if literal is not None:
            return (Value(word.source, Certainty.KNOWN, literal),)
        fields = self._split(word.pieces)
        return tuple(field.value(word.source) for field in fields)

    def expand_whole(self, word: Word) -> Value:
        """Expand a word where bash neither splits it nor looks for files: a value that is assigned, a text of `<<<`."""
        whole = _Field(quoted=True)
        for piece in word.pieces:
            match piece:
                case Text() | Pattern():
                    whole.add(known_value(piece.text))
                case Variable():
                    whole.add(self._in_place(self._variable(piece), whole))
                case Substitution() | ProcessOutput():
                    whole.add(self._substitution(piece))
                case _:
                    assert_never(piece)
        return whole.value(word.source)

    def _split(self, pieces: Iterable[Piece]) -> Iterator[_Field]:
        current: _Field | None = None
        for piece in pieces:
            match piece:
                case Text():
                    current = current or _Field()
                    current.quoted = current.quoted or piece.quoted
                    current.add(known_value(piece.text))
                case Pattern():
                    current = current or _Field()
                    current.add(_file_pattern(piece.text))
                    current.many = True
                case ProcessOutput():
                    current = _Field([self._substitution(piece)])
                case Variable() | Substitution():
                    value = (
                        self._variable(piece) if isinstance(piece, Variable) else self._substitution(piece)
                    )
                    value = self._in_place(value, current)
                    if piece.quoted:
                        current = current or _Field()
                        current.quoted = True
                        current.add(value)
                        current.many = current.many or piece == Variable("@", True)
                        continue
                    whole, current = _split_value(value, current)
                    yield from whole
                case _:
                    assert_never(piece)
        if current is not None and (current.parts or current.quoted):
            yield current

    def _in_place(self, value: Value, before: _Field | None) -> Value:
        """A path that stands for the home or this folder is only that where a path may begin."""
        if before is None or value.known is None or not value.known.startswith(("~", START)):
            return value
        end = before.parts[-1] if before.parts else None
        begins = end is None or (
            end.known is not None
            and (end.text[-1:] in ("", "=", ":", " ", "\n", '"', "'") or end.text.endswith("://"))
        )
        return value if begins else unknown_value(value.source)

    def _substitution(self, piece: Substitution | ProcessOutput) -> Value:
        output = self._run(piece.script, self._state)
        return output if isinstance(piece, Substitution) else known_value(STREAM)

    def _variable(self, piece: Variable) -> Value:
        name = piece.name
        values = self._state.variables.get(name)
        if values is not None:
            return values[0] if len(values) == 1 else unknown_value(f"${name}")
        if name in _NUMBER_NAMES:
            return number_value(f"${name}")
        if name == "HOME":
            return known_value("~", "$HOME")
        if name == "PWD":
            folder = folder_text(self._state.folders)
            return unknown_value("$PWD") if folder is None else known_value(folder, "$PWD")
        value = replace(unknown_value(f"${name}"), suffix=_USUAL_FOLDERS.get(name, ""))
        named = name.isidentifier() and self._variables.may_hold_secret(name)
        return replace(value, shows=(name,)) if named else value


def _file_pattern(text: str) -> Value:
    return Value(text, Certainty.BOUNDED, text, many=True, may_be_option=True, names_files=True)


def _split_value(value: Value, current: _Field | None) -> tuple[list[_Field], _Field | None]:
    """Split an unquoted value at its blanks into whole fields and one that goes on with what stands behind it."""
    if value.certainty is not Certainty.KNOWN:
        current = current or _Field()
        current.add(value)
        current.many = True
        current.splits = current.splits or not value.content
        return [], current
    whole: list[_Field] = []
    for place, text in enumerate(_BLANKS.split(value.text)):
        if place and current is not None:
            whole.append(current)
            current = None
        if text:
            current = current or _Field()
            signs = not _PATTERN_SIGNS.isdisjoint(text)
            current.add(_file_pattern(text) if signs else known_value(text))
            current.many = current.many or signs
    return whole, current
