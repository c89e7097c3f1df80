"""Parser of the terminal's input. It corrects Textual's own parser for some keys and for pastes.

Invariant: everything between the two marks of a bracketed paste is text, never a key.
"""

import re
import selectors
import time
from codecs import getincrementaldecoder
from collections.abc import Generator, Iterable, Iterator
from enum import StrEnum
from os import read
from typing import Any, Final

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._parser import ParseTimeout, Peek1, Read1, TokenCallback
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.events import CursorPosition, Key, Paste
from textual.message import Message

ALT_ENTER: Final = "alt+enter"
ESC: Final = "\x1b"
POLL_S: Final = 0.1
"""Longest wait for input, in seconds, before the input thread checks if the app is quitting."""
REPLY_S: Final = 0.5
"""Maximum time from the first to the last character of a background colour report, in seconds."""
_REPORT: Final = "\x1b]11;"
_COLOUR: Final = "[rgba:#/0-9A-Fa-f]{0,60}"
_FULL_REPORT: Final = re.compile(f"\x1b\\]11;({_COLOUR})(?:\x07|\x1b\\\\)")
_BEGUN_REPORT: Final = re.compile(f"\x1b\\]1(?:1(?:;{_COLOUR}\x1b?)?)?\\Z")
"""Matches the beginning of a report whose end has not been read yet."""
_OVERLAP: Final = len(BRACKETED_PASTE_START) - 1
"""Maximum number of characters of a paste mark that can be at the end of a read."""


class _Keys(StrEnum):
    ALT_ENTER = ALT_ENTER


def correct_sequences() -> None:
    """Correct Textual's key sequences: `ESC CR` and `ESC LF` are Alt+Enter, and `ESC TAB` is Esc and Tab."""
    # Textual takes `ESC TAB` as Shift+Tab, so Esc and Tab typed quickly would change the policy.
    for sequence in ("\x1b\r", "\x1b\n"):
        ANSI_SEQUENCES_KEYS[sequence] = (_Keys.ALT_ENTER,)  # type: ignore[index]
    ANSI_SEQUENCES_KEYS.pop("\x1b\t", None)  # type: ignore[attr-defined]


class BackgroundReported(Message):
    """The terminal reported its background colour (OSC 11)."""

    def __init__(self, *, is_dark: bool) -> None:
        super().__init__()
        self.is_dark = is_dark


class TypingBurst(Message):
    """Message posted before the keys of typed or pasted text, so that these keys do not answer a question."""


def is_dark_colour(colour: str) -> bool | None:
    """Return True if a colour is dark; None if the text is not a colour.

    Colours have the form `rgb:1c1c/1c1c/1c1c` or `#1c1c1c`.
    """
    match = re.fullmatch(r"rgba?:(\w{1,4})/(\w{1,4})/(\w{1,4})(?:/\w{1,4})?|#(\w\w)(\w\w)(\w\w)", colour)
    parts = [part for part in match.groups() if part] if match is not None else []
    try:
        red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    except ValueError:
        return None
    luma: float = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return luma < 0.5


class Keyboard(XTermParser):
    """Textual's parser, but with pastes and Esc handled differently."""

    def __init__(self, debug: bool = False) -> None:
        correct_sequences()
        super().__init__(debug)
        begins = {key[1] for key in ANSI_SEQUENCES_KEYS if len(key) > 1 and key[0] == ESC} | {ESC, "["}
        self._alone = re.compile(f"(?<={ESC})(?=[^{re.escape(''.join(sorted(begins)))}])")
        """Matches the position after an Esc key. The Esc that begins a control sequence does not match."""
        self._pasted: list[str] | None = None
        self._begun_report = ""
        self._begun_at = 0.0
        self._tail = ""
        """The last characters read. They can be the beginning of a paste mark that ends in the next read."""

    def parse(self, token_callback: TokenCallback[Message]) -> Generator[Read1 | Peek1, str, None]:
        """Parse input, and treat sequences such as `ESC [ 1 ; 5 R` as keys (here: Ctrl+F3)."""
        # Textual takes such a sequence as a report of the cursor's position, which the app never requests.

        def report(token: Message) -> None:
            if isinstance(token, CursorPosition) and token.y == 0:
                for key in self._sequence_to_key_events(f"{ESC}[1;{token.x + 1}R"):
                    token_callback(key)
            else:
                token_callback(token)

        return super().parse(report)

    def feed(self, data: str) -> Iterator[Message]:
        """Yield the messages for these characters and for unfinished input from earlier reads."""
        if not data:
            yield from super().feed(data)
        while data:
            mark = BRACKETED_PASTE_START if self._pasted is None else BRACKETED_PASTE_END
            tail = self._tail
            position = (tail + data).find(mark)
            has_mark = position >= 0
            end = position + len(mark) - len(tail) if has_mark else len(data)
            part, data = data[:end], data[end:]
            self._tail = "" if has_mark else (tail + part)[-_OVERLAP:]
            if self._pasted is None:
                yield from self._parse_outside_paste(part, tail if self._timeout_time is not None else "")
                self._pasted = [] if has_mark else None
                continue
            self._pasted.append(part)
            if has_mark:
                text, self._pasted = "".join(self._pasted)[: -len(mark)], None
                # The base class got the first mark; from its view, the paste is empty.
                for _ in super().feed(mark):
                    pass
                yield Paste(text.replace("\x00", ""))

    def _parse_outside_paste(self, data: str, pending: str) -> Iterator[Message]:
        """Yield keys and reports for characters outside a paste.

        `pending`: end of the previous read, which may begin a sequence.
        """
        for start in ("\x1b]", ESC):
            if pending.endswith(start) and (start + data).startswith(_REPORT):
                for _ in self._release_esc():
                    pass  # This Esc began the report, so it is not a key.
                data, pending = start + data, ""
        if self._begun_report and time.monotonic() < self._begun_at + REPLY_S:
            data = self._begun_report + data
        self._begun_report, position = "", 0
        for report in _FULL_REPORT.finditer(data):
            yield from self._parse_keys(data[position : report.start()], after_esc=pending.endswith(ESC))
            position, pending = report.end(), ""
            if (is_dark := is_dark_colour(report[1])) is not None:
                yield BackgroundReported(is_dark=is_dark)
        data = data[position:]
        if begun := _BEGUN_REPORT.search(data):
            self._begun_report, self._begun_at = begun[0], time.monotonic()
            data = data[: begun.start()]
        yield from self._parse_keys(data, after_esc=pending.endswith(ESC))

    def _parse_keys(self, data: str, *, after_esc: bool) -> Iterator[Message]:
        """Yield keys for characters outside a paste.

        If `data` is only `ESC x`, yield the key Alt+x.
        """
        if not data:
            return
        if len(data) == 2 and not after_esc and data != "\x1b\t":
            is_pair = data[0] == ESC and data[1] < " " and data[1] != ESC and data not in ANSI_SEQUENCES_KEYS
            for message in super().feed(data[1] if is_pair else data):
                if is_pair and isinstance(message, Key) and message.key.startswith("ctrl+"):
                    # Textual drops the Alt, so Ctrl+Alt+C would interrupt like Ctrl+C.
                    yield Key(f"alt+{message.key}", None)
                else:
                    yield message
            return
        if after_esc and self._alone.search(ESC + data[:1]):
            yield from self._release_esc()
        for number, piece in enumerate(self._alone.split(data)):
            if number:
                yield from self._release_esc()
            yield from super().feed(piece)

    def _release_esc(self) -> Iterable[Message]:
        """Yield the Esc that the parser still holds, as a key."""
        # Textual's parser does the same after a timeout. Here the next character already shows that Esc stands alone.
        self._timeout_time = None
        self._awaiting = self._gen.throw(ParseTimeout())
        while self._tokens:
            yield self._tokens.popleft()


class KeyboardDriver(LinuxDriver):
    """Textual's Linux driver, with `Keyboard` as the parser."""

    last_input = ""
    """The characters of the last read."""

    def run_input_thread(self) -> None:
        """Read the terminal until the app quits. Textual runs this method in a thread."""
        parser = Keyboard(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            if selector.select(0):
                # This text was typed before the terminal was in raw mode, so the CR of Enter arrives as LF. Only the last
                # LF is turned back, because earlier ones may belong to a pasted text.
                text = decode(read(self.fileno, 4096))
                self._take(parser.feed(f"{text[:-1]}\r" if text.endswith("\n") else text))
            while not self.exit_event.is_set():
                if selector.select(POLL_S) and (text := decode(read(self.fileno, 4096))):
                    self.last_input = text
                    self._take(parser.feed(text))
                self._take(parser.tick())
            if selector.select(0):
                self._take(parser.feed(text) if (text := decode(read(self.fileno, 4096), True)) else ())

    def _take(self, messages: Iterable[Message]) -> None:
        messages = tuple(messages)
        if sum(isinstance(message, Key) and message.is_printable for message in messages) > 1:
            self.process_message(TypingBurst())
        for message in messages:
            self.process_message(message)


def sent_bytes(app: App[Any]) -> str:
    """Return the last characters from the terminal, e.g. `\\x1b[1;5A`; empty if unknown."""
    driver = app._driver
    return repr(driver.last_input)[1:-1] if isinstance(driver, KeyboardDriver) else ""
