"""L7: the approval: what exactly would happen, its effects, and four answers in their fixed order.

Invariant: the thing asked about is shown whole and can be scrolled; keys are ignored for the first 300 ms; text typed
into a field never answers; what is not offered stays in sight and says why.
"""

from collections.abc import Callable
from typing import ClassVar, Literal

from textual import events
from textual.strip import Strip

from tui_agent.protocol.commands import DecidePermission
from tui_agent.protocol.display import DiffBlock, TerminalBlock, TextBlock
from tui_agent.protocol.effects import Runs
from tui_agent.protocol.events.policy import Choice, PermissionRequested, Reach
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.modals.effects import effect_lines, question_of
from tui_agent.tui.modals.exact import PreviewTexts, ReadLong, block_rows, command_rows
from tui_agent.tui.modals.field import Field
from tui_agent.tui.modals.sheet import Sheet
from tui_agent.tui.panes.base import Looks
from tui_agent.tui.panes.policy import policy_role
from tui_agent.tui.rows import Part, doing, part, wrap
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme import Role

Answer = Literal["y", "s", "a", "n"]
ANSWERS: tuple[Answer, ...] = ("y", "s", "a", "n")
_WORDS: dict[Answer, str] = {
    "y": "Yes, this once",
    "s": "Yes, this session",
    "a": "Always, as a rule",
    "n": "No, and say why",
}
_SHORT: dict[Answer, str] = {"y": "once", "s": "session", "a": "always", "n": "no"}
_REACH: dict[Answer, Reach] = {"y": "once", "s": "session", "a": "always"}


class Approval(Sheet[DecidePermission | None]):
    """Gives a `DecidePermission`, or None when the request went away."""

    deaf: ClassVar[bool] = True

    def __init__(
        self,
        looks: Callable[[], Looks],
        request: PermissionRequested,
        *,
        policy: str,
        workspace: str,
        waiting: int,
        blob: ReadLong,
    ) -> None:
        super().__init__(looks)
        self.request = request
        self.policy = policy
        self.workspace = workspace
        self.waiting = waiting
        self.chosen: Answer = "n" if request.default_no else "y"
        self.word = Field()
        self.rule: Field | None = None
        self.typing = False
        self.expanded = False
        self._texts = PreviewTexts(request.preview, blob, self.redraw)

    @property
    def request_id(self) -> RequestId:
        """Which request it answers."""
        return self.request.request_id

    def on_mount(self) -> None:
        self.add_class("-warning")
        super().on_mount()

    def set_waiting(self, count: int) -> None:
        """How many requests wait, this one included."""
        if count != self.waiting:
            self.waiting = count
            self.redraw()

    # -- drawing ---------------------------------------------------------------------------------------------------

    @property
    def _small(self) -> bool:
        return self.app.size.height < 30

    @property
    def _tiny(self) -> bool:
        return self.app.size.height < 16

    def head(self, width: int) -> list[Strip]:
        symbols = self.looks.symbols
        right: list[Part] = []
        if self.waiting > 1:
            short = width < 34
            right = [part(f"1/{self.waiting}" if short else f"1 of {self.waiting} waiting", self.style("t2"))]
        title: list[Part] = [
            (symbols.waiting, self.style("warning", bold=True)),
            (" ", self.style()),
            (question_of(self.request), self.style(bold=True)),
        ]
        rows = [self.line(width, title, right)]
        if self._tiny:
            return rows
        return [*rows, self.line(width, []), *self._subject(width)]

    def _subject(self, width: int) -> list[Strip]:
        if any(isinstance(one, Runs) for one in self.request.effects):
            return []
        verb = clean_line(self.request.verb or self.request.tool).ljust(7) + " "
        diffs = [one for one in self.request.preview if isinstance(one, DiffBlock)]
        rows: list[Strip] = []
        for at, piece in enumerate(wrap(clean_line(self.request.target, reveal=True), width - 18)):
            left: list[Part] = [
                (verb if at == 0 else " " * len(verb), self.style("t2")),
                (piece, self.style()),
            ]
            if at == 0 and diffs:
                left += [
                    (f"   +{sum(one.added for one in diffs)}", self.style("success")),
                    (f" {self.looks.symbols.minus}{sum(one.removed for one in diffs)}", self.style("error")),
                ]
            rows.append(self.line(width, left))
        return rows

    def body(self, width: int) -> list[Strip]:
        rows = [*(self._subject(width) if self._tiny else []), *self._preview(width)]
        if self._small and not self.expanded:
            rows += self._effects(width)
        return rows

    def _preview(self, width: int) -> list[Strip]:
        rows: list[Strip] = []
        runs = [one for one in self.request.effects if isinstance(one, Runs)]
        if runs and not any(
            isinstance(one, (TextBlock, TerminalBlock, DiffBlock)) for one in self.request.preview
        ):
            rows += command_rows(runs[0].script or _argv_text(runs[0].argv), self.looks, width)
        for at, block in enumerate(self.request.preview):
            text = self._texts.of(at)
            if runs and isinstance(block, (TextBlock, TerminalBlock)) and at == 0:
                rows += command_rows(text, self.looks, width)
            else:
                rows += block_rows(block, self.looks, width, text)
        return rows

    def _effects(self, width: int) -> list[Strip]:
        rows: list[Strip] = [self.line(width, [])]
        cwd = next((one.cwd for one in self.request.effects if isinstance(one, Runs)), "")
        if cwd:
            rows = [self.line(width, [part(f"in {cwd}", self.style("t3"))]), *rows]
        for label, text in effect_lines(
            self.request.effects, self.request.reason, self.policy, self.workspace
        ):
            for at, piece in enumerate(wrap(text, max(10, width - 9))):
                left: list[Part] = [(label.ljust(9) if at == 0 else " " * 9, self.style("t2"))]
                left += _named_policy(self, piece) if label == "Asked" else [(piece, self.style())]
                rows.append(self.line(width, left))
        return rows

    def foot(self, width: int) -> list[Strip]:
        gap = [] if self._tiny else [self.line(width, [])]
        rows: list[Strip] = []
        if not self._small and not self.expanded:
            rows += self._effects(width)
        if self.request.risk:
            for at, piece in enumerate(wrap(clean_line(self.request.risk), width - 2)):
                mark = self.looks.symbols.warning if at == 0 else " "
                rows += gap if at == 0 else []
                rows.append(
                    self.line(width, [(mark, self.style("warning", bold=True)), (" " + piece, self.style())])
                )
        rows += gap
        rows += [self._answers_in_one(width)] if self._tiny and not self.typing else self._answers(width)
        if not self._tiny:
            rows += gap
            rows.append(self.keys_line(width, self._keys(), "nothing runs until you answer"))
        return rows

    def _keys(self) -> list[tuple[str, str]]:
        if self.typing:
            return [("Enter", "say it"), ("Esc", "back")]
        keys = [("Enter", "choose"), ("D", "less" if self.expanded else "whole change")]
        if self._choice("a").offered:
            keys.append(("E", "edit the rule"))
        return [*keys, ("Esc", "no")]

    def _answers(self, width: int) -> list[Strip]:
        rows: list[Strip] = []
        for answer in ANSWERS:
            chosen = answer == self.chosen
            ground: Role = "selection" if chosen else "s3"
            choice = self._choice(answer)
            wish = f"answer {answer}"
            fill = doing(self.style(ground=ground), wish)
            mark = f"{self.looks.symbols.chosen} " if chosen else "  "
            key_style = doing(self.style("accent" if choice.offered else "t3", ground, bold=True), wish)
            words = doing(self.style("t1" if choice.offered else "t3", ground, bold=chosen), wish)
            left: list[Part] = [
                (mark, self.style("accent", ground)),
                (answer.upper(), key_style),
                ("  ", fill),
                (_WORDS[answer].ljust(22), words),
            ]
            room = max(4, width - 27)
            field = self._field_of(answer)
            if field is not None:
                cursor = self.style("on-accent", "accent")
                hint = "a word to the agent; Enter sends it" if answer == "n" else "the rule"
                left += field.parts(room, fill, cursor, hint, self.style("t3", ground))
            else:
                said = choice.rule if choice.offered else choice.why or "not offered"
                pieces = wrap(clean_line(said, reveal=True), room)
                left.append((pieces[0], doing(self.style("t2" if choice.offered else "t3", ground), wish)))
                rows.append(self.line(width, left, ground=ground))
                rest = doing(self.style("t2", ground), wish)
                rows += [
                    self.line(width, [(" " * 27, fill), (piece, rest)], ground=ground) for piece in pieces[1:]
                ]
                continue
            rows.append(self.line(width, left, ground=ground))
        return rows

    def _answers_in_one(self, width: int) -> Strip:
        left: list[Part] = []
        for answer in ANSWERS:
            chosen = answer == self.chosen
            offered = self._choice(answer).offered
            ground: Role = "selection" if chosen else "s3"
            wish = f"answer {answer}"
            left.append(
                (answer.upper(), doing(self.style("accent" if offered else "t3", ground, bold=True), wish))
            )
            if width >= 34:
                left.append(
                    (f" {_SHORT[answer]}", doing(self.style("t1" if offered else "t3", ground), wish))
                )
            left.append(("  ", self.style()))
        return self.line(width, left)

    def _field_of(self, answer: Answer) -> Field | None:
        if not self.typing or answer != self.chosen:
            return None
        return self.word if answer == "n" else self.rule if answer == "a" else None

    def _choice(self, answer: Answer) -> Choice:
        if answer == "n":
            said = self.word.text or "the agent reads your words and goes on"
            return Choice(reach="once", rule=said)
        reach = _REACH[answer]
        found = next((one for one in self.request.choices if one.reach == reach), None)
        if found is None:
            offered = answer == "y"
            return Choice(reach=reach, rule="", offered=offered, why="not offered here")
        if answer == "a" and self.rule is not None:
            return found.model_copy(update={"rule": self.rule.text})
        return found

    # -- answering -------------------------------------------------------------------------------------------------

    def take_key(self, key: str, character: str | None) -> bool:
        if self.typing:
            return self._type(key, character)
        match key.lower():
            case "y" | "s" | "a" | "n":
                self._answer(key.lower())  # type: ignore[arg-type]
            case "enter":
                self._answer(self.chosen)
            case "up" | "k" | "shift+tab":
                self._move(-1)
            case "down" | "j" | "tab":
                self._move(1)
            case "d":
                self.expanded = not self.expanded
                self.redraw(keep=False)
            case "e":
                self._edit_rule()
            case "escape":
                self._decide("n")
            case "ctrl+up":
                self.scroll_rows(-1)
            case "ctrl+down":
                self.scroll_rows(1)
            case "space":
                self.scroll_rows(self._body.size.height)
            case _:
                return False
        return True

    def _type(self, key: str, character: str | None) -> bool:
        field = self._field_of(self.chosen)
        if field is None:
            return False
        if key == "escape":
            self.typing = False
            self.rule = None
        elif key == "enter":
            self._decide(self.chosen)
            return True
        elif not field.key(key, character):
            return False
        self.redraw()
        return True

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        field = self._field_of(self.chosen)
        if field is not None:
            field.insert(event.text)
            self.redraw()

    def _move(self, by: int) -> None:
        self.chosen = ANSWERS[(ANSWERS.index(self.chosen) + by) % len(ANSWERS)]
        self.redraw()

    def _edit_rule(self) -> None:
        choice = self._choice("a")
        if choice.offered:
            self.chosen, self.typing = "a", True
            self.rule = self.rule or Field(choice.rule)
            self.redraw()

    def _answer(self, answer: Answer) -> None:
        if not self._choice(answer).offered:
            self.chosen = answer
            self.redraw()
            return
        if answer == "n" and not (self.typing and self.chosen == "n"):
            self.chosen, self.typing = "n", True
            self.redraw()
            return
        self._decide(answer)

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
            self._answer(answer)


def _argv_text(argv: tuple[str, ...]) -> str:
    return " ".join(word if word and " " not in word and "'" not in word else repr(word) for word in argv)


def _named_policy(sheet: Approval, text: str) -> list[Part]:
    """The sentence with the policy's name in its colour."""
    before, found, after = text.partition(f"policy {sheet.policy}")
    if not found:
        return [(text, sheet.style())]
    name = sheet.style(policy_role(sheet.policy), bold=True)
    return [(before + "policy ", sheet.style()), (sheet.policy, name), (after, sheet.style())]
