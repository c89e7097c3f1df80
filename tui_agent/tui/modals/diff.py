"""A sheet with diffs of changed files. The user can revert single hunks (changes in a diff).

Invariant: before lines are reverted, the user is asked. The question names the lines.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from textual.strip import Strip

from tui_agent.folds.comparison.line_authors import SessionDiff, describe_lines
from tui_agent.folds.session.changed_files import (
    ChangedFile,
    FilesChangedView,
    describe_other_authors,
    format_folders,
)
from tui_agent.folds.text.line_diff import count_line_changes, first_line, hunk_sides, split_hunks
from tui_agent.folds.transcript.entries import NoticeEntry
from tui_agent.protocol.commands import RevertHunk
from tui_agent.protocol.events.files import UNNAMED_AUTHOR
from tui_agent.protocol.events.session import RevertedHunk
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext, DiskChange
from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.modals.change_selection import ChangeSelection, Stop
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.diff_strips import hunk_strips
from tui_agent.tui.modals.viewer import Viewer, warn_newest_only
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import as_sentence, clean_line, fit_path
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Part, part, row
from tui_agent.units import NO_LINES, format_line_changes, format_number

FILES_AT_ONCE: Final = 50
"""Number of files to compare and draw together."""
MARK_CELLS: Final = 2
DISK_CHANGE_LABELS: Final[Mapping[DiskChange, str]] = {
    "changed": "changed later",
    "undone": "no longer changed",
}
_UNDONE_NOTE: Final = "the file is as it was before the session"
_STILL_READING: Final = "This change is still loading. Try again in a moment."
Comparison: TypeAlias = tuple[SessionDiff | None, str]
"""A diff of the session's changes to a file (None if there is nothing to show), and a note that tells why."""
ReadFiles: TypeAlias = Callable[[], Awaitable[FilesChangedView]]


class DiffSheet(Viewer):
    """The diffs of the files that `read_files` returns.

    `empty`: the text shown if there are no files.
    """

    scope = "diff"

    def __init__(self, context: AppContext, title: str, read_files: ReadFiles, *, empty: str) -> None:
        super().__init__(title, self._draw_files, empty="loading …")
        self.follows = frozenset({"files", "transcript"})
        self._session, self._read_files, self._if_none = context, read_files, empty
        self._view = self._counted = FilesChangedView()
        """All changed files. `_counted` leaves out the files whose changes were undone outside the app."""
        self._first = 0
        """Index of the first drawn file."""
        self._comparisons: dict[str, Comparison] = {}
        self._hunks: dict[tuple[str, int], list[list[Strip]]] = {}
        """Maps (path, width in cells) to the rows of each hunk."""
        self._selection = ChangeSelection()
        self._reverted: frozenset[RevertedHunk] = frozenset()
        self._disk_changes: Mapping[str, DiskChange] = {}
        """Maps a path to the kind of change made outside the app after the file's last recorded change."""
        self._message: tuple[str, Role] = "", "t2"
        self._asked_at = -1
        """Sequence number of the newest event when the user asked to revert a hunk; -1 if no revert is in progress."""

    # -- reading -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        self._session.worker(self._read_all(), "diff")

    async def _read_all(self) -> None:
        await self._read()
        # A long session is loaded from its end, so show the newest changes first.
        if self._session.sessions.load_progress:
            await self._session.sessions.wait_until_loaded()
            await self._read()

    async def _read(self) -> None:
        view, selection = await self._read_files(), self._selection
        # If the selected file is gone, the file at its position is selected.
        old_paths = [file.path for file in self._view.files]
        position = old_paths.index(selection.path) if selection.path in old_paths else 0
        await self._session.disk_changes.compare_with_disk()
        views = self._session.views
        self._view, self._reverted = view, views.files.view().reverted
        self._disk_changes = self._session.disk_changes.by_path(views)
        self._empty = self._if_none
        paths = [file.path for file in view.files]
        if selection.path not in paths:
            selection.select(paths[min(position, len(paths) - 1)] if paths else "")
        self._first = FILES_AT_ONCE * (paths.index(selection.path) // FILES_AT_ONCE) if paths else 0
        self._comparisons.clear()
        self._hunks.clear()
        await self._compare()

    async def _read_after_revert(self) -> None:
        """Read the changes again, and select the next change, in the same file if possible."""
        await self._read()
        stop = self._selection.nearest_stop(
            lambda stop: stop.hunk >= 0 and _identify(stop.file, stop.hunk) not in self._reverted
        )
        if stop is not None:
            self._select(stop.file.path, stop.hunk)

    async def _compare(self) -> None:
        for file in self._page:
            if file.path not in self._comparisons:
                self._comparisons[file.path] = await self._session.reader.compare(file)
                if self._message[0] == _STILL_READING:
                    self._message = "", "t2"
        self._show_comparisons()

    def _show_comparisons(self) -> None:
        self._counted = self._session.disk_changes.drop_undone(self._view, self._session.views)
        compared = ((file.path, self._comparison_of(file.path)) for file in self._page)
        self.plain = "\n".join(
            f"--- {path}\n{_text_of(comparison)}" for path, comparison in compared if comparison is not None
        )
        self.right = self._summary()
        self.redraw()

    def _comparison_of(self, path: str) -> Comparison | None:
        """Return a file's diff and a note, or None while the file is being read."""
        if self._disk_changes.get(path) == "undone":
            return None, _UNDONE_NOTE
        return self._comparisons.get(path)

    @property
    def _page(self) -> Sequence[ChangedFile]:
        """The files that the sheet shows now: at most `FILES_AT_ONCE`."""
        return self._view.files[self._first : self._first + FILES_AT_ONCE]

    def _summary(self) -> str:
        """Return the numbers of files and changed lines: `3 files +4 −2`."""
        view, counted = self._view, self._counted
        if not view.files and not view.folders:
            return ""
        count = format_count(counted.count, "file")
        if len(self._page) < len(view.files):
            on_page = {file.path for file in self._page}
            numbers = [number for number, file in enumerate(counted.files, 1) if file.path in on_page]
            span = f"files {format_number(numbers[0])}–{format_number(numbers[-1])} of " if numbers else ""
            return f"{span}{count}"
        counts = [
            _count_lines(file, self._comparisons.get(file.path), self._reverted) for file in counted.files
        ]
        added, removed = (sum(side) for side in zip(*counts, strict=True)) if counts else (0, 0)
        changes = format_line_changes(added, removed, self.looks.symbols.minus)
        lines = [words for words, _ in changes]
        return ", ".join(filter(None, (" ".join([count, *lines]), format_folders(view.folders, max_named=1))))

    def follow(self) -> None:
        """Show the outcome of a requested revert, and read the changes again."""
        views = self._session.views
        disk_changes = self._session.disk_changes.by_path(views)
        if disk_changes != self._disk_changes:
            self._disk_changes = disk_changes
            self._show_comparisons()
        if self._asked_at < 0:
            return
        entry = next(iter(reversed(views.transcript.view().entries)), None)
        is_refused = isinstance(entry, NoticeEntry) and entry.command == "revert_hunk"
        if views.restore_seq > self._asked_at:
            self._message = "Reverted the change. /redo restores it.", "success"
        elif is_refused and isinstance(entry, NoticeEntry) and entry.seq > self._asked_at:
            self._message = " ".join(filter(None, entry.lines)), "warning"
        else:
            return
        self._asked_at = -1
        self._session.worker(self._read_after_revert(), "diff")

    # -- drawing -----------------------------------------------------------------------------------------------------

    def redraw(self, *, keep: bool = True) -> None:
        """Draw the sheet, and scroll to the selected change unless it is visible. `keep`: False to scroll to the top first."""
        comparison = self._comparison_of(self._selection.path)
        if comparison is not None:
            self._selection.limit(len(_hunks_of(comparison)))
        super().redraw(keep=keep)
        self.call_after_refresh(self._selection.reveal, self.scrolled)

    def head(self, width: int) -> list[Strip]:
        """Return the fixed rows at the top: the title, the chosen file and change."""
        rows = super().head(width)
        counted, chosen = self._counted, self._selection.path
        if not chosen:
            return rows
        number = next((number for number, file in enumerate(counted.files, 1) if file.path == chosen), 0)
        place = f"file {format_number(number)} of {format_number(counted.count)}" if number else ""
        if hunks := len(_hunks_of(self._comparison_of(chosen))):
            place += f", change {format_number(max(0, self._selection.hunk) + 1)} of {format_number(hunks)}"
        path = fit_path(clean_line(chosen), width - len(place) - 3, self.looks.symbols.ellipsis)
        return [rows[0], self.line(width, [self.part(path, "accent")], [self.part(place, "t2")]), *rows[1:]]

    def _draw_files(self, facts: Facts) -> None:
        self._selection.stops = []
        warn_newest_only(self._session, facts)
        for index, file in enumerate(self._page):
            if index:
                facts.gap()
            self._selection.stops += self._draw_file(facts, file)
        if self._first + FILES_AT_ONCE < len(self._view.files):
            rest = len(self._view.files) - self._first - FILES_AT_ONCE
            facts.gap()
            facts.text(f"{format_count(rest, 'more file')}: go to the next file to see them.", "t3")
            return
        if self._view.unlisted_count:
            facts.gap()
            facts.text(
                f"and {format_count(self._view.unlisted_count, 'more file')} whose names were not recorded",
                "t3",
            )
        for folder in self._view.folders:
            facts.gap()
            facts.line(
                [
                    ("  ", facts.style()),
                    part(folder[0], facts.style(bold=True)),
                    (f"   {format_count(folder[1], 'generated file')}", facts.style("t3")),
                ]
            )

    def _draw_file(self, facts: Facts, file: ChangedFile) -> Iterator[Stop]:
        first_row, comparison = len(facts.rows), self._comparison_of(file.path)
        kind = "  created" if file.before is None else "  removed" if file.after is None else ""
        diff, note = (None, "") if comparison is None else comparison
        if shared := sum(map(len, diff.shared_lines.values())) if diff is not None else 0:
            kind += f"  {format_count(shared, 'line')} {describe_other_authors(file.other_authors)}"
        elif disk_change := self._disk_changes.get(file.path):
            kind += f"  {DISK_CHANGE_LABELS[disk_change]}"
        path = fit_path(
            clean_line(file.path), facts.room - 15 - max(9, len(kind)), facts.looks.symbols.ellipsis
        )
        head: list[Part] = [part(path, facts.style(bold=True)), ("  ", facts.style())]
        if diff is not None:
            changes = format_line_changes(
                *_count_lines(file, comparison, self._reverted), facts.looks.symbols.minus
            )
            head += [(f" {words}", facts.style(role)) for words, role in changes or ((NO_LINES, "t3"),)]
        chosen = file.path == self._selection.path
        if diff is None or note:
            facts.line([_mark(facts, chosen), *head, (kind, facts.style("t3"))])
            facts.line(
                [("  ", facts.style()), (as_sentence(note) if note else "loading …", facts.style("t3"))]
            )
            yield Stop(file, -1, first_row)
            return
        facts.line([("  ", facts.style()), *head, (kind, facts.style("t3"))])
        if (file.path, facts.width) not in self._hunks:
            hunks = hunk_strips(file.path, diff.text, facts.looks, facts.width - MARK_CELLS)
            self._hunks[file.path, facts.width] = hunks
        for number, strips in enumerate(self._hunks[file.path, facts.width]):
            yield Stop(file, number, len(facts.rows) if number else first_row)
            is_chosen = chosen and number == max(0, self._selection.hunk)
            if _identify(file, number) in self._reverted:
                text = f"Reverted: {_describe_lines(_hunks_of(comparison)[number])}"
                facts.line([_mark(facts, is_chosen), (text, facts.style("t3"))])
                continue
            facts.rows += [
                Strip.join([_gutter(facts, is_chosen, not index), strip])
                for index, strip in enumerate(strips)
            ]

    def foot(self, width: int) -> list[Strip]:
        text, role = self._message
        shown = self.text_rows(width, text, role) if text else []
        return [*(self.spacer(width) if shown else []), *shown, *self.keys_rows(width)]

    def key_hints(self) -> Sequence[KeyHint]:
        path, hunk = self._selection.path, max(0, self._selection.hunk)
        file = next((file for file in self._view.files if file.path == path), None)
        hunks = len(_hunks_of(self._comparison_of(path)))
        offered = {
            "diff_file": len(self._view.files) > 1,
            "diff_hunk": hunks > 1 or len(self._view.files) > 1,
            "diff_revert": file is not None
            and hunks > 0
            and _identify(file, hunk) not in self._reverted
            and not _shared_lines(self._comparison_of(path), hunk)
            and not self._session.is_running,
            "view_scroll": self.can_scroll,
            "view_copy": bool(self.plain),
            "view_close": True,
        }
        return [self.key_map.hint(name) for name, is_offered in offered.items() if is_offered]

    # -- keys --------------------------------------------------------------------------------------------------------

    def _select(self, path: str, hunk: int = 0) -> None:
        self._selection.select(path, hunk)
        self.redraw()
        self._selection.scroll_to(self.scrolled)

    def go_to_hunk(self, direction: int) -> None:
        """Select the previous or next change."""
        stop = self._selection.adjacent_stop(direction)
        if stop is not None:
            self._message = "", "t2"
            self._select(stop.file.path, stop.hunk)
        else:
            self.go_to_file(direction)

    def go_to_file(self, direction: int) -> None:
        """Select the first change of the previous or next file."""
        paths, selected = [file.path for file in self._view.files], self._selection.path
        index = paths.index(selected) + direction if selected in paths else -1
        if not 0 <= index < len(paths):
            return
        self._message = "", "t2"
        first = FILES_AT_ONCE * (index // FILES_AT_ONCE)
        if first != self._first:
            self._first = first
            self._session.worker(self._compare(), "diff")
        self._select(paths[index])

    def scroll_rows(self, count: int) -> None:
        super().scroll_rows(count)
        self.call_after_refresh(self._select_visible)  # The scroll offset changes only with the refresh.

    def scroll_to_end(self, direction: int) -> None:
        super().scroll_to_end(direction)
        self.call_after_refresh(self._select_visible)

    def _select_visible(self) -> None:
        """After scrolling, select the first visible change, unless the selected change is visible."""
        stop = self._selection.top_stop(self.scrolled)
        if stop is not None and not self._selection.is_visible(self.scrolled):
            self._selection.select(stop.file.path, stop.hunk)
            self.redraw()

    # -- reverting ---------------------------------------------------------------------------------------------------

    def revert(self) -> None:
        """Ask whether to revert the chosen change."""
        context, stop = self._session, self._selection.stop
        if stop is None:
            return
        file, number, _ = stop
        comparison = self._comparison_of(file.path)
        diff = None if comparison is None else comparison[0]
        if context.is_running:
            self._say("A turn is running. You can revert when the turn has ended.")
        elif _identify(file, number) in self._reverted:
            self._say("This change is already reverted.")
        elif comparison is None:
            self._say(_STILL_READING)
        elif shared := _shared_lines(comparison, number):
            self._say(
                f"You or another session changed {describe_lines(shared)} too, so this change is not reverted. "
                "Edit the lines by hand, or use /rewind and choose “files only”."
            )
        elif diff is None or number < 0:
            self._say(f"Changes to {file.path} cannot be reverted one by one.")
        else:
            confirm = Confirm(
                "Revert this change?",
                _describe(file, split_hunks(diff.text)[number], self.looks.symbols.minus),
                yes=("confirm_go", "revert it"),
                no="keep it",
            )
            command = RevertHunk(
                path=file.path,
                before=file.before,
                after=file.after,
                hunk=number,
                user_changes=file.user_changes,
                hidden_changes=file.hidden_changes,
            )

            def submit(yes: bool | None) -> None:
                if yes:
                    self._asked_at = context.views.seq
                    context.submit(command)
                    self._message = "reverting …", "t2"
                    self.redraw()

            self.app.push_screen(confirm, submit)

    def _say(self, text: str) -> None:
        self._message = text, "warning"
        self.redraw()


def _hunks_of(comparison: Comparison | None) -> list[str]:
    return [] if comparison is None or comparison[0] is None else split_hunks(comparison[0].text)


def _shared_lines(comparison: Comparison | None, hunk: int) -> tuple[int, ...]:
    """Return the line numbers of those lines of a hunk that the user changed too."""
    diff = None if comparison is None else comparison[0]
    return () if diff is None else diff.shared_lines.get(hunk, ())


def _identify(file: ChangedFile, hunk: int) -> RevertedHunk:
    return RevertedHunk(path=file.path, before=file.before, after=file.after, hunk=hunk)


def _count_lines(
    file: ChangedFile, comparison: Comparison | None, reverted: Collection[RevertedHunk]
) -> tuple[int, int]:
    """Return the numbers of added and removed lines of a file, not counting its reverted hunks."""
    diff = None if comparison is None else comparison[0]
    if diff is None:
        return 0, 0
    gone = [
        count_line_changes(*hunk_sides(hunk))
        for number, hunk in enumerate(_hunks_of(comparison) if reverted else [])
        if _identify(file, number) in reverted
    ]
    return diff.added - sum(added for added, _ in gone), diff.removed - sum(removed for _, removed in gone)


def _text_of(comparison: Comparison) -> str:
    diff, note = comparison
    return note if diff is None else diff.text or note


def _describe(file: ChangedFile, hunk: str, minus: str) -> list[str]:
    """Return paragraphs about the effect of reverting a hunk (a part of a diff). `minus`: the sign for removed lines."""
    changes = format_line_changes(*count_line_changes(*hunk_sides(hunk)), minus)
    counts = " ".join(words for words, _ in changes)
    note = f"Lines that {UNNAMED_AUTHOR} wrote in this file are kept. " if "human" in file.authors else ""
    place = f"{file.path}, {_describe_lines(hunk)}"
    return [f"{place}: {counts}", f"{note}Only this change is reverted. /redo restores it."]


def _describe_lines(hunk: str) -> str:
    first, count = first_line(hunk), len(hunk_sides(hunk)[1])
    return f"lines {first}–{first + count - 1}" if count > 1 else f"line {first}"


def _mark(facts: Facts, chosen: bool) -> Part:
    return (f"{facts.looks.symbols.chosen} " if chosen else "  ", facts.style("accent"))


def _gutter(facts: Facts, chosen: bool, first: bool) -> Strip:
    """Return the two cells before a row of a hunk: a mark if the hunk is chosen, else blanks.

    `first`: True for the first row of the hunk, which has another mark.
    """
    symbols = facts.looks.symbols
    text = f"{symbols.chosen if first else symbols.rail} " if chosen else "  "
    return row(MARK_CELLS, [(text, facts.style("accent"))], fill=facts.style(), margin=0)
