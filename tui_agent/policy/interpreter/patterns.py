"""Shell patterns as texts: what they certainly begin with, and how exact texts are written as patterns.

Invariant: pure; a pattern fits every text that its value can have.
"""

import re
from dataclasses import replace

from tui_agent.policy.interpreter.report import Certainty, Value

ANY_PATH = "**"
_SIGN = re.compile(r"([*?\[\]\\])")
_LITERAL = re.compile(r"(?:[^*?\[\\]|\\.)*", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
OPTION_SIGNS = ("-", "+", "@", "|", "=")


def escape(text: str) -> str:
    """Write an exact text as a pattern."""
    return _SIGN.sub(r"\\\1", text)


def unescape(pattern: str) -> str:
    """Return the text that bash leaves where no file fits a pattern."""
    return _ESCAPED.sub(r"\1", pattern)


def as_pattern(value: Value) -> str:
    """Return the pattern that all texts of a value fit, empty where there is none."""
    return escape(value.text) if value.known is not None else value.text


def prefix_of(value: Value) -> str:
    """Return the characters that a value certainly begins with: all of it where it is known."""
    if value.known is not None:
        return value.known
    literal = _LITERAL.match(value.text)
    return value.prefix or (unescape(literal[0]) if literal else "")


def without_prefix(value: Value, prefix: str) -> Value:
    """Return what a value has behind characters that it certainly begins with."""
    text = value.text[len(prefix if value.known is not None else escape(prefix)) :]
    rest = replace(value, text=text, names_files=False, prefix=value.prefix[len(prefix) :])
    uncertain = value.known is None
    return replace(rest, may_be_option=uncertain, may_be_empty=uncertain and not prefix_of(rest))


def split_assignment(word: Value) -> tuple[str, Value]:
    """Return the name and the value of `NAME=value`; nothing is known of the value where there is none."""
    name, equals, _ = prefix_of(word).partition("=")
    if equals:
        return name, without_prefix(word, f"{name}=")
    return word.known or "", Value(word.source, Certainty.UNKNOWN, may_be_option=True)


def cut_at_newlines(value: Value) -> Value:
    """Return a line of an output: of a name that holds a newline it is a piece, which may be any text."""
    torn = not value.content
    return replace(
        value, many=False, splits=torn, may_be_option=value.may_be_option or torn, may_be_empty=True
    )
