"""The context sheet: how full the context is, the size of each section, the cost of the next turn, the largest parts."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rich.cells import cell_len

from tui_agent.folds.context.context_breakdown import LedgerRequest, LedgerSum, LedgerView
from tui_agent.folds.context.meter import (
    SECTION_LABELS,
    SOFT_FRACTION,
    WARN_FRACTION,
    ContextMeterView,
    MeterSection,
)
from tui_agent.folds.text.session_figures import estimate_next_turn
from tui_agent.protocol.events.context import SectionName
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.panes.context_bar import bar, meter_role, ticks, words
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.lists import Intent
from tui_agent.tui.widgets.rows import Part, part
from tui_agent.units import (
    KILO,
    format_cost,
    format_estimate,
    format_number,
    format_percent,
    format_thousands,
    format_token_column,
    format_tokens,
    percent_shares,
)

_INTENTS: Final = {
    "context_summarise": ("compact", ""),
    "context_put_away": ("compact", "list"),
    "context_map": ("map", ""),
}
"""Maps each action of the context sheet to the app's action that it runs and its argument, which may be empty."""
_IDLE: Final = ("context_summarise",)
"""Actions that are not available during a turn."""
MAX_TABLE_ROWS: Final = 8
"""Maximum number of rows in each table."""
MAX_REQUESTS: Final = 6
_MIN_BAR_CELLS: Final = 5
_REASON_CELLS: Final = 22
"""Width, in cells, to keep free next to a bar. A note about the shortened section is shown there."""


class ContextSheet(Viewer):
    """Sheet that shows the size of each section of the context. The sizes are updated while a turn runs."""

    scope = "context"

    def __init__(self, context: AppContext) -> None:
        super().__init__("Context", self._draw_rows)
        self.follows = frozenset({"state", "meter"})
        self._session = context
        self._shown: tuple[object, ...] = ()

    def follow(self) -> None:
        """Redraw the sheet if one of its numbers changed."""
        # A view never changes: a new state is a new object.
        if any(old is not new for old, new in zip(self._shown, self._figures(), strict=False)):
            self.redraw()

    def _figures(self) -> tuple[object, ...]:
        views = self._session.views
        return views.meter.view(), views.ledger.view(), views.state.view().settings, self._session.is_running

    def prepare(self, width: int) -> None:
        view, running = self._session.views.meter.view(), self._session.is_running
        self._shown = self._figures()
        mark = "~" if view.estimated else ""
        how = " (assumed)" if view.assumed else " (learnt)" if view.window_inferred else ""
        limit = f" of {format_tokens(view.window)}{how}" if view.window else ""
        shown = bool(view.used and view.window)
        self.verdict = (
            (f"   {format_percent(view.fraction)}  {words(view)}", meter_role(view)) if shown else ("", "t2")
        )
        figure = f"{mark}{format_tokens(view.used)}{limit}" if view.used else ""
        room = width - len(self.title_text) - len(self.verdict[0]) - 2
        # If there is no room for both, drop the unit first, then the figure, which the table repeats as its total.
        self.right = next((text for text in (f"{figure} tokens", figure) if figure and len(text) <= room), "")
        names = [
            action.name
            for action in self.key_map.actions
            if action.scope == "context" and action.keys and not (running and action.name in _IDLE)
        ]
        self.extra = names if view.used else names[-1:]

    def go_on(self, name: str) -> bool:
        """Close the sheet and run its action `name`. Return False if the action is not available now."""
        if name in self.extra:
            self.dismiss(None)
            self.app.post_message(Intent(*_INTENTS[name]))
        return name in self.extra

    def _draw_rows(self, facts: Facts) -> None:
        views = self._session.views
        view, settings = views.meter.view(), views.state.view().settings
        if not view.used:
            facts.text("Empty until the first message.", "t3")
            return
        if view.window:
            _draw_bar(facts, view)
        _draw_sections(facts, view)
        facts.gap()
        draft_chars = self._session.editor.message_size
        _draw_next(facts, view, *estimate_next_turn(view, views.state.view(), draft_chars))
        ledger = views.ledger.view().scale_to(view)
        draw_ledger(facts, ledger, settings.model.input_price if settings is not None else None)


def _draw_bar(facts: Facts, view: ContextMeterView) -> None:
    looks, width = facts.looks, facts.width
    labels = [" "] * width
    limits = ticks(view, width)
    # "warn" is written before its percentage: the soft limit is too near for a word after it.
    words = (("warn ", ""), ("", " soft limit"), ("", " compaction"))
    names = dict(zip(limits, words, strict=False)) if width >= 70 else {}
    for column, share in limits.items():
        before, after = names.get(column, ("", ""))
        next_column = min((other for other in limits if other > column), default=width)
        # A word after the percentage must not cover the next limit.
        if column + len(share + after) >= next_column != width:
            after = ""
        label = before + share + after
        start = max(0, min(width - len(label), column - len(before)))
        if any(cell != " " for cell in labels[max(0, start - 1) : start + len(label)]):
            continue
        labels[start : start + len(label)] = label
    facts.line(bar(looks.palette, looks.symbols, view, width, "s3"))
    facts.line([("".join(labels), facts.style("t3"))])
    facts.gap()


def _draw_sections(facts: Facts, view: ContextMeterView) -> None:
    columns = _Columns.fit(view, facts.width)
    heads = (
        "section".ljust(columns.name),
        "tokens".rjust(8),
        "share".rjust(8) if columns.share else "",
        "budget".rjust(9) if columns.budget else "",
        " " * (columns.bar + 3) if columns.bar else "",
        "     state" if columns.state else "",
    )
    facts.line([("".join(heads), facts.style("t3"))])
    shares = percent_shares([section.tokens for section in view.sections])
    figures = format_token_column([section.tokens for section in view.sections])
    for section, share, figure in zip(view.sections, shares, figures, strict=True):
        facts.line(_section_parts(facts, columns, section, (figure, share)))
    total = sum(section.tokens for section in view.sections)
    last = (
        "total".ljust(columns.name),
        (format_thousands(total) if total >= KILO else str(total)).rjust(8),
        ("100 %" if total else "0 %").rjust(8) if columns.share else "",
        format_thousands(view.input_budget).rjust(9) if columns.budget and view.input_budget else "",
    )
    facts.line([("".join(last), facts.style(bold=True))])


class _Columns(NamedTuple):
    """The columns of the table of context sections: which are shown, and their widths in terminal cells.

    If space is short, the bar is left out first, then the share, then the budget.
    """

    name: int
    share: bool
    budget: bool
    state: bool
    bar: int
    top: int
    """Number of tokens for a full bar, if sections have no budgets."""

    @classmethod
    def fit(cls, view: ContextMeterView, width: int) -> "_Columns":
        """Return the columns that fit into `width` cells. The bar gets the room that the other columns leave."""
        bounded = any(section.budget for section in view.sections)
        name = 18 if width >= 60 else 14
        room = width - name - 8
        state = room >= 13
        room -= 13 if state else 0
        budget = bounded and room >= 9
        room -= 9 if budget else 0
        share = room >= 8
        room -= 8 if share else 0
        bar = min(18, room - _REASON_CELLS) if room >= _REASON_CELLS + 8 else 0
        reasons = (cell_len(section.rule) for section in view.sections if section.state != "whole")
        room_for_bar = room - max(reasons, default=0) - 5
        bar = room_for_bar if _MIN_BAR_CELLS <= room_for_bar < bar else bar
        top = 0 if budget else max((section.tokens for section in view.sections), default=1)
        return cls(name, share, budget, state, bar, top)

    @property
    def width(self) -> int:
        bar = self.bar + 3 if self.bar else 0
        return self.name + 8 + 8 * self.share + 9 * self.budget + bar + 13 * self.state

    def has_room_for_reason(self, section: MeterSection, width: int) -> bool:
        return self.state and self.width + 2 + cell_len(section.rule) <= width


def _section_parts(
    facts: Facts, columns: _Columns, section: MeterSection, figures: tuple[str, int]
) -> list[Part]:
    tokens, share = figures
    symbols = facts.looks.symbols
    is_complete = section.state == "whole"
    parts: list[Part] = [
        part(clean_line(section.name)[: columns.name - 1].ljust(columns.name), facts.style()),
        (tokens.rjust(8), facts.style()),
    ]
    if columns.share:
        parts.append((format_percent(share / 100).rjust(8), facts.style("t2")))
    if columns.budget:
        budget = format_thousands(section.budget) if section.budget else ""
        parts.append((budget.rjust(9), facts.style("t2")))
    if columns.bar:
        top = section.budget if columns.budget else columns.top
        full = min(columns.bar, round(section.tokens * columns.bar / top)) if top else 0
        rest = columns.bar - full if top else 0
        parts += [
            ("   ", facts.style()),
            (symbols.meter_full * full, facts.style("accent")),
            (symbols.meter_rest * rest, facts.style("border")),
            (" " * (columns.bar - full - rest), facts.style()),
        ]
    if columns.state:
        mark = " " if is_complete else symbols.warning
        role: Role = "t2" if is_complete else "warning"
        parts.append((f"   {mark} {section.state.ljust(8)}", facts.style(role)))
    if section.rule and columns.has_room_for_reason(section, facts.width):
        parts.append(part(f"  {clean_line(section.rule)}", facts.style("t2")))
    return parts


def _draw_next(facts: Facts, view: ContextMeterView, tokens: int, usd: float | None) -> None:
    if view.used:
        text = f"about {format_estimate(tokens)} tokens in, {format_cost(usd) or 'price unknown'}"
        facts.line([("Next turn  ", facts.style(bold=True)), (text, facts.style())])
    if view.window:
        near, soft = (format_estimate(round(view.window * part)) for part in (WARN_FRACTION, SOFT_FRACTION))
        when = (
            f"at {format_estimate(round(view.compaction_fraction * view.window))}"
            if view.compaction_fraction
            else "only when you run /compact, or if the server refuses a request as too long"
        )
        text = f"The meter turns amber at {near}. Above the soft limit ({soft}), answers often get worse. "
        text += f"Old turns are summarised {when}."
        facts.text(text, "t2")
    if view.assumed:
        text = "The size of the model's context window is a guess. Set context_window in the model's profile."
        facts.text(text, "t3")
    if view.window_inferred:
        text = "The size of the context window is estimated from accepted and refused requests. Set context_window in the model's profile."
        facts.text(text, "t3")
    columns = _Columns.fit(view, facts.width)
    for section in view.sections:
        if section.state != "whole" and not columns.has_room_for_reason(section, facts.width):
            facts.text(section.description, "warning")
    if view.cache_breaks:
        times = "once" if view.cache_breaks == 1 else f"{format_number(view.cache_breaks)} times"
        reason = f" Sections changed before the last miss: {view.cache_break}." if view.cache_break else ""
        facts.text(f"The provider's cache missed {times}.{reason}", "t3")
    if view.estimated:
        facts.text("~ marks an estimate; the provider has not reported its count yet.", "t3")


def draw_ledger(facts: Facts, view: LedgerView, price: float | None) -> None:
    """Add tables of what fills the context to `facts`, each sorted by size.

    `price`: USD per million input tokens; None if unknown.
    """
    if view.messages:
        _draw_sums(facts, "by tool and speaker", view.tools, price)
        _draw_sums(facts, "by file", view.files, price)
        lines = [
            (f"{message.sender}  {message.subject}".rstrip(), message.seq, message.tokens)
            for message in view.messages[:MAX_TABLE_ROWS]
        ]
        _draw_table(facts, ("largest messages", "event"), lines, price)
        _draw_requests(facts, view)


def _draw_sums(facts: Facts, title: str, sums: Sequence[LedgerSum], price: float | None) -> None:
    if not sums:
        return
    lines = [(entry.name, entry.count, entry.tokens) for entry in sums[:MAX_TABLE_ROWS]]
    if rest := sums[MAX_TABLE_ROWS:]:
        count, tokens = sum(entry.count for entry in rest), sum(entry.tokens for entry in rest)
        lines.append((f"{len(rest)} more", count, tokens))
    _draw_table(facts, (title, "times"), lines, price)


def _draw_table(
    facts: Facts, heads: tuple[str, str], lines: Sequence[tuple[str, int, int]], price: float | None
) -> None:
    """Add a table to `facts`.

    `heads`: the headings of the first two columns. `lines`: a (name, number, tokens) tuple for each row. `price`: USD
    per million tokens.
    """
    facts.gap()
    facts.figures(heads[0], "t3", (heads[1], 8, "t3"), ("tokens", 9, "t3"), ("price", 11, "t3"))
    for name, number, tokens in lines:
        cost = format_cost(None if price is None else tokens * price / 1_000_000)
        facts.figures(name, "t1", (str(number), 8, "t2"), (format_tokens(tokens), 9, "t1"), (cost, 11, "t2"))


def _draw_requests(facts: Facts, view: LedgerView) -> None:
    """Add a table of the newest requests to the model to `facts`."""
    newest = view.requests[-MAX_REQUESTS:]
    facts.gap()
    facts.figures("newest requests", "t3", ("tokens", 9, "t3"), ("cached", 11, "t3"))
    first = len(view.requests) - len(newest)
    for index, request in enumerate(newest, start=first):
        change = _describe_change(facts, view.difference(index - 1, index)) if index else "the first"
        tokens = format_tokens(request.input_tokens or request.tokens)
        role: Role = "warning" if request.cache_miss_reason else "t1"
        name = request.cache_miss_reason or change
        facts.figures(name, role, (tokens, 9, "t1"), (_cached_share(request), 11, "t2"))


def _cached_share(request: LedgerRequest) -> str:
    if request.cached_tokens is None or not request.input_tokens:
        return ""
    return format_percent(request.cached_tokens / request.input_tokens)


def _describe_change(facts: Facts, changes: Mapping[SectionName, int]) -> str:
    minus = facts.looks.symbols.minus
    largest = sorted(changes.items(), key=lambda change: -abs(change[1]))[:3]
    texts = [
        f"{SECTION_LABELS[name]} {'+' if size > 0 else minus}{format_tokens(abs(size))}"
        for name, size in largest
    ]
    return ", ".join(texts) or "the same"
