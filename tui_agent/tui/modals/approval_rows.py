"""The rows of an approval: the question, what scrolls, what stands below it, the answers and the keys.

Invariant: reads the approval and changes nothing of it; the answers and the way out always have their rows.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.strip import Strip

from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.modals.answers import answer_rows, answers_in_one, typed_row
from tui_agent.tui.modals.approval_plan import Effects, Plan, plan_change, plan_command
from tui_agent.tui.modals.effects import question_of
from tui_agent.tui.text import clean_line
from tui_agent.tui.widgets.rows import Part, part, wrap

if TYPE_CHECKING:
    from tui_agent.tui.modals.approval import Approval

_RISK_ROWS = 3
_LOW = 22
"""Rows of a screen from which a warning has all the rows that it may have."""
_NOTHING_RUNS = "nothing runs until you answer"
_EDITING = "Edit the rule; it is kept so"


class ApprovalRows:
    """Draws an approval."""

    def __init__(self, sheet: "Approval") -> None:
        self._sheet = sheet

    def plan(self, width: int, room: int) -> Plan:
        """What scrolls and what stands below it, in `room` rows."""
        asked = self._sheet.asked
        if self._sheet.policy_shown:
            return Plan(asked.policy(width, self._sheet.granted), (), None)
        if self._sheet.tiny:
            return self._tiny_plan(width)
        subject = [] if self._stands else self._sheet.subject
        if asked.runs is None:
            effects = asked.effects(width, roomy=not self._sheet.tight)
            rows = asked.preview(width)
            if self._sheet.expanded:
                risk = asked.risk(width) if self._risk_scrolls(width) else []
                must, change = len(subject) + min(1, len(rows)), len(subject) + len(rows)
                return Plan([*subject, *rows, *risk, *effects], (), must, change=change)
            return plan_change(subject, rows, effects, room)
        if self._sheet.expanded:
            rows = asked.preview(width)
            deeds = asked.effects(width, roomy=False, why=False)
            first = [*rows, *deeds, *(asked.risk(width) if self._risk_scrolls(width) else [])]
            return Plan([*first, *asked.effects(width, roomy=True)[:1]], (), len(first), cut=True)
        said = [
            Effects(asked.effects(width, roomy=not self._sheet.tight)),
            Effects(asked.effects(width, roomy=not self._sheet.tight, grave=True)),
            Effects(asked.effects(width, roomy=False, grave=True)),
            Effects(asked.effects(width, roomy=False, grave=True, why=False)),
        ]
        rows = asked.preview(width, edges=not self._sheet.tight)
        if len(rows) + len(said[0].rows) > room:
            rows = asked.preview(width)
        return plan_command(rows, said, lambda most: asked.few(width, most), room, self._more(width))

    def _tiny_plan(self, width: int) -> Plan:
        """What matters first, all of it in the part that scrolls."""
        asked = self._sheet.asked
        thing = asked.preview(width)
        runs = asked.runs is not None
        first = [*(asked.wrong(width) if self._sheet.typing else []), *self._sheet.subject]
        grave = [
            *asked.risk(width),
            *(asked.deeds(width, grave=True) if runs and self._sheet.request.deeds else []),
        ]
        must = len(first) + (len(thing) + len(grave) if runs else min(1, len(thing)))
        rest = (
            asked.around(width) if runs and self._sheet.request.deeds else asked.effects(width, roomy=False)
        )
        return Plan([*first, *thing, *grave, *rest], (), must)

    def _more(self, width: int) -> Callable[[int], Strip]:
        ellipsis = self._sheet.looks.symbols.ellipsis
        ground = self._sheet.style("accent", "sunk")

        def row(count: int) -> Strip:
            said = f"  {ellipsis} {counted(count, 'more line')}, D shows all"
            return self._sheet.line(width, [(said, ground)], ground="sunk")

        return row

    @property
    def _stands(self) -> bool:
        """Whether the file's name stands above what scrolls; a very long one scrolls with it."""
        return not self._sheet.tiny and len(self._sheet.subject) <= 3

    def head(self, width: int) -> list[Strip]:
        """The question, and the file that is meant."""
        symbols = self._sheet.looks.symbols
        right: list[Part] = []
        if self._sheet.waiting > 1:
            short = width < 34
            right = [
                part(
                    f"1/{self._sheet.waiting}" if short else f"1 of {self._sheet.waiting} waiting",
                    self._sheet.style("t2"),
                )
            ]
        elif self._sheet.follow and width >= 60:
            calls = counted(self._sheet.follow, f"more {self._sheet.request.verb} call")
            said = f"{calls} {'follows' if self._sheet.follow == 1 else 'follow'}"
            right = [part(clean_line(said), self._sheet.style("t2"))]
        title: list[Part] = [
            (symbols.waiting, self._sheet.style("warning", bold=True)),
            (" ", self._sheet.style()),
            (question_of(self._sheet.request), self._sheet.style(bold=True)),
        ]
        if self._sheet.who:
            title.insert(2, part(f"{self._sheet.who}: ", self._sheet.style("accent", bold=True)))
        rows = [self._sheet.line(width, title, right)]
        if self._sheet.tiny:
            return rows
        return [*rows, *self._gap(width), *(self._sheet.subject if self._stands else [])]

    def _gap(self, width: int) -> list[Strip]:
        """An empty row, where the screen has room for such."""
        return [] if self._sheet.tight else [self._sheet.line(width, [])]

    def _risk_scrolls(self, width: int) -> bool:
        """Whether the warning stands in what scrolls, whole: it is too long to stand above the answers."""
        shown = self._sheet.expanded and not self._sheet.policy_shown
        return shown and len(self._sheet.asked.risk(width)) > self._most_risk

    @property
    def _most_risk(self) -> int:
        return _RISK_ROWS if self._sheet.app.size.height >= _LOW else _RISK_ROWS - 1

    def _risk(self, width: int) -> list[Strip]:
        return [] if self._risk_scrolls(width) else self._sheet.asked.risk(width, self._most_risk)

    def rest(self, width: int) -> list[Strip]:
        """What stands below the effects: the risk, the answers, the keys."""
        if self._sheet.tiny:
            return [
                typed_row(self._sheet, width) if self._sheet.typing else answers_in_one(self._sheet, width)
            ]
        risk = self._risk(width)
        rows = [*(self._gap(width) if risk else []), *risk]
        if self._sheet.request.wrong:
            most = _RISK_ROWS if self._sheet.tight else 2 * _RISK_ROWS
            rows += [*self._gap(width), *self._sheet.asked.wrong(width, most)]
        if self._sheet.gated:
            said = "More than fits here: read it to its end first."
            rows += [
                self._sheet.line(width, [(one, self._sheet.style("warning"))]) for one in wrap(said, width)
            ]
        quiet = "" if self._sheet.typing else _NOTHING_RUNS
        if self._sheet.typing and self._sheet.chosen == "a":
            quiet = _EDITING
        last = self._sheet.keys_line(width, self._keys(), quiet)
        return [*rows, self._sheet.line(width, []), *answer_rows(self._sheet, width), *self._gap(width), last]

    def _keys(self) -> list[tuple[str, str]]:
        if self._sheet.typing and self._sheet.chosen == "a":
            return [("Enter", "allow always"), ("Esc", "back")]
        if self._sheet.typing:
            return [("Enter", "say it"), ("Esc", "back")]
        if self._sheet.policy_shown:
            return [("P", "back"), ("Esc", "back")]
        if self._sheet.gated and self._sheet.expanded:
            return [("Space", "read on"), ("D", "less"), ("Esc", "no")]
        keys = [("Enter", "choose")]
        if "whole_file" not in self._sheet.without:
            keys.append(("D", "less" if self._sheet.expanded else "whole change"))
        if "whole_command" not in self._sheet.without:
            keys.append(("D", "less" if self._sheet.expanded else "whole command"))
        if "edit_rule" not in self._sheet.without:
            keys.append(("E", "edit the rule"))
        if len(keys) == 1:
            keys.append(("P", "show the policy"))
        return [*keys, ("Esc", "no")]
