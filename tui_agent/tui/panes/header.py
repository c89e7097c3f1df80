"""The header: folder, git branch, title, model, policy, cost and context of the session.

Invariant: policy, cost and context are shown at every width.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Final

from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.panes.context_bar import bar, meter_style
from tui_agent.tui.panes.policy import policy_role
from tui_agent.tui.panes.status_line import StatusView, mood_symbol
from tui_agent.tui.untrusted_text import clean_line, fit, shorten_home
from tui_agent.tui.untrusted_text import width as cell_width
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import Part, cells, with_intent
from tui_agent.units import format_cost, format_percent

if TYPE_CHECKING:  # the views are loaded after the first paint
    from tui_agent.folds.context.meter import ContextMeterView
    from tui_agent.folds.session.state_view import SessionStateView


MIN_TITLE_WIDTH: Final = 12
"""Width reserved for the title, in cells. Screens of at least 100 columns reserve twice as much."""
MIN_PART_WIDTH: Final = 6
"""Minimum width, in cells, of a shortened title or branch."""


class Header(LinePane):
    """The header row of the main screen. `state` and `meter` are None until the session is open."""

    surface = "s1"
    state: "SessionStateView | None" = None
    meter: "ContextMeterView | None" = None
    model_hint: str = ""
    policy_hint: str = ""
    """The policy to show until the session is open. If this text is empty, the policy in `state` is shown."""
    title_hint: str = "new session"
    """The title to show until the session is open."""
    branch: str = ""
    """The git branch of the session's folder; empty outside a repository."""
    status: StatusView = StatusView()

    def set_status(self, status: StatusView) -> None:
        """Set the session's status. The header shows the status on a very low screen, which has no status line."""
        if status != self.status:
            before, self.status = self.status, status
            # The model's name also depends on the word `opening`.
            if self.shape.tiny or "opening" in (before.word, status.word):
                self.show()

    def set_views(self, state: "SessionStateView", meter: "ContextMeterView") -> None:
        """Show the title, model, policy and cost in `state`, and the context's size in `meter`."""
        self.state, self.meter, self.policy_hint = state, meter, ""
        self.show()

    def set_policy_hint(self, policy: str) -> None:
        """Set the policy to show until the session is open."""
        self.policy_hint = policy
        self.show()

    def set_branch(self, branch: str) -> None:
        """Show the git branch of the session's folder."""
        if branch != self.branch:
            self.branch = branch
            self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        shape, symbols = self.shape, self.looks.symbols
        right = self._right(shape.width)
        room = width - cells(right)
        if shape.tiny:
            pen = self.pen._replace(margin=0)
            symbol, role = mood_symbol(self.status, symbols)
            status = clean_line(f"{self.status.word} {self.status.detail}".strip())
            text = pen.part(fit(status, max(4, room - 6), symbols.ellipsis), bold=True)
            return [pen.line(width, [pen.part(f"{symbol} ", role), text], right)]
        pen = self.pen._replace(margin=2 if width >= 30 else 0)
        return [pen.line(width, self.left_parts(room - 2), right)]

    def left_parts(self, room: int) -> list[Part]:
        """Return the header's left side in at most `room` cells: agent, folder, branch and title."""
        shape, pen = self.shape, self.pen._replace(margin=2 if self.shape.width >= 30 else 0)
        left = [pen.part(" " * pen.margin), pen.part(f"{self.looks.symbols.bar} ", "accent")]
        agent = self.state.settings.agent if self.state and self.state.settings else "default"
        if shape.width >= 100 and agent != "default":
            left += [pen.part(f"agent {clean_line(agent)}", "t3", intent="agent"), pen.part("  ")]
        room -= cells(left) + 2
        title_room = min(cell_width(self.title), MIN_TITLE_WIDTH * (2 if shape.width >= 100 else 1))
        place = self._location(room, title_room)
        title = fit(self.title, max(0, room - cells(place)), self.looks.symbols.ellipsis)
        # A title of only a few letters says less than none.
        is_legible = title == self.title or cell_width(title) >= MIN_PART_WIDTH
        return [*left, *place, pen.part(title if is_legible else "", bold=True)]

    def _location(self, room: int, title_room: int) -> list[Part]:
        """Return the folder, the git branch and, for a fork, the word `fork`, in at most `room` cells.

        If space is short, parts are shortened or left out. `title_room`: number of cells to keep free for the title.
        """
        # A fork has the title of its parent, so its folder and branch matter more than the title.
        pen, state = self.pen, self.state
        if state is None or not state.workspace:
            return []
        folder = clean_line(shorten_home(Path(state.workspace)))
        name = folder.rpartition("/")[2] or folder
        branch = f" ({clean_line(self.branch)})" if self.branch else ""
        options = [(folder, branch, title_room), (name, branch, title_room)]
        if state.is_fork and self.shape.width < 100:
            branch_room = room - cell_width(name) - len(" () fork  ")
            options.append((name, branch, 0))
            if branch and branch_room >= MIN_PART_WIDTH:
                options.append((name, f" ({fit(self.branch, branch_room, self.looks.symbols.ellipsis)})", 0))
        # From the longest form to the shortest; the first one that fits is shown.
        for place, git, reserve in (*options, (name, "", title_room), ("", "", title_room)):
            parts = [pen.part(place, "t2"), pen.part(git, "t3")] if place else []
            if state.is_fork:
                parts.append(pen.part(" fork" if place else "fork", "accent", intent="tree"))
            if not parts or cells(parts) + 2 <= room - reserve:
                return [*parts, pen.part("  ")] if parts else []
        return []

    @property
    def title(self) -> str:
        if self.state is None:
            return self.title_hint
        return clean_line(self.state.title) or "new session"

    def _right(self, width: int) -> list[Part]:
        pen, state = self.pen, self.state
        gap = pen.part("   " if width >= 70 else "  " if width >= 30 else " ")
        groups: list[list[Part]] = [self._model(width)] if width >= 70 else []
        has_room = width >= 30 and not self.shape.tiny
        if state is not None and state.jobs and has_room:
            groups.append([pen.part(format_count(len(state.jobs), "job"), "accent", intent="jobs")])
        if state is not None and state.delegates and width >= 70:
            subtasks = format_count(len(state.delegates), "subtask")
            groups.append([pen.part(subtasks, "accent", intent="trace")])
        policy = self.policy_hint or (state.settings.policy if state and state.settings else "")
        if policy:
            groups.append([pen.part(policy, policy_role(policy), intent="policy"), *self._sandbox(width)])
        cost = "" if state is None else format_cost(state.cost_usd, state.cost_precision, short=True)
        if cost and has_room:
            groups.append([pen.part(cost, intent="cost")])
        if self.meter is not None and self.meter.window:
            groups.append(self._meter(self.meter, width))
        return [part for group in groups for part in (gap, *group)][1:]  # no gap before the first group

    def _model(self, width: int) -> list[Part]:
        pen = self.pen
        if self.state is None or self.state.settings is None:
            return [pen.part(self.model_hint or "opening", "t2", intent="model")]
        model = self.state.settings.model
        missing = "opening" if self.status.word == "opening" else "no model"
        name = fit(clean_line(model.model or missing), max(8, width // 4), "…")
        parts = [pen.part(name, "t2", intent="model")]
        if model.effort and model.effort != "none" and width >= 100:
            parts.append(pen.part(f" {model.effort}", "t3", intent="model reasoning"))
        return parts

    def _sandbox(self, width: int) -> list[Part]:
        """Return `sandbox`, `no sandbox` or the environment's name.

        The result is empty on a narrow screen and for an external agent.
        """
        state = self.state
        if state is None or width < 70 or (state.settings is not None and state.settings.program):
            return []
        if state.sandbox:
            return [self.pen.part(" sandbox", "t3", intent="policy")]
        if not state.no_sandbox_reason:
            return []
        # With these policies, commands may run without a question, so a missing sandbox is a warning.
        relies = state.settings is not None and state.settings.policy in ("accept-edits", "bypass")
        words = f"in {clean_line(state.environment)}" if state.environment_details else "no sandbox"
        return [self.pen.part(f" {words}", "warning" if relies else "t3", intent="policy")]

    def _meter(self, meter: "ContextMeterView", width: int) -> list[Part]:
        number = with_intent(meter_style(self.looks.palette, meter, self.surface, bold=True), "context")
        percent = format_percent(meter.fraction)
        if width < 70:
            return [(f"ctx {percent}", number)]
        shown = bar(self.looks.palette, self.looks.symbols, meter, 10 if width >= 100 else 6, self.surface)
        return [*shown, (f" {percent.rjust(4)}", number)]
