"""A question of the agent: for free text, for one of several answers, or for the approval of a plan.

Invariant: Esc closes the question without an answer, and typed text is kept.
"""

from collections.abc import Callable, Sequence
from typing import Final

from textual import events
from textual.strip import Strip

from tui_agent.protocol.commands import AnswerQuestion
from tui_agent.protocol.events.turn import QuestionAsked
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.stored_text import LongText, text_preview
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.transcript.markdown_stream import markdown_strips
from tui_agent.tui.untrusted_text import clean
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.rows import Part, wrap
from tui_agent.tui.widgets.sheet import NO_ROW, ChoiceSheet

MAX_CACHED_BODIES: Final = 4
TITLES: Final = {
    "text": "A question for you",
    "choice": "A question for you",
    "plan": "Continue with this plan?",
    "stuck": "The agent repeats the same call",
}


class Question(ChoiceSheet[AnswerQuestion | None]):
    """Sheet with a question of the agent.

    The result is an `AnswerQuestion`, or None if the user gave no answer.
    `read`: loads a long text.
    """

    has_grace_period = True
    scope = "question"
    give_action = "answer"
    answer_actions = frozenset({"answer_number"})
    tight_below = 30

    def __init__(
        self,
        question: QuestionAsked,
        *,
        read: Callable[[LongText, Callable[[str], None]], str],
    ) -> None:
        super().__init__()
        self.question = question
        self.field = Field()
        self.plan: str | None = None
        """The plan as edited by the user; None if the user did not edit it."""
        self.unseen_rows = 0
        """Number of rows of the text that were not visible yet."""
        self._body_cache: dict[tuple[object, ...], list[Strip]] = {}
        self._is_long = False
        """True if the text needs the rows that the sheet otherwise leaves around itself."""
        self._rows = 0
        """Number of rows of the text in the current drawing."""
        self._text = ""
        self._read = read
        self.options = question.options
        self.select_default()

    def select_default(self) -> None:
        # Without options to choose from, a digit is text at once.
        self.chosen = len(self.options) if self.question.form == "text" else 0

    @property
    def request_id(self) -> RequestId:
        return self.question.question_id

    @property
    def count(self) -> int:
        return len(self.options) + 1

    def on_mount(self) -> None:
        if self.question.form == "stuck":
            self.add_class("-warning")
        self._text = text_preview(self.question.text)
        self._text = self._read(self.question.text, self._set_text)

    def _set_text(self, text: str) -> None:
        self._text = text
        self.redraw()

    @property
    def on_words(self) -> bool:
        """True if the row for the user's own text is selected."""
        return self.chosen >= len(self.options)

    def prepare(self, width: int) -> None:
        self._is_long = False
        fixed = [*self.head(width), *self.foot(width), *self.message_rows(width)]
        self._is_long = len(self.body(width)) > self.max_rows - len(fixed)

    @property
    def tight(self) -> bool:
        return super().tight and self._is_long

    def head(self, width: int) -> list[Strip]:
        title = [
            self.part(self.looks.symbols.waiting, "warning", bold=True),
            self.part(" " + TITLES[self.question.form], bold=True),
        ]
        # A screen without room for empty rows has the note about unseen rows here instead of above the answers.
        spacer = self.spacer(width)
        return [self.line(width, title, [] if spacer else _unseen_note(self)), *spacer]

    def body(self, width: int) -> list[Strip]:
        text = self.plan if self.plan is not None else self._text
        # The sheet is redrawn whenever another row becomes visible, but its text does not change.
        key = (text, width, self.looks)
        if key not in self._body_cache:
            if len(self._body_cache) >= MAX_CACHED_BODIES:
                self._body_cache.clear()
            self._body_cache[key] = markdown_strips(text, self.looks, width - 1, "s3")
        return self._body_cache[key]

    def mark_seen(self, rows: int) -> None:
        # In another drawing, e.g. after a resize, rows have other contents, so count the seen rows again.
        total = len(self.scrolled.strips)
        seen = max(rows, self._rows - self.unseen_rows if self._rows == total else 0)
        self._rows, before = total, self.unseen_rows
        self.unseen_rows = max(0, total - seen)
        if self.unseen_rows != before:
            self.redraw()

    def foot(self, width: int) -> list[Strip]:
        rows = [self.line(width, _unseen_note(self))] if self.spacer(width) else []
        for number, option in enumerate(self.options):
            rows += self._option_rows(width, number, option)
        return [*rows, self._words_row(width), *self.keys_rows(width)]

    def key_hints(self) -> Sequence[KeyHint]:
        hint = self.key_map.hint
        plan = [hint("edit_plan", "edit the plan")] if self.question.form == "plan" else []
        unseen = [hint("sheet_page", "scroll")] if self.unseen_rows else []
        return [hint("answer"), *unseen, *plan, hint("pick"), hint("later")]

    def _option_rows(self, width: int, number: int, option: str) -> list[Strip]:
        pen = self.choice_pen(number)
        # While the user types an answer, a digit is a part of it.
        key = "" if self.on_words else self.key_map.key_of("answer_number", number)
        first = [pen.mark, pen.part(key or " ", "accent", bold=True), pen.part("  ")]
        return pen.hanging_rows(
            width, first, wrap(clean(option), max(8, width - 6)), pen.style(bold=pen.chosen)
        )

    def _words_row(self, width: int) -> Strip:
        pen = self.choice_pen(len(self.options))
        label = "In your own words  " if self.options and self.question.form != "text" else ""
        room = max(4, width - 4 - len(label))
        typed = self.field.parts(room, pen, "type your answer", is_open=pen.chosen)
        return pen.line(width, [pen.mark, pen.part(label, bold=pen.chosen), *typed])

    @property
    def open_field(self) -> Field:
        """The field for the user's own text; typed letters go into it even if another row is selected."""
        return self.field

    def on_edit(self) -> None:
        self._choose(len(self.options))

    def type_key(self, key: str, character: str | None) -> bool:
        is_text = bool(character and character.isprintable())
        return (self.on_words or is_text) and super().type_key(key, character)

    def answer_number(self, number: int) -> bool:
        """Select the answer `number` (from 0), or give the answer if it was already selected.

        Return False while the user is typing, and for a number without an answer.
        """
        if self.on_words or number >= len(self.options):
            return False
        self.pick(number)
        return True

    @property
    def is_field_selected(self) -> bool:
        return self.on_words

    def take_text(self, letter: events.Key) -> None:
        self.type_key(letter.key, letter.character)

    def answer(self) -> None:
        """Give the selected answer, or the typed text."""
        words = self.field.text.strip()
        if self.chosen == NO_ROW:
            self.send_message()
        elif not self.on_words:
            answer = self.options[self.chosen]
            # The last answer refuses the plan. With any other answer, an edited plan is sent in its place.
            if self.question.form == "plan" and self.chosen < len(self.options) - 1 and self.plan is not None:
                answer = self.plan
            self.dismiss(AnswerQuestion(question_id=self.request_id, answer=answer, choice=self.chosen))
        elif words:
            self.dismiss(AnswerQuestion(question_id=self.request_id, answer=words))

    def use(self) -> None:
        if not self.on_words:
            self.answer()

    def edit_plan(self) -> bool:
        """Open the plan in the user's editor; return False if the question is not about a plan."""
        if self.question.form != "plan":
            return False
        changed = self.app.edit_outside(self.plan if self.plan is not None else self._text)  # type: ignore[attr-defined]
        if changed is not None:
            self.plan = changed
            self.redraw(keep=False)
        return True


def _unseen_note(sheet: Question) -> list[Part]:
    """Return how many rows of the question were not seen yet; nothing if all were visible."""
    text = f"{format_count(sheet.unseen_rows, 'row')} not seen yet"
    return [sheet.part(text, "accent")] if sheet.unseen_rows else []
