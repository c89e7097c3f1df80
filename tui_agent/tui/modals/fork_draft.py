"""What a fork's form holds while it is filled in: its lines, what is chosen on each, what is typed.

Invariant: no drawing; only what can be is ever chosen.
"""

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from tui_agent.protocol.settings import CONTEXT_MODES, EFFORTS
from tui_agent.tui.modals.fork_point import Change, Places, Spot, Where, Wish
from tui_agent.tui.widgets.field import Field

Line: TypeAlias = Literal["change", "value", "where", "folder"]
CHANGES: Final[dict[Change, str]] = {
    "model": "model",
    "effort": "reasoning",
    "context": "context",
    "message": "your message",
    "result": "tool result",
}
WHERE: Final[dict[Where, str]] = {"folder": "own folder", "worktree": "git work tree", "here": "this folder"}


class ForkDraft:
    """`what_if` asks for a change too. `at` is the line under the cursor."""

    def __init__(self, spot: Spot, places: Places, *, what_if: bool) -> None:
        self.spot, self.places, self.what_if = spot, places, what_if
        self.changes: Sequence[Change] = spot.changes if what_if else ()
        self.change: Change = "model"
        self.where: Where = "folder" if what_if else "here"
        self.folder = Field(places.folder)
        self.model = ""
        self.effort: str = next((one for one in reversed(EFFORTS) if one != spot.effort), "high")
        self.context: str = next(one for one in reversed(CONTEXT_MODES) if one != spot.context)
        self.texts: dict[Change, str] = {"message": spot.message, "result": ""}
        self.field = Field()
        self.at: Line = "change" if what_if else "where"
        self.take_text()

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the form as they are now."""
        asked: tuple[Line, ...] = ("change", "value") if self.what_if else ()
        return (*asked, "where", "folder") if self.where != "here" else (*asked, "where")

    @property
    def value(self) -> str:
        """What the changed thing is to be."""
        match self.change:
            case "model":
                return self.model
            case "effort":
                return self.effort
            case "context":
                return self.context
            case "message" | "result":
                return self.texts[self.change]

    @property
    def on_text(self) -> bool:
        """Whether the cursor stands on a text that is typed or edited."""
        return self.at == "value" and self.change in ("message", "result")

    def wish(self) -> Wish:
        """What is asked for."""
        folder = "" if self.where == "here" else self.folder.text.strip()
        return Wish(self.where, folder, self.change, self.value) if self.what_if else Wish(self.where, folder)

    def missing(self) -> tuple[Line, str] | None:
        """The line that something is missing on, and what; None where the wish is whole."""
        if self.what_if and not self.value.strip():
            return "value", f"Say which {CHANGES[self.change]} it is to be."
        if self.where != "here" and not self.folder.text.strip():
            return "folder", "Name the folder that it is to work in."
        return None

    def can(self, where: str) -> bool:
        """Whether a fork could work there."""
        return where != "worktree" or self.places.repository

    def move(self, by: int) -> None:
        """Up and down."""
        self.at = self.lines[(self.lines.index(self.at) + by) % len(self.lines)]

    def options(self) -> Sequence[str]:
        """What Left and Right choose among on this line; nothing on one that is typed."""
        if self.at == "change":
            return self.changes
        if self.at == "where":
            return [one for one in WHERE if self.can(one)]
        choices: dict[Change, Sequence[str]] = {"effort": EFFORTS, "context": CONTEXT_MODES}
        return choices.get(self.change, ()) if self.at == "value" else ()

    def turn(self, by: int) -> None:
        """Choose the option before or behind."""
        options = self.options()
        now = {"change": self.change, "where": self.where}.get(self.at, self.value)
        self.choose(self.at, options[(options.index(now) + by) % len(options)])

    def choose(self, line: str, value: str) -> None:
        """Choose this on a line, where it can be."""
        if line == "change":
            self.change = next((one for one in self.changes if one == value), self.change)
            self.take_text()
        elif line == "where" and self.can(value):
            self.where = next((one for one in WHERE if one == value), self.where)
        elif line == "value" and self.change == "effort":
            self.effort = value
        elif line == "value":
            self.context = value

    @property
    def typing(self) -> Field | None:
        """The field that keys go to. A text of several lines is not typed here."""
        if self.at == "folder":
            return self.folder
        return self.field if self.on_text and "\n" not in self.texts[self.change] else None

    def key(self, key: str, character: str | None) -> bool:
        """Type; False where the key is no edit or nothing is typed here."""
        field = self.typing
        if field is None or not field.key(key, character):
            return False
        if self.on_text:
            self.texts[self.change] = field.text
        return True

    def paste(self, text: str) -> None:
        """Put a text where one is typed; its line breaks stay in a message or a result."""
        field = self.typing
        if field is not None and self.on_text:
            self.set_text(f"{field.text[: field.at]}{text}{field.text[field.at :]}")
        elif field is not None:
            field.insert(text)

    def set_text(self, text: str) -> None:
        """Another message, or another result."""
        self.texts[self.change] = text
        self.take_text()

    def take_text(self) -> None:
        """Let the field hold the text of what is changed now."""
        text = self.texts.get(self.change, "")
        self.field = Field("" if "\n" in text else text)
