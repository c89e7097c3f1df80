"""Conversion of a report to Markdown and to an HTML page with plots.

Invariant: every text is escaped, and the page needs no network and runs no script.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from tui_agent.evals.report.report import Group, Report
from tui_agent.evals.report.report_sections import (
    Code,
    Section,
    describe_group,
    format_interval,
    report_sections,
)
from tui_agent.export.html.markup import SafeHtml, element, html_table, join, plain_page
from tui_agent.export.markdown import escape_inline, inline_code
from tui_agent.protocol.unicode_text import clip_line, format_count, reveal_invisible
from tui_agent.units import format_tokens

WIDTH: Final = 880
LABEL_WIDTH: Final = 240
VALUE_WIDTH: Final = 170
ROW_HEIGHT: Final = 26
LABEL_CHARS: Final = 36
_STYLE: Final = """\
h2 { font-size: 16px; margin-top: 32px; } .wide { overflow-x: auto; white-space: nowrap; }
.bar { fill: var(--line); opacity: .75; } .faint { fill: var(--line); opacity: .4; } .whole { fill: var(--area); }
.interval { stroke: var(--text); stroke-width: 1.5; fill: none; } text.name { fill: var(--text); }
code { font: 12px ui-monospace, monospace; }
"""


def to_markdown(report: Report) -> str:
    """Return the report as Markdown."""
    blocks = [f"# {escape_inline(_title(report))}", escape_inline(_subtitle(report))]
    for section in report_sections(report):
        blocks += [f"## {escape_inline(section.title)}", *map(_markdown_text, section.sentences)]
        if section.rows:
            blocks.append("\n".join(_markdown_table(section)))
    return "\n\n".join(blocks) + "\n"


def _markdown_table(section: Section) -> Iterator[str]:
    yield f"| {' | '.join(map(_markdown_text, section.head))} |"
    yield f"|{'---|' * len(section.head)}"
    for row in section.rows:
        yield f"| {' | '.join(map(_markdown_text, row))} |"


def _markdown_text(text: str) -> str:
    shown = reveal_invisible(text)
    return inline_code(shown).replace("|", "\\|") if isinstance(text, Code) else escape_inline(shown)


def to_html(report: Report) -> str:
    """Return the report as an HTML page with plots of pass rates and tokens."""
    plots = {"Pass rates": _pass_rate_plot(report), "Figures": _token_plot(report)}
    body = []
    for section in report_sections(report):
        body.append(element("h2", section.title))
        body += [element("p", reveal_invisible(sentence)) for sentence in section.sentences]
        if section.title in plots:
            body.append(plots[section.title])
        if section.rows:
            rows = [tuple(_html_cell(cell) for cell in row) for row in section.rows]
            head = tuple(reveal_invisible(name) for name in section.head)
            body.append(element("div", html_table(head, rows), class_="wide"))
    return plain_page(_title(report), _STYLE, element("p", _subtitle(report)), *body)


def _html_cell(text: str) -> str | SafeHtml:
    shown = reveal_invisible(text)
    return element("code", shown) if isinstance(text, Code) else shown


def _title(report: Report) -> str:
    return f"Evaluation of {', '.join(dict.fromkeys(reveal_invisible(run.suite) for run in report.runs))}"


def _subtitle(report: Report) -> str:
    cells = format_count(sum(run.cells for run in report.runs), "cell")
    return f"{cells}, {format_count(len(report.arms), 'arm')}; {', '.join(run.path for run in report.runs)}"


def _pass_rate_plot(report: Report) -> SafeHtml:
    return _plot([_pass_rate_row(group) for group in report.groups], "pass rates with 95 % intervals")


def _pass_rate_row(group: Group) -> tuple[str, str, Sequence[SafeHtml]]:
    rate = group.passed
    marks = [_bar(0, 1, "whole")]
    if rate.low is not None and rate.high is not None:
        marks.append(_bar(0, rate.successes / rate.total, "faint" if group.category else "bar"))
        low, high = _x(rate.low), _x(rate.high)
        marks.append(element("path", class_="interval", d=f"M{low} 8V18M{low} 13H{high}M{high} 8V18"))
    return describe_group(group), f"{rate.successes}/{rate.total} ({format_interval(rate)})", marks


def _token_plot(report: Report) -> SafeHtml:
    sums = {figure.name: figure.arms for figure in report.figures}
    rows = []
    totals = {
        arm: [sums[name][arm].total or 0 for name in ("cached_tokens", "input_tokens", "output_tokens")]
        for arm in report.arms
    }
    highest = max((sent + received for _, sent, received in totals.values()), default=0) or 1
    for arm, (cached, sent, received) in totals.items():
        ends = [0, cached / highest, sent / highest, (sent + received) / highest]
        marks = [
            _bar(*span, style) for span, style in zip(pairwise(ends), ("whole", "faint", "bar"), strict=True)
        ]
        rows.append((arm, f"{format_tokens(sent)} in, {format_tokens(received)} out", marks))
    return _plot(rows, "tokens by arm: from the cache, other input, output")


def _plot(rows: Sequence[tuple[str, str, Sequence[SafeHtml]]], title: str) -> SafeHtml:
    """Return a bar chart with a row for each (name, value, marks)."""
    lines = [element("text", title, x=0, y=14)]
    for number, (name, value, marks) in enumerate(rows, 1):
        shown = reveal_invisible(name)
        lines.append(
            element(
                "g",
                element("title", f"{shown}: {value}"),
                element("text", clip_line(shown, LABEL_CHARS), x=0, y=17, class_="name"),
                join(*marks),
                element("text", value, x=WIDTH, y=17, text_anchor="end"),
                transform=f"translate(0 {number * ROW_HEIGHT})",
            )
        )
    height = (len(rows) + 1) * ROW_HEIGHT
    return element(
        "svg", *lines, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {WIDTH} {height}", role="img"
    )


def _bar(start: float, end: float, style: str) -> SafeHtml:
    return element("rect", x=_x(start), y=5, width=round(_x(end) - _x(start), 1), height=16, class_=style)


def _x(share: float) -> float:
    return round(LABEL_WIDTH + share * (WIDTH - LABEL_WIDTH - VALUE_WIDTH), 1)
