"""A notebook file (.ipynb, format 4): its text, and the position of each cell in it.

Invariant: a change keeps all other bytes of the file, whatever program wrote it.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import tui_agent.plugin_api as api

_SPACE = re.compile(r"[ \t\n\r]*")
_INDENT = re.compile(r"\{\r?\n([ \t]+)")
_DECODE = json.JSONDecoder().raw_decode
_CELL_DEPTH = 2
"""Number of open brackets before a cell in the file."""


class Cell(NamedTuple):
    """A cell of a notebook.

    - `number`: index of the cell, from 0
    - `value`: the cell's JSON object
    - `start`, `end`: position of this object in the file's text
    """

    number: int
    value: dict[str, Any]
    start: int
    end: int

    @property
    def kind(self) -> str:
        """The kind of the cell: `code`, `markdown` or `raw`."""
        return str(self.value.get("cell_type", ""))

    @property
    def source(self) -> str:
        return join_lines(self.value.get("source", ""))

    @property
    def outputs(self) -> list[dict[str, Any]]:
        outputs = self.value.get("outputs", [])
        return [output for output in outputs if isinstance(output, dict)] if isinstance(outputs, list) else []

    @property
    def label(self) -> str:
        """The cell's number, followed by the cell's id, if any."""
        name = self.value.get("id")
        return f"[{self.number}]" + (f" #{name}" if isinstance(name, str) else "")


class Notebook:
    """The content of a notebook file. Raises `ToolError` if the file is not a notebook of format 4."""

    def __init__(self, content: api.FileContent) -> None:
        self.path = content.path
        try:
            self._text = content.data.decode("utf-8")
            value = api.parse_json(self._text)
        except ValueError as error:
            raise api.ToolError(f"{self.path} is not valid JSON: {error}.") from error
        if (
            not isinstance(value, dict)
            or value.get("nbformat") != 4
            or not isinstance(value.get("cells"), list)
        ):
            raise api.ToolError(f"{self.path} is not a notebook of format 4.")
        metadata = value.get("metadata")
        self.metadata: dict[str, Any] = metadata if isinstance(metadata, dict) else {}
        # Since format 4.5, every cell has an id.
        self._has_ids = value.get("nbformat_minor", 0) >= 5
        top = _SPACE.match(self._text).end()  # type: ignore[union-attr] # it matches anything
        # JSON lets a key occur twice; the last one counts.
        self._list = [(start, end) for key, start, end, _ in _members(self._text, top) if key == "cells"][-1]
        self.cells = [
            Cell(index, cell if isinstance(cell, dict) else {}, start, end)
            for index, (start, end, cell) in enumerate(_items(self._text, self._list[0]))
        ]
        indent = _INDENT.match(self._text, top)
        self._indent = None if indent is None else indent.group(1)
        self._newline = "\r\n" if "\r\n" in self._text else "\n"

    @property
    def language(self) -> str:
        """The language of the notebook's code, in lower case."""
        for table, key in (("kernelspec", "language"), ("language_info", "name")):
            entry = self.metadata.get(table)
            if isinstance(entry, dict) and isinstance(entry.get(key), str):
                return str(entry[key]).lower()
        return "python"

    def find(self, name: str) -> Cell:
        """Return the cell with the id or index `name`. Raise `ToolError` if there is none."""
        for cell in self.cells:
            if name and cell.value.get("id") == name:
                return cell
        if name.isdecimal() and int(name) < len(self.cells):
            return self.cells[int(name)]
        count = api.format_count(len(self.cells), "cell")
        raise api.ToolError(f"{self.path} has no cell {name!r}. It has {count}, numbered from 0.")

    def with_source(self, cell: Cell, source: str, kind: str) -> bytes:
        """Return the file's bytes with a new source for a cell, without the cell's outputs."""
        # The kinds have different fields, so a new cell replaces the old one.
        if kind != cell.kind:
            name = cell.value.get("id")
            new = self._new_cell(source, kind, name if isinstance(name, str) else "")
            return self._splice([(cell.start, cell.end, self._render(new, _CELL_DEPTH))])
        fields: dict[str, Any] = {"source": _as_lines(source)}
        if kind == "code":
            fields |= {"outputs": [], "execution_count": None}
        return self._with_fields(cell, fields)

    def with_outputs(self, cell: Cell, outputs: Sequence[dict[str, Any]], count: int | None) -> bytes:
        """Return the file's bytes with new outputs of a cell.

        `count`: the cell's execution count (`In [3]`).
        """
        return self._with_fields(cell, {"outputs": list(outputs), "execution_count": count})

    def with_new_cell(self, source: str, kind: str, before: Cell | None) -> bytes:
        """Return the file's bytes with a new cell before the cell `before`, or at the end."""
        name = _new_id(source, {str(cell.value.get("id")) for cell in self.cells}) if self._has_ids else ""
        text = self._render(self._new_cell(source, kind, name), _CELL_DEPTH)
        start, end = self._list
        if not self.cells:
            inner, outer = self._break(_CELL_DEPTH), self._break(_CELL_DEPTH - 1)
            return self._splice([(start, end, f"[{inner}{text}{outer}]")])
        gap = self._text[start + 1 : self.cells[0].start]
        if before is not None:
            return self._splice([(before.start, before.start, f"{text},{gap}")])
        last = self.cells[-1].end
        return self._splice([(last, last, f",{gap}{text}")])

    def without_cell(self, cell: Cell) -> bytes:
        """Return the file's bytes without a cell."""
        if len(self.cells) == 1:
            return self._splice([(*self._list, "[]")])
        if cell.number + 1 < len(self.cells):
            return self._splice([(cell.start, self.cells[cell.number + 1].start, "")])
        return self._splice([(self.cells[cell.number - 1].end, cell.end, "")])

    def _with_fields(self, cell: Cell, fields: dict[str, Any]) -> bytes:
        places = {key: (start, end) for key, start, end, _ in _members(self._text, cell.start)}
        if fields.keys() - places.keys():  # the cell lacks one of them
            return self._splice([(cell.start, cell.end, self._render({**cell.value, **fields}, _CELL_DEPTH))])
        return self._splice(
            [
                (*places[key], self._render(value, _CELL_DEPTH + 1))
                for key, value in fields.items()
                if cell.value[key] != value
            ]
        )

    def _new_cell(self, source: str, kind: str, name: str) -> dict[str, Any]:
        cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": _as_lines(source)}
        if kind == "code":
            cell |= {"execution_count": None, "outputs": []}
        return cell | {"id": name} if name else cell

    def _break(self, depth: int) -> str:
        return "" if self._indent is None else self._newline + self._indent * depth

    def _render(self, value: object, depth: int) -> str:
        """Return a value as JSON in the style of the file.

        `depth`: number of open brackets around the value, for the indentation.
        """
        compact = (",", ":") if self._indent is None and '": ' not in self._text else None
        text = json.dumps(
            value,
            indent=self._indent,
            ensure_ascii=self._text.isascii(),
            # Jupyter sorts the keys too.
            sort_keys=True,
            separators=compact,
        )
        return text.replace("\n", self._break(depth)) if self._indent is not None else text

    def _splice(self, changes: Sequence[tuple[int, int, str]]) -> bytes:
        text = self._text
        # From the end, so that the positions of the remaining changes stay valid.
        for start, end, new in sorted(changes, reverse=True):
            text = text[:start] + new + text[end:]
        return text.encode()


def join_lines(value: object) -> str:
    """Return a text as one string; in a notebook file, a text can be a string or a list of lines."""
    return "".join(map(str, value)) if isinstance(value, list) else str(value)


def _as_lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def _new_id(source: str, taken: set[str]) -> str:
    """Return an id for a new cell."""
    # The id depends only on `source` and `taken`, so it is the same in the preview that the user approves and in the
    # file.
    name = source
    while True:
        name = hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:8]
        if name not in taken:
            return name


def _skip_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    assert match is not None
    return match.end()


def _members(text: str, start: int) -> Iterator[tuple[str, int, int, Any]]:
    """Yield the key, start, end and value of each member of the JSON object at `start`."""
    position = _skip_space(text, start + 1)
    while text[position] != "}":
        key, position = _DECODE(text, position)
        position = _skip_space(text, _skip_space(text, position) + 1)
        value, end = _DECODE(text, position)
        yield key, position, end, value
        position = _skip_comma(text, end)


def _items(text: str, start: int) -> Iterator[tuple[int, int, Any]]:
    """Yield the start, end and value of each item of the JSON list at `start`."""
    position = _skip_space(text, start + 1)
    while text[position] != "]":
        value, end = _DECODE(text, position)
        yield position, end, value
        position = _skip_comma(text, end)


def _skip_comma(text: str, end: int) -> int:
    position = _skip_space(text, end)
    return _skip_space(text, position + 1) if text[position] == "," else position
