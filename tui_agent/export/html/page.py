"""The HTML page of a session: one file that loads nothing else."""

import base64
import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from tui_agent import __version__
from tui_agent.export.export_content import ExportContent
from tui_agent.export.export_labels import header_rows
from tui_agent.export.html.blocks import line_counts_html
from tui_agent.export.html.entry_rows import Row, build_rows
from tui_agent.export.html.markup import SafeHtml, element, join
from tui_agent.folds.transcript.entries import TurnEntry, UserEntry
from tui_agent.protocol.unicode_text import clip_line, format_count
from tui_agent.units import format_cost, format_duration, format_milliseconds, format_number

ASSET_FOLDER = Path(__file__).parent
FILTERS = {"you": "You", "agent": "Agent", "tools": "Tools", "errors": "Errors", "files": "Files"}
KEYS = (("j k", "row"), ("[ ]", "turn"), ("1–5", "filter"), ("/", "search"), ("n", "next"), ("o", "folds"))
"""The keys that the page's script, `reader.js`, handles."""
TITLE_CHARS = 90
TICK_ROOM = 24
LONG_PAGE_ROWS = 300
"""If a page has more rows than this, the browser draws only the visible rows."""


def to_html(story: ExportContent) -> str:
    """Return the complete HTML page of an exported session."""
    style, script = (
        (ASSET_FOLDER / name).read_text(encoding="utf-8") for name in ("reader.css", "reader.js")
    )
    page_rows = list(build_rows(story))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="generator", content=f"tui-agent {__version__}"),
        element("title", f"{_title(story)} · tui-agent"),
        element("link", rel="icon", href="data:,"),
        element("style", SafeHtml(style)),
    )
    body = element(
        "body",
        _head(story),
        _bar(page_rows),
        element("div", _log(page_rows, story.metrics.first_at), _side(story, page_rows), class_="columns"),
        _scrubber(page_rows, story),
        element("script", SafeHtml(script)),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _policy(style: str, script: str) -> str:
    # Only this style and this script: even text that escaped the escaping could not run.
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _title(story: ExportContent) -> str:
    return clip_line(story.title, TITLE_CHARS) or "A session"


def _head(story: ExportContent) -> SafeHtml:
    pairs = [element("div", element("dt", name), element("dd", value)) for name, value in header_rows(story)]
    return element("header", element("h1", _title(story)), element("dl", *pairs), class_="head")


def _bar(page_rows: Sequence[Row]) -> SafeHtml:
    sums = {tag: sum(tag in row.tags for row in page_rows) for tag in FILTERS}
    chips = [
        element(
            "button",
            label,
            element("b", format_number(sums[tag])),
            disabled=not sums[tag],
            type="button",
            data_filter=tag,
            aria_pressed="false",
            title=f"show only these rows (key {number})",
        )
        for number, (tag, label) in enumerate(FILTERS.items(), 1)
    ]
    search = element("input", id="find", type="search", placeholder="Search", aria_label="Search", title="/")
    return element(
        "nav",
        element("div", *chips, class_="chips", role="group", aria_label="Filters"),
        element("div", search, element("output", id="found"), class_="find"),
        element(
            "button", "Open all", type="button", id="unfold", title="expand or collapse everything (key o)"
        ),
        class_="bar",
    )


def _log(page_rows: Sequence[Row], start: float) -> SafeHtml:
    articles = []
    turn = 0
    for number, row in enumerate(page_rows):
        articles.append(
            element(
                "article",
                row.body,
                id=f"e{number}",
                class_=f"e {row.kind}{_height(row)}",
                data_tags=" ".join(row.tags),
                data_at=f"{row.time:.3f}",
                data_elapsed=format_duration(row.time - start),
                data_turn=row.turn,
                data_first="" if row.turn > turn else None,
            )
        )
        turn = max(turn, row.turn)
    no_match = element("p", "No matches.", id="none", hidden=True)
    return element(
        "main", *articles, no_match, id="log", class_="long" if len(page_rows) > LONG_PAGE_ROWS else None
    )


def _height(row: Row) -> str:
    return " h3" if row.weight > 600 else " h2" if row.weight > 160 else ""


def _side(story: ExportContent, page_rows: Sequence[Row]) -> SafeHtml:
    return element(
        "aside",
        element("h2", "Turns"),
        element("ol", *_turns(story, page_rows)),
        *_files(story, page_rows),
        class_="side",
    )


def _turns(story: ExportContent, page_rows: Sequence[Row]) -> list[SafeHtml]:
    ends = {entry.turn: entry for entry in story.entries if isinstance(entry, TurnEntry)}
    messages: dict[int, str] = {}
    for entry in story.entries:
        if isinstance(entry, UserEntry) and entry.state == "sent":
            messages.setdefault(entry.turn, " ".join(story.texts.full_text(entry.text)[:400].split()))
    first_rows: dict[int, int] = {}
    for number, row in enumerate(page_rows):
        first_rows.setdefault(row.turn, number)
    items = []
    for turn, message in messages.items():
        end = ends.get(turn)
        figures = (
            (format_milliseconds(end.duration_ms), format_cost(end.cost_usd, end.cost_precision))
            if end
            else ()
        )
        measure = element("small", " · ".join(figure for figure in figures if figure))
        items.append(
            element(
                "li", element("a", element("span", message), measure, href=f"#e{first_rows.get(turn, 0)}")
            )
        )
    return items


def _files(story: ExportContent, page_rows: Sequence[Row]) -> list[SafeHtml]:
    if not story.files:
        return []
    row_numbers = {path: number for number, row in reversed(list(enumerate(page_rows))) for path in row.paths}
    items = []
    for file in story.files:
        path = story.texts.clean_text(file.path)
        measure = element("small", line_counts_html(file.added, file.removed))
        items.append(
            element("li", element("a", element("span", path), measure, href=f"#e{row_numbers.get(path, 0)}"))
        )
    return [element("h2", format_count(len(story.files), "file")), element("ul", *items)]


def _scrubber(page_rows: Sequence[Row], story: ExportContent) -> SafeHtml:
    bars = []
    for number, row in enumerate(page_rows):
        height = min(TICK_ROOM, 3 + round(2.2 * math.log2(1 + row.weight / 12)))
        colour = "errors" if "errors" in row.tags else "files" if "files" in row.tags else row.kind.split()[0]
        bars.append(element("path", d=f"M{number} {TICK_ROOM}V{TICK_ROOM - height}", class_=f"t-{colour}"))
    last = max(1, len(page_rows) - 1)
    picture = element(
        "svg",
        *bars,
        viewBox=f"0 0 {last} {TICK_ROOM}",
        preserveAspectRatio="none",
        stroke_width=f"{max(1.0, min(7.0, 800 / last)):.1f}",
        aria_hidden="true",
    )
    handle = element(
        "input",
        id="at",
        type="range",
        min="0",
        max=max(0, len(page_rows) - 1),
        value="0",
        aria_label="Position in the session",
    )
    keys = element(
        "span",
        *(join(element("b", key), f" {action}") for key, action in KEYS),
        class_="keys",
        aria_hidden="true",
    )
    duration = format_duration(story.metrics.last_at - story.metrics.first_at)
    lasted = element("span", data_whole=duration, id="lasted")
    labels = element("div", element("span", id="then"), keys, lasted, class_="times")
    return element("footer", join(picture, handle), labels, class_="scrub")
