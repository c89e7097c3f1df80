"""The agent asks: words, one of several answers, or a plan to approve, edit or refuse.

Invariant: Esc puts the question aside, it never answers; what was typed stays.
"""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.strip import Strip

from tui_agent.protocol.base import LongText, text_preview
from tui_agent.protocol.commands import AnswerQuestion
from tui_agent.protocol.events.turn import QuestionAsked
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.actions import Scope
from tui_agent.tui.text import clean
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.transcript.markdown_stream import markdown_strips
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.line_pane import Intent
from tui_agent.tui.widgets.rows import Part, wrap
from tui_agent.tui.widgets.sheet import Sheet

TITLES = {
    "text": "A question for you",
    "choice": "A question for you",
    "plan": "Go on with this plan?",
    "stuck": "The agent repeats itself",
}
PLAN = ("Approve, and begin", "Refuse, and say why")


class Question(Sheet[AnswerQuestion | None]):
    """Gives an `AnswerQuestion`, or None when it was put aside or went away."""

    deaf: ClassVar[bool] = True
    scope: ClassVar[Scope] = "question"
    key_methods = {
        "pick": "move",
        "answer": "answer",
        "answer_number": "answer_number",
        "edit_plan": "post_edit_plan",
        "later": "close",
    }

    def __init__(
        self,
        looks: Callable[[], Looks],
        question: QuestionAsked,
        *,
        blob: Callable[[LongText, Callable[[str], None]], str],
    ) -> None:
        super().__init__(looks)
        self.question = question
        self.field = Field()
        self.plan: str | None = None
        """The plan as the user edited it."""
        self._text = ""
        self._blob = blob
        offered = question.options or (PLAN if question.form == "plan" else ())
        self.options = tuple(offered)
        self.chosen = 0 if self.options else len(self.options)

    @property
    def request_id(self) -> RequestId:
        """Which question it answers."""
        return self.question.question_id

    def on_mount(self) -> None:
        if self.question.form == "stuck":
            self.add_class("-warning")
        self._text = text_preview(self.question.text)
        self._text = self._blob(self.question.text, self._arrived)

    def _arrived(self, text: str) -> None:
        self._text = text
        self.redraw()

    @property
    def on_words(self) -> bool:
        """Whether the row for own words is chosen."""
        return self.chosen >= len(self.options)

    def head(self, width: int) -> list[Strip]:
        title: list[Part] = [
            (self.looks.symbols.waiting, self.style("warning", bold=True)),
            (" " + TITLES[self.question.form], self.style(bold=True)),
        ]
        return [self.line(width, title), *self.spacer(width)]

    def body(self, width: int) -> list[Strip]:
        text = self.plan if self.plan is not None else self._text
        return markdown_strips(text, self.looks, width - 1, "s3")

    def foot(self, width: int) -> list[Strip]:
        rows = self.spacer(width)
        for at, option in enumerate(self.options):
            rows += self._option(width, at, option)
        rows.append(self._words(width))
        rows += self.spacer(width)
        hint = self.key_map.hint
        plan = [hint("edit_plan", "edit the plan")] if self.question.form == "plan" else []
        rows.append(self.keys_line(width, [hint("answer"), hint("pick"), *plan, hint("later")]))
        return rows

    def _option(self, width: int, at: int, option: str) -> list[Strip]:
        row = self.choice_row(at == self.chosen, f"option {at}")
        key = self.key_map.key_of("answer_number", at) or " "
        first = [row.mark, (key, row.style("accent", bold=True)), ("  ", row.style())]
        pieces = wrap(clean(option), max(8, width - 6))
        return row.hanging_rows(width, first, pieces, row.style(bold=row.chosen))

    def _words(self, width: int) -> Strip:
        row = self.choice_row(self.on_words, f"option {len(self.options)}")
        label = "In your own words  " if self.options else ""
        cursor = self.style("on-accent", "accent") if row.chosen else None
        room = max(4, width - 4 - len(label))
        typed = self.field.parts(room, row.style(), cursor, "type your answer", row.style("t3"))
        return row.line(width, [row.mark, (label, row.style(bold=row.chosen)), *typed])

    def type_key(self, key: str, character: str | None) -> bool:
        """Type own words; a letter goes there from an offered answer too."""
        if self.on_words or not self.options:
            taken = self.field.key(key, character)
        elif taken := bool(character and character.isprintable()):
            self.chosen = len(self.options)
            self.field.key(key, character)
        if taken:
            self.redraw()
        return taken

    def answer_number(self, number: int) -> bool:
        """Give the answer with this number (from 0), where it is offered and no words are typed."""
        if self.on_words or number >= len(self.options):
            return False
        self.chosen = number
        self.answer()
        return True

    def post_edit_plan(self) -> bool:
        """Ask for the user's editor, where a plan is asked about."""
        if self.question.form == "plan":
            self.post_message(Intent("edit_plan"))
        return self.question.form == "plan"

    def move(self, by: int) -> None:
        """Choose the answer above or below."""
        self.chosen = (self.chosen + by) % (len(self.options) + 1)
        self.redraw()

    def answer(self) -> None:
        """Give the chosen answer, or the words that are typed."""
        words = self.field.text.strip()
        if not self.on_words:
            answer = self.options[self.chosen]
            if self.question.form == "plan" and self.chosen < len(self.options) - 1 and self.plan is not None:
                answer = self.plan
            self.dismiss(AnswerQuestion(question_id=self.request_id, answer=answer, choice=self.chosen))
        elif words:
            self.dismiss(AnswerQuestion(question_id=self.request_id, answer=words))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.chosen = len(self.options)
        self.field.insert(event.text)
        self.redraw()

    def clicked(self, wish: str) -> None:
        if wish == "edit_plan":
            self.edit_plan()
            return
        number = wish.removeprefix("option ")
        if number.isdigit():
            self.chosen = int(number)
            if not self.on_words:
                self.answer()
            else:
                self.redraw()

    def edit_plan(self) -> None:
        """Let the user's editor change the plan."""
        changed = self.app.edit_outside(self.plan if self.plan is not None else self._text)  # type: ignore[attr-defined]
        if changed is not None:
            self.plan = changed
            self.redraw(keep=False)
