"""The page before the first message: how to begin, and without a model the ways to set one up.

Invariant: every row says what it does and its key; nothing has been sent anywhere while this is shown.
"""

from collections.abc import Callable, Sequence
from textwrap import wrap
from typing import NamedTuple

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Scope
from tui_agent.tui.panes.policy import policy_role, policy_words
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.keymap import KeyActions
from tui_agent.tui.widgets.line_pane import Intent, LinePane
from tui_agent.tui.widgets.rows import Part, cells, doing, part, row

WIDEST = 92


class Choice(NamedTuple):
    """One row: `intent` is the action it runs; without one it only informs."""

    name: str
    about: str
    right: str = ""
    intent: str = ""
    group: str = ""


WITHOUT_KEY = (
    Choice("Demo", "a real task in a throw-away folder", "about 60 s", "demo", "Without a key"),
    Choice(
        "Other provider",
        "type in a key, or the address of your server",
        "",
        "provider",
        "Without a key",
    ),
    Choice("Sessions", "open a recorded session of this folder", "", "sessions", "Without a key"),
)
"""Choices that work everywhere; the first frame shows them."""
UNOPENED = (
    Choice("Try again", "open a new session of this folder", "/new", "new"),
    Choice("Sessions", "open a recorded session of this folder", "/sessions", "sessions"),
)
"""Choices when no session could be opened."""


class Start(KeyActions, LinePane, can_focus=True):
    """The start page. Its keys are in the registry, scope `start`; others go to the prompt."""

    key_methods = {"start_row": "move", "start_pick": "pick", "start_use": "use", "start_leave": "leave"}

    def __init__(self, looks: Callable[[], Looks], *, id: str | None = None) -> None:
        super().__init__(looks, id=id)
        self.needs_model = False
        self.fault = ""
        self.unopened = False
        self.choices: Sequence[Choice] = ()
        self.numbers: dict[str, int] = {}
        """The digit of each intent: one found later gets the next digit, so that none changes its meaning."""
        self.folder = ""
        self.folder_facts = ""
        self.left = 0
        """Number of the folder's files that are not used because they are not trusted."""
        self.policy = "ask"
        self.chosen = 0
        self.typed_into: Widget | None = None
        """The widget that gets letters which choose nothing."""
        self._typing = False

    def set_page(
        self,
        *,
        needs_model: bool,
        fault: str,
        choices: Sequence[Choice],
        folder: str,
        facts: str,
        policy: str,
        unopened: bool = False,
    ) -> None:
        """Show this page. `fault` is why the wanted model is not usable, or why no session is open (`unopened`)."""
        is_numbered = bool(self.numbers) and self.chosen < len(self.usable)
        intent_before = self.usable[self.chosen].intent if is_numbered else ""
        if needs_model != self.needs_model or unopened != self.unopened:
            self.numbers, intent_before = {}, ""
        self.unopened = unopened
        self.needs_model, self.fault, self.choices = needs_model, fault, choices
        self.folder, self.folder_facts, self.policy = folder, facts, policy
        intents = [choice.intent for choice in self.usable]
        for intent in intents:
            self.numbers.setdefault(intent, max(self.numbers.values(), default=0) + 1)
        self.chosen = intents.index(intent_before) if intent_before in intents else 0
        self.show()

    @property
    def usable(self) -> list[Choice]:
        """The rows that can be chosen, in order."""
        return [choice for choice in self.choices if choice.intent]

    def draw(self, width: int, height: int) -> list[Strip]:
        room = min(WIDEST, width - 4)
        indent = max(2, min(14, (width - room) // 2))
        body = self._body(room, indent, width)
        if len(body) > height:
            body = body[3:]  # the introduction is not needed
        top = max(0, min(4, (height - len(body)) // 3))
        return [row(width, [], fill=self.style())] * top + body

    def _body(self, room: int, indent: int, width: int) -> list[Strip]:
        def line(left: list[Part], right: list[Part] | None = None) -> Strip:
            return row(
                width,
                [(" " * indent, self.style()), *left],
                right or [],
                fill=self.style(),
                margin=max(0, width - indent - room),
            )

        gap = line([])
        rows = [
            line([("A coding agent in your terminal", self.style(bold=True))]),
            line(
                [
                    part(
                        "It shows what it does, asks before it acts, and records every event.",
                        self.style("t2"),
                    )
                ]
            ),
            gap,
        ]
        if self.needs_model:
            rows += [*self._problem_rows(room, line), gap]
        rows += self._choices(room, indent, width, line)
        rows += self._folder(line)
        return rows

    def _problem_rows(self, room: int, line: Callable[..., Strip]) -> list[Strip]:
        """Return what is missing, wrapped, and what to do."""
        mark: Part = (self.looks.symbols.warning, self.style("warning", bold=True))
        advice = "Pick one of these; nothing has been sent anywhere."
        if self.unopened:
            mark = (self.looks.symbols.failed, self.style("error", bold=True))
            advice = "No session is open. What you typed is kept."
        if not self.fault:
            return [line([mark, (" No model is set up yet. ", self.style()), (advice, self.style("t2"))])]
        first, *more = wrap(clean_line(self.fault), max(20, room - 2)) or [""]
        rows = [line([mark, (" ", self.style()), part(first, self.style())])]
        rows += [line([("  ", self.style()), part(text, self.style())]) for text in more]
        return [*rows, line([("  ", self.style()), (advice, self.style("t2"))])]

    def _choices(self, room: int, indent: int, width: int, line: Callable[..., Strip]) -> list[Strip]:
        rows: list[Strip] = []
        group, at = "", -1
        for choice in self.choices:
            if choice.group != group:
                rows += [line([])] if group else []
                rows.append(line([part(choice.group, self.style(bold=True))]))
                group = choice.group
            at += 1 if choice.intent else 0
            rows.append(self._choice_row(choice, at, room, indent, width))
        return [*rows, line([])] if rows else rows

    def _choice_row(self, choice: Choice, at: int, room: int, indent: int, width: int) -> Strip:
        chosen = bool(choice.intent) and at == self.chosen and self.has_focus
        number = self.numbers.get(choice.intent, 0)
        ground: Role = "selection" if chosen else "s0"
        rich = self.looks.palette.rich
        wish = f"start {number}" if choice.intent else ""
        fill = doing(rich("t1", ground), wish)
        mark = self.looks.symbols.chosen if chosen else " "
        name = doing(rich("t1" if choice.intent else "t3", ground, bold=chosen), wish)
        left: list[Part] = [
            (f" {mark} ", rich("accent", ground)),
            (
                (self.key_map.key_of("start_pick", number - 1) if number else " ") if choice.intent else "–",
                doing(rich("accent" if choice.intent else "t3", ground, bold=True), wish),
            ),
            ("  ", fill),
            (clean_line(choice.name).ljust(17), name),
            part(choice.about, doing(rich("t2" if choice.intent else "t3", ground), wish)),
        ]
        right = [part(choice.right, doing(rich("t2", ground), wish))] if choice.right else []
        inner = row(room, left, right, fill=fill, margin=1, ellipsis=self.looks.symbols.ellipsis)
        outer = self.style()
        return row(
            width,
            [(" " * indent, outer), *((text, style or outer) for text, style, _ in inner)],
            fill=outer,
            margin=0,
        )

    def _folder(self, line: Callable[..., Strip]) -> list[Strip]:
        if not self.folder:
            return []
        policy: list[Part] = [
            ("   policy ", self.style("t2")),
            (self.policy, doing(self.style(policy_role(self.policy), bold=True), "policy")),
            (f": {policy_words(self.policy)}", self.style("t2")),
        ]
        change: list[Part] = [
            (self.key_map.key_of("next_policy"), doing(self.style("accent", bold=True), "next_policy")),
            (" change", doing(self.style("t1"), "next_policy")),
        ]
        facts: list[Part] = [part(f"   {self.folder}", self.style("t2"))]
        if self.folder_facts:
            facts.append(part(f"   {self.folder_facts}", self.style("t3")))
        rows = [line([("This folder", self.style(bold=True))]), line(facts)]
        if self.left:
            unused: Part = (
                f"   {format_count(self.left, 'file')} not trusted, so not used",
                self.style("t2"),
            )
            rows.append(
                line(
                    [unused],
                    [
                        ("/trust", doing(self.style("accent", bold=True), "trust")),
                        (" see them", doing(self.style("t1"), "trust")),
                    ],
                )
            )
        fits = cells(policy) + cells(change) + 6 <= self.size.width
        return [*rows, line(policy, change if fits else [])]

    class Focused(Message):
        """Posted when the page gets or loses the focus."""

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._typing = self._typing and not has_focus
        self.show()
        self.post_message(self.Focused())

    def on_key(self, event: events.Key) -> None:
        if self._typing and self.typed_into is not None:
            # Keys read together with the first letter came here before the focus moved.
            self.typed_into.post_message(events.Key(event.key, event.character))
        elif self.run_key(event.key):
            pass
        elif event.is_printable and self.typed_into is not None:
            self._typing = True
            self.screen.set_focus(self.typed_into)
            self.typed_into.post_message(events.Key(event.key, event.character))
        else:
            return
        event.stop()
        event.prevent_default()

    def key_scopes(self) -> Sequence[Scope]:
        """Return the scope of this page."""
        return ("start",)

    def move(self, direction: int) -> bool:
        """Choose the row above or below; return False if there is none."""
        if self.usable:
            self.chosen = (self.chosen + direction) % len(self.usable)
            self.show()
        return bool(self.usable)

    def pick(self, number: int) -> bool:
        """Use the row with this number (from 0); return False if there is none."""
        index = self._index_of(str(number + 1))
        if index is not None:
            self._use(index)
        return index is not None

    def use(self) -> bool:
        """Use the chosen row; return False if there is none."""
        if self.usable:
            self._use(self.chosen)
        return bool(self.usable)

    def leave(self) -> None:
        """Go back to the prompt."""
        self.post_message(Intent("write"))

    def on_click(self, event: events.Click) -> None:
        self.focus()

    def choose(self, number: str) -> None:
        """Use the row with this number, after a click."""
        index = self._index_of(number)
        if index is not None:
            self._use(index)

    def _index_of(self, number: str) -> int | None:
        """Return the index of the row with this number."""
        if not number.isascii() or not number.isdigit():
            return None
        numbers = [self.numbers.get(choice.intent) for choice in self.usable]
        return numbers.index(int(number)) if int(number) in numbers else None

    def _use(self, index: int) -> None:
        self.chosen = index
        name, _, argument = self.usable[index].intent.partition(" ")
        self.post_message(Intent(name, argument))


def first_page(looks: Callable[[], Looks], typed_into: Widget, folder: str = "") -> Start:
    """Make the page. With a folder it is shown at once, for a start without a model.

    Its rows have no digits yet: models found later come above them.
    """
    start = Start(looks, id="start")
    start.styles.height = "1fr"
    start.typed_into = typed_into
    start.display = bool(folder)
    if folder:
        start.needs_model, start.choices, start.folder = True, WITHOUT_KEY, folder
    return start
