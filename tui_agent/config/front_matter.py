"""The fields at the start of a Markdown file, between two lines `---`: a small subset of YAML."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_KEY: Final = re.compile(r"([A-Za-z][\w-]*+)[ \t]*+:[ \t]*+(.*)")
_QUOTED: Final = re.compile(r"""(["'])(.*)\1[ \t]*+(?:\#.*)?""", re.DOTALL)
_BLOCKS = frozenset((">", "|", ">-", "|-", ">+", "|+"))


class FrontMatter(NamedTuple):
    """The fields of a file, and the text below them.

    `fields`: maps lower-case names to values.
    `fault`: an error in the fields, or empty.

    Without a line `---` before and after the fields, the whole text is the body.
    """

    fields: dict[str, str]
    body: str
    fault: str = ""


def split_front_matter(text: str) -> FrontMatter:
    """Split a text into its fields (lines `key: value`) and its body.

    A field can continue on indented lines. The items of a list (`- item`) are joined by commas.
    """
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        fault = "it has no fields: start the file with the lines `---`, `description: …` and `---`"
        return FrontMatter({}, text, fault if lines else "it is empty")
    end = next((index for index, line in enumerate(lines[1:], start=1) if line.strip() in ("---", "...")), 0)
    if not end:
        return FrontMatter({}, text, "the line `---` after the fields is missing")
    fields, fault = _parse_fields(lines[1:end])
    return FrontMatter(fields, "\n".join(lines[end + 1 :]).strip(), fault)


def _parse_fields(lines: Sequence[str]) -> tuple[dict[str, str], str]:
    fields: dict[str, str] = {}
    key = fault = ""
    lists: set[str] = set()
    for number, line in enumerate(lines, start=2):
        match, content = _KEY.fullmatch(line), line.strip()
        if match is not None:
            key = match[1].lower()
            fields[key] = _parse_value(match[2])
        elif key and content.startswith("- ") and (key in lists or not fields[key]):
            lists.add(key)
            fields[key] = ", ".join(filter(None, (fields[key], _parse_value(content[2:]))))
        elif key and line[:1] in (" ", "\t"):
            fields[key] = f"{fields[key]} {content}".strip()
        elif content and not content.startswith("#"):
            fault = fault or f"line {number} is not `field: value`: {content[:60]!r}"
    return fields, fault


def _parse_value(value: str) -> str:
    value = value.strip()
    if value in _BLOCKS:
        return ""
    quoted = _QUOTED.fullmatch(value)
    return quoted[2] if quoted is not None else value
