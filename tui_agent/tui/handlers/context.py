"""L7: the context screen: bar with its limits, sections in numbers, what comes next."""

from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.folds.context_meter import SOFT, WARN, ContextMeterView
from tui_agent.tui import units
from tui_agent.tui.handlers.ledger import ledger_rows
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.panes.meter import bar, meter_role, ticks, words
from tui_agent.tui.rows import Part, part
from tui_agent.tui.text import clean_line

if TYPE_CHECKING:
    from tui_agent.tui.live import Live


_ACTIONS = (
    ("c", "compact now", "compact"),
    ("l", "put away", "compact list"),
    ("m", "map", "map"),
)


def context(live: "Live", argument: str) -> None:
    """What fills the context."""

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        view = live.views.meter.view()
        if not view.used:
            return viewer.say(width, "Empty until the first message.", "t3")
        rows = _bar(viewer, view, width) if view.window else []
        rows += _sections(viewer, view, width)
        settings = live.views.state.view().settings
        rows += [viewer.gap(width), *_next(viewer, view, width)]
        price = settings.model.input_price if settings is not None else None
        return [*rows, *ledger_rows(viewer, live.views.ledger.view(), width, price)]

    view = live.views.meter.view()
    mark = "~" if view.estimated else ""
    of = f" of {units.tokens(view.window)}{' (assumed)' if view.assumed else ''}" if view.window else ""
    viewer = Viewer(
        lambda: live.app.looks,
        "Context",
        draw,
        right=f"{mark}{units.tokens(view.used)}{of} tokens" if view.used else "",
        actions=_ACTIONS if view.used else _ACTIONS[-1:],
    )
    if view.used and view.window:
        viewer.verdict = f"   {units.percent(view.fraction)}  {words(view)}", meter_role(view)
    live.app.push_screen(viewer)


def _bar(viewer: Viewer, view: ContextMeterView, width: int) -> list[Strip]:
    looks = viewer.looks
    labels = [" "] * width
    limits = ticks(view, width)
    names = dict(zip(limits, (" warn", " soft limit", " compaction"), strict=False)) if width >= 70 else {}
    for at, share in limits.items():
        label = share + names.get(at, "")
        start = max(0, min(width - len(label), at))
        if any(cell != " " for cell in labels[max(0, start - 1) : start + len(label)]):
            continue
        labels[start : start + len(label)] = label
    return [
        viewer.line(width, list(bar(looks.palette, looks.symbols, view, width, "s3"))),
        viewer.line(width, [("".join(labels), viewer.style("t3"))]),
        viewer.gap(width),
    ]


def _sections(viewer: Viewer, view: ContextMeterView, width: int) -> list[Strip]:
    sections = list(view.sections)
    rows = [
        viewer.line(width, [("section".ljust(18) + "tokens".rjust(8) + "share".rjust(8), viewer.style("t3"))])
    ]
    longest = max(0, min(24, width - 40))
    top = max((section.tokens for section in sections), default=1) or 1
    for section, share in zip(sections, units.shares([one.tokens for one in sections]), strict=True):
        cells = round(section.tokens * longest / top)
        left: list[Part] = [
            part(clean_line(section.name)[:17].ljust(18), viewer.style()),
            (units.kilo(section.tokens).rjust(8), viewer.style()),
            (f"{share} %".rjust(8), viewer.style("t2")),
            ("   ", viewer.style()),
            (viewer.looks.symbols.meter_full * cells, viewer.style("accent")),
            (viewer.looks.symbols.meter_rest * (longest - cells), viewer.style("border")),
        ]
        rows.append(viewer.line(width, left))
    total = sum(section.tokens for section in sections)
    bold = viewer.style(bold=True)
    rows.append(
        viewer.line(
            width,
            [("total".ljust(18) + units.kilo(total).rjust(8) + ("100 %" if total else "0 %").rjust(8), bold)],
        )
    )
    return rows


def _next(viewer: Viewer, view: ContextMeterView, width: int) -> list[Strip]:
    rows: list[Strip] = []
    if view.next_tokens:
        price = units.money(view.next_cost_usd, digits=2)
        said = (
            f"about {units.about(view.next_tokens)} tokens in{', ' + price if price else ', price not known'}"
        )
        rows.append(viewer.line(width, [("Next turn  ", viewer.style(bold=True)), (said, viewer.style())]))
    if view.window:
        near, soft = (units.about(round(view.window * part)) for part in (WARN, SOFT))
        then = (
            f"at {units.about(round(view.compacts * view.window))} old turns"
            if view.compacts
            else "by /compact alone old turns"
        )
        text = f"At {near} the meter turns amber, at {soft} the soft limit is passed; {then} are summarised."
        rows += viewer.say(width, text)
    if view.assumed:
        text = "The model's window is not known; this one is assumed. context_window in its profile sets it."
        rows += viewer.say(width, text, "t3")
    for warning in view.warnings:
        rows += viewer.say(width, warning, "warning")
    if view.cache_breaks:
        times = "Once" if view.cache_breaks == 1 else f"{view.cache_breaks} times"
        why = f" Newly written the last time: {view.cache_break}." if view.cache_break else ""
        rows += viewer.say(width, f"{times} the provider could use nothing of its cache.{why}", "t3")
    if view.estimated:
        rows += viewer.say(width, "~ marks an estimate: the provider has not counted yet.", "t3")
    return rows
