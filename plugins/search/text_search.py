"""A text search, and its result: the line numbers of the matches in each file."""

import codecs
from dataclasses import dataclass, field

MAX_FILE_BYTES = 5_000_000
"""Maximum size of a file in bytes. A search in a whole folder leaves out larger files."""
MAX_SEARCH_S = 20.0
_BOMS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


@dataclass(frozen=True, slots=True)
class Query:
    """A text search in one file or folder, or in an artifact.

    - `path`: absolute if outside the workspace, otherwise relative; empty for the whole workspace
    - `single`: True if `path` is a file or an artifact
    - `text`: the text of the artifact
    """

    pattern: str
    path: str
    single: bool
    glob: str
    ignore_case: bool
    max_results: int
    text: str | None = None


@dataclass
class SearchResult:
    """The result of a text search.

    - `lines`: maps each path to the numbers of the matching lines
    - `incomplete`: True if the search stopped early, for the reasons in `notes`
    """

    engine: str
    lines: dict[str, list[int]] = field(default_factory=dict)
    incomplete: bool = False
    notes: list[str] = field(default_factory=list)


def decode_text(data: bytes) -> str | None:
    """Decode a file's content; return None if the content is binary."""
    for bom, codec in _BOMS:
        if data.startswith(bom):
            return data[len(bom) :].decode(codec, "replace")
    if b"\0" in data[:8192]:
        return None
    return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def split_lines(data: bytes) -> list[str] | None:
    """Decode a file's content and split it at line feeds; return None if the content is binary."""
    text = decode_text(data)
    if text is None:
        return None
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines
