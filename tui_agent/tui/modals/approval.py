"""L7: the approval: what exactly would happen, its effects, and four answers in their fixed order.

Invariant: the thing asked about is shown whole and can be scrolled; keys are ignored for the first 300 ms; text typed
into a field never answers; what is not offered stays in sight and says why.
"""

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.strip import Strip

from tui_agent.protocol.commands import DecidePermission
from tui_agent.protocol.display import DiffBlock
from tui_agent.protocol.events.policy import Choice, PermissionRequested, Reach
from tui_agent.protocol.ids import RequestId
from tui_agent.tui.modals.answers import ANSWERS, Answer, answer_rows, answers_in_one
from tui_agent.tui.modals.asked import Asked
from tui_agent.tui.modals.effects import question_of
from tui_agent.tui.modals.exact import ReadLong
from tui_agent.tui.modals.field import Field
from tui_agent.tui.modals.sheet import Sheet
from tui_agent.tui.panes.base import Looks
from tui_agent.tui.rows import Part, part, wrap
from tui_agent.tui.text import clean_line

_ACTIONS: dict[str, Answer] = {"yes_session": "s", "always": "a", "edit_rule": "a"}
_LEAST_BODY = 3
"""Rows of the thing itself that stay in sight beside its effects."""
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
        self.keys_changed: Callable[[], None] = lambda: None
        """Called when other keys apply: while a word is typed, and after it."""
        self.expanded = False
        self._asked = Asked(self, request, policy, workspace, blob)

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
        return [*rows, *self._gap(width), *self._asked.subject(width)]

    @property
    def tight(self) -> bool:
        return self.app.size.height < 30

    def _gap(self, width: int) -> list[Strip]:
        """An empty row, where the screen has room for such."""
        return [] if self.tight else [self.line(width, [])]

    def body(self, width: int) -> list[Strip]:
        rows = [
            *(self._asked.subject(width) if self._tiny else []),
            *self._asked.preview(width, edges=not self.tight),
        ]
        if not self.expanded and not self._effects_stand(width):
            rows += self._asked.effects(width, roomy=not self.tight)
        return rows

    def _effects_stand(self, width: int) -> bool:
        """Whether the effects have room below the body, always in sight; else they scroll with it."""
        if self._tiny or self.expanded:
            return False
        fixed = (
            len(self.head(width))
            + len(self._asked.effects(width, roomy=not self.tight))
            + len(self._rest(width))
        )
        return fixed + _LEAST_BODY <= self.most_rows

    def foot(self, width: int) -> list[Strip]:
        effects = self._asked.effects(width, roomy=not self.tight) if self._effects_stand(width) else []
        return [*effects, *self._rest(width)]

    def _rest(self, width: int) -> list[Strip]:
        """What stands below the effects: the risk, the answers, the keys."""
        rows: list[Strip] = []
        if self.request.risk:
            rows += self._gap(width)
            for at, piece in enumerate(wrap(clean_line(self.request.risk), width - 2)):
                mark = self.looks.symbols.warning if at == 0 else " "
                rows.append(
                    self.line(width, [(mark, self.style("warning", bold=True)), (" " + piece, self.style())])
                )
        if self._tiny:
            return [*rows, *(answer_rows(self, width) if self.typing else [answers_in_one(self, width)])]
        keys = self.keys_line(width, self._keys(), "nothing runs until you answer")
        return [*rows, self.line(width, []), *answer_rows(self, width), *self._gap(width), keys]

    def _keys(self) -> list[tuple[str, str]]:
        if self.typing:
            return [("Enter", "say it"), ("Esc", "back")]
        keys = [("Enter", "choose")]
        if "whole_file" not in self.without:
            keys.append(("D", "less" if self.expanded else "whole change"))
        if "edit_rule" not in self.without:
            keys.append(("E", "edit the rule"))
        return [*keys, ("Esc", "no")]

    @property
    def without(self) -> frozenset[str]:
        """The registry's names of keys that do nothing here."""
        names = {name for name, answer in _ACTIONS.items() if not self.choice(answer).offered}
        if not any(isinstance(one, DiffBlock) for one in self.request.preview):
            names.add("whole_file")
        return frozenset(names)

    def field_of(self, answer: Answer) -> Field | None:
        if not self.typing or answer != self.chosen:
            return None
        return self.word if answer == "n" else self.rule if answer == "a" else None

    def choice(self, answer: Answer) -> Choice:
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
            case "d" if "whole_file" not in self.without:
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
        field = self.field_of(self.chosen)
        if field is None:
            return False
        if key == "escape":
            self.rule = None
            self._set_typing(on=False)
        elif key == "enter":
            self._decide(self.chosen)
            return True
        elif not field.key(key, character):
            return False
        self.redraw()
        return True

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        field = self.field_of(self.chosen)
        if field is not None:
            field.insert(event.text)
            self.redraw()

    def _move(self, by: int) -> None:
        self.chosen = ANSWERS[(ANSWERS.index(self.chosen) + by) % len(ANSWERS)]
        self.redraw()

    def _edit_rule(self) -> None:
        choice = self.choice("a")
        if choice.offered:
            self.chosen = "a"
            self.rule = self.rule or Field(choice.rule)
            self._set_typing(on=True)

    def _set_typing(self, *, on: bool) -> None:
        self.typing = on
        self.redraw()
        self.keys_changed()

    def _answer(self, answer: Answer) -> None:
        if not self.choice(answer).offered:
            self.chosen = answer
            self.redraw()
            return
        if answer == "n" and not (self.typing and self.chosen == "n"):
            self.chosen = "n"
            self._set_typing(on=True)
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
