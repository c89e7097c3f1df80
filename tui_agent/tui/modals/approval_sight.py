"""What of the thing that an approval asks about was in sight so far.

Invariant: rows count only once they stood on the screen; what was seen of a change holds while it has as many rows.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui_agent.tui.modals.approval import Approval


class Sight:
    """Of one approval, at every size that its screen has."""

    def __init__(self, sheet: "Approval") -> None:
        self._sheet = sheet
        self.enough = False
        """Whether all was in sight that must be before it may be allowed."""
        self._whole = False
        self._change = (0, 0)

    @property
    def unseen(self) -> int:
        """Rows of the command that are left out here and were not in sight yet: it is not allowed without them."""
        return 0 if self._whole or self._sheet.gated else self._sheet.plan.unseen

    @property
    def below(self) -> int:
        """Rows of a change that were not in sight yet: it may be allowed without them, but it says so."""
        return max(0, self._sheet.plan.change - self._change[1])

    def look(self, rows: int) -> bool:
        """The first so many rows of the body were in sight; True where the sheet has something else to say now."""
        plan, below = self._sheet.plan, self.below
        if plan.change:
            of, seen = self._change
            self._change = plan.change, max(rows, seen if of == plan.change else 0)
            if self.below != below:
                return True
        if not self.enough and plan.must is not None and rows >= plan.must and self._sheet.asked.whole:
            self.enough = True
            self._whole = self._whole or not plan.unseen
            return self._sheet.gated
        return False

    def again(self) -> None:
        """What was left out is shown now: it has to be in sight first."""
        self.enough = False
