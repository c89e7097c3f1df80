"""The start page, shown before the first message: how to begin and, without a model, how to set one up.

Invariant: nothing is sent anywhere while this page is shown.
"""

from collections.abc import Sequence
from textwrap import wrap
from typing import Final, NamedTuple

from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.panes.policy import policy_role, policy_words
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.keymap import KeyActions
from tui_agent.tui.widgets.lists import Intent, LinePane
from tui_agent.tui.widgets.rows import Pen, blank_strip, cells, with_intent

NAME_CELLS: Final = 17
MIN_WIDE_ROOM: Final = 62
"""Minimum page width, in cells, at which the column of names is always `NAME_CELLS` wide."""
MAX_WIDTH: Final = 92
MAX_NOTICES: Final = 3
FOLDER_INDENT: Final = " " * 6
"""Indent that aligns the facts about the folder with the rows above."""


class StartChoice(NamedTuple):
    """A row of the start page.

    `intent`: the action that the row runs; a row without an intent cannot be chosen.
    """

    name: str
    about: str
    right: str = ""
    intent: str = ""
    group: str = ""


WAYS_TO_START: Final = (
    StartChoice(
        "Set up a model", "enter a key, or the address of your own server", "", "provider", "Ways to start"
    ),
    StartChoice(
        "Watch a demo", "a real task in a throw-away folder", "no key, 1 min", "demo", "Ways to start"
    ),
)
"""Ways to begin without a configured model, as rows of the start page. The first frame shows these rows."""
UNOPENED: Final = (
    StartChoice("New session", "start a new session in this folder", "/new", "new"),
    StartChoice("Sessions", "continue an earlier session", "/sessions", "sessions"),
)
"""Rows that are shown when no session could be opened."""
WATCH: Final = StartChoice("Watch", "watch the session here, read only", "", "watch_session")
"""Row below `UNOPENED`, shown if another process has the session open."""


class StartContent(NamedTuple):
    """The content of the start page: rows to choose from, a possible fault, and facts about the folder."""

    choices: Sequence[StartChoice] = ()
    needs_model: bool = False
    fault: str = ""
    """The reason why the requested model is not usable, or why no session is open."""
    unopened: bool = False
    """True if no session could be opened."""
    folder: str = ""
    facts: str = ""
    """Git branch and state of the work folder, such as `git main, clean`."""
    unused_files: int = 0
    """Number of the folder's configuration files that are not trusted and therefore ignored."""
    policy: str = ""
    """The policy; empty if it is not known yet."""
    program: str = ""
    """The name of the agent if the agent is an external program; otherwise empty."""


class Start(KeyActions, LinePane, can_focus=True):
    """The start page. A typed character that has no action on this page goes to the prompt."""

    scope = "start"

    def __init__(self) -> None:
        super().__init__(id="start")
        self.content = StartContent()
        self.numbers: dict[str, int] = {}
        """Maps a row's intent to the row's digit key."""
        # A row added later gets the next free digit, so that the other digits do not change.
        self.chosen = 0
        self.typed_into: Widget | None = None
        """Widget that receives pasted text, and typed characters without an action on the start page."""
        self._typing = False
        self._notices: Sequence[str] = ()

    def set_notices(self, notices: Sequence[str]) -> None:
        """Show notices about the session's start, such as a plugin that failed, at the end of the page."""
        if notices != self._notices:
            self._notices = notices
            self.show()

    def set_content(self, content: StartContent) -> None:
        """Show this content; keep the selected row if the new content contains the row."""
        before = self.usable[self.chosen].intent if self.numbers and self.chosen < len(self.usable) else ""
        # Another kind of page: number its rows from 1 again.
        if (content.needs_model, content.unopened) != (self.content.needs_model, self.content.unopened):
            self.numbers, before = {}, ""
        self.content = content
        intents = [choice.intent for choice in self.usable]
        for intent in intents:
            self.numbers.setdefault(intent, max(self.numbers.values(), default=0) + 1)
        self.chosen = intents.index(before) if before in intents else 0
        self.show()

    @property
    def usable(self) -> list[StartChoice]:
        """The selectable rows of the start page, from top to bottom."""
        return [choice for choice in self.content.choices if choice.intent]

    def draw(self, width: int, height: int) -> list[Strip]:
        room = min(MAX_WIDTH, width - 4)
        indent = max(2, min(14, (width - room) // 2))
        introduction, body = self._introduction(room), self._body(room)
        if len(introduction) + len(body) <= height:
            body = [*introduction, *body]
        top = max(0, min(4, (height - len(body)) // 3))
        left, right = (
            blank_strip(indent, self.style()),
            blank_strip(max(0, width - indent - room), self.style()),
        )
        return [blank_strip(width, self.style())] * top + [Strip.join([left, row, right]) for row in body]

    def _introduction(self, room: int) -> list[Strip]:
        pen = Pen(self.looks, self.surface, margin=0)
        text = "It shows every action, lets you undo changes, and records every event."
        return [
            pen.line(room, [pen.part("A coding agent in your terminal", bold=True)]),
            *pen.hanging_rows(room, [], wrap(text, max(1, room)), pen.style("t2")),
            pen.line(room, []),
        ]

    def _body(self, room: int) -> list[Strip]:
        pen = Pen(self.looks, self.surface, margin=0)
        gap = pen.line(room, [])
        if self.content.needs_model:
            rows = self._problem_rows(pen, room)
        else:
            first = pen.part("Ready. ", "success", bold=True)
            room_beside = max(1, room - cells([first]))
            pieces = wrap("Describe a change, or ask a question.", room_beside)
            rows = pen.hanging_rows(room, [first], pieces, pen.style())
        rows.append(gap)
        choices = self._choice_rows(pen, room)
        folder = self._folder_rows(pen, room)
        return [*rows, *choices, *([gap] if choices else []), *folder, *self._notice_rows(pen, room)]

    def _notice_rows(self, pen: Pen, room: int) -> list[Strip]:
        rows: list[Strip] = []
        for notice in self._notices[:MAX_NOTICES]:
            mark = pen.part(f"{self.looks.symbols.warning} ", "warning", bold=True)
            pieces = wrap(clean_line(notice), max(20, room - 2))
            rows += [pen.line(room, []), *pen.hanging_rows(room, [mark], pieces, pen.style())]
        return rows

    def _problem_rows(self, pen: Pen, room: int) -> list[Strip]:
        """Return rows with the reason why no model or session is usable, and with advice."""
        content, symbols = self.content, self.looks.symbols
        mark = pen.part(f"{symbols.warning} ", "warning", bold=True)
        advice = pen.part("Nothing has been sent anywhere.", "t2")
        if content.unopened:
            mark = pen.part(f"{symbols.failed} ", "error", bold=True)
            advice = pen.part("No session is open. Messages stay in the prompt.", "t2")
        if not content.fault:
            return [pen.line(room, [mark, pen.part("No model is set up yet. "), advice])]
        pieces = wrap(clean_line(content.fault), max(20, room - 2)) or [""]
        rows = pen.hanging_rows(room, [mark], pieces, pen.style())
        return [*rows, pen.line(room, [pen.part("  "), advice])]

    def _choice_rows(self, pen: Pen, room: int) -> list[Strip]:
        rows: list[Strip] = []
        group, index = "", 0
        for choice in self.content.choices:
            if choice.group != group:
                rows += [pen.line(room, [])] if group else []
                rows.append(pen.line(room, [pen.part(choice.group, bold=True)]))
                group = choice.group
            rows.append(self._choice_row(choice, index == self.chosen, room))
            index += bool(choice.intent)
        return rows

    def _choice_row(self, choice: StartChoice, chosen: bool, room: int) -> Strip:
        is_usable = bool(choice.intent)
        chosen = chosen and is_usable and self.has_focus
        number = self.numbers.get(choice.intent, 0)
        intent = f"start {number}" if is_usable else ""
        pen = Pen(self.looks, "selection" if chosen else self.surface, intent, chosen, margin=1)
        # In the prompt, a digit is text.
        key = self.key_map.key_of("start_pick", number - 1) if number and self.has_focus else " "
        left = [
            pen.part(" "),
            pen.mark,
            pen.part(key if is_usable else "–", "accent" if is_usable else "t3", bold=True),
            pen.part("  "),
            pen.part(choice.name.ljust(self._name_cells(room)), "t1" if is_usable else "t3", bold=chosen),
            pen.part(choice.about, "t2" if is_usable else "t3"),
        ]
        row = pen.line(room, left, [pen.part(choice.right, "t2")])
        # A click on the empty cells of a row counts too.
        return row.apply_style(with_intent(Style(), intent))

    def _name_cells(self, room: int) -> int:
        longest = max(len(choice.name) for choice in self.content.choices)
        return NAME_CELLS if room >= MIN_WIDE_ROOM else min(NAME_CELLS, longest + 2)

    def _folder_rows(self, pen: Pen, room: int) -> list[Strip]:
        content = self.content
        if not content.folder:
            return []
        facts = [pen.part(f"{FOLDER_INDENT}{content.folder}", "t2")]
        if content.facts:
            facts.append(pen.part(f"   {content.facts}", "t3"))
        rows = [pen.line(room, [pen.part("This folder", bold=True)]), pen.line(room, facts)]
        if content.unused_files:
            unused = f"{FOLDER_INDENT}{format_count(content.unused_files, 'file')} not trusted, so not used"
            trust = pen._replace(intent="trust")
            right = [trust.part("/trust", "accent", bold=True), trust.part(" see them")]
            rows.append(pen.line(room, [pen.part(unused, "t2")], right))
        if not content.policy:
            return rows
        policy = [
            pen.part(f"{FOLDER_INDENT}policy ", "t2"),
            pen.part(content.policy, policy_role(content.policy), bold=True, intent="policy"),
            pen.part(f": {policy_words(content.policy, program=content.program)}", "t2"),
        ]
        next_policy = pen._replace(intent="next_policy")
        key = self.key_map.key_of("next_policy")
        change = [next_policy.part(key, "accent", bold=True), next_policy.part(" change")]
        fits = cells(policy) + cells(change) + 2 <= room
        return [*rows, pen.line(room, policy, change if fits else [])]

    class Focused(Message):
        """Posted when the start page gains or loses the focus."""

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._typing = self._typing and not has_focus
        self.show()
        self.post_message(self.Focused())

    def on_key(self, event: events.Key) -> None:
        if self._typing and self.typed_into is not None:
            # Keys read together with the first letter arrived here before the focus moved to the prompt.
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

    def on_paste(self, event: events.Paste) -> None:
        if self.typed_into is not None:
            event.stop()
            self.screen.set_focus(self.typed_into)
            self.typed_into.post_message(events.Paste(event.text))

    def move(self, direction: int) -> bool:
        """Select the row below (`direction` 1) or above (-1), wrapping around; return False if there is no row."""
        if self.usable:
            self.chosen = (self.chosen + direction) % len(self.usable)
            self.show()
        return bool(self.usable)

    def pick(self, number: int) -> bool:
        """Run the action of the row with the digit `number + 1`. Return False if no row has this digit.

        Before the rows have digits, do nothing and return True.
        """
        numbers = [self.numbers.get(choice.intent) for choice in self.usable]
        has_row = number + 1 in numbers
        if has_row:
            self.chosen = numbers.index(number + 1)
            self.show()
            self.use()
        return has_row or not self.numbers

    def use(self) -> bool:
        """Run the action of the selected row; return False if there is no row."""
        if self.usable:
            name, _, argument = self.usable[self.chosen].intent.partition(" ")
            # Of two keys that are read together, such as `2` and Enter, the first can open a screen over the page.
            self.post_message(Intent(name, argument, self.screen))
        return bool(self.usable)

    def leave(self) -> None:
        """Move the focus to the prompt."""
        self.post_message(Intent("write"))

    def on_click(self, event: events.Click) -> None:
        self.focus()

    def choose(self, number: str) -> None:
        """Run the action of the row with this digit, e.g. `1`. Do nothing for any other text."""
        if number.isascii() and number.isdigit():
            self.pick(int(number) - 1)


def first_page(typed_into: Widget, folder: str = "") -> Start:
    """Create the start page.

    `typed_into`: the widget that gets the characters typed on the page, i.e. the prompt's editor. `folder`: the
    work folder to show on the page; if it is empty, the page is hidden at first.
    """
    start = Start()
    start.styles.height = "1fr"
    start.typed_into = typed_into
    start.display = bool(folder)
    if folder:
        start.content = StartContent(WAYS_TO_START, needs_model=True, folder=folder)
    return start
