"""Calls as the interpreter gives them to a reader, written as one line."""

import shlex
from collections.abc import Iterable

from tui_agent.policy.interpreter.command_report import Certainty, Value
from tui_agent.policy.interpreter.languages.protocol import ArgumentReport, Call


def value(word: str) -> Value:
    """`$x` is not certain, `$x*` may be several words, `%d` is a number, `src/%` a file of `src`, all else is known."""
    if word.startswith("$"):
        return Value(word, Certainty.UNKNOWN, many=word.endswith("*"), may_be_option=True)
    if word == "%d":
        return Value(word, Certainty.BOUNDED, "[0-9]*", content="number")
    if word.endswith("%"):
        return Value(word, Certainty.BOUNDED, f"{word[:-1]}*", may_be_option=word == "%", names_files=True)
    return Value(word, Certainty.KNOWN, word)


def call(line: str, options: Iterable[str] = (), piped: Value | None = None) -> Call:
    """A call of the words behind the program's name; `options` as `-I={}`, `-0`."""
    words = [value(word) for word in shlex.split(line)]
    parsed = [option.partition("=") for option in options]
    return Call(
        words, [(name, value(word) if equals else None) for name, equals, word in parsed], words, piped
    )


def lines(reading: ArgumentReport) -> list[str]:
    """The commands that a call runs; `?` stands for any text, and `...` behind a word for several."""
    return [" ".join(map(_show, words)) for words in reading.commands]


def _show(word: Value) -> str:
    return (word.text or f"{word.prefix}?") + ("..." if word.many else "")
