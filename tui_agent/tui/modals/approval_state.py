"""The state of the approval sheet: the selected answer, what each answer allows, and which rows were visible so far.

Invariant: nothing can be allowed before everything relevant was visible.
"""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from textual.strip import Strip

from tui_agent.folds.text.labels import always_label
from tui_agent.protocol.commands import DecidePermission
from tui_agent.protocol.display_blocks import DiffBlock
from tui_agent.protocol.events.policy import OPENS_FILES, PermissionChoice, PermissionRequested, Reach
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.modals.approval_body import ApprovalBody
from tui_agent.tui.modals.preview_rows import ReadLong
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.sheet import Sheet

Answer: TypeAlias = Literal["y", "s", "a", "n"]
ANSWERS: Final[tuple[Answer, ...]] = ("y", "s", "a", "n")
REACHES: Final[dict[Answer, Reach]] = {"y": "once", "s": "session", "a": "always"}


class AnswerWords(NamedTuple):
    """An answer's action, its usual label, and a short label for very small screens."""

    action: str
    label: str
    short: str


WORDS: Final[dict[Answer, AnswerWords]] = {
    "y": AnswerWords("yes", "Yes, this once", "once"),
    "s": AnswerWords("yes_session", "Yes, this session", "session"),
    "a": AnswerWords("always", "Always, this project", "always"),
    "n": AnswerWords("no", "No, and say why", "no"),
}


class Plan(NamedTuple):
    """The planned rows of the approval sheet: `body` scrolls, and `effects` are fixed below the body."""

    body: Sequence[Strip] = ()
    effects: Sequence[Strip] = ()
    must: int | None = None
    """Number of rows that the user must see before allowing the request. None if `body` is incomplete."""
    is_cut: bool = False
    """True if some rows of the command or its effects are hidden."""
    hidden: int = 0
    """Number of hidden rows of the command."""
    change: int = 0
    """Number of rows at the beginning of the body that show a file's change."""


class ApprovalState(Sheet[DecidePermission | None]):
    """The state and the answers of the approval sheet, without its drawing."""

    has_grace_period = True
    old_message_gets_keys = False
    scope = "approval"
    give_action = "approval_give"
    answer_actions = frozenset({"yes", "yes_session", "always", "edit_rule"})
    tight_below = 36

    def __init__(
        self,
        request: PermissionRequested,
        *,
        policy: str,
        workspace: str,
        waiting: int,
        read: ReadLong,
        granted_rules: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.request = request
        self.request_id = request.request_id
        self.content = ApprovalBody(self, request, policy, workspace, read)
        self.waiting = waiting
        """Number of waiting requests, including the request on this sheet."""
        self.granted_rules = granted_rules
        self.asking_agent = ""
        """The name of the delegate whose tool call needs the approval; empty for the main agent."""
        self.following_calls = 0
        """Number of later calls of the same tool that will also need approval."""
        self.default_answer: Answer = "n" if request.default_no else "y"
        self.chosen: Answer | None = self.default_answer
        """The selected answer; None while the user writes a message."""
        self.chosen_before_edit: Answer | None = self.chosen
        """The selected answer before the rule was edited."""
        self.reason = Field()
        self.reason_from_prompt = ""
        """The prompt's message that became the reason for the answer no; empty if there was none."""
        self.rule: Field | None = None
        """The field with the rule of the answer "always" while the user edits the rule; otherwise None."""
        self.everywhere = False
        """True if the edited rule will apply in every project."""
        self.typing = False
        """True while the text field of the chosen answer is open."""
        self.is_expanded = False
        """True if the whole change or command is shown."""
        self.shows_policy = False
        self.plan = Plan()
        self.file_rows: list[Strip] = []
        self.is_gated = False
        """True while the user has not seen all risky parts, so the call cannot be allowed."""
        self.is_dense = False
        """True if the sheet leaves out most empty rows."""
        self.fits = False
        """True if the whole request is visible without scrolling."""
        self._seen_enough = False
        """True if the user has seen the first `Plan.must` rows of the body."""
        self._seen_command = False
        """True if the user has seen the command with no rows hidden."""
        self._change_rows = self._seen_rows = 0
        """Number of rows of a file's change in the current drawing, and how many of the first ones were visible."""

    @property
    def tiny(self) -> bool:
        """True if there is room only for the request and one row of answers."""
        return self.app.size.height < 16

    @property
    def hidden_rows(self) -> int:
        """Number of rows of the command that the user has not seen. The command can be allowed only if this is 0."""
        return 0 if self._seen_command or self.is_gated else self.plan.hidden

    @property
    def unseen_rows(self) -> int:
        """Number of rows of a file's change that were not visible yet."""
        return max(0, self.plan.change - self._seen_rows)

    @property
    def whole_action(self) -> str:
        """The name of the action that shows the full change or command."""
        return "whole_file" if self.content.runs is None else "whole_command"

    @property
    def has_selection(self) -> bool:
        return self.chosen is not None

    @property
    def typed_answer(self) -> Answer:
        """The answer for which the user types a text."""
        return "a" if self.chosen == "a" else "n"

    @property
    def open_field(self) -> Field | None:
        return self.field_of(self.chosen)

    def label_of(self, answer: Answer) -> str:
        """Return the label of an answer."""
        return (
            always_label(self.request, everywhere=self.everywhere) if answer == "a" else WORDS[answer].label
        )

    def field_of(self, answer: Answer | None) -> Field | None:
        """Return the open text field of an answer; None if the answer has no open field."""
        if not self.typing or answer != self.chosen:
            return None
        return self.reason if answer == "n" else self.rule if answer == "a" else None

    def see(self, rows: int) -> bool:
        """Record that the first `rows` rows of the body were visible. Return True if the sheet must be redrawn."""
        plan, unseen = self.plan, self.unseen_rows
        if plan.change:
            # In another drawing, e.g. after a resize, rows have other contents, so count the seen rows again.
            self._seen_rows = max(rows, self._seen_rows if self._change_rows == plan.change else 0)
            self._change_rows = plan.change
            if self.unseen_rows != unseen:
                return True
        if self._seen_enough or plan.must is None or rows < plan.must or not self.content.is_complete:
            return False
        self._seen_enough = True
        self._seen_command = self._seen_command or not plan.hidden
        return self.is_gated

    @property
    def disabled_actions(self) -> frozenset[str]:
        """Names of the actions whose keys do nothing now."""
        names = {words.action for answer, words in WORDS.items() if not self.choice(answer).offered}
        runs = self.content.runs is not None
        has_diff = any(isinstance(block, DiffBlock) for block in self.request.preview)
        is_whole = self.tiny or (self.fits and not self.is_expanded)
        if runs or not has_diff or is_whole:
            names.add("whole_file")
        if not runs or self.tiny or not self.plan.is_cut:
            names.add("whole_command")
        always = self.request.choice_for("always")
        rule = "" if always is None else always.rule
        if "always" in names or clean_line(rule, reveal=True) != rule or rule.startswith(OPENS_FILES):
            names.add("edit_rule")  # A one-line field would show this rule differently from what is saved.
        if self.shows_policy:  # these keys show the request again
            names |= {words.action for words in WORDS.values()} | {"edit_rule"}
        if self.everywhere:  # the footer's word "every project" is no longer true
            names.add("rule_scope")
        return frozenset(names)

    def choice(self, answer: Answer) -> PermissionChoice:
        """Return what an answer allows, or why the answer is not available."""
        if answer == "n":
            is_wide = self.app.size.width >= 72
            hint = "the agent reads it and continues" if is_wide else "tell the agent why"
            return PermissionChoice(reach="once", rule=self.reason.text or hint)
        reach = REACHES[answer]
        if answer == "y" and self.hidden_rows:
            rows = format_count(self.hidden_rows, "hidden row")
            return PermissionChoice(reach=reach, rule=f"press once to show {rows}")
        if answer == "y" and self.unseen_rows and not self.is_gated:
            return PermissionChoice(reach=reach, rule=f"{format_count(self.unseen_rows, 'row')} not seen yet")
        if self.is_gated:
            key = self.key_map.key_of(self.whole_action)
            reason = "read to the end first" if self.is_expanded else f"read to the end first ({key})"
            return PermissionChoice(reach=reach, rule="", offered=False, explanation=reason)
        reason = "" if answer == "y" else self.request.why_unavailable(reach)
        choice = self.request.choice_for(reach)
        if choice is None or reason:
            return PermissionChoice(reach=reach, rule="", offered=not reason, explanation=reason)
        if answer == "y" and self.following_calls and not choice.rule:
            return choice.model_copy(update={"rule": "this call only, not the next ones"})
        if answer == "a" and self.rule is not None:
            return choice.model_copy(update={"rule": self.rule.text})
        return choice
