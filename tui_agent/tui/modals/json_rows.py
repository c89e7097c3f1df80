"""JSON as coloured lines, every string cleaned. Invariant: valid JSON text, keys in the order they have."""

import json
from collections.abc import Iterator

from pydantic import JsonValue

from tui_agent.tui.text import clean_line

Line = list[tuple[str, str]]
"""Pieces of text with the role of their colour."""


def json_lines(value: JsonValue) -> list[Line]:
    """The value, two spaces a level."""
    lines: list[Line] = []
    current: Line = []
    for piece in _pieces(value, 0):
        if piece is None:
            lines.append(current)
            current = []
        else:
            current.append(piece)
    lines.append(current)
    return lines


def _pieces(value: JsonValue, depth: int) -> Iterator[tuple[str, str] | None]:
    pad = "  " * (depth + 1)
    if isinstance(value, dict):
        if not value:
            yield "{}", "t2"
            return
        yield "{", "t2"
        for at, (key, inner) in enumerate(value.items()):
            yield None
            yield pad + clean_line(json.dumps(key, ensure_ascii=False), reveal=True), "accent"
            yield ": ", "t2"
            yield from _pieces(inner, depth + 1)
            if at + 1 < len(value):
                yield ",", "t2"
        yield None
        yield "  " * depth + "}", "t2"
    elif isinstance(value, list):
        if not value:
            yield "[]", "t2"
            return
        yield "[", "t2"
        for at, inner in enumerate(value):
            yield None
            yield pad, "t2"
            yield from _pieces(inner, depth + 1)
            if at + 1 < len(value):
                yield ",", "t2"
        yield None
        yield "  " * depth + "]", "t2"
    elif isinstance(value, str):
        yield clean_line(json.dumps(value, ensure_ascii=False), reveal=True), "string"
    else:
        yield (
            json.dumps(value),
            "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else "keyword",
        )
