"""The header: title, model, policy, cost and context of the session.

Invariant: policy, cost and context are shown at every width; nothing here depends on what the body shows.
"""

from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.panes.meter import bar, meter_style
from tui_agent.tui.panes.policy import policy_role
from tui_agent.tui.panes.status import StatusView, mood_symbol
from tui_agent.tui.text import clean_line, fit
from tui_agent.tui.widgets.line_pane import LinePane
from tui_agent.tui.widgets.rows import Part, cells, doing, part, row
from tui_agent.units import format_cost, format_percent

if TYPE_CHECKING:
    from tui_agent.folds.context.meter import ContextMeterView
    from tui_agent.folds.session.fold import SessionStateView


class Header(LinePane):
    """One row. `state` and `meter` are None until the session is open."""

    surface = "s1"
    state: "SessionStateView | None" = None
    meter: "ContextMeterView | None" = None
    model_hint: str = ""
    policy_hint: str = "ask"
    status: StatusView = StatusView()

    def set_status(self, status: StatusView) -> None:
        """Set the status, which the two-line mode shows here."""
        if status != self.status:
            self.status = status
            if self.shape.tiny:
                self.show()

    def set_views(self, state: "SessionStateView", meter: "ContextMeterView") -> None:
        """Show these views."""
        self.state, self.meter = state, meter
        self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        shape = self.shape
        right = self._right(shape.width)
        room = width - 4 - cells(right) - 4
        symbols = self.looks.symbols
        margin = 2 if width >= 30 else 0
        if shape.tiny:
            symbol, role = mood_symbol(self.status, symbols)
            status = f"{self.status.word} {self.status.what}".strip()
            state: list[Part] = [
                (symbol, self.style(role)),
                (" ", self.style()),
                part(
                    fit(clean_line(status), max(4, width - cells(right) - 6), symbols.ellipsis),
                    self.style(bold=True),
                ),
            ]
            return [row(width, state, right, fill=self.style(), margin=0)]
        left: list[Part] = [
            (" " * margin, self.style()),
            (symbols.bar, self.style("accent")),
            (" ", self.style()),
        ]
        if shape.width >= 100:
            agent = self.state.settings.agent if self.state and self.state.settings else "default"
            left += [
                ("tui-agent", self.style(bold=True)),
                ("  ", self.style()),
                part(f"agent {agent}", doing(self.style("t3"), "agent")),
                ("   ", self.style()),
            ]
        title = fit(self.title, max(0, room - cells(left) + 4), symbols.ellipsis)
        left.append((title, self.style(bold=shape.width < 100)))
        return [row(width, left, right, fill=self.style(), margin=margin)]

    @property
    def title(self) -> str:
        """The session's name in one line."""
        return clean_line(self.state.title) if self.state and self.state.title else "new session"

    def _right(self, width: int) -> list[Part]:
        gap: Part = ("   " if width >= 70 else "  " if width >= 30 else " ", self.style())
        pieces: list[list[Part]] = []
        if width >= 70:
            pieces.append(self._model(width))
        jobs = self._jobs(width)
        if jobs:
            pieces.append([part(jobs, doing(self.style("accent"), "jobs"))])
        subtasks = len(self.state.delegates) if self.state is not None and width >= 70 else 0
        if subtasks:
            pieces.append([part(format_count(subtasks, "subtask"), doing(self.style("accent"), "trace"))])
        pieces.append([self._policy(), *self._sandbox(width)])
        cost = self._cost()
        if cost and width >= 30 and not self.shape.tiny:
            pieces.append([part(cost, doing(self.style(), "cost"))])
        if self.meter is not None and self.meter.window:
            pieces.append(self._meter(width))
        joined: list[Part] = []
        for piece in pieces:
            joined += [gap, *piece] if joined else piece
        return joined

    def _model(self, width: int) -> list[Part]:
        style = doing(self.style("t2"), "model")
        if self.state is None or self.state.settings is None:
            return [part(self.model_hint or "opening", style)]
        model = self.state.settings.model
        name = fit(clean_line(model.model or "no model"), max(8, width // 4), "…")
        effort = model.effort or ""
        shown = [part(name, style)]
        if effort and effort != "none" and width >= 100:
            shown.append(part(f" {effort}", doing(self.style("t3"), "reasoning")))
        return shown

    def _jobs(self, width: int) -> str:
        """Return the number of background jobs, in words."""
        count = len(self.state.jobs) if self.state is not None and width >= 30 and not self.shape.tiny else 0
        return format_count(count, "job") if count else ""

    def _policy(self) -> Part:
        name = self.state.settings.policy if self.state and self.state.settings else self.policy_hint
        return part(name, doing(self.style(policy_role(name)), "policy"))

    def _sandbox(self, width: int) -> list[Part]:
        """Return `sandbox` or `no sandbox`, with emphasis if the policy relies on it."""
        state = self.state
        if state is None or width < 70:
            return []
        if state.sandbox:
            return [part(" sandbox", doing(self.style("t3"), "policy"))]
        if not state.no_sandbox_reason:
            return []
        relies = state.settings is not None and state.settings.policy in ("accept-edits", "bypass")
        return [part(" no sandbox", doing(self.style("warning" if relies else "t3"), "policy"))]

    def _cost(self) -> str:
        return "" if self.state is None else format_cost(self.state.totals.cost_usd)

    def _meter(self, width: int) -> list[Part]:
        meter, palette = self.meter, self.looks.palette
        assert meter is not None
        number = doing(meter_style(palette, meter, self.surface, bold=True), "context")
        if width < 70:
            return [(f"ctx {format_percent(meter.fraction)}", number)]
        shown = bar(palette, self.looks.symbols, meter, 10 if width >= 100 else 6, self.surface)
        return [*shown, (" ", self.style()), (format_percent(meter.fraction).rjust(4), number)]
