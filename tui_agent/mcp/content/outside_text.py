"""Cleans text from MCP servers: removes control characters and terminal sequences, and limits the length."""

import re

from pydantic import ValidationError

from tui_agent.protocol.unicode_text import clip_line, replace_invisible

MAX_DESCRIPTION_CHARS = 2_000
MAX_RESULT_CHARS = 4_000_000
"""Maximum length of a result's text. The engine later applies its own limit."""
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|.)", re.DOTALL)
"""Regular expression for a terminal sequence."""


def clean_text(text: str, max_chars: int = MAX_RESULT_CHARS) -> str:
    """Remove terminal sequences and invisible characters, and shorten the text to `max_chars`."""
    text = text[: 2 * max_chars].replace("\r\n", "\n")
    plain = replace_invisible(_SEQUENCE.sub("", text), "")
    return plain if len(plain) <= max_chars else plain[: max_chars - 1] + "…"


def clean_line(text: str, max_chars: int = 200) -> str:
    """Return a text as one line without invisible characters."""
    return clip_line(clean_text(text, 10 * max_chars), max_chars)


def describe_fault(error: Exception) -> str:
    """Describe an error of the SDK in one line."""
    if not isinstance(error, ValidationError):
        return clean_line(str(error))
    first = error.errors(include_url=False)[0]
    return clean_line(f"{'.'.join(map(str, first['loc']))}: {first['msg']}")
