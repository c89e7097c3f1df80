"""The sheet that asks the user to approve a tool call: a preview, the effects, and four answers in a fixed order.

Invariant: on a screen of any size, the user can read the whole request. The call can be allowed only after everything
relevant was visible. While rows are hidden, the answer yes shows these rows instead. Keys are ignored for the first 300
ms, and text typed into a field never counts as an answer.
"""

from collections.abc import Sequence

from textual import events

from tui_agent.protocol.commands import DecidePermission
from tui_agent.tui.actions import Scope
from tui_agent.tui.modals.approval_rows import ApprovalRows
from tui_agent.tui.modals.approval_state import ANSWERS, REACHES, Answer
from tui_agent.tui.widgets.field import Field


class Approval(ApprovalRows):
    """Sheet that asks the user to approve a tool call.

    The result is a `DecidePermission`, or None if the request was withdrawn.
    """

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
        "approval_read": "scroll_screenful",
        "say_it": "give_typed",
        "keep_rule": "give_typed",
        "to_answers": "close_field",
        "from_rule": "close_field",
        "rule_scope": "toggle_scope",
    }

    def on_mount(self) -> None:
        self.add_class("-warning")
        if self.request.rule_error and "edit_rule" not in self.disabled_actions:
            self.chosen, self.rule = "a", Field(self.request.rejected_rule)
            self.everywhere = self.request.rejected_reach == "everywhere"
            self._set_typing(on=True)

    def _set_typing(self, *, on: bool) -> None:
        self.typing = on
        self.redraw()

    def set_waiting(self, count: int) -> None:
        """Show the number of waiting requests, including the request on this sheet."""
        if count != self.waiting:
            self.waiting = count
            self.redraw()

    def key_scopes(self) -> Sequence[Scope]:
        """Return the scope of the open field, followed by the scope of all sheets. Without an open field, the scope of
        the answers comes first.
        """
        if self.typing:
            return "rule" if self.chosen == "a" else "reason", "sheet"
        return self.scope, "sheet"

    def give_chosen(self) -> None:
        self.answer(self.chosen)

    def move(self, direction: int) -> None:
        """Select the previous or next answer."""
        self.chosen = ANSWERS[(ANSWERS.index(self.chosen) + direction) % len(ANSWERS)]
        self.redraw()

    def show_whole(self, name: str) -> bool:
        """Show the full change or command, or shorten it again; return False if the action `name` is not available."""
        if name in self.disabled_actions:
            return False
        if self.hidden_rows:
            self._show_hidden_rows(self.chosen)
        else:
            self.is_expanded, self.shows_policy = not self.is_expanded, False
            self.redraw(keep=False)
        return True

    def toggle_policy(self) -> None:
        """Switch between the request and the table of what each policy allows."""
        self.shows_policy = not self.shows_policy
        self.redraw(keep=False)

    def refuse(self) -> None:
        """Answer no. If the sheet shows the policies, or a whole change or command, only leave that view."""
        if self.shows_policy:
            self.toggle_policy()
        elif self.is_expanded:
            self.is_expanded = False
            self.redraw(keep=False)
        else:
            self._decide("n")

    def give_typed(self) -> None:
        """Give the answer that belongs to the open text field."""
        if self.chosen != "n" and self.hidden_rows:
            self._show_hidden_rows(self.chosen)
        else:
            self._decide(self.chosen)

    def close_field(self) -> None:
        """Close the text field. After a rule was edited, select the previously selected answer."""
        if self.chosen == "a":
            self.chosen = self.chosen_before_edit
        self.rule, self.everywhere = None, False
        self._set_typing(on=False)

    def on_paste(self, event: events.Paste) -> None:
        # Textual also calls Sheet.on_paste, which handles the paste if a field is open.
        if self.open_field is None:
            event.stop()
            self.paste_elsewhere(events.Paste(event.text))

    def edit_rule(self) -> None:
        """Open the text field for editing the rule that "always" would save.

        If a wider rule is possible, the field contains the wider rule at first.
        """
        choice = self.choice("a")
        if self.shows_policy:
            self.toggle_policy()
        elif "edit_rule" not in self.disabled_actions:
            self.chosen_before_edit, self.chosen = self.chosen, "a"
            self.rule = Field(choice.wider_rule or choice.rule)
            self._set_typing(on=True)

    def toggle_scope(self) -> None:
        """Switch the edited rule between this project and every project."""
        self.everywhere = not self.everywhere
        self.redraw()

    def answer(self, answer: Answer) -> None:
        """Give an answer if it is available. If a part of the request is hidden, show that part first."""
        if self.shows_policy:
            self.toggle_policy()
        elif not self.choice(answer).offered:
            self.chosen = answer
            self.redraw()
        elif answer != "n" and self.hidden_rows:
            self._show_hidden_rows(answer)
        elif answer == "n" and not (self.typing and self.chosen == "n"):
            self.chosen = "n"
            self._set_typing(on=True)
        else:
            self._decide(answer)

    def _show_hidden_rows(self, answer: Answer) -> None:
        """Show the hidden rows instead of giving `answer`. The user can answer after scrolling through these rows."""
        self.chosen, self.typing = answer, False
        self._seen_enough = False
        self.is_expanded, self.shows_policy = True, False
        self.redraw(keep=False)

    def _decide(self, answer: Answer) -> None:
        if answer == "n":
            reason = self.reason.text.strip()
            self.dismiss(DecidePermission(request_id=self.request_id, decision="deny", message=reason))
            return
        rule = self.rule.text.strip() if answer == "a" and self.rule is not None else ""
        reach = "everywhere" if answer == "a" and self.everywhere else REACHES[answer]
        self.dismiss(DecidePermission(request_id=self.request_id, decision="allow", reach=reach, rule=rule))

    def run_intent(self, intent: str) -> None:
        answer = intent.removeprefix("answer ")
        if answer in ANSWERS:
            self.answer(answer)
