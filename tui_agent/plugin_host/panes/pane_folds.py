"""A plugin's panes and their folds. A fold collects data from events; a pane turns the data into blocks.

Invariant: whatever a plugin raises or returns, the caller gets blocks of at most `MAX_BYTES`, or a
`PluginError`.
"""

import copy
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ValidationError

from tui_agent.errors import PluginError
from tui_agent.folds.session.branches import Branches, stretches
from tui_agent.plugin_functions import Fold, FunctionPane
from tui_agent.plugin_host.error_text import describe_plugin_error, locate_plugin_error
from tui_agent.plugin_host.panes.pane_messages import BLOCKS, MAX_BYTES
from tui_agent.plugin_host.plugin_imports import import_folds
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.model import ModelDelta
from tui_agent.protocol.events.session import SessionHeadMoved
from tui_agent.store.log_reader import iterate_records, read_marks
from tui_agent.units import format_bytes

EVENTS_PER_COPY: Final = 1_000
"""Number of events between two copies of a fold. From a copy, the fold can return to an earlier event."""
MAX_COPIES: Final = 64
MAX_COPY_S: Final = 0.05
"""Maximum processor time for copying a fold, in seconds; above it, the fold is not copied again."""


@contextmanager
def plugin_errors_named(folder: Path, occasion: str = "") -> Iterator[None]:
    """In the `with` block, convert any error to a `PluginError` that names the line in the plugin's code.

    - `folder`: the plugin's folder.
    - `occasion`: text for the error's message, such as `at event 12, tool.finished`.
    """
    try:
        yield
    # Also `SystemExit`: a plugin must not end the process that draws the other panes.
    except BaseException as error:
        place = locate_plugin_error(error, None, folder).removeprefix(f"{folder}/")
        where = ", ".join(filter(None, (place, occasion)))
        raise PluginError(describe_plugin_error(error) + (f" ({where})" if where else "")) from error


def load_panes(plugin: str, folder: Path) -> dict[str, FunctionPane]:
    """Import the plugin's `folds.py` and return its panes by name. Raise `PluginError` if the import fails."""
    with plugin_errors_named(folder):
        module = import_folds(plugin, folder)
    return {name: item for name, item in list(vars(module).items()) if isinstance(item, FunctionPane)}


def draw_pane(pane: FunctionPane, fold: Fold, folder: Path) -> bytes:
    """Return the pane's blocks as JSON.

    Raise `PluginError` if the pane's function raises an error, or returns too many bytes, or anything but blocks.
    """
    with plugin_errors_named(folder):
        drawn = pane(fold.view())
        is_one = isinstance(drawn, str | BaseModel) or not isinstance(drawn, Iterable)
        items = (drawn,) if is_one else tuple(drawn)
        blocks = tuple(TextBlock(text=item) if isinstance(item, str) else item for item in items)
    try:
        encoded = BLOCKS.dump_json(BLOCKS.validate_python(blocks))
    except (ValidationError, ValueError) as error:
        raise PluginError("It returned something that is not a display block.") from error
    if len(encoded) > MAX_BYTES:
        raise PluginError(
            f"It returned {format_bytes(len(encoded))}; the limit is {format_bytes(MAX_BYTES)}."
        )
    return encoded


class FoldWatch:
    """Callbacks that a `FoldCursor` calls while it works; this base class does nothing."""

    def before_reading(self) -> None:
        """Called before the cursor searches the log for events. During the search, no code of the plugin runs."""

    def before_event(self, seq: int) -> None:
        """Called before the plugin's fold gets the event `seq`."""


class FoldCursor:
    """A plugin's fold (an object that collects data from events), moved to any position in a session's log.

    The fold has received exactly the events of the branch that ends at this position.

    - `make`: creates an empty fold.
    - `folder`: the plugin's folder.
    - `log`: the folder of the log.
    """

    def __init__(
        self,
        make: Callable[[], Fold],
        folder: Path,
        log: Path,
        watch: FoldWatch,
        *,
        events_per_copy: int = EVENTS_PER_COPY,
    ) -> None:
        self._make, self._folder, self._log, self._watch = make, folder, log, watch
        self._copies: list[tuple[int, Fold]] = []
        self._first_interval = self._interval = events_per_copy
        self._since_copy = 0
        self.fold: Fold
        self.seq = -1
        """The number of the last event that the fold has received; -1 before the first event."""
        self._failed: tuple[int, PluginError] | None = None
        """Number of the event at which the fold raised an error, and the error."""

    def move_to(self, seq: int) -> None:
        """Move the fold forward or back to the event `seq`. Raise `PluginError` if the fold raises an error."""
        if self._failed is not None and self._failed[0] <= seq:
            raise self._failed[1]
        nearest = next((copied for copied in reversed(self._copies) if copied[0] <= seq), None)
        # If the fold itself stands between the nearest copy and `seq`, it goes on from there without a copy.
        if nearest is not None and not nearest[0] <= self.seq <= seq:
            with plugin_errors_named(self._folder):
                self.seq, self.fold = nearest[0], copy.deepcopy(nearest[1])
        elif not 0 <= self.seq <= seq:
            self._refold_branch(seq)
            return
        self._watch.before_reading()
        for record in iterate_records(self._log, self.seq, last=seq):
            if isinstance(record.payload, SessionHeadMoved):
                self._refold_branch(seq)  # an undo or redo: the branch is another one from here on
                break
            self._apply(record)

    def _refold_branch(self, seq: int) -> None:
        """Compute the fold again from the first event of the branch that ends at `seq`."""
        self._copies, self._interval, self._since_copy = [], self._first_interval, 0
        self.seq = -1
        with plugin_errors_named(self._folder):
            self.fold = self._make()
        if not self._log.exists():
            return  # A new session is stored with its first message.
        self._watch.before_reading()
        branches = Branches()
        for mark in read_marks(self._log):
            if mark.seq <= seq and isinstance(mark, Envelope):
                branches.apply(mark)
        branch = stretches(branches.view().moves, seq)
        for record in iterate_records(self._log, stretches=branch, last=seq):
            self._apply(record)

    def _apply(self, record: Record) -> None:
        self._watch.before_event(record.seq)
        if isinstance(record, Envelope) and not isinstance(record.payload, ModelDelta):
            try:
                with plugin_errors_named(self._folder, f"at event {record.seq}, {record.payload.kind}"):
                    self.fold.apply(record)
            except PluginError as error:
                self._failed, self.seq = (record.seq, error), -1
                raise
        self.seq = record.seq
        self._since_copy += 1
        if self._since_copy >= self._interval:
            self._keep_copy()

    def _keep_copy(self) -> None:
        self._since_copy = 0
        start = time.thread_time()
        try:
            with plugin_errors_named(self._folder):
                self._copies.append((self.seq, copy.deepcopy(self.fold)))
        except PluginError:  # not every object can be copied
            start = -1.0
        if time.thread_time() - start > MAX_COPY_S:
            self._interval = sys.maxsize
        elif len(self._copies) > MAX_COPIES:
            # Every other copy is dropped, so that the rest stays spread over the whole log.
            self._copies, self._interval = self._copies[1::2], 2 * self._interval
