"""The rows of the approval sheet: the question, the scrolling body, the effects below it, the answers and the keys.

Invariant: drawing changes no state of the approval, and the answers are always visible.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.modals.approval_state import ANSWERS, WORDS, Answer, ApprovalState, Plan
from tui_agent.tui.modals.effect_table import question_of
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import fit, reveal_line
from tui_agent.tui.widgets.rows import Part, Pen, cells, wrap

MIN_COMMAND_ROWS: Final = 3
"""Minimum number of rows for a command: its first row, the count of hidden rows, its last row."""
_LABEL_WIDTH: Final = 27
_MAX_REACH_ROWS: Final = 2
_MAX_TYPED_ROWS: Final = 4
_MAX_RISK_ROWS: Final = 3
_MIN_CELLS_FOR_FULL_REASON: Final = 38
_MIN_CELLS_FOR_SCOPE: Final = 34
_MIN_WIDE_ROW_CELLS: Final = 60
_LOW_SCREEN_ROWS: Final = 22
"""On screens with fewer rows than this, the risks of a request get `_MAX_RISK_ROWS - 1` rows, not `_MAX_RISK_ROWS`."""


def plan_command(
    rows: Sequence[Strip],
    variants: Sequence[Sequence[Strip]],
    risky: Callable[[int], Sequence[Strip]],
    room: int,
    more: Callable[[int], Strip],
) -> Plan:
    """Fit a command and its effects into `room` rows of the approval sheet.

    - `variants`: drawings of the effects, the fullest first; the first drawing that fits is used
    - `risky`: draws only the risky effects in at most this number of rows; used if no variant fits
    - `more`: draws the row that tells how many rows are hidden
    """
    for index, effects in enumerate(variants):
        # A fuller drawing must leave about half of the rows to the command; the shortest one may take all but a few.
        enough = max(MIN_COMMAND_ROWS + 2, room // 2) if index < len(variants) - 1 else MIN_COMMAND_ROWS
        if min(len(rows), enough) + len(effects) <= room:
            body, hidden = _keep_ends(rows, room - len(effects), more)
            return Plan(body, effects, len(body), is_cut=index > 0 or hidden > 0, hidden=hidden)
    shown = risky(max(0, room - min(len(rows), MIN_COMMAND_ROWS)))
    body, hidden = _keep_ends(rows, max(1, room - len(shown)), more)
    return Plan(body, shown, is_cut=True, hidden=hidden)


def plan_change(file: Sequence[Strip], rows: Sequence[Strip], effects: Sequence[Strip], room: int) -> Plan:
    """Plan the rows for a file's change and for its effects.

    Without enough space, the effects scroll with the change.
    """
    body = [*file, *rows]
    must = len(file) + min(1, len(rows))
    if MIN_COMMAND_ROWS + len(effects) <= room or len(body) + len(effects) <= room:
        return Plan(body, effects, must, change=len(body))
    return Plan([*body, *effects], (), must, change=len(body))


def _keep_ends(rows: Sequence[Strip], room: int, more: Callable[[int], Strip]) -> tuple[Sequence[Strip], int]:
    """Shorten `rows` to `room` rows.

    Keep the first and the last rows. Between them, put the row that `more` returns for the number of hidden rows.
    Return the rows and this number.
    """
    if len(rows) <= room:
        return rows, 0
    shown = max(0, room - 1)
    last = shown // 2
    hidden = len(rows) - shown
    return [*rows[: shown - last], more(hidden), *(rows[-last:] if last else ())], hidden


class ApprovalRows(ApprovalState):
    """Draws the approval sheet; the subclass `Approval` handles the keys."""

    def prepare(self, width: int) -> None:
        self.file_rows = self.content.file_rows(width)
        # A low screen has no rows to spare: leave out the empty rows, but only if not everything fits with them.
        for is_dense in (False, True) if self.tight else (False,):
            self.is_dense, self.is_gated = is_dense, False
            # First plan as if the user had seen enough. If not, plan again, because the note about it takes a row.
            room = self._plan(width)
            # A scrollbar takes a cell of the body's width, so that rows can wrap and need more room.
            must = self.plan.must if self.fits else self._plan_rows(width - 1, room).must
            if not (self._seen_enough or (must is not None and must <= room and self.content.is_complete)):
                self.is_gated = True
                self._plan(width)
            if self.fits and not self.plan.is_cut:
                break

    def loose_gap(self, width: int) -> list[Strip]:
        return [] if self.is_dense else [self.line(width, [])]

    def _plan(self, width: int) -> int:
        """Store the plan of the rows in `plan`. Return the number of rows left for the body."""
        # Reset the plan first, because the available room must not depend on an earlier plan.
        self.plan = Plan()
        room = self._room(width)
        self.plan = self._plan_rows(width, max(1, room))
        body_room = max(1, room) - len(self.plan.effects)
        self.fits = len(self.plan.body) <= body_room
        return body_room

    def _room(self, width: int) -> int:
        fixed = len(self.head(width)) + len(self._rows_below(width)) + len(self.message_rows(width))
        return self.max_rows - fixed

    def _plan_rows(self, width: int, room: int) -> Plan:
        content = self.content
        if self.shows_policy:
            return Plan(content.policies(width, self.granted_rules))
        if self.tiny:
            return self._tiny_plan(width)
        file = [] if self._has_file_in_head else self.file_rows
        risk = content.risk(width) if self._risk_scrolls(width) else []
        if content.runs is None:
            effects = content.effects(width, roomy=not self.is_dense)
            # Without an empty row, the effects look like a part of the change.
            below = [*([self.line(width, [])] if self.is_dense else []), *risk, *effects]
            return plan_change(file, content.preview(width), below, 0 if self.is_expanded else room)
        if self.is_expanded:
            commands = content.effects(width, roomy=False, context=False)
            first = [*content.preview(width), *commands, *risk]
            return Plan([*first, *content.folder_rows(width)], (), len(first), is_cut=True)
        roomy = not self.is_dense
        full = content.effects(width, roomy=roomy)
        rows = content.preview(width, edges=roomy)
        if len(rows) + len(full) > room:
            rows = content.preview(width)
        if self.is_dense and len(rows) + len(full) > room:
            full = content.effects(width, roomy=False, heading=False)
        variants = [
            full,
            content.effects(width, roomy=roomy, only_risky=True),
            content.effects(width, roomy=False, heading=False, only_risky=True),
            content.effects(width, roomy=False, only_risky=True, context=False),
        ]
        risky = partial(content.risky_commands, width)
        return plan_command(rows, variants, risky, room, partial(self._more_row, width))

    def _tiny_plan(self, width: int) -> Plan:
        """Return the `Plan` for the smallest screens, with the most important rows first."""
        content = self.content
        preview = content.preview(width)
        error = content.rule_error(width) if self.typing else []
        first = [*error, *self.file_rows]
        risks = content.risk(width)
        if content.runs is None:
            must = len(first) + min(1, len(preview))
            return Plan([*first, *preview, *risks, *content.effects(width, roomy=False)], (), must)
        if self.request.commands:
            risks += content.commands(width, only_risky=True)
            rest = [*content.folder_rows(width), *content.labelled_rows(width)]
        else:
            rest = content.effects(width, roomy=False)
        return Plan([*first, *preview, *risks, *rest], (), len(first) + len(preview) + len(risks))

    def _more_row(self, width: int, count: int) -> Strip:
        pen = Pen(self.looks, "sunk", margin=0)
        key = self.key_map.key_of(self.whole_action)
        text = f"  {self.looks.symbols.ellipsis} {format_count(count, 'more line')}, {key} shows all"
        return pen.line(width, [pen.part(text, "accent")])

    @property
    def _has_file_in_head(self) -> bool:
        return not self.tiny and len(self.file_rows) <= 3

    def mark_seen(self, rows: int) -> None:
        if self.see(rows):
            self.redraw()

    def head(self, width: int) -> list[Strip]:
        queue = ""
        if self.waiting > 1:
            queue = f"1/{self.waiting}" if width < 34 else f"1 of {self.waiting} waiting"
        elif self.following_calls and width >= 60:
            calls = format_count(self.following_calls, f"more {self.request.verb} call")
            queue = f"{calls} {'follows' if self.following_calls == 1 else 'follow'}"
        agent = f"{self.asking_agent}: " if self.asking_agent else ""
        title = [
            self.part(f"{self.looks.symbols.waiting} ", "warning", bold=True),
            self.part(agent, "accent", bold=True),
            self.part(question_of(self.request), bold=True),
        ]
        rows = [self.line(width, title, [self.part(queue, "t2")])]
        if self.tiny:
            return rows
        if self.request.rerun:
            rows += self.content.failure(width)
        return [*rows, *self.loose_gap(width), *(self.file_rows if self._has_file_in_head else [])]

    def body(self, width: int) -> list[Strip]:
        # `redraw` calls this method again with one cell less if the body needs a scrollbar.
        if self.plan.body and self.plan.body[0].cell_length != width:
            self.plan = self._plan_rows(width, self._room(width))
        return list(self.plan.body)

    def foot(self, width: int) -> list[Strip]:
        return [*self.plan.effects, *self._rows_below(width)]

    def _risk_scrolls(self, width: int) -> bool:
        """Return True if the risk is too long for its place above the answers, and scrolls with the body instead."""
        is_long = len(self.content.risk(width)) > self._max_risk_rows
        return self.is_expanded and not self.shows_policy and is_long

    @property
    def _max_risk_rows(self) -> int:
        return _MAX_RISK_ROWS if self.app.size.height >= _LOW_SCREEN_ROWS else _MAX_RISK_ROWS - 1

    def _rows_below(self, width: int) -> list[Strip]:
        """Draw the rows below the effects: the risk, the answers and the keys."""
        if self.shows_policy:
            return self.keys_rows(width)
        if self.tiny:
            return [self._typed_row(width) if self.typing else self._answers_in_one(width, self._refusal)]
        risk = [] if self._risk_scrolls(width) else self.content.risk(width, self._max_risk_rows)
        rows = [*(self.loose_gap(width) if risk else []), *risk]
        if self.request.rule_error:
            max_rows = _MAX_RISK_ROWS if self.tight else 2 * _MAX_RISK_ROWS
            rows += [*self.loose_gap(width), *self.content.rule_error(width, max_rows)]
        if self.is_gated:
            rows += self.text_rows(width, "Scroll to the end first; then you can allow this.", "warning")
        # While the whole change or command is shown, all answers share one row, which leaves it more rows.
        is_compact = self.is_expanded and not self.typing
        note = "" if self.typing or is_compact else "nothing runs until you answer"
        if self.typing and self.chosen == "a":
            note = "saved as typed"
        elif note and self.is_picked and self.chosen not in (None, "n") and self.choice(self.chosen).offered:
            key_of = self.key_map.key_of
            again = key_of(WORDS[self.chosen].action)
            note = f"press {again} again or {key_of('approval_give')} to allow the call"
        last = self.keys_line(width, note) if self.is_full else self.line(width, [self.part(note, "t3")])
        rows.append(self.line(width, []))
        if is_compact:
            rows += self.text_rows(width, self._refusal, "warning") if self._refusal else []
            rows.append(self._answers_in_one(width))
        else:
            rows += self._answer_rows(width)
        return [*rows, *self.loose_gap(width), last] if note or self.is_full else rows

    def key_hints(self) -> list[KeyHint]:
        hint, less = self.key_map.hint, "less" if self.is_expanded else ""
        leave = hint("refuse", "back" if self.is_expanded else "")
        if self.typing:
            if self.chosen == "n":
                return [hint("say_it"), hint("to_answers")]
            scope = "this project" if self.everywhere else ""
            return [hint("keep_rule"), hint("rule_scope", scope), hint("from_rule")]
        if self.shows_policy:
            return [hint("show_policy", "back"), hint("refuse", "back")]
        if self.is_gated and self.is_expanded:
            return [hint("approval_read", "read on"), hint(self.whole_action, "less"), leave]
        wider = self.choice("a").wider_rule
        words = {"whole_file": less, "whole_command": less, "edit_rule": "all its tools" if wider else ""}
        keys = [hint(name, word) for name, word in words.items() if name not in self.disabled_actions]
        gives = self.chosen is None or self.choice(self.chosen).offered
        return [*([hint("approval_give")] if gives else []), *keys, hint("show_policy"), leave]

    def _answer_rows(self, width: int) -> list[Strip]:
        rows: list[Strip] = []
        for answer in ANSWERS:
            pen = self._answer_pen(answer)
            offered = self.choice(answer).offered
            label = self.label_of(answer).ljust(_LABEL_WIDTH - 5)
            left = [
                pen.mark,
                self._key_part(answer, pen),
                pen.part("  "),
                pen.part(label, self._label_role(answer), bold=pen.chosen),
            ]
            room = max(4, width - _LABEL_WIDTH)
            if self.field_of(answer) is None:
                style = pen.style("t2" if offered else "t3")
                rows += pen.hanging_rows(width, left, self._reach(answer, room), style)
                continue
            for typed in self._draw_field(answer, room, pen):
                rows.append(pen.line(width, [*left, *typed]))
                left = [pen.part(" " * _LABEL_WIDTH)]
        return rows

    def _label_role(self, answer: Answer) -> Role:
        if answer == "a" and self.everywhere:
            return "warning"
        return "t1" if self.choice(answer).offered else "t3"

    def _answer_pen(self, answer: Answer) -> Pen:
        return self.choice_row(answer == self.chosen, f"answer {answer}")

    def _key_part(self, answer: Answer, pen: Pen) -> Part:
        key = self.key_map.key_of(WORDS[answer].action)
        return pen.part(key, "accent" if self.choice(answer).offered else "t3", bold=True)

    def _typed_row(self, width: int) -> Strip:
        """Draw only the row of the open text field, for the smallest screens."""
        answer = self.typed_answer
        pen = self._answer_pen(answer)
        scope = ""
        if answer == "a" and (self.everywhere or width >= _MIN_CELLS_FOR_SCOPE):
            scope = "every project: " if self.everywhere else "this project: "
        typed = self._draw_field(answer, max(1, width - 2 - len(scope)), pen, max_rows=1)[0]
        role: Role = "warning" if self.everywhere else "t2"
        return pen.line(width, [self._key_part(answer, pen), pen.part(f" {scope}", role), *typed])

    def _draw_field(
        self, answer: Answer, room: int, pen: Pen, max_rows: int = _MAX_TYPED_ROWS
    ) -> list[list[Part]]:
        """Draw the text in the open field of an answer."""
        field = self.field_of(answer)
        assert field is not None
        hint = "the rule"
        if answer == "n":
            hint = f"your reason; {self.key_map.key_of('say_it')} sends it"
        if max_rows == 1 or not field.text:
            return [field.parts(room, pen, hint)]
        return field.rows(room, pen, max_rows)

    def _reach(self, answer: Answer, room: int) -> list[str]:
        """Return up to three rows about an answer: what it allows, or why it is not available."""
        choice, session = self.choice(answer), self.choice("s")
        is_exact = choice.rule.startswith("allow exact ") and bool(choice.explanation)
        reason = choice.explanation
        has_same_reason = not session.offered and choice.explanation == session.explanation
        if answer == "a" and not choice.offered and has_same_reason and not self.is_gated:
            reason = "not available either"
        text = choice.rule if choice.offered and not is_exact else reason
        line = reveal_line(text, self.looks.symbols.line_break)
        if room < _MIN_CELLS_FOR_FULL_REASON:
            line = line.replace("not available for ", "not for ", 1)
        pieces = wrap(line, room)
        if len(pieces) <= _MAX_REACH_ROWS + (not choice.offered):
            return pieces
        can_edit = answer == "a" and "edit_rule" not in self.disabled_actions
        hint = f" {self.key_map.key_of('edit_rule')} shows it" if can_edit else ""
        rest = " ".join(pieces[_MAX_REACH_ROWS - 1 : _MAX_REACH_ROWS + 1])
        cut = fit(rest, max(1, room - len(hint)), self.looks.symbols.ellipsis)
        return [*pieces[: _MAX_REACH_ROWS - 1], cut + hint]

    @property
    def _refusal(self) -> str:
        """The key of the selected answer, and why this answer is not available; empty if it is available."""
        if self.chosen is None:
            return ""
        choice = self.choice(self.chosen)
        if choice.offered or self.is_gated:
            return ""
        return f"{self.key_map.key_of(WORDS[self.chosen].action)}: {choice.explanation}"

    def _answers_in_one(self, width: int, remark: str = "") -> Strip:
        """Draw all answers in one row: on the smallest screens, and while the whole change or command is shown."""
        is_wide = width >= _MIN_WIDE_ROW_CELLS
        left: list[Part] = []
        answers = ANSWERS
        if self.is_gated:
            word = " reads on" if width >= 16 else ""
            key = self.key_map.key_of("approval_read")
            left = [self.part(key, "accent", bold=True), self.part(word + "  "[: max(0, width - 6)])]
            answers = ("n",)
        for answer in answers:
            pen = self._answer_pen(answer)
            left += [pen.mark] if is_wide else []
            left.append(self._key_part(answer, pen))
            if width >= 34 or (self.is_gated and width >= 20):
                role: Role = "t1" if self.choice(answer).offered else "t3"
                left.append(pen.part(f" {WORDS[answer].short}", role))
            left.append(self.part("  "))
        unseen = format_count(self.unseen_rows, "row") + " not seen yet" if self.unseen_rows else ""
        room = width - cells(left) - 1
        right = fit(remark or unseen, room, self.looks.symbols.ellipsis) if is_wide and room > 1 else ""
        return self.line(width, left, [self.part(right, "t2")] if right else [])
