"""A sheet with the diffs of changed files. The user can revert a single change (a hunk of a diff).

Invariant: the counts are computed from the shown diffs. Nothing is reverted without a question that names the lines.
"""

from bisect import bisect_right
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from textual.strip import Strip

from tui_agent.folds.session.changed_files import ChangedFile, FilesChangedView
from tui_agent.folds.session.generated_files import FolderFiles, format_folders
from tui_agent.folds.text.hunks import first_line, hunk_sides, split_hunks
from tui_agent.folds.text.line_diff import LineDiff, count_line_changes
from tui_agent.folds.transcript.entries import NoticeEntry
from tui_agent.protocol.commands import RevertHunk
from tui_agent.protocol.events.session import RevertedHunk
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import KeyHint, Scope
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.block_rows import hunk_strips
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.modals.viewer import Viewer, warn_newest_only
from tui_agent.tui.text import as_sentence, clean_line, fit_path
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Part, part, row
from tui_agent.units import NO_LINES, format_line_changes, format_number

FILES_AT_ONCE: Final = 50
"""Number of files that are compared and drawn together."""
MARK_CELLS: Final = 2
_STILL_READING: Final = "This change is still being read. Press the key again."
ReadFiles: TypeAlias = Callable[[], Awaitable[FilesChangedView]]


class Stop(NamedTuple):
    """A place in the sheet that the keys go to. The place is a hunk of a file, or a file without hunks (`hunk` is -1).
    `row` is the first row of the place.
    """

    file: ChangedFile
    hunk: int
    row: int


class DiffSheet(Viewer):
    """The diffs of the files that `read_files` returns. If there are no files, the text `empty` is shown."""

    key_methods = {"diff_file": "go_to_file", "diff_hunk": "go_to_hunk", "diff_revert": "revert"}

    def __init__(self, context: AppContext, title: str, read_files: ReadFiles, *, empty: str) -> None:
        super().__init__(lambda: context.app.looks, title, self._draw_files, empty="reading …")
        self.follows = frozenset({"files", "transcript"})
        self._session, self._read_files, self._if_none = context, read_files, empty
        self._files: Sequence[ChangedFile] = ()
        self._folders: Sequence[FolderFiles] = ()
        self._unlisted_count = 0
        self._first = 0
        """Index of the first file that is drawn."""
        self._comparisons: dict[str, tuple[LineDiff | None, str]] = {}
        self._hunks: dict[tuple[str, int], list[list[Strip]]] = {}
        """Maps (path, width in cells) to the rows of each hunk in the file."""
        self._stops: list[Stop] = []
        self._chosen: tuple[str, int] = ("", -1)
        """Path and hunk index of the chosen `Stop`; the index is -1 if the stop is a file without hunks."""
        self._reverted: frozenset[RevertedHunk] = frozenset()
        self._message: tuple[str, Role] = "", "t2"
        self._asked_at = -1
        """Sequence number of the newest event at the last request to revert; -1 while no outcome is awaited."""

    # -- reading -----------------------------------------------------------------------------------------------------

    def on_mount(self) -> None:
        self._session.worker(self._read_all(), "diff")

    async def _read_all(self) -> None:
        await self._read()
        if self._session.sessions.load_progress:
            await self._session.sessions.wait_until_whole()
            await self._read()

    async def _read(self) -> None:
        view = await self._read_files()
        self._files = files = view.files
        self._folders, self._unlisted_count = view.folders, view.unlisted_count
        self._reverted = self._session.views.files.view().reverted
        self._empty = self._if_none
        paths = [file.path for file in files]
        if self._chosen[0] not in paths:
            self._chosen = (paths[0] if paths else "", -1)
        self._first = FILES_AT_ONCE * (paths.index(self._chosen[0]) // FILES_AT_ONCE) if paths else 0
        self._comparisons.clear()
        self._hunks.clear()
        await self._compare()

    async def _compare(self) -> None:
        shown = self._page
        for file in shown:
            if file.path not in self._comparisons:
                self._comparisons[file.path] = await self._session.reader.compare(file)
                if self._message[0] == _STILL_READING:
                    self._message = "", "t2"
        self.plain = "\n".join(
            f"--- {file.path}\n{_text_of(self._comparisons[file.path])}" for file in self._page
        )
        self.right = self._summary()
        self.redraw()

    @property
    def _page(self) -> Sequence[ChangedFile]:
        """The files that the sheet shows now: at most `FILES_AT_ONCE`."""
        return self._files[self._first : self._first + FILES_AT_ONCE]

    def _summary(self) -> str:
        """Return the numbers of files and changed lines: `3 files +4 −2`. Lines are counted only if all files are
        shown.
        """
        if not self._files and not self._folders:
            return ""
        own = len(self._files) + self._unlisted_count
        count = format_count(own, "file")
        if len(self._page) < len(self._files):
            return f"files {format_number(self._first + 1)}–{format_number(self._first + len(self._page))} of {count}"
        counts = [
            _count_lines(file, self._comparisons.get(file.path), self._reverted) for file in self._files
        ]
        added, removed = (sum(side) for side in zip(*counts, strict=True)) if counts else (0, 0)
        changes = format_line_changes(added, removed, self.looks.symbols.minus)
        lines = [words for words, _ in changes]
        return ", ".join(filter(None, (" ".join([count, *lines]), format_folders(self._folders, most=1))))

    def follow(self) -> None:
        """Show the outcome of a requested revert, and read the changes again."""
        views = self._session.views
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
        self._session.worker(self._read(), "diff")

    # -- drawing -----------------------------------------------------------------------------------------------------

    def head(self, width: int) -> list[Strip]:
        """Return the title, and a row with the chosen file and change. These rows do not scroll."""
        rows = super().head(width)
        number = next((n for n, file in enumerate(self._files) if file.path == self._chosen[0]), None)
        if number is None:
            return rows
        place = (
            f"file {format_number(number + 1)} of {format_number(len(self._files) + self._unlisted_count)}"
        )
        if hunks := len(_hunks_of(self._comparisons.get(self._chosen[0]))):
            place += f", change {format_number(max(0, self._chosen[1]) + 1)} of {format_number(hunks)}"
        path = fit_path(clean_line(self._chosen[0]), width - len(place) - 3, self.looks.symbols.ellipsis)
        return [rows[0], self.line(width, [self.part(path, "accent")], [self.part(place, "t2")]), *rows[1:]]

    def _draw_files(self, facts: Facts) -> None:
        self._stops = []
        warn_newest_only(self._session, facts)
        for index, file in enumerate(self._page):
            if index:
                facts.gap()
            self._stops += self._draw_file(facts, file)
        if self._first + FILES_AT_ONCE < len(self._files):
            rest = len(self._files) - self._first - FILES_AT_ONCE
            facts.gap()
            facts.text(f"{format_count(rest, 'more file')}: go to the next file to see them.", "t3")
            return
        if self._unlisted_count:
            facts.gap()
            facts.text(
                f"and {format_count(self._unlisted_count, 'more file')} that the log does not name", "t3"
            )
        for folder in self._folders:
            facts.gap()
            facts.line(
                [
                    ("  ", facts.style()),
                    part(folder[0], facts.style(bold=True)),
                    (f"   {format_count(folder[1], 'generated file')}", facts.style("t3")),
                ]
            )

    def _draw_file(self, facts: Facts, file: ChangedFile) -> Iterator[Stop]:
        first_row, comparison = len(facts.rows), self._comparisons.get(file.path)
        kind = "  created" if file.before is None else "  removed" if file.after is None else ""
        path = fit_path(clean_line(file.path), facts.room - 24, facts.looks.symbols.ellipsis)
        head: list[Part] = [part(path, facts.style(bold=True)), ("  ", facts.style())]
        diff, note = (None, "") if comparison is None else comparison
        if diff is not None:
            changes = format_line_changes(
                *_count_lines(file, comparison, self._reverted), facts.looks.symbols.minus
            )
            head += [(f" {words}", facts.style(role)) for words, role in changes or ((NO_LINES, "t3"),)]
        chosen = file.path == self._chosen[0]
        if diff is None or note:
            facts.line([_mark(facts, chosen), *head, (kind, facts.style("t3"))])
            facts.line(
                [("  ", facts.style()), (as_sentence(note) if note else "reading …", facts.style("t3"))]
            )
            yield Stop(file, -1, first_row)
            return
        facts.line([("  ", facts.style()), *head, (kind, facts.style("t3"))])
        if (file.path, facts.width) not in self._hunks:
            hunks = hunk_strips(file.path, diff.text, facts.looks, facts.width - MARK_CELLS)
            self._hunks[file.path, facts.width] = hunks
        for number, strips in enumerate(self._hunks[file.path, facts.width]):
            yield Stop(file, number, len(facts.rows) if number else first_row)
            is_chosen = chosen and number == max(0, self._chosen[1])
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
        path, hunk = self._chosen[0], max(0, self._chosen[1])
        file = next((file for file in self._files if file.path == path), None)
        hunks = len(_hunks_of(self._comparisons.get(path)))
        offered = {
            "diff_file": len(self._files) > 1,
            "diff_hunk": hunks > 1 or len(self._files) > 1,
            "diff_revert": file is not None
            and hunks > 0
            and _identify(file, hunk) not in self._reverted
            and not self._session.is_running,
            "view_scroll": True,
            "view_copy": bool(self.plain),
            "view_close": True,
        }
        return [self.key_map.hint(name) for name, is_offered in offered.items() if is_offered]

    # -- keys --------------------------------------------------------------------------------------------------------

    def key_scopes(self) -> Sequence[Scope]:
        """Return the sheet's own scope, followed by the scopes that all viewers have."""
        return "diff", *super().key_scopes()

    @property
    def _index(self) -> int:
        """The index of the chosen stop; -1 if there is none."""
        path, hunk = self._chosen
        places = [(stop.file.path, stop.hunk) for stop in self._stops]
        return next(
            (places.index(place) for place in ((path, hunk), (path, 0)) if place in places),
            0 if places else -1,
        )

    def _choose(self, index: int) -> None:
        stop = self._stops[index]
        self._chosen, self._message = (stop.file.path, stop.hunk), ("", "t2")
        self.redraw()
        self._body.scroll_to(y=stop.row, animate=False, force=True)

    def go_to_hunk(self, direction: int) -> None:
        """Choose the previous or next change."""
        index = self._index + direction
        if 0 <= index < len(self._stops):
            self._choose(index)
        else:
            self.go_to_file(direction)

    def go_to_file(self, direction: int) -> None:
        """Choose the first change of the previous or next file."""
        paths = [file.path for file in self._files]
        index = paths.index(self._chosen[0]) + direction if self._chosen[0] in paths else -1
        if not 0 <= index < len(paths):
            return
        self._chosen = paths[index], -1
        first = FILES_AT_ONCE * (index // FILES_AT_ONCE)
        if first != self._first:
            self._first = first
            self._session.worker(self._turn_page(), "diff")
        else:
            self._choose(self._index)

    async def _turn_page(self) -> None:
        await self._compare()
        self._choose(self._index)

    def scroll_rows(self, count: int) -> None:
        super().scroll_rows(count)
        self.call_after_refresh(self._choose_visible)

    def scroll_page(self, direction: int) -> None:
        super().scroll_page(direction)
        self.call_after_refresh(self._choose_visible)

    def scroll_to_end(self, direction: int) -> None:
        super().scroll_to_end(direction)
        self.call_after_refresh(self._choose_visible)

    def _choose_visible(self) -> None:
        """After scrolling, choose the first visible change, unless the chosen change is visible."""
        rows = [stop.row for stop in self._stops]
        top = self._body.scroll_offset.y
        if rows and not top <= rows[self._index] < top + self._body.size.height:
            stop = self._stops[max(0, bisect_right(rows, top) - 1)]
            if self._chosen != (stop.file.path, stop.hunk):
                self._chosen = stop.file.path, stop.hunk
                self.redraw()

    # -- reverting ---------------------------------------------------------------------------------------------------

    def revert(self) -> None:
        """Ask whether to revert the chosen change."""
        context, index = self._session, self._index
        if index < 0:
            return
        file, number, _ = self._stops[index]
        comparison = self._comparisons.get(file.path)
        diff = None if comparison is None else comparison[0]
        if context.is_running:
            self._say("A turn is running. You can revert when it has ended.")
        elif _identify(file, number) in self._reverted:
            self._say("This change is reverted already.")
        elif comparison is None:
            self._say(_STILL_READING)
        elif diff is None or number < 0:
            self._say(f"{file.path} has no change that can be reverted by itself.")
        else:
            confirm = Confirm(
                self.looks_of,
                "Revert this change?",
                _describe(file, split_hunks(diff.text)[number], self.looks.symbols.minus),
                yes=("confirm_go", "revert it"),
                no="keep it",
            )
            command = RevertHunk(path=file.path, before=file.before, after=file.after, hunk=number)

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


def _hunks_of(comparison: tuple[LineDiff | None, str] | None) -> list[str]:
    return [] if comparison is None or comparison[0] is None else split_hunks(comparison[0].text)


def _identify(file: ChangedFile, hunk: int) -> RevertedHunk:
    return RevertedHunk(path=file.path, before=file.before, after=file.after, hunk=hunk)


def _count_lines(
    file: ChangedFile, comparison: tuple[LineDiff | None, str] | None, reverted: Collection[RevertedHunk]
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


def _text_of(comparison: tuple[LineDiff | None, str]) -> str:
    diff, note = comparison
    return note if diff is None else diff.text or note


def _describe(file: ChangedFile, hunk: str, minus: str) -> list[str]:
    """Return paragraphs about the effect of reverting a hunk."""
    changes = format_line_changes(*count_line_changes(*hunk_sides(hunk)), minus)
    counts = " ".join(words for words, _ in changes)
    kept = "Your other changes to this file are kept. " if "human" in file.authors else ""
    place = f"{file.path}, {_describe_lines(hunk)}"
    return [f"{place}: {counts}", f"{kept}Only this change is reverted. /redo restores it."]


def _describe_lines(hunk: str) -> str:
    first, count = first_line(hunk), len(hunk_sides(hunk)[1])
    return f"lines {first}–{first + count - 1}" if count > 1 else f"line {first}"


def _mark(facts: Facts, chosen: bool) -> Part:
    return (f"{facts.looks.symbols.chosen} " if chosen else "  ", facts.style("accent"))


def _gutter(facts: Facts, chosen: bool, first: bool) -> Strip:
    """Return the two cells before a row of a hunk: a mark or a vertical line if the hunk is chosen, otherwise blanks."""
    symbols = facts.looks.symbols
    text = f"{symbols.chosen if first else symbols.rail} " if chosen else "  "
    return row(MARK_CELLS, [(text, facts.style("accent"))], fill=facts.style(), margin=0)
