"""The header of a comparison: the chip, that nothing runs here, and how many branches stand below."""

from tui_agent.folds.comparison.fold import Comparison
from tui_agent.tui.panes.header import Header
from tui_agent.tui.panes.status import StatusView
from tui_agent.tui.text import clean_line
from tui_agent.tui.widgets.rows import Part


class CompareHeader(Header):
    """Names the session that is compared, and no policy: nothing can happen here."""

    compared: Comparison | None = None
    opened: str = ""
    """The title of the open session, while nothing else is known."""

    def set_comparison(self, compared: Comparison) -> None:
        """What is compared is known."""
        self.compared = compared
        self.set_status(StatusView("stopped", "compare", self.title))
        self.show()

    @property
    def title(self) -> str:
        """What both are called; two names where they are strangers."""
        if self.compared is None:
            return clean_line(self.opened) or super().title
        left, right = self.compared.left, self.compared.right
        names = dict.fromkeys(clean_line(one.title or one.session) for one in (left, right))
        return " and ".join(names)

    def _right(self, width: int) -> list[Part]:
        parts: list[Part] = [(" COMPARE ", self.looks.palette.rich("on-accent", "accent", bold=True))]
        if width >= 70:
            parts += [("   ", self.style()), ("read only", self.style("t2"))]
        if self.compared is not None and width >= 50:
            what = "branches" if self.compared.fork_point is not None else "sessions"
            parts += [("   ", self.style()), (f"2 {what}", self.style())]
        return parts
