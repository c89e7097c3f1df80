"""The message editor: a text area with chips (labels of pasted texts and pictures), history and vim keys.

Invariant: if several keys are read together, each key sees the text as changed by the keys before it.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location

from tui_agent.protocol.unicode_text import MAX_MESSAGE_CHARS, describe_long_message
from tui_agent.tui.keys_and_commands import command_word, is_shell_line
from tui_agent.tui.prompt.attachments import MEDIA, Chips, PastedSpans, is_path, paths_as_mentions
from tui_agent.tui.prompt.completion import quote_path
from tui_agent.tui.prompt.history import History
from tui_agent.tui.prompt.vim import Vim
from tui_agent.tui.untrusted_text import clean_typed_text
from tui_agent.tui.widgets.keymap import KeyActions, KeyMap
from tui_agent.tui.widgets.lists import HasLooks, Intent

if TYPE_CHECKING:  # The first screen does not load the parser of mentions.
    from tui_agent.folds.text.mention_parser import MentionCandidate

_DEFAULT_KEYS = KeyMap()


class PasteArea(TextArea, inherit_css=False):
    """A text area with chips, which records the parts of its text that were pasted."""

    # Skip TextArea's long style sheet: app.tcss overrides all of it.
    COMPONENT_CLASSES: ClassVar[set[str]] = TextArea.COMPONENT_CLASSES
    root: Path

    def __init__(self) -> None:
        self.chips = Chips()
        self.attached_chars = 0
        """The number of characters that the mentioned files and folders add to the message."""
        self.pasted = PastedSpans()
        self.drafts_of_sent: dict[str, str] = {}
        """Maps a sent text to its draft, for messages with pastes or pictures."""
        self._is_pasting = False
        """True while pasted text is inserted."""
        super().__init__(
            id="editor", show_line_numbers=False, tab_behavior="focus", highlight_cursor_line=False
        )

    def edit(self, edit: Edit) -> EditResult:
        # All changes of the text except undo, redo and `load_text` go through this method.
        edit.text = clean_typed_text(edit.text)
        start, end = (len(self.document.get_text_range((0, 0), place)) for place in (edit.top, edit.bottom))
        result = super().edit(edit)
        self.pasted.replace(start, end, len(edit.text), pasted=self._is_pasting)
        text = self.text
        known = self.pasted.recall(text) if len(edit.text) > 1 and not self._is_pasting else None
        if known is not None:
            self.pasted.spans = known  # Text that was pasted, erased and put back is still pasted.
        self.pasted.remember(text)
        return result

    def undo(self) -> None:
        super().undo()
        self.pasted.spans = self.pasted.recall(self.text) or []

    def redo(self) -> None:
        super().redo()
        self.pasted.spans = self.pasted.recall(self.text) or []

    def load_text(self, text: str) -> None:
        super().load_text(clean_typed_text(text))
        self.pasted.spans = self.pasted.recall(self.text) or []

    @property
    def message(self) -> str:
        """The full message, with the chips of pasted texts expanded."""
        return self.chips.expand(self.text)

    @property
    def message_size(self) -> int:
        """The number of characters of the full message and its mentions; 0 for a command."""
        text = self.text
        is_command = is_shell_line(text) or command_word(text)
        return 0 if is_command else self.chips.expanded_size(text) + self.attached_chars

    @property
    def typed_mentions(self) -> "list[MentionCandidate]":
        """The parts of the message that may be mentions, without pasted text."""
        text = self.text
        if "@" not in text and str(self.root) not in text:
            return []  # without importing the module: most messages mention nothing
        find = import_module("tui_agent.tui.prompt.typed_mentions").find_typed_mentions
        mentions: list[MentionCandidate] = find(
            text, self.root, [*self.pasted.spans, *self.chips.spans(text)]
        )
        return mentions

    def remember_pastes(self) -> None:
        """Remember the pasted parts of the full message, in case the message is put back into the editor."""
        full, shift = PastedSpans(), 0
        full.spans = list(self.pasted.spans)
        for start, end in self.chips.spans(self.text):
            pasted = self.chips.texts.get(self.text[start:end])
            if pasted is not None:
                full.replace(start + shift, end + shift, len(pasted), pasted=True)
                shift += len(pasted) - (end - start)
        self.pasted.remember(self.message, full.spans)

    def draft_of(self, text: str) -> str:
        """Return a text, its chips and its pasted parts as JSON for the draft file."""
        return self.chips.to_json(text, self.pasted.recall(text) or ())

    def insert_part(self, text: str, start: Location, end: Location, *, pasted: bool) -> EditResult:
        """Replace a part of the text.

        `pasted`: True to ignore mentions in the new part.
        """
        self._is_pasting = pasted
        try:
            return self.replace(text, start, end, maintain_selection_offset=False)
        finally:
            self._is_pasting = False


class MessageArea(HasLooks, PasteArea, inherit_css=False):
    """The text area of a message, with chips, undo of erased text, and earlier messages.

    The text is always clean (see `tui.untrusted_text`).
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = TextArea.COMPONENT_CLASSES

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f6,f7,pageup,pagedown", "none", show=False),
        Binding("ctrl+shift+a", "select_all", show=False),
    ]

    class Edited(Message):
        """Posted when the text or the cursor changed."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self.cursor_blink = False
        self.match_cursor_bracket = False
        self.root = root
        self.history_of_messages = History()
        self.vim: Vim | None = None
        self.menu_open = False
        self.sync: Callable[[], None] = lambda: None
        """Called to update the completion menu for the text."""
        self.submit: Callable[[str], None] = lambda how: None
        """Called to submit the message, with `send` or `queue`. It is called while the key is handled."""
        self.choose_in_menu: Callable[[int], None] = lambda direction: None
        """Called to select the row below (1) or above (-1) in the completion menu."""
        self.take_candidate: Callable[[bool], None] = lambda run: None
        """Called to insert the selected row of the completion menu. If the argument is True, the row is also run."""
        self.close_menu: Callable[[], object] = lambda: None
        self.search_history: Callable[[], None] = lambda: None
        self.refuse: Callable[[str], None] = lambda reason: None
        """Called with the reason why a text was not inserted."""
        self.on_picture: Callable[[], None] = lambda: None
        """Called after a picture was attached to the message."""
        self.take_queued: Callable[[], bool] = lambda: False
        """Called to take the newest queued message back into the editor; returns False if no message is queued."""
        self.running = False
        """True while a turn runs. A message sent during a turn steers the turn."""
        self.can_queue = False
        """True while a turn runs, and from the moment a message was sent."""
        self.recalled = ""
        """The earlier message recalled by Up or Down; empty after the user types."""
        self._erased = ""
        """The text that `action_put_back` inserts."""
        self._returned = ""
        """The message of an undone turn, as long as the user has not edited it; otherwise empty."""

    def put_draft(self, raw: str, *, returned: bool = False) -> None:
        """Put a saved draft into the editor, with its chips and its pasted parts.

        `returned`: see `put_text`.
        """
        text, spans = self.chips.from_json(raw)
        self.put_text(text, returned=returned)
        self.pasted.spans = spans

    def use_vim(self, *, on: bool) -> None:
        """Turn vim keys on or off."""
        self.vim = Vim() if on else None

    def put_text(self, text: str, *, returned: bool = False) -> None:
        """Replace the text and move the cursor to its end.

        `returned`: True if `text` is the message of an undone turn. If the user types a slash next, the slash
        replaces `text`.
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
    def has_chips(self) -> bool:
        """True if the text has a long paste or a picture."""
        return any(self.chips.spans(line) for line in self.text.split("\n"))

    @property
    def untouched(self) -> bool:
        """True if the text is the message of an undone turn and has not been edited."""
        return bool(self._returned) and self.text == self._returned

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Insert pasted text. Long texts and pictures become labels, and paths become mentions.

        A text that is too long for a message is refused.
        """
        if len(text) > MAX_MESSAGE_CHARS:
            self.refuse(f"The pasted text is too long. {describe_long_message(len(text))}")
            return
        picture = self.chips.fold_picture(text, self.root)
        label = picture or paths_as_mentions(text, self.root)
        inserted = label if label is not None else self.chips.fold(clean_typed_text(text))
        start, end = sorted(self.selection)
        is_plain = label is None and not is_path(text)
        self.move_cursor(self.insert_part(inserted, start, end, pasted=is_plain).end_location)
        if picture is not None:
            self.on_picture()

    def get_line(self, line_index: int) -> Text:
        """Return a line with its chips highlighted."""
        line = super().get_line(line_index)
        spans = self.chips.spans(line.plain)
        if spans:
            style = self.looks.palette.style("accent")
            for start, end in spans:
                line.stylize(style, start, end)
        return line

    def get_cursor_line_start_location(self, smart_home: bool = False) -> tuple[int, int]:
        """Return the start of the line; Textual's own method returns the start of the wrapped row."""
        return self.cursor_location[0], 0

    def get_cursor_line_end_location(self) -> tuple[int, int]:
        """Return the end of the line; Textual's own method returns the end of the wrapped row."""
        row = self.cursor_location[0]
        return row, len(self.document.get_line(row))

    def action_delete_to_start_of_line(self) -> None:
        self._erase(self.get_cursor_line_start_location())

    async def action_delete_to_end_of_line_or_delete_line(self) -> None:
        self.erase_to_end()

    def erase_to_end(self) -> None:
        """Erase to the end of the line; at the end of the line, erase the line break."""
        row, column = self.cursor_location
        end = self.get_cursor_line_end_location()
        at_end = column == end[1] and row + 1 < self.document.line_count
        self._erase((row + 1, 0) if at_end else end)

    def action_delete_word_left(self) -> None:
        self._erase(self.get_cursor_word_left_location())

    def _erase(self, to: tuple[int, int]) -> None:
        """Erase the selection or, if nothing is selected, the text up to `to`."""
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
            # A chip is deleted as a whole: a part of its label would stand for nothing.
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
        self.recalled = self.text
        self.move_cursor(self.document.end if cursor is None else cursor)


class Editor(KeyActions, MessageArea, inherit_css=False):
    """The editor of the prompt."""

    COMPONENT_CLASSES: ClassVar[set[str]] = TextArea.COMPONENT_CLASSES
    scope = "prompt"

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
        self._returned = self.recalled = ""
        await super()._on_key(event)

    def uses_key(self, event: events.Key) -> bool:
        """Return True if the key types or edits text, or has an action in the prompt."""
        is_bound = event.key in self._bindings.key_to_bindings
        return event.is_printable or is_bound or bool(self.key_map.find(event.key, ("prompt",)))

    def leave_insert_mode(self) -> bool:
        """Leave vim's insert mode or cancel its operator; return False if there is neither."""
        return self.vim is not None and self.vim.escape() and self._changed_mode()

    def _take_key(self, event: events.Key) -> bool:
        """Run the menu's, vim's or the prompt's action for a key; return False if the key has no action."""
        key = event.key
        if self.key_map.find(key, ("menu",)):
            # The key may have been read together with letters, so update the menu for them first.
            self.sync()
        if self.menu_open and self.run_key(key, "menu"):
            return True
        if self.key_map.means(key, "stop"):
            return self.leave_insert_mode()
        sends = self.key_map.means(key, "send") or self.key_map.means(key, "steer")
        if self.vim is not None and self.vim.mode == "normal" and not (sends or key.startswith("ctrl+")):
            used = self.vim.key(self, event.character if event.is_printable and event.character else key)
            return used and self._changed_mode()
        return self.run_key(key) or self._drop_default_key(key)

    def _drop_default_key(self, key: str) -> bool:
        """Ignore a default key of the prompt whose action the user has moved to another key.

        Otherwise, Textual's text area would handle the key. Up and Down are not ignored: they still move the cursor.
        Return False if the key is not a default key of the prompt.
        """
        for action, choice in _DEFAULT_KEYS.find(key, ("prompt",)):
            if action.name == "history":
                (TextArea.action_cursor_down if choice else TextArea.action_cursor_up)(self)
            return True
        return False

    def scroll_cursor_visible(self, center: bool = False, animate: bool = False) -> Offset:
        """Scroll to the cursor, unless the cursor is past the end of the text."""
        # During an undo, Textual calls this method while the cursor is past the end.
        if self.cursor_location[0] >= self.document.line_count:
            return Offset(0, 0)
        return super().scroll_cursor_visible(center, animate)

    @property
    def paste_at_cursor(self) -> tuple[int, int] | None:
        """The (start, end) columns of the pasted text's chip at the cursor; None if there is none."""
        row, column = self.cursor_location
        return self.chips.paste_at(self.document.get_line(row), column)

    @property
    def nearest_paste(self) -> tuple[int, int, int] | None:
        """The (row, start column, end column) of the pasted text's chip nearest to the cursor; None without a chip."""
        return self.chips.nearest_paste(self.document.lines, *self.cursor_location)

    def unfold_paste(self) -> bool:
        """Replace the chip nearest to the cursor by its pasted text; return False if there is no chip of a paste."""
        paste = self.nearest_paste
        if paste is None:
            return False
        row, start, end = paste
        text = self.chips.texts[self.document.get_line(row)[start:end]]
        self.insert_part(text, (row, start), (row, end), pasted=True)
        self.move_cursor((row, start))
        return True

    def insert_picture(self, path: Path) -> None:
        """Attach a PNG file to the message, with a chip at the cursor."""
        self.insert(f"{self.chips.add_picture(path, MEDIA['.png'])} ")
        self.on_picture()

    def ask_app(self, name: str) -> None:
        """Let the app run the action `name`."""
        self.post_message(Intent(name))

    def run_choice(self, methods: Sequence[str], choice: int) -> None:
        """Run the method that `choice` selects.

        `choice`: with two methods, -1 for the first and 1 for the second; with more methods, the index.
        """
        getattr(self, methods[choice if len(methods) > 2 else choice > 0])()

    def queue(self) -> bool:
        """Queue the message if a turn runs or starts, otherwise do nothing; return False if the editor is empty."""
        has_text = bool(self.text.strip())
        if has_text and self.can_queue:
            self.submit("queue")
        return has_text

    def leave_for_chat(self) -> bool:
        """Move the focus from an empty prompt to the transcript; return False if there is text."""
        if not self.text.strip():
            self.ask_app("to_chat")
        return not self.text.strip()

    def go_to_end(self) -> None:
        """Go to the end of the line; in an empty editor, go to the newest row of the transcript."""
        if self.text:
            self.action_cursor_line_end()
        else:
            self.ask_app("to_end")

    def start_line(self) -> None:
        """Insert a line break."""
        self.insert("\n")
        self.scroll_cursor_visible()

    def _changed_mode(self) -> bool:
        self.post_message(self.Edited())
        return True

    def enter(self, running: bool) -> bool:
        """Send the message, or insert a line break if the line ends with a backslash at the cursor.

        The line break replaces the backslash.

        `running`: True if the pressed key sends during a turn, False if it sends at other times. Return False without
        doing anything if the key does not send now.
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
        """Do nothing: the keys F6, F7, PgUp and PgDn belong to the app, not to the text area."""
