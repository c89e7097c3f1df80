"""The edits of a rename: a server's changes, converted to the new content of files.

Invariant: if one edit does not fit the files on disk, the whole rename is refused.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

import tui_agent.plugin_api as api

MAX_FILES = 200
_LINE_END = re.compile(r"\r\n|\n|\r")
_WORD = re.compile(r"\w")


class FileEdit(api.FrozenModel):
    """The new content of a file, and the digest of the old content.

    `places`: number of places that the edit replaces.
    """

    path: str
    digest: str
    data: bytes
    places: int


def path_of(uri: object, root: str) -> str:
    """Convert a file's URI to a path. Paths in the workspace become relative.

    Raise `ToolError` if `uri` is not the URI of a file.
    """
    parts = urlsplit(str(uri))
    if parts.scheme != "file" or parts.netloc:
        raise api.ToolError("The language server named a URI that is not a file.")
    path = unquote(parts.path)
    return path.removeprefix(f"{root.rstrip('/')}/")


def find_position(text: str, symbol: str, line: int) -> Mapping[str, int]:
    """Return the position of `symbol` in `text` as language servers expect it: `line` from 0, and `character` in UTF-16
    units.

    Raise `ToolError` if the symbol is not found.

    `line`: number of the line, from 1; 0 means any line.
    """
    if not symbol:
        raise api.ToolError("symbol is empty.", hint="Name the symbol as it is written in the file.")
    start, end = (r"\b" if _WORD.match(edge) else "" for edge in (symbol[0], symbol[-1]))
    pattern = re.compile(f"{start}{re.escape(symbol)}{end}")
    lines = _LINE_END.split(text)
    matches = [(index, match) for index, row in enumerate(lines) if (match := pattern.search(row))]
    for index, match in matches:
        if line in (0, index + 1):
            return {"line": index, "character": _utf16_length(lines[index][: match.start()])}
    elsewhere = ", ".join(str(index + 1) for index, _ in matches[:10])
    where = f"in line {line}" if line else "in the file"
    raise api.ToolError(
        f"{symbol!r} is not {where}.", hint=f"It is in line {elsewhere}." if elsewhere else ""
    )


def edits_by_file(workspace_edit: object, root: str) -> dict[str, list[Any]]:
    """Return a rename's text edits for each path, from the server's answer.

    Raise `ToolError` for unsupported edits.
    """
    answer = workspace_edit if isinstance(workspace_edit, dict) else {}
    by_file: dict[str, list[Any]] = {}
    document_changes = answer.get("documentChanges") or ()
    for change in document_changes:
        if "kind" in change:
            raise api.ToolError(
                f"The language server wants to {change['kind']} a file, which is not supported."
            )
    # `documentChanges` replaces `changes`: a server may send the same edits in both.
    pairs: Iterable[tuple[object, Any]] = [
        (change["textDocument"]["uri"], change["edits"]) for change in document_changes
    ] or (answer.get("changes") or {}).items()
    for uri, edits in pairs:
        by_file.setdefault(path_of(uri, root), []).extend(edits)
    if not any(by_file.values()):
        raise api.ToolError("The language server cannot rename this symbol.")
    if len(by_file) > MAX_FILES:
        raise api.ToolError(f"The rename would change {len(by_file)} files; at most {MAX_FILES} are allowed.")
    return by_file


def apply_edits(content: api.FileContent, edits: Sequence[Any]) -> FileEdit:
    """Return the content of a file with all edits applied.

    Raise `IndexError` if edits overlap or do not fit the file.
    """
    text = content.data.decode("utf-8", "strict")
    ends = [match.span() for match in _LINE_END.finditer(text)]
    starts = [0, *(end for _, end in ends)]
    stops = [*(start for start, _ in ends), len(text)]

    def offset(position: Mapping[str, int]) -> int:
        line, column = position["line"], position["character"]
        row = text[starts[line] : stops[line]]
        before = row.encode("utf-16-le")[: 2 * column]
        if min(line, column) < 0 or len(before) < 2 * column:
            raise IndexError
        return starts[line] + len(before.decode("utf-16-le"))

    spans = sorted(
        (offset(edit["range"]["start"]), offset(edit["range"]["end"]), edit["newText"]) for edit in edits
    )
    pieces, reached = [], 0
    for start, end, new in spans:
        if not reached <= start <= end:
            raise IndexError
        pieces += [text[reached:start], new]
        reached = end
    data = "".join([*pieces, text[reached:]]).encode()
    return FileEdit(path=content.path, digest=content.digest, data=data, places=len(spans))


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
