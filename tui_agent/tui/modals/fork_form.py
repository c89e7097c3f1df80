"""The form of a fork: where it works, and for a what-if the one thing that is different in it.

Invariant: nothing is made here, the wish comes back; what cannot be is named with its reason and cannot be chosen.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, Literal, TypeAlias

from textual import events
from textual.strip import Strip

from tui_agent.protocol.settings import CONTEXT_MODES, EFFORTS
from tui_agent.tui.actions import Scope
from tui_agent.tui.modals.fork_point import Change, Places, Spot, Where, Wish
from tui_agent.tui.text import clean, clean_line
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.rows import Part, Pen, cells, doing, part, wrap
from tui_agent.tui.widgets.sheet import Sheet

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


PickModel: TypeAlias = Callable[[Callable[[str], None]], None]
EditText: TypeAlias = Callable[[str], str | None]
_ABOUT: Final[dict[Where, str]] = {
    "folder": "a new folder with the files as they were at that event",
    "worktree": "a work tree of your repository, with the files as they were at that event",
    "here": "the same folder, with the files as they are now: both write into it",
}
LABELS = 11
TEXT_ROWS = 5
TALL, WIDE = 22, 56
"""Rows of the terminal, and cells of the form, from which on nothing is left out."""


class ForkForm(Sheet[Wish | None]):
    """`what_if` asks for a change too; `pick_model` opens the list of models, `edit` the user's editor."""

    scope: ClassVar[Scope] = "fork"
    key_methods = {
        "fork_line": "move",
        "fork_choose": "turn",
        "fork_begin": "begin",
        "fork_edit": "edit_text",
        "fork_close": "close",
    }

    def __init__(
        self,
        looks: Callable[[], Looks],
        spot: Spot,
        places: Places,
        *,
        what_if: bool = False,
        pick_model: PickModel | None = None,
        edit: EditText | None = None,
    ) -> None:
        super().__init__(looks)
        self.draft = ForkDraft(spot, places, what_if=what_if)
        self._pick_model, self._edit = pick_model, edit
        self.said = ""

    # -- drawing ---------------------------------------------------------------------------------------------------

    def head(self, width: int) -> list[Strip]:
        title, spot = "What if" if self.draft.what_if else "Fork", self.draft.spot
        place = f"after event {spot.at_seq}"
        said = f"{'before' if spot.before else 'after'} {spot.after}" if spot.after else ""
        if self.draft.what_if and self.draft.change == "message":
            place = f"in place of event {spot.message_seq}"
            said = f"in place of “{clean_line(' '.join(spot.message.split()))}”"
        rows = [self.line(width, [part(title, self.style(bold=True))], [part(place, self.style("t2"))])]
        if said:
            rows.append(self.line(width, [part(said, self.style("t2"))]))
        return [*rows, *self.spacer(width)]

    def body(self, width: int) -> list[Strip]:
        rows: list[Strip] = []
        for name in self.draft.lines:
            if name == "where" and self.draft.what_if:
                rows += self.spacer(width)
            if name == self.draft.at:
                self.cursor_row = len(rows)
            rows += self._line(name, width)
        return rows

    def _line(self, name: Line, width: int) -> list[Strip]:
        match name:
            case "change":
                shown = [(one, CHANGES[one], True) for one in self.draft.changes]
                return self._chips("change", "Change", shown, self.draft.change, width)
            case "value":
                return self._value(width)
            case "where":
                offered = [(one, name, self.draft.can(one)) for one, name in WHERE.items()]
                rows = self._chips("where", "Works in", offered, self.draft.where, width)
                return [*rows, *(self._quiet(self._about(), width) if not self.short else [])]
            case "folder":
                return [self._typed("folder", "Folder", self.draft.folder, width, "a new folder")]

    def _about(self) -> str:
        about = _ABOUT[self.draft.where]
        return about if self.draft.places.repository else f"{about}. A git work tree needs a git repository"

    @property
    def short(self) -> bool:
        """Whether what explains is left out."""
        return self.app.size.height < TALL

    def _row(self, name: Line) -> Pen:
        return self.choice_row(name == self.draft.at, f"line {name}")

    def _labelled(self, row: Pen, label: str) -> list[Part]:
        return [row.mark, (label.ljust(LABELS), row.style("t2"))]

    def _chips(
        self, name: Line, label: str, offered: Sequence[tuple[str, str, bool]], taken: str, width: int
    ) -> list[Strip]:
        row = self._row(name)
        rows: list[list[Part]] = [self._labelled(row, label)]
        for value, word, can in offered:
            on = value == taken
            chip = row._replace(intent=f"chip {name} {value}")
            style = chip.style("accent" if on else "t1" if can else "t3", bold=on, underline=on)
            if cells(rows[-1]) + len(word) > width and len(rows[-1]) > 2:
                rows.append([(" " * (LABELS + 2), row.style())])
            rows[-1] += [(word, style), ("   " if width >= WIDE else "  ", row.style())]
        return [row.line(width, parts) for parts in rows]

    def _quiet(self, text: str, width: int) -> list[Strip]:
        pieces = wrap(clean(text), max(8, width - LABELS - 2))
        return self.hanging_rows(width, [(" " * (LABELS + 2), self.style())], pieces, self.style("t3"))

    def _value(self, width: int) -> list[Strip]:
        spot = self.draft.spot
        match self.draft.change:
            case "model":
                return self._model(width)
            case "effort":
                rows = self._chips(
                    "value", "To", [(one, one, True) for one in EFFORTS], self.draft.effort, width
                )
                return [*rows, *self._quiet(f"now {spot.effort or 'as the model has it'}", width)]
            case "context":
                known = [(one, one, True) for one in CONTEXT_MODES]
                rows = self._chips("value", "To", known, self.draft.context, width)
                return [*rows, *self._quiet(f"now {spot.context}", width)]
            case "message":
                return self._text("To", "the words instead of yours", width)
            case "result":
                rows = self._text("To", "what the tool said instead", width)
                return [*rows, *self._quiet(f"in place of what {spot.result} said", width)]

    def _model(self, width: int) -> list[Strip]:
        row = self._row("value")
        name = row._replace(intent="model")
        shown = (
            part(self.draft.model, name.style(bold=True))
            if self.draft.model
            else (f"{self.key_map.key_of('fork_begin')} chooses one", name.style("t3"))
        )
        chosen = row.line(width, [*self._labelled(row, "To"), shown])
        return [chosen, *self._quiet(f"now {self.draft.spot.model}", width)]

    def _text(self, label: str, hint: str, width: int) -> list[Strip]:
        """One line is typed here; more of them are shown, and edited in the user's editor."""
        text = self.draft.texts[self.draft.change]
        if "\n" not in text:
            return [self._typed("value", label, self.draft.field, width, hint)]
        row = self._row("value")
        pieces = wrap(clean(text), width - LABELS - 4)
        rows = row.hanging_rows(width, self._labelled(row, label), pieces[:TEXT_ROWS], row.style())
        more = len(pieces) - TEXT_ROWS
        rest = f"{more} more {'line' if more == 1 else 'lines'}. " if more > 0 else ""
        return [*rows, *self._quiet(f"{rest}{self.key_map.key_of('fork_edit')} edits it", width)]

    def _typed(self, name: Line, label: str, field: Field, width: int, hint: str) -> Strip:
        row = self._row(name)
        cursor = doing(self.style("on-accent", "accent"), row.intent) if row.chosen else None
        shown = field.parts(max(4, width - LABELS - 3), row.style(), cursor, hint, row.style("t3"))
        return row.line(width, [*self._labelled(row, label), *shown])

    def foot(self, width: int) -> list[Strip]:
        rows: list[Strip] = self.spacer(width)
        if self.said:
            warning = self.style("warning")
            mark = (f"{self.looks.symbols.warning} ", warning)
            rows += self.hanging_rows(width, [mark], wrap(clean(self.said), width - 2), warning)
            rows += self.spacer(width)
        hint = self.key_map.hint
        keys = [hint("fork_begin", "begin" if self.draft.what_if else "fork")]
        if width >= WIDE:
            keys.append(hint("fork_line"))
        if self.draft.at in ("change", "where") or (
            self.draft.at == "value" and self.draft.change in ("effort", "context")
        ):
            keys.append(hint("fork_choose"))
        if self.draft.at == "value" and self.draft.change in ("message", "result") and self._edit is not None:
            keys.append(hint("fork_edit"))
        if self.draft.at == "value" and self.draft.change == "model":
            keys[0] = hint("fork_begin", "choose a model")
        return [*rows, self.keys_line(width, [*keys, hint("fork_close")])]

    # -- keys ------------------------------------------------------------------------------------------------------

    def type_key(self, key: str, character: str | None) -> bool:
        self.said = ""
        taken = self.draft.key(key, character)
        if taken:
            self.redraw()
        return taken

    def move(self, direction: int) -> None:
        """Go to the line above or below."""
        self.said = ""
        self.draft.move(direction)
        self.redraw()

    def turn(self, direction: int) -> bool:
        """Choose the option before or behind, on a line that has some."""
        if not self.draft.options():
            return False
        self.said = ""
        self.draft.turn(direction)
        self.redraw()
        return True

    def begin(self) -> None:
        """Give the wish back; or choose a model; or say what is missing."""
        self.said = ""
        draft = self.draft
        picks = draft.what_if and draft.change == "model"
        if picks and (draft.at == "value" or not draft.model):
            draft.at = "value"
            self._choose_model()
        elif (missing := draft.missing()) is not None:
            draft.at, self.said = missing
        else:
            self.dismiss(draft.wish())
        self.redraw()

    def _choose_model(self) -> None:
        def chosen(name: str) -> None:
            self.draft.model, self.draft.at = name, "where"
            self.redraw()

        if self._pick_model is not None:
            self._pick_model(chosen)

    def edit_text(self) -> bool:
        """Let the user's editor change the text of this line; False where there is none."""
        if not self.draft.on_text:
            return False
        self.said = ""
        changed = self._edit(self.draft.value) if self._edit is not None else None
        if changed is not None:
            self.draft.set_text(changed.rstrip("\n"))
        self.redraw()
        return True

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.draft.paste(event.text)
        self.redraw()

    def clicked(self, wish: str) -> None:
        kind, _, rest = wish.partition(" ")
        name, _, value = rest.partition(" ")
        line = next((one for one in self.draft.lines if one == name), self.draft.at)
        if kind == "model":
            self.draft.at = "value"
            self._choose_model()
        elif kind in ("chip", "line"):
            self.draft.at = line
        if kind == "chip":
            self.draft.choose(line, value)
        self.redraw()
