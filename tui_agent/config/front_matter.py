"""The fields at the start of a Markdown file, between two lines `---`."""

import re
from typing import Final

_KEY: Final = re.compile(r"([A-Za-z][\w-]*+)[ \t]*+:[ \t]*+(.*)")
_QUOTED: Final = re.compile(r"""(["'])(.*)\1[ \t]*+(?:\#.*)?""", re.DOTALL)
_BLOCKS = frozenset((">", "|", ">-", "|-", ">+", "|+"))


def split_front_matter(text: str) -> tuple[dict[str, str], str]:
    """Split a text into its fields and the rest. A field is a line `key: value`, continued by indented lines."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return {}, text
    end = next((index for index, line in enumerate(lines[1:], start=1) if line.strip() in ("---", "...")), 0)
    if not end:
        return {}, text
    values: dict[str, str] = {}
    key = ""
    for line in lines[1:end]:
        match = _KEY.fullmatch(line)
        if match is not None:
            key = match[1].lower()
            values[key] = _parse_value(match[2])
        elif key and line[:1] in (" ", "\t"):
            values[key] = f"{values[key]} {line.strip()}".strip()
    return values, "\n".join(lines[end + 1 :]).strip()


def _parse_value(value: str) -> str:
    value = value.strip()
    if value in _BLOCKS:
        return ""
    quoted = _QUOTED.fullmatch(value)
    return quoted[2] if quoted is not None else value
