"""Merging of streamed text into larger pieces before recording (every 50 ms or 2 KB).

Invariant: each key's text (such as one part of an answer) is emitted completely and in order, and no piece mixes the
texts of two keys.

A secret is kept in one piece, so that redaction recognises it. At most `MAX_HELD_CHARS` characters are held back.
"""

import re
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final, Generic, Protocol, TypeVar

import anyio

from tui_agent.errors import StoreError
from tui_agent.ports.clock import Clock
from tui_agent.protocol.secret_names import SECRET_WORD_PATTERN

KeyT = TypeVar("KeyT", bound=Hashable)

FLUSH_INTERVAL_S = 0.05
MAX_EVENT_CHARS = 2048


class DeltaMerger(Generic[KeyT]):
    """Collects streamed text by key (e.g. by part of the answer) and passes the text to `emit(key, text)`."""

    def __init__(self, clock: Clock, emit: Callable[[KeyT, str], None]) -> None:
        self._clock = clock
        self._emit = emit
        self._key: KeyT | None = None
        self._pieces: list[str] = []
        self._size = 0
        self._flushed_at = clock.monotonic()

    def add(self, key: KeyT, text: str) -> None:
        """Add text for a key."""
        if key != self._key:
            self.finish()
            self._key = key
        self._pieces.append(text)
        self._size += len(text)
        if self._size >= MAX_EVENT_CHARS or self._clock.monotonic() - self._flushed_at >= FLUSH_INTERVAL_S:
            self.flush()

    def flush(self) -> None:
        """Emit the buffered text, up to a place where no secret can be split."""
        if self._size:
            text = "".join(self._pieces)
            end = safe_end(text)
            self._send(text[:end], text[end:])
        # Also without text: a new interval begins, so that the next short piece is not sent alone.
        self._flushed_at = self._clock.monotonic()

    def finish(self) -> None:
        """Emit all buffered text."""
        if self._size:
            self._send("".join(self._pieces), "")
        self._flushed_at = self._clock.monotonic()

    def _send(self, text: str, rest: str) -> None:
        assert self._key is not None
        start = 0
        while start < len(text):
            piece = text[start : start + MAX_EVENT_CHARS]
            if start + MAX_EVENT_CHARS < len(text):
                longest = text[start : start + MAX_HELD_CHARS]
                piece = piece[: safe_end(piece)] or longest[: safe_end(longest)] or longest
            self._emit(self._key, piece)
            start += len(piece)
        self._pieces = [rest] if rest else []
        self._size = len(rest)


class TextBuffer(Protocol):
    """A buffer of streamed text."""

    def flush(self) -> None: ...

    def finish(self) -> None: ...


BufferT = TypeVar("BufferT", bound=TextBuffer)


class FlushTimer:
    """Flushes active buffers every `FLUSH_INTERVAL_S`, in case no more text arrives."""

    def __init__(self) -> None:
        self._active: set[TextBuffer] = set()
        self._wake = anyio.Event()

    @contextmanager
    def open_merger(
        self, clock: Clock, emit: Callable[[KeyT, str], None], kind: type[KeyT] | None = None
    ) -> Iterator[DeltaMerger[KeyT]]:
        """Provide a merger for the `with` block."""
        with self.flush_regularly(DeltaMerger(clock, emit)) as merger:
            yield merger

    @contextmanager
    def flush_regularly(self, buffer: BufferT) -> Iterator[BufferT]:
        """Flush a buffer regularly during the `with` block, and finish it at the end."""
        self._active.add(buffer)
        self._wake.set()
        try:
            yield buffer
        finally:
            self._active.discard(buffer)
            buffer.finish()

    async def run(self) -> None:
        """Flush all active buffers regularly until cancelled."""
        while True:
            if not self._active:
                self._wake = anyio.Event()
                await self._wake.wait()
            await anyio.sleep(FLUSH_INTERVAL_S)
            for buffer in tuple(self._active):
                try:
                    buffer.flush()
                except StoreError:
                    continue  # the buffer's own source gets the same error with its next piece and reports it


MAX_HELD_CHARS: Final = 8_000
"""Maximum length of the buffer, in characters."""
_NEAR: Final = 300
"""A secret's name is searched in this many characters before the end of the text."""
_LINES_BELOW: Final = 2
"""A secret's value can be up to this many lines below its name."""
_TO_LAST_WORD: Final = re.compile(r"[\s\S]*(?:[\t-\r\x1c-\x20]|[^\x00-\x7f])")
r"""Matches a text up to and including its last space or non-ASCII character."""
_PEM_BEGIN: Final = "-----BEGIN"
_PEM_END: Final = re.compile(r"-----END[ A-Z0-9]{0,50}-----")
_REVEALING_WORD: Final = rf"(?!pass(?:age|e[ds]|enger|ing|ive)){SECRET_WORD_PATTERN}"
"""Pattern of a word in the name of a secret."""
_LINE_BREAK: Final = re.compile(r"\n\s*")
_FILLER_WORD: Final = (
    r"(?:account|and|by|default|for|generated|is|not|now|null|of|set|the|to|user|was|with)(?=[ ,.;!?])"
)
_PROSE: Final = re.compile(
    rf"[`'\"*)]{{0,3}}(?: +{_FILLER_WORD})*(?:[ ,]+(?!{_FILLER_WORD})[a-z]+(?=[ ,.;!?])(?: +{_FILLER_WORD})*){{3}}"
    rf"|[^\n:=\"'`]{{0,{_NEAR}}}[.!?]\s"
)
"""Matches prose after the name of a secret: the end of a sentence, or three plain words."""


# Compiled at first use: this takes longer than to import most modules.
@cache
def _name_pattern() -> re.Pattern[str]:
    """Return a pattern that matches a secret's name."""
    return re.compile(
        rf"(?i)(?:{_REVEALING_WORD}|\b(?:bearer|creds|following|identified|insert\s+into|machine|username|authenticate\(|login\("
        r"|(?:\w+_)?auth[=(]))\w{0,20}"
    )


@cache
def _unfinished_pattern() -> re.Pattern[str]:
    """Return a pattern for the end of a text that a secret may follow, such as `token: `."""
    return re.compile(
        rf"(?i)(?:(?:{_REVEALING_WORD}|authorization|auth|basic|cookie|credential|digest|dsn|hmac|jwt|key|login|otp|pepper|pin|salt"
        r"|seed|session|sid)\w{0,20}[\s\"'`\\\[\](){}<>|&:=+-]{0,40}"
        r"|(?<![\w.-])(?:alter|arg|config|create|define|env|export|insert|login|name|net|pw|security|set|the|user|using|variable|with)\b"
        r"[\"']?\s{0,3}[:=]?\s{0,3}[\"']?(?:-\w{1,4}\s{1,3})?)\Z"
    )


@cache
def _command_pattern() -> re.Pattern[str]:
    """Return a pattern that matches a command with a possible password, up to the end of the line."""
    # Redaction needs the program's name to recognise that `bob:hunter2` is a login.
    return re.compile(
        r"(?<![\w./-])(?:7z|ab|ansible\w*|argocd|aws|az|bao|chpasswd|composer|consul|cqlsh|cryptsetup|curl\w*|cypher-shell|docker|echo"
        r"|etcdctl|flyctl|ftp|gh|gh-api|helm|hey|htpasswd|http|https|hurl|imapfilter|influx|ipmitool|keytool|kinit|kubectl|ldap\w+"
        r"|lftp|mariadb|mongo\w*|mosquitto_\w+|mysql\w*|nmcli|oc|openssl|podman|poetry|printf|psexec|psql|pulumi|rabbitmq\w+"
        r"|rdesktop|redis-(?:cli|server)|restic|rpcclient|schtasks|setenv|setx|signtool|skopeo|smbclient|snmp\w+|sqlcmd|sqlplus"
        r"|ssh-keygen|sshpass|sudo|supabase|swaks|tabcmd|twine|unzip|vault|vercel|wandb|wget|winexe|xfreerdp3?|xh|zip|-u"
        r"|(?i:(?:alter|create)\s+(?:login|role|user)|config\s+set|createUser|convertto-securestring|grant|login\s+is|net\s+use\w*"
        r"|nickserv|pragma|r[ow]community6?|requirepass|security\s+[a-z]+-keychain))\s"
        rf"(?:\\\r?\n|[^\n`]){{0,{_NEAR}}}\Z"
    )


def safe_end(text: str) -> int:
    """Return how many characters of `text` can be emitted without splitting a secret."""
    if len(text) >= MAX_HELD_CHARS:
        return len(text)
    end, previous = _last_word_start(text, len(text)), -1
    while end != previous:  # an earlier end can lie in another secret
        previous = end
        for find_begin in (_key_begin, _command_begin, _named_line_begin, _unfinished_begin):
            end = find_begin(text, end)
    return end


def _key_begin(text: str, end: int) -> int:
    begin = text.rfind(_PEM_BEGIN, 0, end)
    return begin if begin >= 0 and _PEM_END.search(text, begin, end) is None else end


def _command_begin(text: str, end: int) -> int:
    command = _command_pattern().search(text, max(0, end - 2 * _NEAR), end)
    return command.start() if command else end


def _named_line_begin(text: str, end: int) -> int:
    """Return the start of the first line with a possibly incomplete secret (`password=`), or `end` if there is none."""
    for name in _name_pattern().finditer(text, max(0, len(text) - _NEAR), end):
        breaks = len(_LINE_BREAK.findall(text, name.end(), end))
        prose = _PROSE.match(text, name.end())
        if breaks <= _LINES_BELOW and (prose is None or prose.end() > end):
            return _line_begin(text, name.start())
    return end


def _unfinished_begin(text: str, end: int) -> int:
    if len(text) - end > 2 * _NEAR:  # too much is buffered already: probably a list of names without values
        return end
    name = _unfinished_pattern().search(text, max(0, end - _NEAR), end)
    return _last_word_start(text, name.start()) if name else end


def _line_begin(text: str, index: int) -> int:
    """Return the start of the line at `index`. If the line is long, return the start of the last word before `index`."""
    begin = text.rfind("\n", 0, index) + 1
    return begin if index - begin <= _NEAR else _last_word_start(text, index)


def _last_word_start(text: str, end: int) -> int:
    """Return the index after the last space or non-ASCII character before `end`, or 0 if there is none."""
    match = _TO_LAST_WORD.match(text, 0, end)
    return match.end() if match else 0
