"""L3: shell patterns as texts: what they certainly begin with, and how exact texts are written as patterns.

Invariant: pure; a pattern fits every text that its value can have.
"""

import re
from dataclasses import replace

from tui_agent.policy.interpreter.report import Certainty, Value

NUMBERS = "[0-9]*"
HASHES = "[0-9a-f]*"
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
    match value.certainty:
        case Certainty.KNOWN:
            return value.text
        case Certainty.BOUNDED:
            literal = _LITERAL.match(value.text)
            return unescape(literal[0]) if literal else ""
        case Certainty.UNKNOWN:
            return value.prefix


def without_prefix(value: Value, prefix: str) -> Value:
    """Return what a value has behind characters that it certainly begins with."""
    match value.certainty:
        case Certainty.KNOWN:
            return Value(value.source, Certainty.KNOWN, value.text[len(prefix) :])
        case Certainty.BOUNDED:
            rest = value.text[len(escape(prefix)) :]
            return Value(value.source, Certainty.BOUNDED, rest, many=value.many, may_be_option=True)
        case Certainty.UNKNOWN:
            rest = value.prefix[len(prefix) :]
            return Value(
                value.source, Certainty.UNKNOWN, many=value.many, may_be_option=not rest, prefix=rest
            )


def cut_at_newlines(value: Value) -> Value:
    """Return a line of an output: of a name that holds a newline it is a piece, which may be any text."""
    torn = not value.content
    return replace(value, many=False, splits=torn, may_be_option=value.may_be_option or torn)
