"""Shell patterns as texts: their literal prefix, and escaping.

Invariant: a value's pattern matches every text that the value can have.
"""

import re
from dataclasses import replace

from tui_agent.policy.interpreter.command_report import Certainty, Value

ANY_PATH = "**"
_SIGN = re.compile(r"([*?\[\]\\])")
_LITERAL = re.compile(r"(?:[^*?\[\\]|\\.)*", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
OPTION_SIGNS = ("-", "+", "@", "|", "=")


def escape(text: str) -> str:
    """Return a shell pattern that matches exactly this text."""
    return _SIGN.sub(r"\\\1", text)


def unescape(pattern: str) -> str:
    """Return the text that a shell pattern becomes in bash if no file matches."""
    return _ESCAPED.sub(r"\1", pattern)


def as_pattern(value: Value) -> str:
    """Return a shell pattern for every text of a value, or an empty string if the value can be any text."""
    return escape(value.text) if value.known is not None else value.text


def prefix_of(value: Value) -> str:
    """Return the text with which a value certainly begins. For a known value, this is its whole text."""
    if value.known is not None:
        return value.known
    literal = _LITERAL.match(value.text)
    return value.prefix or (unescape(literal[0]) if literal else "")


def without_prefix(value: Value, prefix: str) -> Value:
    """Remove `prefix` from a value that certainly begins with it."""
    text = value.text[len(prefix if value.known is not None else escape(prefix)) :]
    rest = replace(value, text=text, names_files=False, prefix=value.prefix[len(prefix) :])
    uncertain = value.known is None
    if value.ends_in_number and prefix == prefix_of(value):
        rest = replace(rest, content="number", ends_in_number=False)
    return replace(rest, may_be_option=uncertain, may_be_empty=uncertain and not prefix_of(rest))


def split_assignment(word: Value) -> tuple[str, Value]:
    """Split a word `NAME=value` into the name and the value. Without `=`, the value is unknown."""
    name, equals, _ = prefix_of(word).partition("=")
    if equals:
        return name, without_prefix(word, f"{name}=")
    return word.known or "", Value(word.source, Certainty.UNKNOWN, may_be_option=True)


def cut_at_newlines(value: Value) -> Value:
    """Return a value that matches any single line of an output."""
    # A file name can contain newlines, so the line can be only a part of a name.
    torn = not value.content
    return replace(
        value, many=False, splits=torn, may_be_option=value.may_be_option or torn, may_be_empty=True
    )
