"""The output of running commands and calls: samples for the log, and the complete output for a stopped call's result.

Invariant: the recorded samples and the collected output of a call have a maximum size.
"""

import math
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tui_agent.engine.delta_merge import DeltaMerger, FlushTimer
from tui_agent.ports.clock import Clock
from tui_agent.protocol.unicode_text import format_count
from tui_agent.units import format_number

MAX_COLLECTED_CHARS = 10_000_000
"""Maximum length of a call's collected output, in characters. Of a longer output, both ends are collected."""
MAX_UNSAMPLED_CHARS = 64_000
"""Number of characters of a live output that are recorded completely. After that, only samples are recorded."""
SAMPLES = ((1_000_000, 2_000, 0.5), (1 << 62, 500, 10.0))
"""Sampling rates as (N, M, S): until N characters are recorded, record M characters every S seconds."""
MAX_LINE_CHARS = 200
"""Maximum length of a sample without a line break, in characters."""
# A longer text would push the note about skipped text off the screen.
_SPACE = re.compile(r"\s")


class CollectedOutput:
    """The output of a running call. If the output is very long, its middle is dropped."""

    def __init__(self) -> None:
        self._head: list[str] = []
        self._tail: deque[str] = deque()
        self._head_chars = self._tail_chars = self._dropped_chars = 0

    def add(self, text: str) -> None:
        """Add new output."""
        half = MAX_COLLECTED_CHARS // 2
        first, rest = text[: half - self._head_chars], text[half - self._head_chars :]
        if first:
            self._head.append(first)
            self._head_chars += len(first)
        if rest:
            self._tail.append(rest)
            self._tail_chars += len(rest)
        while self._tail and self._tail_chars - len(self._tail[0]) >= half:
            dropped = len(self._tail.popleft())
            self._tail_chars -= dropped
            self._dropped_chars += dropped

    def text(self) -> str:
        """Return the output, with a note at the place of dropped text."""
        dropped = self._dropped_chars
        note = f"\n[{format_number(dropped)} characters of output were not kept]\n" if dropped else ""
        return "".join([*self._head, note, *self._tail])


class OutputSampler:
    """Passes a running command's output to `emit`: first all of it, and then samples of the newest lines.

    A note before a sample counts the skipped lines.
    """

    def __init__(self, clock: Clock, emit: Callable[[str, int], None]) -> None:
        """Create the sampler.

        `emit`: gets a piece of text, and the number of lines that the text leaves out.
        """
        self._clock = clock
        self._emit = emit
        self._merger: DeltaMerger[str] = DeltaMerger(clock, self._emit_piece)
        self._recorded_chars = 0
        self._sampled_at = -math.inf
        self._newest = ""
        self._waiting_chars = self._waiting_lines = 0
        """Size of the output since the last sample. `_newest` is its end."""
        self._skipped_lines = 0
        self._line_ended = False

    def add(self, text: str) -> None:
        """Add new output."""
        room = MAX_UNSAMPLED_CHARS - self._recorded_chars
        if room > 0:
            first = text[:room]
            if len(text) > room:
                first = first[: first.rfind("\n") + 1] or first
                self._recorded_chars = MAX_UNSAMPLED_CHARS
            self._recorded_chars += len(first)
            self._line_ended = first.endswith("\n")
            self._merger.add("output", first)
            text = text[len(first) :]
        if text:
            longest = SAMPLES[0][1]
            self._waiting_chars += len(text)
            self._waiting_lines += text.count("\n")
            self._newest = (self._newest + text[-longest:])[-longest:]
            self._sample_if_due()

    def flush(self) -> None:
        """Record a sample of the waiting output if it is time to do so."""
        if self._newest:
            self._sample_if_due()
        self._merger.flush()

    def finish(self) -> None:
        """Record the text that was already selected. Drop the output since the last sample."""
        self._merger.finish()

    def _sample_if_due(self) -> None:
        size, interval = next((size, s) for limit, size, s in SAMPLES if self._recorded_chars < limit)
        now = self._clock.monotonic()
        if now - self._sampled_at >= interval:
            self._sampled_at = now
            self._take_sample(size)

    def _take_sample(self, size: int) -> None:
        shown, note = self._newest[-size:], ""
        if self._waiting_chars > len(shown):
            begin = shown.find("\n", 0, -1) + 1
            shown = shown[begin:] if begin else shown[-MAX_LINE_CHARS:]
            skipped_chars = self._waiting_chars - len(shown)
            skipped_lines = self._waiting_lines - shown.count("\n")
            count = (skipped_lines, "line") if skipped_lines else (skipped_chars, "character")
            joint = "" if self._line_ended else "\n"
            note = f"{joint}[… {format_count(*count)} …]\n"
            self._skipped_lines += max(skipped_lines - note.count("\n"), 0)
        # An unfinished line waits for the next sample, unless there is nothing else to show.
        end = shown.rfind("\n") + 1 or len(shown)
        shown, self._newest = shown[:end], shown[end:]
        self._waiting_chars, self._waiting_lines = len(self._newest), 0
        if note and not _SPACE.search(shown):
            shown += "\n"  # the merger would hold back an unfinished word
        self._line_ended = shown.endswith("\n")
        self._recorded_chars += len(note) + len(shown)
        self._merger.add("output", note + shown)

    def _emit_piece(self, _key: str, text: str) -> None:
        skipped_lines, self._skipped_lines = self._skipped_lines, 0
        self._emit(text, skipped_lines)


@contextmanager
def open_sampler(
    timer: FlushTimer, clock: Clock, emit: Callable[[str, int], None]
) -> Iterator[OutputSampler]:
    """Provide a sampler for the `with` block; see `OutputSampler`."""
    with timer.flush_regularly(OutputSampler(clock, emit)) as sampler:
        yield sampler
