"""The approval: what exactly would happen, its effects, and four answers in their fixed order.

Invariant: the thing asked about can be read whole, and it cannot be allowed before what matters of it was in sight, be
the screen as small as it may: where a part of it is left out, the first yes shows that; the answers never leave the screen; keys are ignored for the first 300 ms; text typed
into a field never answers; what is not offered stays in sight and says why.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.strip import Strip

from tui_agent.protocol.commands import DecidePermission
from tui_agent.protocol.display import DiffBlock
from tui_agent.protocol.events.policy import PermissionChoice, PermissionRequested, Reach
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Scope
from tui_agent.tui.modals.approval_body import ApprovalBody
from tui_agent.tui.modals.approval_rows import ANSWERS, Answer, ApprovalSheet, Plan
from tui_agent.tui.modals.block_rows import ReadLong
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.field import Field

_ACTIONS: dict[str, Answer] = {"yes": "y", "yes_session": "s", "always": "a", "edit_rule": "a"}
_OPENS_FILES = "sandbox "
"""How a rule begins that opens files with secrets to commands: of exactly those that one wanted."""
_REACH: dict[Answer, Reach] = {"y": "once", "s": "session", "a": "always"}


class Sight:
    """Of one approval, at every size that its screen has."""

    def __init__(self, sheet: "ApprovalFrame") -> None:
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


class ApprovalFrame(ApprovalSheet):
    """The question and its answers, as they are drawn."""

    deaf: ClassVar[bool] = True
    scope: ClassVar[Scope] = "approval"

    def __init__(
        self,
        looks: Callable[[], Looks],
        request: PermissionRequested,
        *,
        policy: str,
        workspace: str,
        waiting: int,
        blob: ReadLong,
        granted: Sequence[str] = (),
    ) -> None:
        super().__init__(looks)
        self.request = request
        self.request_id: RequestId = request.request_id
        """Which request it answers."""
        self.policy = policy
        self.workspace = workspace
        self.waiting = waiting
        self.who = ""
        """The delegate that asks, where it is not the main agent."""
        self.chosen: Answer = "n" if request.default_no else "y"
        self.follow = 0
        """How many calls of the same tool are asked about after this one."""
        self.word = Field()
        self.rule: Field | None = None
        self.typing = False
        self.keys_changed: Callable[[], None] = lambda: None
        """Called when other keys may apply: while a word is typed, after it, at another size."""
        self.spare: Callable[[events.Paste], object] = lambda event: None
        """Takes what is pasted while no field is open."""
        self.expanded = False
        self.policy_shown = False
        self.granted = granted
        self.sight = Sight(self)
        self.gated = False
        """Whether it may not be allowed yet: what must be seen of it was not all in sight."""
        self.fits = False
        """Whether all that can scroll is in sight."""
        self.plan = Plan((), (), None)
        self.subject: list[Strip] = []
        self.asked = ApprovalBody(self, request, policy, workspace, blob)

    def on_mount(self) -> None:
        self.add_class("-warning")
        if self.request.rule_error and "edit_rule" not in self.without:
            self.chosen, self.rule = "a", Field(self.request.rejected_rule)
            self._set_typing(on=True)

    def _set_typing(self, *, on: bool) -> None:
        self.typing = on
        self.redraw()

    def set_waiting(self, count: int) -> None:
        """How many requests wait, this one included."""
        if count != self.waiting:
            self.waiting = count
            self.redraw()

    # -- drawing ---------------------------------------------------------------------------------------------------

    @property
    def tight(self) -> bool:
        return self.app.size.height < 30

    def prepare(self, width: int) -> None:
        self.subject = self.asked.subject(width)
        self.gated = False
        room = self._planned_whole(width)
        must = self.plan.must
        if self.sight.enough or (must is not None and must <= room and self.asked.whole):
            return
        self.gated = True
        self._planned_whole(width)

    def _planned_whole(self, width: int) -> int:
        """Plan the rows; how many of the body can be in sight."""
        self.plan = Plan((), (), None)  # what is asked for to know the room knows of no plan yet
        room = max(1, self.most_rows - len(self.head(width)) - len(self.rest_rows(width)))
        self.plan = self.plan_rows(width, room)
        left = room - len(self.plan.effects)
        self.fits = len(self.plan.body) <= left
        return left

    def looked_at(self, rows: int) -> None:
        if self.sight.look(rows):
            self.redraw()
        else:
            self.keys_changed()  # they follow what is in sight, and thus the size too

    def body(self, width: int) -> list[Strip]:
        if len(self.plan.body) > 0 and self.plan.body[0].cell_length != width:
            self.plan = self.plan_rows(
                width, self.most_rows - len(self.head(width)) - len(self.rest_rows(width))
            )
        return list(self.plan.body)

    def foot(self, width: int) -> list[Strip]:
        return [*self.plan.effects, *self.rest_rows(width)]

    @property
    def without(self) -> frozenset[str]:
        """The registry's names of keys that do nothing here."""
        names = {name for name, answer in _ACTIONS.items() if not self.choice(answer).offered}
        if self.asked.runs is not None or not any(isinstance(one, DiffBlock) for one in self.request.preview):
            names.add("whole_file")
        if self.tiny or (self.fits and not self.expanded):
            names.add("whole_file")  # it is whole already
        if self.asked.runs is None or self.tiny or not self.plan.cut:
            names.add("whole_command")
        rule = next((one.rule for one in self.request.choices if one.reach == "always"), "")
        if clean_line(rule, reveal=True) != rule or rule.startswith(_OPENS_FILES):
            names.add("edit_rule")  # a field could not show it as it is, or it can be kept in no other form
        return frozenset(names)

    def field_of(self, answer: Answer) -> Field | None:
        if not self.typing or answer != self.chosen:
            return None
        return self.word if answer == "n" else self.rule if answer == "a" else None

    def choice(self, answer: Answer) -> PermissionChoice:
        if answer == "n":
            told = (
                "the agent reads your words and goes on"
                if self.app.size.width >= 72
                else "tell the agent why"
            )
            said = self.word.text or told
            return PermissionChoice(reach="once", rule=said)
        reach = _REACH[answer]
        if answer == "y" and self.sight.unseen:
            rows = "the row" if self.sight.unseen == 1 else f"the {self.sight.unseen} rows"
            return PermissionChoice(reach=reach, rule=f"first shows {rows} left out above")
        if answer == "y" and self.sight.below and not self.gated:
            return PermissionChoice(reach=reach, rule=f"{format_count(self.sight.below, 'row')} not seen yet")
        if self.gated:
            whole = self.key_map.key_of("whole_file" if self.asked.runs is None else "whole_command")
            why = "to its end first" if self.expanded else f"{whole} first, to its end"
            return PermissionChoice(reach=reach, rule="", offered=False, unavailable_reason=why)
        found = next((one for one in self.request.choices if one.reach == reach), None)
        if found is None:
            offered = answer == "y"
            return PermissionChoice(
                reach=reach, rule="", offered=offered, unavailable_reason="not offered here"
            )
        if answer == "y" and self.follow and not found.rule:
            return found.model_copy(update={"rule": "this one alone; the others are asked"})
        if answer == "a" and self.rule is not None:
            return found.model_copy(update={"rule": self.rule.text})
        return found


class Approval(ApprovalFrame):
    """Gives a `DecidePermission`, or None when the request went away."""

    key_methods = {
        "yes": ("answer", "y"),
        "yes_session": ("answer", "s"),
        "always": ("answer", "a"),
        "no": ("answer", "n"),
        "approval_give": "give_chosen",
        "approval_choose": "move",
        "whole_file": ("show_whole", "whole_file"),
        "whole_command": ("show_whole", "whole_command"),
        "edit_rule": "edit_rule",
        "show_policy": "toggle_policy",
        "refuse": "refuse",
        "approval_scroll": "scroll_rows",
        "approval_read": "read_on",
        "say_it": "give_typed",
        "keep_rule": "give_typed",
        "to_answers": "leave_field",
        "from_rule": "leave_field",
    }

    # -- answering -------------------------------------------------------------------------------------------------

    def key_scopes(self) -> Sequence[Scope]:
        """Return the scope of the field that is open, else that of the answers, and that of all sheets."""
        if self.typing:
            return "rule" if self.chosen == "a" else "reason", "sheet"
        return self.scope, "sheet"

    def type_key(self, key: str, character: str | None) -> bool:
        field = self.field_of(self.chosen)
        taken = field is not None and field.key(key, character)
        if taken:
            self.redraw()
        return taken

    def give_chosen(self) -> None:
        """Give the chosen answer."""
        self.answer(self.chosen)

    def move(self, direction: int) -> None:
        """Choose the answer above or below."""
        self.chosen = ANSWERS[(ANSWERS.index(self.chosen) + direction) % len(ANSWERS)]
        self.redraw()

    def show_whole(self, name: str) -> bool:
        """Show all of the change or the command, or less of it again."""
        if name in self.without:
            return False
        if self.sight.unseen:
            self._show_rest(self.chosen)
        else:
            self.expanded, self.policy_shown = not self.expanded, False
            self.redraw(keep=False)
        return True

    def read_on(self) -> None:
        """Move on by a page."""
        self.scroll_rows(self._body.size.height)

    def toggle_policy(self) -> None:
        """Show what the policies let happen, or the question again."""
        self.policy_shown = not self.policy_shown
        self.redraw(keep=False)

    def refuse(self) -> None:
        """Say no; from the policies, go back to the question."""
        if self.policy_shown:
            self.toggle_policy()
        else:
            self._decide("n")

    def give_typed(self) -> None:
        """Give the answer with the words, or the rule, that are typed."""
        if self.chosen != "n" and self.sight.unseen:
            self._show_rest(self.chosen)
        else:
            self._decide(self.chosen)

    def leave_field(self) -> None:
        """Go back to the answers."""
        self.rule = None
        self._set_typing(on=False)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        field = self.field_of(self.chosen)
        if field is not None:
            field.insert(event.text)
            self.redraw()
        else:
            self.spare(events.Paste(event.text))

    def edit_rule(self) -> None:
        """Open the rule that `always` would keep in its field."""
        choice = self.choice("a")
        if "edit_rule" not in self.without:
            self.chosen = "a"
            self.rule = self.rule or Field(choice.rule)
            self._set_typing(on=True)

    def answer(self, answer: Answer) -> None:
        """Give an answer, where it is offered; what was left out comes into sight first."""
        if not self.choice(answer).offered:
            self.chosen = answer
            self.redraw()
            return
        if answer != "n" and self.sight.unseen:
            self._show_rest(answer)
            return
        if answer == "n" and not (self.typing and self.chosen == "n"):
            self.chosen = "n"
            self._set_typing(on=True)
            return
        self._decide(answer)

    def _show_rest(self, answer: Answer) -> None:
        """What was left out, in place of the answer: it counts once that was in sight."""
        self.chosen, self.typing = answer, False
        self.sight.again()
        self.expanded, self.policy_shown = True, False
        self.redraw(keep=False)

    def _decide(self, answer: Answer) -> None:
        if answer == "n":
            decision = DecidePermission(
                request_id=self.request_id, decision="deny", message=self.word.text.strip()
            )
        else:
            rule = self.rule.text.strip() if answer == "a" and self.rule is not None else ""
            decision = DecidePermission(
                request_id=self.request_id, decision="allow", reach=_REACH[answer], rule=rule
            )
        self.dismiss(decision)

    def clicked(self, wish: str) -> None:
        answer = wish.removeprefix("answer ")
        if answer in ANSWERS:
            self.answer(answer)
