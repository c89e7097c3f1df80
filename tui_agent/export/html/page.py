"""The HTML page: one file with its own style and script, and a policy that allows nothing else."""

import base64
import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

from tui_agent import __version__
from tui_agent.export.html.blocks import counts
from tui_agent.export.html.markup import Safe, el, join
from tui_agent.export.html.rows import Row, rows
from tui_agent.export.labels import changed_files, facts
from tui_agent.export.story import Story
from tui_agent.folds.transcript.entries import TurnEntry, UserEntry
from tui_agent.protocol.unicode_text import counted
from tui_agent.units import format_cost, format_milliseconds

HERE = Path(__file__).parent
FILTERS = {"you": "You", "agent": "Agent", "tools": "Tools", "errors": "Errors", "files": "Files"}
KEYS = (("j k", "row"), ("[ ]", "turn"), ("1–5", "filter"), ("/", "search"), ("n", "next"), ("o", "folds"))
"""The keys that `reader.js` handles."""
TITLE_CHARS = 90
TICK_ROOM = 24
LONG = 300
"""Number of rows from which browsers draw only the visible ones."""


def to_html(story: Story) -> str:
    """Return the complete file."""
    style, script = ((HERE / name).read_text(encoding="utf-8") for name in ("reader.css", "reader.js"))
    page_rows = list(rows(story))
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("meta", name="referrer", content="no-referrer"),
        el("meta", name="generator", content=f"tui-agent {__version__}"),
        el("title", f"{_title(story)} · tui-agent"),
        el("link", rel="icon", href="data:,"),
        el("style", Safe(style)),
    )
    body = el(
        "body",
        _head(story),
        _bar(page_rows),
        el("div", _log(page_rows), _side(story, page_rows), class_="columns"),
        _scrubber(page_rows, story),
        el("script", Safe(script)),
    )
    return f"<!doctype html>\n{el('html', head, body, lang='en')}\n"


def _policy(style: str, script: str) -> str:
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _title(story: Story) -> str:
    title = " ".join(story.title.split()) or "A session"
    return title if len(title) <= TITLE_CHARS else f"{title[: TITLE_CHARS - 1]}…"


def _head(story: Story) -> Safe:
    pairs = [el("div", el("dt", name), el("dd", value)) for name, value in facts(story)]
    return el("header", el("h1", _title(story)), el("dl", *pairs), class_="head")


def _bar(page_rows: Sequence[Row]) -> Safe:
    sums = {tag: sum(tag in row.tags for row in page_rows) for tag in FILTERS}
    chips = [
        el(
            "button",
            label,
            el("b", f"{sums[tag]:,}"),
            disabled=not sums[tag],
            type="button",
            data_filter=tag,
            aria_pressed="false",
            title=f"only these ({number})",
        )
        for number, (tag, label) in enumerate(FILTERS.items(), 1)
    ]
    search = el("input", id="find", type="search", placeholder="Search", aria_label="Search", title="/")
    return el(
        "nav",
        el("div", *chips, class_="chips", role="group", aria_label="Filters"),
        el("div", search, el("output", id="found"), class_="find"),
        el("button", "Open all", type="button", id="unfold", title="open or close every fold (o)"),
        class_="bar",
    )


def _log(page_rows: Sequence[Row]) -> Safe:
    articles = []
    turn = 0
    for number, row in enumerate(page_rows):
        articles.append(
            el(
                "article",
                row.body,
                id=f"e{number}",
                class_=f"e {row.kind}{_height(row)}",
                data_tags=" ".join(row.tags),
                data_at=f"{row.at:.3f}",
                data_turn=row.turn,
                data_first="" if row.turn > turn else None,
            )
        )
        turn = max(turn, row.turn)
    no_match = el("p", "No matches.", id="none", hidden=True)
    return el("main", *articles, no_match, id="log", class_="long" if len(page_rows) > LONG else None)


def _height(row: Row) -> str:
    """Return a class with a row's approximate height, for browsers that have not drawn it yet."""
    return " h3" if row.weight > 600 else " h2" if row.weight > 160 else ""


def _side(story: Story, page_rows: Sequence[Row]) -> Safe:
    return el(
        "aside",
        el("h2", "Turns"),
        el("ol", *_turns(story, page_rows)),
        *_files(story, page_rows),
        class_="side",
    )


def _turns(story: Story, page_rows: Sequence[Row]) -> list[Safe]:
    ends = {entry.turn: entry for entry in story.entries if isinstance(entry, TurnEntry)}
    messages: dict[int, str] = {}
    for entry in story.entries:
        if isinstance(entry, UserEntry) and entry.state == "sent":
            messages.setdefault(entry.turn, " ".join(story.texts.whole(entry.text)[:400].split()))
    first_rows: dict[int, int] = {}
    for number, row in enumerate(page_rows):
        first_rows.setdefault(row.turn, number)
    items = []
    for turn, message in messages.items():
        end = ends.get(turn)
        figures = (format_milliseconds(end.duration_ms), format_cost(end.cost_usd)) if end else ()
        measure = el("small", " · ".join(figure for figure in figures if figure))
        items.append(el("li", el("a", el("span", message), measure, href=f"#e{first_rows.get(turn, 0)}")))
    return items


def _files(story: Story, page_rows: Sequence[Row]) -> list[Safe]:
    sums = changed_files(story)
    if not sums:
        return []
    row_numbers = {path: number for number, row in reversed(list(enumerate(page_rows))) for path in row.paths}
    items = []
    for path, (added, removed) in sums.items():
        measure = el("small", counts(added, removed))
        items.append(el("li", el("a", el("span", path), measure, href=f"#e{row_numbers.get(path, 0)}")))
    return [el("h2", counted(len(sums), "file")), el("ul", *items)]


def _span(story: Story) -> dict[str, str]:
    """Return the start and duration of the session, as shown in its head."""
    duration_label = dict(facts(story)).get("lasted", "0 s")
    return {"data_begun": f"{story.metrics.first_at:.3f}", "data_whole": duration_label}


def _scrubber(page_rows: Sequence[Row], story: Story) -> Safe:
    """Return bars with the weight of each row, and a slider that moves from row to row."""
    bars = []
    for number, row in enumerate(page_rows):
        height = min(TICK_ROOM, 3 + round(2.2 * math.log2(1 + row.weight / 12)))
        colour = "errors" if "errors" in row.tags else "files" if "files" in row.tags else row.kind.split()[0]
        bars.append(el("path", d=f"M{number} {TICK_ROOM}V{TICK_ROOM - height}", class_=f"t-{colour}"))
    last = max(1, len(page_rows) - 1)
    picture = el(
        "svg",
        *bars,
        viewBox=f"0 0 {last} {TICK_ROOM}",
        preserveAspectRatio="none",
        stroke_width=f"{max(1.0, min(7.0, 800 / last)):.1f}",
        aria_hidden="true",
    )
    handle = el(
        "input",
        id="at",
        type="range",
        min="0",
        max=max(0, len(page_rows) - 1),
        value="0",
        aria_label="Place in the session",
    )
    keys = el(
        "span", *(join(el("b", key), f" {action}") for key, action in KEYS), class_="keys", aria_hidden="true"
    )
    labels = el("div", el("span", id="then"), keys, el("span", **_span(story), id="lasted"), class_="times")
    return el("footer", join(picture, handle), labels, class_="scrub")
