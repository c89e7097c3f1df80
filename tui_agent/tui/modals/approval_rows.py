"""The rows of an approval: the question, what scrolls, what stands below it, the answers and the keys.

Invariant: draws an approval and changes nothing of it. The answers and the way out always have their rows; an answer
that is not offered stays in sight and says why. The beginning and the end of a command stand together or not at all, and
commands that change more than the workspace keep their row before all else that is said of it.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from textual.strip import Strip

from tui_agent.protocol.commands import DecidePermission
from tui_agent.protocol.events.policy import PermissionChoice, PermissionRequested
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import KeyHint
from tui_agent.tui.modals.approval_body import ApprovalBody
from tui_agent.tui.modals.effects import question_of
from tui_agent.tui.text import clean, fit
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.rows import Part, doing, part, wrap
from tui_agent.tui.widgets.sheet import Sheet

Answer = Literal["y", "s", "a", "n"]
ANSWERS: tuple[Answer, ...] = ("y", "s", "a", "n")
_ACTIONS: dict[Answer, str] = {"y": "yes", "s": "yes_session", "a": "always", "n": "no"}
_WORDS: dict[Answer, str] = {
    "y": "Yes, this once",
    "s": "Yes, this session",
    "a": "Always, as a rule",
    "n": "No, and say why",
}
_SHORT: dict[Answer, str] = {"y": "once", "s": "session", "a": "always", "n": "no"}
_BESIDE = 27
_EITHER = "not offered either"
_MOST = 2
_TYPED = 4
_NARROW = 38


_RISK_ROWS = 3
_LOW = 22
"""Rows of a screen from which a warning has all the rows that it may have."""
_NOTHING_RUNS = "nothing runs until you answer"
_EDITING = "Edit the rule; it is kept so"


LEAST = 3
"""Rows of a command that say something: its beginning, how much is left out, its end."""


class Effects(NamedTuple):
    """What is said of a call, in less and less room. `whole` tells that no command that matters is left out."""

    rows: Sequence[Strip]
    whole: bool = True


class Plan(NamedTuple):
    """`body` scrolls; `effects` stand below it. `must` counts the rows of the body that must have been in sight
    before it may be allowed; None where this view is not enough. `cut` tells that something is left out of it, `unseen`
    how many rows of the thing itself. `change` counts the rows of a change, at the beginning of the body."""

    body: Sequence[Strip]
    effects: Sequence[Strip]
    must: int | None
    cut: bool = False
    unseen: int = 0
    change: int = 0


def plan_command(
    rows: Sequence[Strip],
    effects: Sequence[Effects],
    few: Callable[[int], Sequence[Strip]],
    room: int,
    more: Callable[[int], Strip],
) -> Plan:
    """A command and its effects in `room` rows. `effects` are tried from the fullest on, then `few` of so many rows;
    `more` is the row that stands for so many others."""
    for at, one in enumerate(effects):
        enough = max(LEAST + 2, room // 2) if at < len(effects) - 1 else LEAST
        if min(len(rows), enough) + len(one.rows) <= room:
            body = _ends(rows, room - len(one.rows), more)
            unseen = _left_out(rows, room - len(one.rows))
            return Plan(body, one.rows, len(body) if one.whole else None, at > 0 or unseen > 0, unseen)
    least = min(len(rows), LEAST)
    said = few(max(0, room - least))
    most = max(1, room - len(said))
    return Plan(_ends(rows, most, more), said, None, cut=True, unseen=_left_out(rows, most))


def plan_change(subject: Sequence[Strip], rows: Sequence[Strip], effects: Sequence[Strip], room: int) -> Plan:
    """A change or a use of something, which scrolls; its effects stand below it where there is room for both."""
    body = [*subject, *rows]
    must = len(subject) + min(1, len(rows))
    if LEAST + len(effects) <= room or len(body) + len(effects) <= room:
        return Plan(body, effects, must, change=len(body))
    return Plan([*body, *effects], (), must, change=len(body))


def _left_out(rows: Sequence[Strip], room: int) -> int:
    """How many rows `_ends` leaves out."""
    return len(rows) - max(0, room - 1) if len(rows) > room else 0


def _ends(rows: Sequence[Strip], room: int, more: Callable[[int], Strip]) -> Sequence[Strip]:
    """The beginning and the end, and between them how much is left out."""
    if len(rows) <= room:
        return rows
    kept = max(0, room - 1)
    last = kept // 2
    first = kept - last
    return [*rows[:first], more(len(rows) - kept), *(rows[-last:] if last else ())]


class ApprovalSheet(Sheet[DecidePermission | None]):
    """The state of an approval that its rows are drawn from."""

    request: PermissionRequested
    asked: ApprovalBody
    granted: Sequence[str]
    who: str
    waiting: int
    follow: int
    chosen: Answer
    typing: bool
    expanded: bool
    policy_shown: bool
    gated: bool
    subject: list[Strip]

    @property
    def tiny(self) -> bool:
        """Return True if there is room for no more than the request itself and a row of answers."""
        return self.app.size.height < 16

    @property
    def without(self) -> frozenset[str]:
        """Return the names of the actions whose keys do nothing here."""
        raise NotImplementedError

    def choice(self, answer: Answer) -> PermissionChoice:
        """Return what an answer allows, or why it is not offered."""
        raise NotImplementedError

    def field_of(self, answer: Answer) -> Field | None:
        """Return the open field of an answer, None if it has none."""
        raise NotImplementedError

    def plan_rows(self, width: int, room: int) -> Plan:
        """Plan the rows that scroll and those below them, in `room` rows."""
        asked = self.asked
        if self.policy_shown:
            return Plan(asked.policy(width, self.granted), (), None)
        if self.tiny:
            return self._tiny_plan(width)
        subject = [] if self._stands else self.subject
        if asked.runs is None:
            effects = asked.effects(width, roomy=not self.tight)
            rows = asked.preview(width)
            if self.expanded:
                risk = asked.risk(width) if self._risk_scrolls(width) else []
                must, change = len(subject) + min(1, len(rows)), len(subject) + len(rows)
                return Plan([*subject, *rows, *risk, *effects], (), must, change=change)
            return plan_change(subject, rows, effects, room)
        if self.expanded:
            rows = asked.preview(width)
            deeds = asked.effects(width, roomy=False, why=False)
            first = [*rows, *deeds, *(asked.risk(width) if self._risk_scrolls(width) else [])]
            return Plan([*first, *asked.effects(width, roomy=True)[:1]], (), len(first), cut=True)
        said = [
            Effects(asked.effects(width, roomy=not self.tight)),
            Effects(asked.effects(width, roomy=not self.tight, grave=True)),
            Effects(asked.effects(width, roomy=False, grave=True)),
            Effects(asked.effects(width, roomy=False, grave=True, why=False)),
        ]
        rows = asked.preview(width, edges=not self.tight)
        if len(rows) + len(said[0].rows) > room:
            rows = asked.preview(width)
        return plan_command(rows, said, lambda most: asked.few(width, most), room, self._more(width))

    def _tiny_plan(self, width: int) -> Plan:
        """What matters first, all of it in the part that scrolls."""
        asked = self.asked
        thing = asked.preview(width)
        runs = asked.runs is not None
        first = [*(asked.wrong(width) if self.typing else []), *self.subject]
        grave = [
            *asked.risk(width),
            *(asked.deeds(width, grave=True) if runs and self.request.commands else []),
        ]
        must = len(first) + (len(thing) + len(grave) if runs else min(1, len(thing)))
        rest = asked.around(width) if runs and self.request.commands else asked.effects(width, roomy=False)
        return Plan([*first, *thing, *grave, *rest], (), must)

    def _more(self, width: int) -> Callable[[int], Strip]:
        ellipsis = self.looks.symbols.ellipsis
        ground = self.style("accent", "sunk")

        def row(count: int) -> Strip:
            key = self.key_map.key_of("whole_file" if self.asked.runs is None else "whole_command")
            said = f"  {ellipsis} {format_count(count, 'more line')}, {key} shows all"
            return self.line(width, [(said, ground)], ground="sunk")

        return row

    @property
    def _stands(self) -> bool:
        """Whether the file's name stands above what scrolls; a very long one scrolls with it."""
        return not self.tiny and len(self.subject) <= 3

    def head(self, width: int) -> list[Strip]:
        """The question, and the file that is meant."""
        symbols, waiting, follow = self.looks.symbols, self.waiting, self.follow
        queue = ""
        if waiting > 1:
            queue = f"1/{waiting}" if width < 34 else f"1 of {waiting} waiting"
        elif follow and width >= 60:
            calls = format_count(follow, f"more {self.request.verb} call")
            queue = f"{calls} {'follows' if follow == 1 else 'follow'}"
        title: list[Part] = [
            (symbols.waiting, self.style("warning", bold=True)),
            (" ", self.style()),
            (question_of(self.request), self.style(bold=True)),
        ]
        if self.who:
            title.insert(2, part(f"{self.who}: ", self.style("accent", bold=True)))
        rows = [self.line(width, title, [part(queue, self.style("t2"))] if queue else [])]
        if self.tiny:
            return rows
        return [*rows, *self._gap(width), *(self.subject if self._stands else [])]

    def _gap(self, width: int) -> list[Strip]:
        """An empty row, where the screen has room for such."""
        return [] if self.tight else [self.line(width, [])]

    def _risk_scrolls(self, width: int) -> bool:
        """Whether the warning stands in what scrolls, whole: it is too long to stand above the answers."""
        shown = self.expanded and not self.policy_shown
        return shown and len(self.asked.risk(width)) > self._most_risk

    @property
    def _most_risk(self) -> int:
        return _RISK_ROWS if self.app.size.height >= _LOW else _RISK_ROWS - 1

    def _risk(self, width: int) -> list[Strip]:
        return [] if self._risk_scrolls(width) else self.asked.risk(width, self._most_risk)

    def rest_rows(self, width: int) -> list[Strip]:
        """Draw the rows below the effects: the risk, the answers, the keys."""
        if self.tiny:
            return [self._typed_row(width) if self.typing else self._answers_in_one(width)]
        risk = self._risk(width)
        rows = [*(self._gap(width) if risk else []), *risk]
        if self.request.rule_error:
            most = _RISK_ROWS if self.tight else 2 * _RISK_ROWS
            rows += [*self._gap(width), *self.asked.wrong(width, most)]
        if self.gated:
            said = "More than fits here: read it to its end first."
            rows += self.text_rows(width, said, "warning")
        quiet = "" if self.typing else _NOTHING_RUNS
        if self.typing and self.chosen == "a":
            quiet = _EDITING
        last = self.keys_line(width, self._keys(), quiet)
        return [*rows, self.line(width, []), *self._answer_rows(width), *self._gap(width), last]

    def _keys(self) -> list[KeyHint]:
        hint, less = self.key_map.hint, "less" if self.expanded else ""
        if self.typing and self.chosen == "a":
            return [hint("keep_rule"), hint("from_rule")]
        if self.typing:
            return [hint("say_it"), hint("to_answers")]
        if self.policy_shown:
            return [hint("show_policy", "back"), hint("refuse", "back")]
        if self.gated and self.expanded:
            whole = "whole_file" if self.asked.runs is None else "whole_command"
            return [hint("approval_read", "read on"), hint(whole, "less"), hint("refuse")]
        keys = [hint("approval_give", "choose")]
        words = {"whole_file": less, "whole_command": less, "edit_rule": ""}
        keys += [hint(name, word) for name, word in words.items() if name not in self.without]
        if len(keys) == 1:
            keys.append(hint("show_policy", "show the policy"))
        return [*keys, hint("refuse")]

    def _answer_rows(self, width: int) -> list[Strip]:
        """A row for each answer with its reach; what has no room beside stands below."""
        rows: list[Strip] = []
        for answer in ANSWERS:
            row = self.choice_row(answer == self.chosen, f"answer {answer}")
            offered = self.choice(answer).offered
            left: list[Part] = [
                row.mark,
                (self._key(answer), row.style("accent" if offered else "t3", bold=True)),
                ("  ", row.style()),
                (_WORDS[answer].ljust(_BESIDE - 5), row.style("t1" if offered else "t3", bold=row.chosen)),
            ]
            room = max(4, width - _BESIDE)
            if self.field_of(answer) is None:
                rows += row.hanging_rows(
                    width, left, self._reach(answer, room), row.style("t2" if offered else "t3")
                )
                continue
            indent = [(" " * _BESIDE, row.style())]
            for number, typed in enumerate(self._typed(answer, room, row.ground)):
                rows.append(row.line(width, [*(indent if number else left), *typed]))
        return rows

    def _key(self, answer: Answer) -> str:
        """Return the key of an answer, as printed."""
        return self.key_map.key_of(_ACTIONS[answer])

    def _typed_row(self, width: int) -> Strip:
        """Draw only the open field, for the smallest screens."""
        key: Part = (f"{self._key(self.chosen)} ", self.style("accent", "selection", bold=True))
        return self.line(width, [key, *self._typed(self.chosen, max(1, width - 2), "selection", most=1)[0]])

    def _typed(self, answer: Answer, room: int, ground: Role, most: int = _TYPED) -> list[list[Part]]:
        """What is typed, in as many rows as it needs: a rule is kept as it stands, so that all of it is to be in sight."""
        field = self.field_of(answer)
        assert field is not None
        says = f"a word to the agent; {self.key_map.key_of('say_it')} sends it"
        hint = says if answer == "n" else "the rule"
        fill, cursor = doing(self.style(ground=ground), f"answer {answer}"), self.style("on-accent", "accent")
        if most == 1 or not field.text:
            return [field.parts(room, fill, cursor, hint, self.style("t3", ground))]
        return field.rows(room, fill, cursor, most)

    def _reach(self, answer: Answer, room: int) -> list[str]:
        """What the answer reaches, in one row or two; a rule that needs more is cut and says how to see it."""
        choice = self.choice(answer)
        exact = choice.rule.startswith("allow exact ") and bool(choice.unavailable_reason)
        said = choice.rule if choice.offered and not exact else choice.unavailable_reason or "not offered"
        above = self.choice("s")
        if (
            answer == "a"
            and not (self.gated or choice.offered or above.offered)
            and choice.unavailable_reason == above.unavailable_reason
        ):
            said = _EITHER  # for the same reason, which stands above
        ascii_only = self.looks.symbols.name == "ascii"
        line = clean(said, reveal=True).replace("\n", "\\n" if ascii_only else "⏎")
        if room < _NARROW:
            line = line.replace("not offered for ", "not for ", 1)
        pieces = wrap(line, room)
        if len(pieces) <= _MOST + (not choice.offered):
            return pieces
        ellipsis = self.looks.symbols.ellipsis
        hint = (
            f" {self.key_map.key_of('edit_rule')} shows it"
            if answer == "a" and "edit_rule" not in self.without
            else ""
        )
        cut = fit(" ".join(pieces[_MOST - 1 : _MOST + 1]), max(1, room - len(hint)), ellipsis)
        return [*pieces[: _MOST - 1], cut + hint]

    def _answers_in_one(self, width: int) -> Strip:
        """All answers in one row, for the smallest screens; before all was in sight, how to get there."""
        left: list[Part] = []
        answers = ANSWERS
        if self.gated:
            word = " reads on" if width >= 16 else ""
            left = [
                (self.key_map.key_of("approval_read"), self.style("accent", bold=True)),
                (word, self.style()),
                ("  "[: width - 6], self.style()),
            ]
            answers = ("n",)
        for answer in answers:
            row = self.choice_row(answer == self.chosen, f"answer {answer}")
            offered = self.choice(answer).offered
            left.append((self._key(answer), row.style("accent" if offered else "t3", bold=True)))
            if width >= 34 or (self.gated and width >= 20):
                left.append((f" {_SHORT[answer]}", row.style("t1" if offered else "t3")))
            left.append(("  ", self.style()))
        return self.line(width, left)
