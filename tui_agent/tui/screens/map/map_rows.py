"""Rows of the repository map: files with their score and symbols, and the details of one file.

Invariant: all functions are pure.
"""

import re
from typing import Final

from textual.strip import Strip

from tui_agent.protocol.settings import RepoMapOptions, SessionSettings
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.modals.diff_strips import diff_strips
from tui_agent.tui.screens.map.queries import MapFile, MapLine, MapSymbol
from tui_agent.tui.theme.theme import Looks
from tui_agent.tui.untrusted_text import clean_line, fit, fit_path
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Part, Pen, cells, row
from tui_agent.units import format_tokens

_BAR_CELLS = 9
_SIGNATURE = re.compile(
    r"(\s*(?:(?:export|default|public|private|protected|static|pub|abstract|final|async|unsafe|extern)\s+)*"
    r"(?:def|class|fn|func|fun|function|struct|enum|trait|interface|type|impl|mod|module|namespace|object|union)\s+)"
    r"([\w$.:]+)(.*)"
)
"""Matches a definition: its keywords, its name and the rest of the line."""
_SCORE_FROM = 60
"""Minimum width of the list, in cells, for a bar next to the score."""
_PREVIEW_LINES: Final = 40
_SYMBOL_PREVIEW_LINES: Final = 4
"""Number of lines to preview after the first line of a symbol."""


def column_names(width: int, looks: Looks) -> Strip:
    """Return the row with the column names of the list."""
    quiet = looks.palette.style("t3", "s0")
    score = "    score".ljust(_BAR_CELLS + 10) if width >= _SCORE_FROM else "    "
    return row(width, [(f"{score}file and symbols", quiet)], [("matches", quiet)], fill=quiet)


def draw_line(line: MapLine | None, width: int, pen: Pen, *, pinned: bool) -> Strip:
    """Return the row of a file or a symbol; an empty row if `line` is None."""
    if line is None:
        return pen.line(width, [])
    if line.symbol is not None:
        return _draw_symbol(line.symbol, width, pen)
    return _draw_file(line.file, width, pen, pinned=pinned)


def _draw_file(file: MapFile, width: int, line: Pen, *, pinned: bool) -> Strip:
    symbols = line.looks.symbols
    left = line.first("+" if pinned else " ", "accent" if pinned else "t3")
    if width >= _SCORE_FROM:
        full = round(file.score * _BAR_CELLS)
        # The score is unknown until the index exists.
        score = str(round(file.score * 100)) if file.score else ""
        left += [
            (f"{score:>3} ", line.style("t2")),
            (symbols.meter_full * full, line.style("accent")),
            (symbols.meter_rest * (_BAR_CELLS - full), line.style("border-strong")),
            ("  ", line.style()),
        ]
    room = max(8, width - cells(left) - 2)
    path = fit_path(clean_line(file.path), room, symbols.ellipsis)
    left.append((path, line.style(bold=True)))
    rest = room - len(path) - 3
    why = fit(clean_line(file.matches), max(0, rest), symbols.ellipsis) if rest > 8 else ""
    return line.line(width, left, [(why, line.style("t2"))] if why else ())


def _draw_symbol(symbol: MapSymbol, width: int, line: Pen) -> Strip:
    indent = " " * (2 + (_BAR_CELLS + 6 if width >= _SCORE_FROM else 0))
    room = max(8, width - len(indent) - len(symbol.lines) - 6)
    text = fit(clean_line(symbol.text), room, line.looks.symbols.ellipsis)
    left = [line.mark, (indent, line.style()), *_highlight(text, line)]
    return line.line(width, left, [(symbol.lines, line.style("t3"))])


def _highlight(text: str, line: Pen) -> list[Part]:
    match = _SIGNATURE.match(text) if not line.chosen else None
    if match is None:
        return [(text, line.style())]
    keyword, name, rest = match.groups()
    return [(keyword, line.style("keyword")), (name, line.style("function")), (rest, line.style("t2"))]


PINNED = "pinned"
"""The ranking's reason for a pinned file."""
MEANINGS: Final = {
    "named": "the question names it",
    "words": "it contains words of your question",
    "window": "it contains words of your question close together",
    "history": "it was changed by commits that mention your words",
    "neighbour": "it is connected to the top files",
    "no word": "it contains no word of the question",
    "recent": "it was changed recently",
    "entry": "a program starts here",
    "graph": "other files use it",
    "place": "other files in its folder match your question",
    "test": "tests are ranked below code",
    "doc": "docs are ranked below code",
    "foreign": "it is copied from another project",
    "settings": "settings are ranked below code",
    "hidden": "you hid it; press the same key to show it again",
}
"""Maps a reason of the ranking to its explanation for the user."""


def draw_file_facts(facts: Facts, file: MapFile, choice: RepoMapOptions) -> None:
    """Add the details of a file: why it is in the map, its matches, and which files use it."""
    facts.text(file.path, bold=True)
    facts.section("Why it is listed")
    counts = [f"{word} ×{count}" if count else f"{word} (in its path)" for word, count in file.words]
    facts.fact("words", ", ".join(counts))
    for reason in file.reasons:
        if reason == "words" and counts:
            continue
        if reason in MEANINGS:
            facts.fact(reason, MEANINGS[reason])
        elif reason != PINNED:
            facts.text(reason, "t2")
    if file.path in choice.pinned:
        facts.fact(PINNED, "it is always listed first", "accent")
    if file.used_by:
        facts.section("Used by")
    for path in file.used_by:
        facts.line(
            [(fit_path(clean_line(path), facts.room, facts.looks.symbols.ellipsis), facts.style("t2"))]
        )


def draw_code(facts: Facts, line: MapLine, text: str | None, fault: str, *, max_rows: int) -> None:
    """Add the code of a file or symbol, in up to `max_rows` rows.

    - `text`: the file's text; None if it is not loaded
    - `fault`: why the text cannot be shown; empty if the text can be shown
    """
    if text is None or fault:
        facts.section("Code")
        facts.text(fault or "loading …", "t3")
        return
    preview = code_preview(line, text)
    if preview:
        facts.section("Code")
        facts.add_strips(
            diff_strips(line.file.path, preview, facts.looks, facts.width - 3), max_rows=max_rows
        )


def code_preview(line: MapLine, text: str) -> str:
    """Return the code of a file or symbol to preview, in the form of a diff without changes."""
    lines = text.split("\n")
    last = len(lines) - (not lines[-1])
    if line.symbol is not None:
        ranges = [(line.symbol.line, min(max(line.symbol.end, line.symbol.line), last))]
    elif line.file.symbols:
        ranges = [
            (symbol.line, min(symbol.line + _SYMBOL_PREVIEW_LINES, last)) for symbol in line.file.symbols
        ]
    else:
        ranges = [(1, last)]
    # The ranges of nested symbols overlap, but each line is shown only once.
    hunks: list[str] = []
    room, done = _PREVIEW_LINES, 0
    for first, end in sorted(ranges):
        first, end = max(first, done + 1), min(end, first + room - 1)
        if 0 < first <= end and room > 0:
            head = f"@@ -{first} +{first} @@\n" if first > done + 1 or not hunks else ""
            hunks.append(head + "".join(f" {text}\n" for text in lines[first - 1 : end]))
            room, done = room - (end - first + 1), end
    return "".join(hunks)


def draw_map_facts(
    facts: Facts, choice: RepoMapOptions, files: int, settings: SessionSettings | None, note: str
) -> None:
    """Add facts about the whole map: its size, and when the model gets it.

    `note`: the note of `tui-agent map`. Only the part after the first semicolon is added, because the part before is in
    the screen's title.
    """
    facts.section("For the model")
    facts.fact("budget", f"{format_tokens(choice.max_tokens)} tokens")
    if files:
        facts.fact("sees", f"{format_count(files, 'file')}, as listed here")
    bare = settings is not None and settings.context_mode == "none"
    auto = settings is not None and settings.repo_map == "auto" and not bare
    when = "with a session's first message, and after a compaction" if auto else "only when the model asks"
    when += ", because the context mode is none" if bare else ""
    facts.fact("gets it", when, "t1" if auto else "warning")
    facts.fact("hidden", ", ".join(clean_line(path) for path in choice.hidden))
    facts.fact("besides", note.partition(";")[2].strip(), "t2")
