"""The sheet that asks the user to approve a tool call: a preview, the effects, and four answers in a fixed order.

Invariant: the user can allow the call only after everything relevant was visible.
"""

from collections.abc import Sequence

from tui_agent.protocol.commands import DecidePermission
from tui_agent.tui.keys_and_commands import Scope
from tui_agent.tui.modals.approval_rows import ApprovalRows
from tui_agent.tui.modals.approval_state import ANSWERS, REACHES, Answer
from tui_agent.tui.widgets.field import Field


class Approval(ApprovalRows):
    """Sheet that asks the user to approve a tool call.

    The result is a `DecidePermission`, or None if the request was withdrawn.
    """

    def on_mount(self) -> None:
        self.add_class("-warning")
        # The engine rejected the edited rule and asks again: show the same rule in the open field.
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
        """Return the scopes of the keys that work now: first the scope of the open text field or of this sheet, then
        `sheet`.
        """
        if self.typing:
            return "rule" if self.chosen == "a" else "reason", "sheet"
        return self.scope, "sheet"

    def give_chosen(self) -> None:
        """Give the selected answer; if no answer is selected, send the message in the prompt.

        While the prompt has a message, an answer must be picked first: the user may want to send the message.
        """
        if self.chosen is None:
            self.send_message()
        elif self.message and not (self.is_picked or self.typing):
            self._pick(self.chosen)
        else:
            self.answer(self.chosen)

    def move(self, direction: int) -> None:
        """Select the previous or next answer."""
        start = ANSWERS.index(self.chosen) if self.chosen is not None else -1 if direction > 0 else 0
        self._pick(ANSWERS[(start + direction) % len(ANSWERS)])

    def _pick(self, answer: Answer) -> None:
        self.chosen, self.is_writing, self.is_picked = answer, False, True
        self.redraw()

    def begin_writing(self) -> None:
        if not self.typing:  # else the keys go to the open field
            super().begin_writing()

    def deselect(self) -> None:
        self.chosen, self.shows_policy = None, False

    def select_default(self) -> None:
        self.chosen = self.default_answer

    def show_whole(self, name: str) -> bool:
        """Show the full change or command, or shorten it again; return False if the action is not available."""
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
        """Answer no; if the policies or the full request are shown, return to the short request instead."""
        if self.shows_policy:
            self.toggle_policy()
        elif self.is_expanded:
            self.is_expanded = False
            self.redraw(keep=False)
        else:
            self._decide("n")

    def give_typed(self) -> None:
        """Give the answer of the open text field."""
        answer = self.typed_answer
        if answer != "n" and self.hidden_rows:
            self._show_hidden_rows(answer)
        else:
            self._decide(answer)

    def close_field(self) -> None:
        """Close the text field, and select the previous answer."""
        if self.chosen == "a":
            self.chosen = self.chosen_before_edit
        elif self.reason.text == self.reason_from_prompt:
            self.reason, self.reason_from_prompt = Field(), ""
        self.rule, self.everywhere = None, False
        self._set_typing(on=False)

    def edit_rule(self) -> None:
        """Let the user edit the rule for the answer "always".

        If the request offers a second, wider rule, the text field starts with the wider one.
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

    def press(self, answer: Answer) -> None:
        """Select the answer whose letter was pressed. If the answer is already selected, give the answer.

        The answer `y` (allow only this call) needs only one press, unless the user seems to be typing.
        """
        is_confirmed = self.chosen == answer and self.is_picked
        is_direct = answer == "y" and self.is_alone and not self.message
        # The first press only shows what is hidden now. The next one can then give the answer.
        if self.shows_policy or self.hidden_rows:
            self.is_picked = not self.shows_policy
            self.answer(answer)
            return
        self._pick(answer)
        if self.choice(answer).offered and (is_confirmed or is_direct):
            self.give_unless_typing(lambda: self.answer(answer))
        elif is_confirmed:
            self._letters.clear()  # both presses were answers, so the next letter does not make a text of them

    def press_edit(self) -> None:
        """Open the text field for the rule, if the user is not typing a message."""
        self.give_unless_typing(self.edit_rule)

    def answer(self, answer: Answer) -> None:
        """Give an answer if it is available.

        If rows are hidden, show them before allowing anything. The answer `n` first opens a text field for the
        reason.
        """
        if self.shows_policy:
            self.toggle_policy()
        elif not self.choice(answer).offered:
            self.chosen = answer
            self.redraw()
        elif answer != "n" and self.hidden_rows:
            self._show_hidden_rows(answer)
        elif answer == "n" and not (self.typing and self.chosen == "n"):
            self.chosen = "n"
            if self.covered_prompt is not None and not self.reason.text:
                self.reason_from_prompt = self.covered_prompt.plain_message
                self.reason = Field(self.reason_from_prompt)
            self._set_typing(on=True)
        else:
            self._decide(answer)

    def _show_hidden_rows(self, answer: Answer | None) -> None:
        """Show the hidden rows instead of giving `answer`."""
        self.chosen, self.typing = answer, False
        self._seen_enough = False
        self.is_expanded, self.shows_policy = True, False
        self.redraw(keep=False)

    def _decide(self, answer: Answer) -> None:
        if answer == "n":
            reason = self.reason.text.strip()
            if reason and self.reason_from_prompt and self.covered_prompt is not None:
                self.covered_prompt.clear()  # The message is sent as the reason.
            self.dismiss(DecidePermission(request_id=self.request_id, decision="deny", message=reason))
            return
        rule = self.rule.text.strip() if answer == "a" and self.rule is not None else ""
        reach = "everywhere" if answer == "a" and self.everywhere else REACHES[answer]
        self.dismiss(DecidePermission(request_id=self.request_id, decision="allow", reach=reach, rule=rule))

    def run_intent(self, intent: str) -> None:
        answer = intent.removeprefix("answer ")
        if answer in ANSWERS:
            self.answer(answer)
