"""The form of a fork: where it works, and for a what-if the one thing that is different in it.

Invariant: nothing is made here, the wish comes back; what cannot be is named with its reason and cannot be chosen.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, TypeAlias

from textual import events
from textual.strip import Strip

from tui_agent.protocol.settings import CONTEXT_MODES, EFFORTS
from tui_agent.tui.actions import Scope
from tui_agent.tui.modals.fork_draft import CHANGES, WHERE, ForkDraft, Line
from tui_agent.tui.modals.fork_point import Places, Spot, Where, Wish
from tui_agent.tui.text import clean, clean_line
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.rows import Part, cells, doing, part, wrap
from tui_agent.tui.widgets.sheet import ChoiceRow, Sheet

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

    def _row(self, name: Line) -> ChoiceRow:
        return self.choice_row(name == self.draft.at, f"line {name}")

    def _labelled(self, row: ChoiceRow, label: str) -> list[Part]:
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
