"""The header of a replay: the chip, what it does not do, and what was spent and filled by then."""

from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.meter import meter_style
from tui_agent.tui.widgets.rows import Part, doing
from tui_agent.units import format_cost, format_percent


class ReplayHeader(Header):
    """Never says a policy: nothing can happen here."""

    total_cost: float | None = None
    lacks: str = ""
    """The part of the screen that could not be drawn, the first of them."""

    def _right(self, width: int) -> list[Part]:
        palette = self.looks.palette
        parts: list[Part] = [(" REPLAY ", palette.rich("on-accent", "accent", bold=True))]
        said = "read only: no model, no tool runs" if width >= 140 else "read only" if width >= 80 else ""
        if self.lacks:
            parts += [("   ", self.style()), (f"{self.lacks} lacks something", self.style("error"))]
        elif said:
            parts += [("   ", self.style()), (said, self.style("t2"))]
        cost = "" if self.state is None else format_cost(self.state.totals.cost_usd)
        if cost and width >= 50:
            parts += [("   ", self.style()), (cost, doing(self.style(), "cost"))]
            if self.total_cost is not None and width >= 80:
                parts.append((f" of {format_cost(self.total_cost)}", self.style("t2")))
        if self.meter is not None and self.meter.window:
            number = meter_style(palette, self.meter, self.surface, bold=True)
            parts += [("  ", self.style()), (format_percent(self.meter.fraction).rjust(4), number)]
        return parts
