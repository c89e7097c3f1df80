"""L7: what stands where the chat will be: how to begin. With no model, what was found and what else there is.

Invariant: every row says what it does and the key for it; nothing has been sent anywhere when this is shown.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui_agent.tui.panes.base import Intent, LinePane, Looks
from tui_agent.tui.panes.policy import policy_role, policy_words
from tui_agent.tui.rows import Part, cells, doing, part, row
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme import Role

WIDEST = 92


class Choice(NamedTuple):
    """One row: `intent` is what it means; without one it only informs."""

    name: str
    about: str
    right: str = ""
    intent: str = ""
    group: str = ""


class Start(LinePane, can_focus=True):
    """The page before the first message. Digits, arrows and Enter choose; other keys go to the prompt."""

    def __init__(self, looks: Callable[[], Looks], *, id: str | None = None) -> None:
        super().__init__(looks, id=id)
        self.needs_model = False
        self.choices: Sequence[Choice] = ()
        self.folder = ""
        self.folder_facts = ""
        self.trusted = True
        self.policy = "ask"
        self.chosen = 0
        self.typed_into: Widget | None = None
        """Where letters go that choose nothing."""
        self._typing = False

    def set_page(
        self, *, needs_model: bool, choices: Sequence[Choice], folder: str, facts: str, policy: str
    ) -> None:
        """Show this."""
        self.needs_model, self.choices = needs_model, choices
        self.folder, self.folder_facts, self.policy = folder, facts, policy
        self.chosen = min(self.chosen, max(0, len(self.usable) - 1))
        self.show()

    @property
    def usable(self) -> list[Choice]:
        """The rows that can be chosen, numbered in this order."""
        return [one for one in self.choices if one.intent]

    def draw(self, width: int, height: int) -> list[Strip]:
        room = min(WIDEST, width - 4)
        indent = max(2, min(14, (width - room) // 2))
        body = self._body(room, indent, width)
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
            warning: list[Part] = [
                (self.looks.symbols.warning, self.style("warning", bold=True)),
                (" No model is set up yet. ", self.style()),
                ("Pick one of these; nothing has been sent anywhere.", self.style("t2")),
            ]
            rows += [line(warning), gap]
        rows += self._choices(room, indent, width, line)
        rows += self._folder(line)
        return rows

    def _choices(self, room: int, indent: int, width: int, line: Callable[..., Strip]) -> list[Strip]:
        rows: list[Strip] = []
        group, number = "", 0
        for one in self.choices:
            if one.group != group:
                rows += [line([])] if group else []
                rows.append(line([part(one.group, self.style(bold=True))]))
                group = one.group
            if one.intent:
                number += 1
            rows.append(self._choice(one, number, room, indent, width))
        return [*rows, line([])] if rows else rows

    def _choice(self, one: Choice, number: int, room: int, indent: int, width: int) -> Strip:
        chosen = bool(one.intent) and number - 1 == self.chosen and self.has_focus
        ground: Role = "selection" if chosen else "s0"
        rich = self.looks.palette.rich
        wish = f"start {number}" if one.intent else ""
        fill = doing(rich("t1", ground), wish)
        mark = self.looks.symbols.chosen if chosen else " "
        name = doing(rich("t1" if one.intent else "t3", ground, bold=chosen), wish)
        left: list[Part] = [
            (f" {mark} ", rich("accent", ground)),
            (
                str(number) if one.intent else "–",
                doing(rich("accent" if one.intent else "t3", ground, bold=True), wish),
            ),
            ("  ", fill),
            (clean_line(one.name).ljust(17), name),
            part(one.about, doing(rich("t2" if one.intent else "t3", ground), wish)),
        ]
        right = [part(one.right, doing(rich("t2", ground), wish))] if one.right else []
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
            ("Shift+Tab", doing(self.style("accent", bold=True), "next_policy")),
            (" change", doing(self.style("t1"), "next_policy")),
        ]
        facts: list[Part] = [part(f"   {self.folder}", self.style("t2"))]
        if self.folder_facts:
            facts.append(part(f"   {self.folder_facts}", self.style("t3")))
        rows = [line([("This folder", self.style(bold=True))]), line(facts)]
        short = cells(policy) + cells(change) + 6 > self.size.width
        return [*rows, line(policy, [] if short else change)]

    class Focused(Message):
        """It has the keys now, or no longer."""

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._typing = self._typing and not has_focus
        self.show()
        self.post_message(self.Focused())

    def on_key(self, event: events.Key) -> None:
        usable = self.usable
        if self._typing and self.typed_into is not None:
            # What came in one go with the first letter was sent here before the focus moved.
            self.typed_into.post_message(events.Key(event.key, event.character))
        elif event.key in ("up", "down") and usable:
            self.chosen = (self.chosen + (1 if event.key == "down" else -1)) % len(usable)
            self.show()
        elif event.key == "enter" and usable:
            self._use(self.chosen)
        elif event.character and event.character.isdigit() and 0 < int(event.character) <= len(usable):
            self._use(int(event.character) - 1)
        elif event.key == "escape":
            self.post_message(Intent("write"))
        elif event.is_printable and self.typed_into is not None:
            self._typing = True
            self.screen.set_focus(self.typed_into)
            self.typed_into.post_message(events.Key(event.key, event.character))
        else:
            return
        event.stop()
        event.prevent_default()

    def on_click(self, event: events.Click) -> None:
        self.focus()
        super().on_click(event)

    def choose(self, number: str) -> None:
        """A click on a numbered row."""
        if number.isdigit() and 0 < int(number) <= len(self.usable):
            self._use(int(number) - 1)

    def _use(self, index: int) -> None:
        self.chosen = index
        name, _, argument = self.usable[index].intent.partition(" ")
        self.post_message(Intent(name, argument))
