"""The chat area: the transcript widget with its views and messages, or the start page.

Invariant: the start page is shown until the first message.
"""

import asyncio
import re
from collections.abc import Callable, Sequence

from textual import events

from tui_agent.folds.transcript.entries import Entry, NoticeEntry, TranscriptView, TurnEntry, UserEntry
from tui_agent.folds.transcript.fold import Transcript
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.stored_text import BlobText
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.keys_and_commands import BY_NAME, Scope
from tui_agent.tui.modals.confirm import open_link
from tui_agent.tui.panes.start import first_page
from tui_agent.tui.time_slice import Slices
from tui_agent.tui.transcript.chat_search import pattern_of
from tui_agent.tui.transcript.entry_drawing import long_texts
from tui_agent.tui.transcript.layout import WINDOW_ENTRIES, Layout, Window, index_of_event, window_start
from tui_agent.tui.transcript.transcript_messages import BlobWanted, EntryAction, LinkClicked, TextSelected
from tui_agent.tui.transcript.viewport import RowPosition
from tui_agent.tui.transcript.widget import TranscriptWidget
from tui_agent.tui.untrusted_text import clean_line

MAX_BLOBS = 200
"""Maximum number of long texts to keep in memory."""
_ENTRIES_PER_SLICE = 50
"""Number of entries to lay out before the event loop gets a chance to handle keys."""


class ChatWidget(TranscriptWidget):
    """The transcript widget; passes its Textual messages, such as clicked links, to `Chat`."""

    chat: "Chat"

    _newest_view: TranscriptView | None = None
    _first: int | None = None
    """Index of the first entry in the layout; None if there is none."""
    _changed_meanwhile: set[int] | None = None
    """Indices of the entries that changed since `extend_to` began to build a longer layout. None if it is not running."""

    def show_view(self, view: TranscriptView, changed: Sequence[int] = (), *, is_whole: bool = False) -> None:
        """Show a newer view of the transcript.

        - `changed`: the indices of the changed entries
        - `is_whole`: True for the first view of the whole session, if earlier views contained only the session's end
        """
        first = self._first
        if first is None or is_whole:
            first = window_start(view.entries)
        self._newest_view, self._first = view, first
        if self._changed_meanwhile is not None:
            self._changed_meanwhile.update(changed)
        if is_whole:
            self.show_more(_view_from(view, first))
        else:
            self.set_view(_view_from(view, first), [index - first for index in changed if index >= first])

    def extend(self, index: int | None) -> None:
        """Show older entries too, back to the entry with the index `index`.

        If `index` is None, show a fixed number of older entries.
        """
        if self._newest_view is None or not self._first or (index is not None and index >= self._first):
            return
        self._first = window_start(self._newest_view.entries, self._first if index is None else index)
        self.show_more(_view_from(self._newest_view, self._first))

    async def extend_to(self, index: int) -> None:
        """Show older entries too, back to the entry with the index `index`, without blocking the app."""
        if self._newest_view is None or not self._first or self._first - index <= WINDOW_ENTRIES:
            self.extend(index)
            return
        slices, first_before = Slices(), self._first
        entries, first = self._newest_view.entries, window_start(self._newest_view.entries, index)
        layout = Layout(self.viewport.layout.look, self._read, self.chat.app.clock)
        self._changed_meanwhile = set()
        while layout.grow(Window(entries, first), _ENTRIES_PER_SLICE):
            if await slices.turn() and (self._first != first_before or not self.is_attached):
                # Another layout replaced the first one meanwhile, so this one is out of date.
                self._changed_meanwhile = None
                self.extend(index)
                return
        changed, self._changed_meanwhile = self._changed_meanwhile, None
        view = _view_from(self._newest_view, first)
        layout.set_entries(view.entries, [index - first for index in changed if index >= first])
        self._first = first
        self.replace_layout(layout, view)

    def repaint(self) -> None:
        """Paint the rows that changed. If the user has scrolled near the oldest visible entry, show older entries too."""
        super().repaint()
        if not self.viewport.anchored and self.viewport.y < 2 * self.viewport.height:
            self.extend(None)

    def go_to_end(self, direction: int) -> None:
        """Go to the session's first entry if `direction` is negative, otherwise to the newest entry."""
        if direction < 0:
            self.chat.context.worker(self._to_first(self.viewport.position), "first")
        else:
            super().go_to_end(direction)

    async def _to_first(self, position: RowPosition | None) -> None:
        await self.extend_to(0)
        if self.viewport.position == position:  # Skip this if the user scrolled meanwhile.
            super().go_to_end(-1)

    def on_blob_wanted(self, message: BlobWanted) -> None:
        message.stop()
        self.chat.context.worker(self.chat.load_blob(message.blob), "blob")

    def on_text_selected(self, message: TextSelected) -> None:
        message.stop()
        self.chat.app.copy_text(message.text)

    def key_scopes(self) -> Sequence[Scope]:
        """Return the scopes whose keys work now."""
        if self.screen.focused is not self:
            return ()
        return ("turn", *super().key_scopes()) if self._chosen_turn is not None else super().key_scopes()

    @property
    def _chosen_turn(self) -> TurnEntry | None:
        """The turn under the cursor if this turn changed files; otherwise None."""
        index = self.viewport.layout.index_of(self.cursor)
        entry = None if index is None else self.viewport.layout.entry(index)
        return entry if isinstance(entry, TurnEntry) and (entry.files or entry.folders) else None

    def show_turn_diff(self) -> None:
        if self._chosen_turn is not None:
            self.post_message(EntryAction(self._chosen_turn.id, "diff"))

    def watch_cursor(self) -> None:
        self.chat.app.show_keys()

    def pass_key(self, event: events.Key) -> bool:
        """Move the focus to the prompt and pass the key on. Return True if this was done.

        Return False if the focus is on the transcript and the prompt has no use for the key.
        """
        editor = self.chat.context.editor
        if self.screen.focused is self and not editor.uses_key(event):
            return False
        self.leave()
        editor.post_message(events.Key(event.key, event.character))
        return True

    def close_find(self) -> bool:
        """End the search and focus the prompt; return False if no search was open."""
        was_open = super().close_find()
        if was_open:
            self.leave()
        return was_open

    def leave(self) -> None:
        self.screen.set_focus(self.chat.context.editor)

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.chat.app.show_keys()

    def on_entry_action(self, message: EntryAction) -> None:
        message.stop()
        entry = next((entry for entry in self.chat.entries if entry.id == message.entry_id), None)
        # A fork or revert at a message goes to the event before the message.
        argument = str(entry.seq - 1) if isinstance(entry, UserEntry) else ""
        if isinstance(entry, TurnEntry):
            argument = f"turn {entry.turn}"
        self.chat.app.do(message.action, argument)

    def on_link_clicked(self, message: LinkClicked) -> None:
        message.stop()
        open_link(self.chat.app, message.address)

    def watch_new_rows(self) -> None:
        self.chat.show_status()

    def watch_find_place(self, place: str) -> None:
        self.chat.search.show_place(self.finder.text, place)


class ChatSearch:
    """A search in the whole transcript, including long texts stored outside the log."""

    def __init__(self, chat: "Chat") -> None:
        self._chat, self._context = chat, chat.context
        self._query = ""

    async def run(self, widget: ChatWidget, text: str) -> None:
        """Search the whole transcript for `text`, and go to the first match."""
        self._query = text
        if progress := self._context.sessions.load_progress:
            self._chat.app.say(f"/find starts when the whole session is loaded: {progress}.")
            await self._context.sessions.wait_until_loaded()
        await self._read_long_texts(pattern_of(text))
        if widget is not self._chat.widget or text != self._query:
            return
        await widget.extend_to(0)
        count = await widget.find(text)
        if text != self._query:
            return
        if not count:
            widget.close_find()
            self._chat.app.say(f'Nothing matches "{text}".', "warning")
        elif not self._context.editor.text:
            widget.screen.set_focus(widget)

    def show_place(self, text: str, place: str) -> None:
        """Show the place of the current match, e.g. `3 of 13`, below the prompt."""
        app = self._chat.app
        shown = f'"{clean_line(text)[:30]}" {place}' if place else ""
        app.prompt.set_find_place(shown)
        if shown and not app.shape.policy_row:
            app.say(shown)
        app.show_keys()

    async def _read_long_texts(self, pattern: re.Pattern[str]) -> None:
        blobs, slices = dict[str, BlobText](), Slices()
        for entry in self._chat.entries:
            blobs.update((blob.blob_sha256, blob) for blob in long_texts(entry))
            await slices.turn()
        for digest, blob in blobs.items():
            if digest in self._chat.blobs:
                continue
            text = await self._context.reader.read_text(blob)
            if await asyncio.to_thread(pattern.search, text) is not None:
                self._chat.keep_blob(blob, text)


class Chat:
    """The chat area of the main screen: either the start page or the transcript is visible."""

    def __init__(self, context: AppContext, show_status: Callable[[], None]) -> None:
        self.app = app = context.app
        self.context = context
        self.show_status = show_status
        self.blobs: dict[str, str] = {}
        self.widget: ChatWidget | None = None
        self._preview: ChatWidget | None = None
        """The widget that shows a long session's end while the whole session is being read; None at other times."""
        self.search = ChatSearch(self)
        self._refused_at = -1
        """Number of the event of the last refusal that was announced; -1 if there was none."""
        self.start = app.start or first_page(app.editor)

    @property
    def entries(self) -> Sequence[Entry]:
        return self.context.views.transcript.view().entries

    async def mount(self) -> None:
        """Mount the start page, unless it was already mounted for the first frame."""
        if self.app.start is None:
            self.app.start = self.start
            await self.app.chat.mount(self.start)

    async def begin(self) -> None:
        """Show the transcript of another session in a new widget."""
        self.blobs.clear()
        if self.widget is not None:
            await self.widget.remove()
        self._refused_at = -1
        self.widget = await self._mount_widget("transcript")
        self.widget.display = self._preview is None and not self.start.display

    async def show_preview(self, records: Sequence[Record]) -> None:
        """Show the end of a long session as a preview, and wait until it is painted."""
        fold = Transcript()
        for record in records:
            if isinstance(record, Envelope):
                fold.apply(record)
        if self.widget is not None and fold.view().entries:
            if self.start.has_focus:
                self.context.editor.focus()
            self.start.display = self.widget.display = False
            self._preview = await self._mount_widget("preview")
            self._preview.set_view(fold.view(), fold.drain())
            painted = asyncio.Event()
            if self.app.call_after_refresh(painted.set):
                await painted.wait()

    def remove_preview(self) -> None:
        """Remove the preview of a long session."""
        if self._preview is not None:
            self._preview.display = False
            self._preview.remove()
            self._preview = None

    async def _mount_widget(self, name: str) -> ChatWidget:
        looks = self.app.looks
        widget = ChatWidget(
            looks.palette,
            looks.symbols,
            resolve=lambda blob: self.blobs.get(blob.blob_sha256),
            now=self.app.clock,
            actions=frozenset(BY_NAME),
            id=name,
        )
        widget.chat = self
        widget.styles.height = "1fr"
        await self.app.chat.mount(widget)
        return widget

    def show_all_entries(self) -> None:
        """Replace the view of the session's end by the view of the whole session."""
        if self.widget is not None:
            self.context.views.transcript.drain()
            self.widget.show_view(self.context.views.transcript.view(), is_whole=True)

    @property
    def is_transcript_shown(self) -> bool:
        """True if the transcript is visible and the start page is not."""
        return self.widget is not None and bool(self.widget.display)

    def show(self) -> None:
        """Update the transcript widget from the transcript's newest view."""
        if self.widget is not None:
            self.remove_preview()
            changed = self.context.views.transcript.drain()
            self.widget.show_view(self.context.views.transcript.view(), changed)

    def choose_page(self) -> None:
        """Show the start page if the session is empty, otherwise the transcript.

        A session with only refused messages counts as empty.
        """
        if self.widget is None:
            return
        entries = self.entries
        # Without a model, the page to choose one matters more than the notices of plugins.
        kinds = ("rejected",) if self.context.has_model else ("rejected", "plugin")
        empty = all(isinstance(entry, NoticeEntry) and entry.kind in kinds for entry in entries)
        if empty and entries:
            self._say_refusal(entries[-1])
            self.start.set_notices(
                [
                    " ".join(entry.lines)
                    for entry in entries
                    if isinstance(entry, NoticeEntry) and entry.kind == "plugin"
                ]
            )
        if self.start.display == empty and self.widget.display != empty:
            return
        self.start.display = empty
        self.widget.display = not empty
        self.app.reshape()
        if not empty and self.start.has_focus:
            self.context.editor.focus()

    def _say_refusal(self, newest: Entry) -> None:
        is_new = newest.seq > max(self._refused_at, self.context.seen_seq)
        if is_new and isinstance(newest, NoticeEntry) and newest.kind == "rejected":
            self._refused_at = newest.seq
            self.app.say(" ".join(newest.lines), "warning")

    async def load_blob(self, blob: BlobText) -> None:
        """Load the long text of an entry that is visible in the transcript, and redraw the entry."""
        self.keep_blob(blob, await self.context.reader.read_text(blob))

    def keep_blob(self, blob: BlobText, text: str) -> None:
        """Keep a long text in memory for later searches, and redraw its entry if the entry is visible."""
        self.blobs[blob.blob_sha256] = text
        while len(self.blobs) > MAX_BLOBS:  # Drop the texts that were loaded first.
            del self.blobs[next(iter(self.blobs))]
        if self.widget is not None:
            self.widget.blob_loaded(blob)

    @property
    def new_rows_text(self) -> str:
        """`12 new rows` if rows came while the user was scrolled up; otherwise empty."""
        rows = self.widget.new_rows if self.widget is not None else 0
        return format_count(rows, "new row") if rows else ""

    def scroll_pages(self, pages: int) -> None:
        """Scroll the transcript by this number of pages."""
        if self.widget is not None:
            self.widget.action_page(pages)

    def focus(self) -> None:
        """Focus the transcript, or the start page while no model is set."""
        if self.start.display and self.start.content.needs_model:
            self.start.focus()
        elif self.widget is not None and self.widget.display:
            self.widget.focus()
            if not self.widget.is_cursor_visible:
                self.widget.action_cursor(-1)

    def to_end(self) -> None:
        """Scroll the transcript to its end, and keep it there when new entries come."""
        if self.widget is not None:
            self.widget.scroll_to_end()

    def find(self, text: str) -> None:
        """Find a text in the transcript; if `text` is empty, go to the next match."""
        if self.widget is None:
            return
        if text:
            self.context.worker(self.search.run(self.widget, text), "find")
        elif not self.widget.find_next(1):
            prompt = self.context.editor
            if prompt.text:
                self.app.say("/find needs text to look for, for example /find midnight.")
            else:
                prompt.prefix_text("/find ")

    @property
    def openable(self) -> str:
        """The id of the entry that `toggle` would fold or unfold; empty if there is none."""
        widget = self.widget
        if widget is None:
            return ""
        if not widget.has_focus:
            return widget.newest_block()
        return widget.cursor if widget.can_toggle(widget.cursor) else ""

    def toggle(self) -> None:
        """Fold or unfold the entry with the id `openable`, and scroll to it."""
        if self.widget is not None and (entry_id := self.openable):
            self.widget.toggle_fold(entry_id)
            self.widget.show_entry(entry_id)
            self.app.show_keys()

    def close(self) -> bool:
        """Clear the selection; else close the search; else leave the transcript. Return False if there was nothing to do."""
        if self.start.display:
            if not self.context.editor.text:
                self.focus()
            return self.start.content.needs_model
        if self.widget is None:
            return False
        if self.widget.selection is not None:
            self.widget.clear_selection()
        elif not self.widget.close_find():
            if not self.widget.has_focus:
                return False
            self.widget.leave()
        return True

    def entry_at(self, seq: int) -> Entry | None:
        """Return the newest entry that began at or before event `seq`, or None."""
        index = index_of_event(self.entries, seq)
        return self.entries[index] if index >= 0 else None

    def show_seq(self, seq: int) -> None:
        """Scroll the transcript to the entry that began with the event `seq`."""
        index, widget = index_of_event(self.entries, seq), self.widget

        async def show(widget: ChatWidget, entry_id: str) -> None:
            await widget.extend_to(index)
            widget.scroll_to_entry(entry_id)

        if index >= 0 and widget is not None:
            self.context.worker(show(widget, self.entries[index].id), "show")

    def looks_changed(self) -> None:
        """Redraw the transcript after a change of the theme."""
        if self.widget is not None:
            self.widget.set_look(self.app.looks.palette, self.app.looks.symbols)


def _view_from(view: TranscriptView, first: int) -> TranscriptView:
    return view if not first else TranscriptView(Window(view.entries, first), view.revision)
