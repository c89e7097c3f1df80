"""The message editor: a text area that grows, with chips (labels of pasted texts and pictures), history, and optional
vim keys.

Invariant: `submit` and `act` are called directly in the key handler. If several keys are read together, each key sees
the text as changed by the keys before it. The editor knows nothing of sessions. All text put into it is cleaned.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult

from tui_agent.protocol.unicode_text import MAX_MESSAGE_CHARS, describe_long_message
from tui_agent.tui.actions import Scope
from tui_agent.tui.prompt.attachments import MEDIA, Chips, paths_as_mentions
from tui_agent.tui.prompt.completion import quote_path
from tui_agent.tui.prompt.history import History
from tui_agent.tui.prompt.vim import Vim
from tui_agent.tui.text import clean_typed_text
from tui_agent.tui.theme.theme import Looks
from tui_agent.tui.widgets.keymap import KeyActions, KeyMap

_DEFAULT_KEYS = KeyMap()


class MessageArea(TextArea, inherit_css=False):
    """The text area of a message. It has chips, can restore erased text, and can show earlier messages.

    The text is always clean (see `tui.text`).
    """

    # Skip TextArea's long style sheet: app.tcss overrides all of it.
    COMPONENT_CLASSES: ClassVar[set[str]] = TextArea.COMPONENT_CLASSES

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f6,f7,pageup,pagedown", "none", show=False),
        Binding("ctrl+shift+a", "select_all", show=False),
    ]

    class Edited(Message):
        """Message that is posted when the text or the cursor changed."""

    def __init__(self, looks: Callable[[], Looks], root: Path) -> None:
        super().__init__(
            id="editor", show_line_numbers=False, tab_behavior="focus", highlight_cursor_line=False
        )
        self.cursor_blink = False
        self.match_cursor_bracket = False
        self._looks = looks
        self.root = root
        self.chips = Chips()
        self.history_of_messages = History()
        self.vim: Vim | None = None
        self.menu_open = False
        self.sync: Callable[[], None] = lambda: None
        """Called to update the completion menu for the text."""
        self.submit: Callable[[str], None] = lambda how: None
        """Called in the key handler with the action of the key: `send` or `queue`."""
        self.act: Callable[[str], None] = lambda name: None
        """Called in the key handler with the name of an action other than `send` and `queue`."""
        self.refuse: Callable[[str], None] = lambda reason: None
        """Called with the reason why a text was not inserted."""
        self.take_queued: Callable[[], bool] = lambda: False
        """Called to take the newest queued message back into the editor; returns False if no message is queued."""
        self.running = False
        """True while a turn runs; a message sent meanwhile steers the turn."""
        self._erased = ""
        self._returned = ""

    def edit(self, edit: Edit) -> EditResult:
        edit.text = clean_typed_text(edit.text)
        return super().edit(edit)

    def load_text(self, text: str) -> None:
        super().load_text(clean_typed_text(text))

    @property
    def message(self) -> str:
        """The full message, with the chips of pasted texts expanded."""
        return self.chips.expand(self.text)

    def use_vim(self, *, on: bool) -> None:
        """Turn vim keys on or off."""
        self.vim = Vim() if on else None

    def put_text(self, text: str, *, returned: bool = False) -> None:
        """Replace the text and move the cursor to its end. The user can undo the replacement.

        `returned` is True for the message of an undone turn. If the user types a slash next, the slash replaces this
        text, so that the user can type a command.
        """
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
        self.move_cursor(self.document.end)
        self._returned = self.text if returned else ""

    def put_message(self, message: str) -> None:
        """Replace the text, and forget the pasted texts and pictures."""
        self.chips.clear()
        self.put_text(message)

    def prefix_text(self, text: str) -> None:
        """Insert text before the message, move the cursor to the end, and focus the editor."""
        self.insert(text, (0, 0))
        self.move_cursor(self.document.end)
        self.focus()

    def insert_mention(self, path: str) -> None:
        """Insert a mention of a file at the cursor."""
        message = self.message
        gap = "" if not message or message[-1].isspace() else " "
        self.insert(f"{gap}@{quote_path(path)} ")

    @property
    def untouched(self) -> bool:
        """True if the text is the message of an undone turn and has not been edited."""
        return bool(self._returned) and self.text == self._returned

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Insert pasted text.

        A long text, or the path of a picture, is folded into a short label. Workspace paths become mentions. Control
        characters are removed from other text. A text that is too long for a message is refused.
        """
        if len(text) > MAX_MESSAGE_CHARS:
            self.refuse(f"The pasted text is too long. {describe_long_message(len(text))}")
            return
        label = self.chips.fold_picture(text, self.root) or paths_as_mentions(text, self.root)
        inserted = label if label is not None else self.chips.fold(clean_typed_text(text))
        result = self.replace(inserted, *sorted(self.selection))
        self.move_cursor(result.end_location)

    def get_line(self, line_index: int) -> Text:
        line = super().get_line(line_index)
        spans = self.chips.spans(line.plain)
        if spans:
            style = self._looks().palette.style("accent")
            for start, end in spans:
                line.stylize(style, start, end)
        return line

    def get_cursor_line_start_location(self, smart_home: bool = False) -> tuple[int, int]:
        """Return the start of the line. Textual's method returns the start of the wrapped row."""
        return self.cursor_location[0], 0

    def get_cursor_line_end_location(self) -> tuple[int, int]:
        """Return the end of the line. Textual's method returns the end of the wrapped row."""
        row = self.cursor_location[0]
        return row, len(self.document.get_line(row))

    def action_delete_to_start_of_line(self) -> None:
        self._erase(self.get_cursor_line_start_location())

    async def action_delete_to_end_of_line_or_delete_line(self) -> None:
        self.erase_to_end()

    def erase_to_end(self) -> None:
        """Erase from the cursor to the end of the line. At the end of the line, erase the line break."""
        row, column = self.cursor_location
        end = self.get_cursor_line_end_location()
        at_end = column == end[1] and row + 1 < self.document.line_count
        self._erase((row + 1, 0) if at_end else end)

    def action_delete_word_left(self) -> None:
        self._erase(self.get_cursor_word_left_location())

    def _erase(self, to: tuple[int, int]) -> None:
        """Erase the selection. Without a selection, erase the text up to `to`. `action_put_back` restores the text."""
        start, end = sorted(self.selection if not self.selection.is_empty else (self.cursor_location, to))
        if start != end:
            self._erased = self.get_text_range(start, end)
            self.delete(start, end, maintain_selection_offset=False)

    def action_put_back(self) -> None:
        """Insert the most recently erased text at the cursor."""
        if self._erased:
            result = self.replace(self._erased, *sorted(self.selection))
            self.move_cursor(result.end_location)

    def action_delete_left(self) -> None:
        if self.selection.is_empty:
            row, column = self.cursor_location
            for start, end in self.chips.spans(self.document.get_line(row)):
                if start < column <= end:
                    self.delete((row, start), (row, end))
                    return
        super().action_delete_left()

    def action_cursor_up(self, select: bool = False) -> None:
        if select or not self.cursor_at_first_line:
            super().action_cursor_up(select)
            return
        if not self.text and self.take_queued():
            return
        older = self.history_of_messages.older_message(self.text)
        if older is None:
            super().action_cursor_up(select)
            return
        self._walk(older, (0, len(older.split("\n", 1)[0])))

    def action_cursor_down(self, select: bool = False) -> None:
        if select or not self.cursor_at_last_line or not self.history_of_messages.is_browsing:
            super().action_cursor_down(select)
            return
        newer = self.history_of_messages.newer_message()
        if newer is not None:
            self._walk(newer, None)

    def _walk(self, text: str, cursor: tuple[int, int] | None) -> None:
        self.replace(text, (0, 0), self.document.end, maintain_selection_offset=False)
        self.move_cursor(self.document.end if cursor is None else cursor)


class Editor(KeyActions, MessageArea, inherit_css=False):
    """The editor of the prompt. The editor's keys have the scopes `prompt` and `menu` in the registry of actions."""

    COMPONENT_CLASSES: ClassVar[set[str]] = TextArea.COMPONENT_CLASSES
    key_methods = {
        "choose": "choose_in_menu",
        "complete": ("act", "complete"),
        "accept": ("act", "accept"),
        "close_menu": ("act", "close_menu"),
        "send": ("enter", False),
        "steer": ("enter", True),
        "queue": "queue",
        "to_chat": "leave_for_chat",
        "newline": "start_line",
        "search_history": ("act", "search_history"),
        "history": ("run_choice", ("action_cursor_up", "action_cursor_down")),
        "undo_typing": ("run_choice", ("action_undo", "action_redo")),
        "put_back": "action_put_back",
        "paste_image": ("act", "paste_image"),
        "line_end": "go_to_end",
        "line_start": ("run_choice", ("action_cursor_line_start", "action_cursor_line_end")),
        "erase": (
            "run_choice",
            ("action_delete_to_start_of_line", "erase_to_end", "action_delete_word_left"),
        ),
    }

    async def _on_key(self, event: events.Key) -> None:
        if self._take_key(event):
            event.stop()
            event.prevent_default()
            return
        bound = self._bindings.key_to_bindings.get(event.key)
        if bound:
            # Textual looks up bindings only after the event has bubbled up to the app. By then, letters read together
            # with this key would already be inserted.
            event.stop()
            event.prevent_default()
            await self.run_action(bound[0].action)
            return
        if event.character == "/" and self.untouched:
            self.put_text("")
        self._returned = ""
        await super()._on_key(event)

    def key_scopes(self) -> Sequence[Scope]:
        """Return the scope of the prompt. `_take_key` handles the menu's keys, because these keys take precedence over
        vim's keys.
        """
        return ("prompt",)

    def _take_key(self, event: events.Key) -> bool:
        """Run the menu's, vim's or the prompt's action for a key; return False if the key has no action."""
        key = event.key
        if self.key_map.find(key, ("menu",)):
            # The key may have been read together with letters, so update the menu for them first.
            self.sync()
        if self.menu_open and self.run_key(key, "menu"):
            return True
        if self.key_map.means(key, "stop"):
            return self.vim is not None and self.vim.escape() and self._changed_mode()
        sends = self.key_map.means(key, "send") or self.key_map.means(key, "steer")
        if self.vim is not None and self.vim.mode == "normal" and not (sends or key.startswith("ctrl+")):
            used = self.vim.key(self, event.character if event.is_printable and event.character else key)
            return used and self._changed_mode()
        return self.run_key(key) or self._drop_default_key(key)

    def _drop_default_key(self, key: str) -> bool:
        """Ignore a default key that the user has unbound, so that the text area does not handle the key.

        Only the default keys of the action `history` still move the cursor.
        """
        for action, choice in _DEFAULT_KEYS.find(key, ("prompt",)):
            if action.name == "history":
                (TextArea.action_cursor_down if choice else TextArea.action_cursor_up)(self)
            return True
        return False

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Scroll to the cursor, unless it is past the end of the text.

        Textual calls this method during an undo, when the text is already shorter but the cursor has not moved yet.
        """
        if self.cursor_location[0] >= self.document.line_count:
            return Offset(0, 0)
        return super().scroll_cursor_visible(center, animate)

    @property
    def paste_at_cursor(self) -> tuple[int, int] | None:
        """The (start, end) columns of the chip of a pasted text at the cursor; None if no such chip is there."""
        row, column = self.cursor_location
        return self.chips.paste_at(self.document.get_line(row), column)

    def unfold_paste(self) -> bool:
        """Replace the chip at the cursor by its pasted text; return False if no such chip is there."""
        span = self.paste_at_cursor
        if span is None:
            return False
        row, (start, end) = self.cursor_location[0], span
        text = self.chips.texts[self.document.get_line(row)[start:end]]
        self.replace(text, (row, start), (row, end), maintain_selection_offset=False)
        self.move_cursor((row, start))
        return True

    def insert_picture(self, path: Path) -> None:
        """Attach a PNG file to the message, with a chip at the cursor."""
        self.insert(f"{self.chips.add_picture(path, MEDIA['.png'])} ")

    def choose_in_menu(self, direction: int) -> None:
        """Select the row below (`direction` 1) or above (-1) in the completion menu."""
        self.act("choose_up" if direction < 0 else "choose_down")

    def run_choice(self, methods: Sequence[str], choice: int) -> None:
        """Run one of `methods`. If there are two methods, `choice` is -1 or 1. Otherwise, it is the index of the
        method.
        """
        getattr(self, methods[choice if len(methods) > 2 else choice > 0])()

    def queue(self) -> bool:
        """Queue the message; return False if the editor is empty."""
        has_text = bool(self.text.strip())
        if has_text:
            self.submit("queue")
        return has_text

    def leave_for_chat(self) -> bool:
        """Move the focus from an empty prompt to the transcript; return False if there is text."""
        if not self.text.strip():
            self.act("to_chat")
        return not self.text.strip()

    def go_to_end(self) -> None:
        """Go to the end of the line. If the editor is empty, go to the newest row of the transcript."""
        if self.text:
            self.action_cursor_line_end()
        else:
            self.act("to_end")

    def start_line(self) -> None:
        """Insert a line break."""
        self.insert("\n")
        self.scroll_cursor_visible()

    def _changed_mode(self) -> bool:
        self.post_message(self.Edited())
        return True

    def enter(self, running: bool) -> bool:
        """Send the message; after a backslash at the end of the line, insert a line break instead.

        `running` is True for the key that sends during a turn, False for the key that sends at other times. Return
        False if the key does not fit the session's state.
        """
        if running != self.running:
            return False
        row, column = self.cursor_location
        line = self.document.get_line(row)
        if column and line[column - 1 : column] == "\\" and column == len(line):
            self.replace("\n", (row, column - 1), (row, column))
            return True
        self.submit("send")
        return True

    def action_none(self) -> None:
        """Do nothing, because the app handles the keys that are bound to this action."""
