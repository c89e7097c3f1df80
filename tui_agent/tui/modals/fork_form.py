"""The form for a fork of a session: the folder to work in and, for a what-if, the one change.

Invariant: the form creates nothing; its result is a `ForkRequest`.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from textual import events
from textual.strip import Strip

from tui_agent.protocol.settings import CONTEXT_MODES
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.modals.fork_request import Change, ForkPoint, ForkRequest, Workplace, Workplaces
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean, clean_line
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.form import Form
from tui_agent.tui.widgets.rows import Pen, cells, wrap

PickModel: TypeAlias = Callable[[Callable[[str], None]], None]
EditText: TypeAlias = Callable[[str], str | None]
CHANGE_LABELS: Final[dict[Change, str]] = {
    "model": "model",
    "effort": "reasoning",
    "context": "context",
    "message": "your message",
    "result": "tool result",
}
WORKPLACE_LABELS: Final[dict[Workplace, str]] = {
    "folder": "own folder",
    "worktree": "git work tree",
    "here": "this folder",
}
_WORKPLACE_NOTES: Final[dict[Workplace, str]] = {
    "folder": "a new folder with the files as they were at that event",
    "worktree": "a work tree of your repository, with the files as they were at that event",
    "here": "the same folder and its current files; both sessions change them",
}
MAX_TEXT_ROWS: Final = 5
TALL, WIDE = 22, 56
"""Minimum terminal height in rows, and minimum form width in cells, for the full form."""


class ForkDraft:
    """The values in the form for a fork.

    `what_if`: True if the fork changes one setting, message or result.
    """

    def __init__(self, point: ForkPoint, workplaces: Workplaces, *, what_if: bool) -> None:
        self.point, self.workplaces = point, workplaces
        self.changes = point.changes if what_if else ()
        self.change: Change | None = "model" if what_if else None
        self.workplace: Workplace = "folder"
        self.folder = Field(workplaces.folder)
        # A what-if changes something, so the suggested values differ from the present ones.
        self.choices: dict[Change, str] = {
            "model": "",
            "effort": next((effort for effort in reversed(point.efforts) if effort != point.effort), "high"),
            "context": next(mode for mode in reversed(CONTEXT_MODES) if mode != point.context),
        }
        self.texts: dict[Change, Field] = {"message": Field(point.message), "result": Field()}

    @property
    def lines(self) -> tuple[str, ...]:
        """The form's lines, from top to bottom."""
        first: tuple[str, ...] = ("change", "value") if self.change is not None else ()
        return (*first, "workplace") if self.workplace == "here" else (*first, "workplace", "folder")

    @property
    def value(self) -> str:
        """The new setting, message or tool result, depending on `change`; empty if nothing is changed."""
        if self.change is None:
            return ""
        text = self.texts.get(self.change)
        return self.choices[self.change] if text is None else text.text

    def request(self) -> ForkRequest:
        folder = "" if self.workplace == "here" else self.folder.text.strip()
        return ForkRequest(self.workplace, folder, self.change, self.value)

    def find_missing(self) -> tuple[str, str] | None:
        """Return (line, advice) for a line that needs a value; None if the form is complete."""
        if self.change is not None and not self.value.strip():
            return "value", "Enter the new text."
        if self.change == "message" and self.value == self.point.message:
            return "value", "The message has not changed. Edit it, or choose another change."
        if self.workplace != "here" and not self.folder.text.strip():
            return "folder", "Enter the folder for the fork."
        return None

    def can_work_in(self, workplace: str) -> bool:
        """Return True if a fork is possible in this workplace."""
        return workplace != "worktree" or self.workplaces.repository

    def options(self, line: str) -> dict[str, str]:
        """Return the options of a line as a mapping from value to label; empty for a text line."""
        if line == "change":
            return {change: CHANGE_LABELS[change] for change in self.changes}
        if line == "workplace":
            return dict[str, str](WORKPLACE_LABELS.items())
        values: dict[Change | None, Sequence[str]] = {"effort": self.point.efforts, "context": CONTEXT_MODES}
        return {value: value for value in values.get(self.change, ())} if line == "value" else {}

    def current_value(self, line: str) -> str:
        return {"change": self.change, "workplace": self.workplace}.get(line) or self.value

    def turn(self, line: str, direction: int) -> None:
        """Select the next (1) or previous (-1) option on a line. Skip options that are not possible."""
        options = [value for value in self.options(line) if self.can_work_in(value)]
        self.choose(line, options[(options.index(self.current_value(line)) + direction) % len(options)])

    def choose(self, line: str, value: str) -> None:
        """Select the option `value` on a line of the form, if the option is possible."""
        if line == "change":
            self.change = next((change for change in self.changes if change == value), self.change)
        elif line == "workplace" and self.can_work_in(value):
            self.workplace = next((place for place in WORKPLACE_LABELS if place == value), self.workplace)
        elif line == "value" and self.change in self.choices:
            self.choices[self.change] = value

    def text_field(self, line: str) -> Field | None:
        """Return the field for the new message or result if `line` has such a field; otherwise None."""
        return self.texts.get(self.change) if line == "value" and self.change is not None else None


class ForkForm(Form[ForkRequest | None]):
    """The form for a fork of a session.

    - `pick_model`: opens the list of models
    - `edit`: opens the user's editor
    """

    scope = "fork"

    def __init__(
        self,
        point: ForkPoint,
        workplaces: Workplaces,
        *,
        what_if: bool = False,
        pick_model: PickModel | None = None,
        edit: EditText | None = None,
    ) -> None:
        super().__init__()
        self.draft = ForkDraft(point, workplaces, what_if=what_if)
        self._pick_model, self._edit = pick_model, edit

    @property
    def lines(self) -> Sequence[str]:
        return self.draft.lines

    # -- drawing ---------------------------------------------------------------------------------------------------

    def head(self, width: int) -> list[Strip]:
        point = self.draft.point
        title = "What if" if self.draft.change is not None else "Fork"
        place = point.session_name or f"after event {point.at_seq}"
        text = f"{'before' if point.is_next else 'after'} {point.entry_text}" if point.entry_text else ""
        if self.draft.change == "message":
            place = f"in place of event {point.message_seq}"
            text = f"in place of “{clean_line(' '.join(point.message.split()))}”"
        elif self.draft.change == "result" and point.chosen_seq is not None:
            place, text = f"at event {point.chosen_seq}", f"before the result of {point.result}"
        rows = [self.line(width, [self.part(title, bold=True)], [self.part(place, "t2")])]
        if text:
            rows.append(self.line(width, [self.part(text, "t2")]))
        if point.chosen_seq is not None and self.draft.change not in ("message", "result"):
            side = "after" if point.at_seq > point.chosen_seq else "before"
            event = "The last event" if point.session_name else f"Event {point.chosen_seq}"
            reason = f"{event} is inside a call; the fork starts {side} the call"
            rows.append(self.line(width, [self.part(reason, "t2")]))
        return [*rows, *self.spacer(width)]

    def gap_before(self, line: str, width: int) -> list[Strip]:
        return self.spacer(width) if line == "workplace" else []

    def line_rows(self, line: str, pen: Pen, width: int) -> list[Strip]:
        draft = self.draft
        match line:
            case "change":
                return self._option_rows(line, "Change", pen, width)
            case "value":
                return [*self._value_rows(pen, width), *self.note_rows(self._value_note(), width)]
            case "workplace":
                rows = self._option_rows(line, "Works in", pen, width)
                note = _WORKPLACE_NOTES[draft.workplace]
                if not draft.workplaces.repository:
                    note += ". A git work tree needs a git repository"
                return [*rows, *(self.note_rows(note, width) if self.app.size.height >= TALL else [])]
            case _:
                return [self.field_row("Folder", draft.folder, pen, width, "a new folder")]

    def _option_rows(self, line: str, label: str, pen: Pen, width: int) -> list[Strip]:
        rows = [self.label(pen, label)]
        for value, word in self.draft.options(line).items():
            is_present = value == self.draft.current_value(line)
            role: Role = "accent" if is_present else "t1" if self.draft.can_work_in(value) else "t3"
            option_pen = pen._replace(intent=f"option {line} {value}")
            option = option_pen.part(word, role, bold=is_present, underline=is_present)
            if cells(rows[-1]) + len(word) > width and len(rows[-1]) > 2:
                rows.append([pen.part(" " * self.label_cells)])
            rows[-1] += [option, pen.part("   " if width >= WIDE else "  ")]
        return [pen.line(width, row) for row in rows]

    def _value_note(self) -> str:
        point = self.draft.point
        notes: dict[Change | None, str] = {
            "model": f"now {point.model}",
            "effort": f"now {point.effort or 'the default of the model'}",
            "context": f"now {point.context}",
            "result": f"replaces the result of {point.result}",
        }
        return notes.get(self.draft.change, "")

    def _value_rows(self, pen: Pen, width: int) -> list[Strip]:
        draft = self.draft
        field = draft.text_field("value")
        if field is not None:
            return self._text_rows(field, f"type the new {draft.change}", pen, width)
        if draft.options("value"):
            return self._option_rows("value", "To", pen, width)
        hint = pen.part(f"{self.key_map.key_of('fork_begin')} chooses a model", "t3")
        model = pen.part(draft.value, bold=True) if draft.value else hint
        return [pen.line(width, [*self.label(pen, "To"), model])]

    def _text_rows(self, field: Field, hint: str, pen: Pen, width: int) -> list[Strip]:
        """Draw the text of a field. For several lines of text, add the key for the editor."""
        if "\n" not in field.text:
            return [self.field_row("To", field, pen, width, hint)]
        pieces = wrap(clean(field.text), width - self.label_cells - 3)
        rows = pen.hanging_rows(width, self.label(pen, "To"), pieces[:MAX_TEXT_ROWS], pen.style())
        hidden = len(pieces) - MAX_TEXT_ROWS
        more = f"{format_count(hidden, 'more line')}. " if hidden > 0 else ""
        return [*rows, *self.note_rows(f"{more}{self.key_map.key_of('fork_edit')} edits the text", width)]

    def key_hints(self) -> Sequence[KeyHint]:
        hint, line = self.key_map.hint, self.line_name
        begin = "begin" if self.draft.change is not None else "fork"
        keys = [hint("fork_begin", "choose a model" if self._is_on_model else begin)]
        if self.draft.options(line):
            keys.append(hint("fork_choose"))
        if self.draft.text_field(line) is not None and self._edit is not None:
            keys.append(hint("fork_edit"))
        return [*keys, hint("fork_line"), hint("fork_close")]

    # -- keys ------------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        self.fault = ""  # Reset first: next, Textual calls Sheet.on_key, which may set a new fault.

    @property
    def open_field(self) -> Field | None:
        """The text field of the selected line; None if the line has no field or several lines of text."""
        if self.line_name == "folder":
            return self.draft.folder
        field = self.draft.text_field(self.line_name)
        return field if field is not None and "\n" not in field.text else None

    def type_key(self, key: str, character: str | None) -> bool:
        """Pass a key to the text field. For a text of several lines, show the key for the editor."""
        if super().type_key(key, character):
            return True
        is_typing = key in ("backspace", "delete") or (character is not None and character.isprintable())
        if self.draft.text_field(self.line_name) is None or not is_typing:
            return False
        edit = self.key_map.key_of("fork_edit")
        self.show_fault("value", f"A text of several lines cannot be edited here. {edit} opens your editor.")
        return True

    def turn(self, direction: int) -> bool:
        """Select the next or previous option on the selected line; return False if the line has no options."""
        if not self.draft.options(self.line_name):
            return False
        self.draft.turn(self.line_name, direction)
        self.redraw()
        return True

    @property
    def _is_on_model(self) -> bool:
        return self.line_name == "value" and self.draft.change == "model"

    def begin(self) -> None:
        """Close the form with the request for the fork; if a value is missing, select the line for the value and show
        advice instead.
        """
        if self._is_on_model or (self.draft.change == "model" and not self.draft.value):
            self.go_to("value")
            self._choose_model()
        elif (missing := self.draft.find_missing()) is not None:
            self.show_fault(*missing)
        else:
            self.dismiss(self.draft.request())

    def _choose_model(self) -> None:
        def choose(name: str) -> None:
            self.draft.choices["model"] = name
            self.go_to("workplace")

        if self._pick_model is not None:
            self._pick_model(choose)

    def edit_text(self) -> bool:
        """Open the text of the selected line in the user's editor. Return False if there is no text."""
        field = self.draft.text_field(self.line_name)
        if field is None:
            return False
        changed = self._edit(field.text) if self._edit is not None else None
        if changed is not None:
            field.text = changed.rstrip("\n")
            field.cursor = len(field.text)
        self.redraw()
        return True

    def on_paste(self, event: events.Paste) -> None:
        field = self.open_field
        if field is not None and field is not self.draft.folder:
            event.prevent_default()  # Otherwise Sheet.on_paste would join the lines.
            event.stop()
            field.text = f"{field.text[: field.cursor]}{event.text}{field.text[field.cursor :]}"
            field.cursor += len(event.text)
            self.redraw()

    def use(self) -> None:
        if self._is_on_model:
            self._choose_model()

    def run_intent(self, intent: str) -> None:
        super().run_intent(intent)
        kind, _, option = intent.partition(" ")
        line, _, value = option.partition(" ")
        if kind == "option" and line in self.draft.lines:
            self.draft.choose(line, value)
            self.go_to(line)
