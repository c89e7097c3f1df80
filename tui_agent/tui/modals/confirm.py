"""A question answered with one key. Invariant: everything that Enter and Esc do can be undone."""

from collections.abc import Sequence
from typing import Literal

from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.links import address_of
from tui_agent.tui.main_screen import SessionApp
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.rows import Part
from tui_agent.tui.widgets.sheet import Sheet


class Confirm(Sheet[bool]):
    """Sheet with a yes/no question; the result is True for yes.

    - `yes`: the action that answers yes, and its label
    - `no`: the label of the answer no
    - `level`: decides the colour of the sheet's left border, e.g. `warning`
    """

    has_grace_period = True
    grace_period_s = 0.15
    scope = "confirm"
    answer_actions = frozenset({"confirm_yes"})

    def __init__(
        self,
        title: str,
        paragraphs: Sequence[str],
        *,
        yes: tuple[Literal["confirm_yes", "confirm_go"], str],
        no: str,
        level: str = "warning",
    ) -> None:
        super().__init__()
        self.title_text, self.paragraphs = title, tuple(paragraphs)
        self._yes, self._no = yes, no
        self.add_class(f"-{level}")

    def body(self, width: int) -> list[Strip]:
        first, *others = (clean_line(text) for text in self.paragraphs)
        rows = self.text_rows(width, first)
        for text in others:
            rows += self.text_rows(width, text, "t2")
        return rows

    def foot(self, width: int) -> list[Strip]:
        parts: list[Part] = []
        for (key, word, _), intent in zip(self.key_hints(), ("yes", "no"), strict=True):
            gap = "   " if parts else ""
            parts += [self.part(f"{gap}{key}", "accent", bold=True, intent=intent)]
            parts += [self.part(f" {word}", "t2", intent=intent)]
        return [*self.spacer(width), self.line(width, parts)]

    def key_hints(self) -> Sequence[KeyHint]:
        return [self.key_map.hint(*self._yes), self.key_map.hint("confirm_no", self._no)]

    def answer(self, action: str) -> bool:
        """Answer yes; return False if `action` does not confirm this question."""
        if action == self._yes[0] == "confirm_yes":
            self.give_unless_typing(lambda: self.dismiss(True))
        elif action == self._yes[0]:
            self.dismiss(True)
        return action == self._yes[0]

    def close(self) -> None:
        self.dismiss(False)

    def run_intent(self, intent: str) -> None:
        if intent in ("yes", "no"):
            self.dismiss(intent == "yes")


class QuitQuestion(Confirm):
    """Asks whether to quit although work is running; a second press of the quit key quits."""

    key_methods = {"confirm_go": "close"}  # Enter stays: pressed by accident, it must not end the work.

    def __init__(self, work: str) -> None:
        consequence = "If you quit, this work stops. Your session is saved."
        super().__init__("Quit now?", (work, consequence), yes=("confirm_yes", "quit"), no="stay")

    def key_hints(self) -> Sequence[KeyHint]:
        return [self.key_map.hint("quit", "quit"), self.key_map.hint("confirm_go", "stay")]


class LeaveQuestion(Confirm):
    """Asks whether to open another session although this stops the running work of the open session."""

    def __init__(self, work: str) -> None:
        stops = "If you open another session, this work stops. /sessions opens this one again."
        super().__init__("Leave this session?", (work, stops), yes=("confirm_yes", "leave"), no="stay")


def describe_running_work(context: AppContext) -> str:
    """Return a sentence about the work that quitting the session would end; empty if there is none."""
    state, works = context.state, list[str]()
    if context.is_running:
        works.append("your command" if state.shell is not None else "a turn")
    elif state.delegates and context.is_connected:
        works.append("a subtask")
    works += [format_count(len(state.jobs), "background job")] if state.jobs else []
    is_one = len(works) == 1 and len(state.jobs) < 2
    text = f"{' and '.join(works)} {'is' if is_one else 'are'} running."
    return text[0].upper() + text[1:] if works else ""


def open_link(app: SessionApp, link: str) -> None:
    """Ask before opening a link in the browser, and show the real address."""
    address = address_of(link)
    if not address.opens:
        app.say(address.text)
        return

    confirm = Confirm(
        "Open this address?",
        (address.text, f"The link goes to {address.host}."),
        yes=("confirm_yes", "open it in the browser"),
        no="leave it",
        level="info",
    )
    app.push_screen(confirm, lambda yes: app.open_url(address.text) if yes else None)
