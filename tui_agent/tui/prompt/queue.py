"""The queued messages above the prompt: when each is sent, and how to send, edit or remove it.

Invariant: every queued message has a row or is counted.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from textual.strip import Strip

from tui_agent.tui.widgets.keymap import key_map_of
from tui_agent.tui.widgets.lists import Intent, LinePane
from tui_agent.tui.widgets.rows import Part, cells, cut_parts

if TYPE_CHECKING:  # loaded after the first paint
    from tui_agent.protocol.ids import RequestId

MAX_ROWS: Final = 3


class QueueRows(LinePane):
    """The rows above the prompt for the first queued messages; hidden if no message is queued."""

    surface = "s2"
    texts: tuple[str, ...] = ()
    after: str = ""
    can_send: bool = True
    """True if the user can send the first message before the end of the work `after`."""
    is_prompt_empty: bool = True
    """True if the prompt is empty; only then do the queue's keys work."""
    queued_after: "tuple[RequestId, ...] | None" = None
    """Ids of the messages that were ahead of the edited message in the queue. None if the message was not in the queue."""
    _is_taken: bool = False
    """True from a request to take back a message until the queue changes, so that a second key press is ignored."""

    def on_mount(self) -> None:
        # The queue's keys work only while the editor has the focus.
        self.watch(self.screen, "focused", self.show, init=False)

    @property
    def rows_wanted(self) -> int:
        """The number of rows for the queued messages."""
        return min(len(self.texts), MAX_ROWS)

    def set_texts(self, texts: Sequence[str], *, after: str, can_send: bool = True) -> None:
        """Show these messages.

        `after`: the work that the messages wait for; empty if there is none.
        """
        if (tuple(texts), after, can_send) == (self.texts, self.after, self.can_send):
            return
        self.texts, self.after, self.can_send, self._is_taken = tuple(texts), after, can_send, False
        self.display = bool(texts)
        self.styles.height = max(1, self.rows_wanted)
        self.show()

    def set_prompt_empty(self, is_empty: bool) -> None:
        """Show the queue's keys only while the prompt is empty."""
        if is_empty != self.is_prompt_empty:
            self.is_prompt_empty = is_empty
            self.show()

    def release(self) -> "tuple[RequestId, ...] | None":
        """Return `queued_after` and reset it, because the message leaves the editor."""
        queued_after, self.queued_after, self._is_taken = self.queued_after, None, False
        return queued_after

    def gets_back(self, *, running: bool) -> bool:
        """Return True if Enter puts the edited message back at its place in the queue."""
        others_wait = bool(self.queued_after and self.texts)
        return self.queued_after is not None and (running or others_wait)

    def take_newest(self) -> bool:
        """Ask the app to put the newest queued message back into the prompt; return False if the queue is empty."""
        if self.texts and not self._is_taken:
            self._is_taken = True
            self.post_message(Intent("unqueue"))
        return bool(self.texts)

    def draw(self, width: int, height: int) -> list[Strip]:
        return [self._row(index, width) for index in range(self.rows_wanted)]

    def _row(self, index: int, width: int) -> Strip:
        pen, symbols = self.pen._replace(margin=1), self.looks.symbols
        right = next(
            (note for note in self._notes(index) if cells(note) <= max(width * 3 // 5, width - 40)), []
        )
        text = pen.part(self.texts[index], "t2", intent=f"unqueue {index + 1}")
        cut_text = cut_parts([text], max(1, width - cells(right) - 5), symbols.ellipsis)
        return pen.line(width, [pen.part(f"{symbols.queued} ", "t3"), *cut_text], right)

    def _notes(self, index: int) -> Iterator[list[Part]]:
        """Yield the possible notes for the right side of a row, the longest first."""
        first, last = index == 0, index == self.rows_wanted - 1
        pen = self.pen
        when = [pen.part(f"after {self.after}" if self.after else "waits", "t2")] if first else []
        hidden = len(self.texts) - MAX_ROWS if last else 0
        more = [pen.part(f"+{hidden} more", "t3")] if hidden > 0 else []
        focused = self.screen.focused
        is_elsewhere = not self.screen.is_active or (focused is not None and focused.id != "editor")
        has_keys = self.is_prompt_empty and not is_elsewhere
        for send, edit in ((" sends it now", " edits or removes"), (" sends", " edits"), ("", "")):
            keys: list[list[Part]] = []
            if first and has_keys and self.can_send:
                action = "steer" if self.after else "send"
                keys.append(self._key(key_map_of(self.app).key_of(action), send, "send_queued"))
            if last and has_keys:
                keys.append(self._key(key_map_of(self.app).key_of("history"), edit, "unqueue"))
            yield self._join_groups([when, more, *keys])
            yield self._join_groups([more, *keys])
        yield more

    def _key(self, key: str, words: str, intent: str) -> list[Part]:
        pen = self.pen._replace(intent=intent)
        return [pen.part(key, "t2", bold=True), pen.part(words, "t3")]

    def _join_groups(self, groups: Sequence[list[Part]]) -> list[Part]:
        joined: list[Part] = []
        for group in groups:
            joined += [self.pen.part("   "), *group] if joined and group else group
        return joined
