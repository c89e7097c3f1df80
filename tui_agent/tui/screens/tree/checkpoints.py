"""The screen with the checkpoints of the open session and their changes; the user can revert to a checkpoint.

Invariant: moving through the list changes nothing.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, get_args

from textual.strip import Strip

from tui_agent.folds.session.changed_files import ChangedFile, format_files, format_folders
from tui_agent.folds.session.checkpoints import Checkpoint
from tui_agent.folds.text.line_diff import FileCounts, LineDiff
from tui_agent.protocol.events.files import UNNAMED_AUTHOR
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.cli_client import read_rows
from tui_agent.tui.modals.diff_strips import diff_strips
from tui_agent.tui.screens.list_page import Page
from tui_agent.tui.untrusted_text import as_sentence, clean_line, fit
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Column, Part, Pen, cells, part, right_columns
from tui_agent.units import format_line_changes, format_time, format_time_of_day

Filter: TypeAlias = Literal["all", "agent", "command", "human"]
FILTERS: Final[tuple[Filter, ...]] = get_args(Filter)
COLUMNS = Column("author", 8, 44), Column("part", 6, 66), Column("lines", 12, 54), Column("time", 10)
MAX_FILES = 20
_AUTHORS: Final[dict[str, str]] = {
    "agent": "the agent's edit",
    "command": "a command, as a side effect",
    "human": f"{UNNAMED_AUTHOR}, between the agent's changes",
}
_SHORT_AUTHORS: Final[dict[str, str]] = {"human": "others"}
"""Maps an author's name in the log to the name in the list, if the names differ."""
EMPTY = "No checkpoints yet. The first one is made before the first change to a file."


class CheckpointsScreen(Page[Checkpoint]):
    """The screen with the list of checkpoints, newest first."""

    scope = "checkpoints"
    use_action = "checkpoint_go"
    follow_s = 1.0
    first_column, columns = "changed files", COLUMNS

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.all: list[Checkpoint] = []
        self.filter: Filter = "all"
        self._diffs: dict[tuple[str | None, str | None], tuple[LineDiff | None, str]] = {}
        self.listing.empty_text = "loading …"
        self.listing.key = lambda checkpoint: checkpoint.seq

    def on_mount(self) -> None:
        self.show_head()

    def follow(self) -> None:
        """Reload the checkpoints after an event that can add one."""
        views = self.context.views
        newest = max(views.files.view().last_seq, views.restore_seq)
        if self.is_changed(newest, views.branches.view().moves, self.context.is_running):
            self.start_worker(self._read(), "checkpoints")

    async def _read(self) -> None:
        status, output = await self.context.ask(
            "sessions", "checkpoints", self.context.app.session_id, "--json"
        )
        self.all = read_rows(Checkpoint, output)[::-1]
        # Before the first message, there is no log, and the command fails.
        fault = clean_line(output.strip()) if status and self.context.state.root_task else ""
        self._show(fault or EMPTY)

    def _show(self, empty: str) -> None:
        shown = [checkpoint for checkpoint in self.all if self.filter in ("all", checkpoint.author)]
        key = self.key_map.key_of("checkpoint_author")
        self.listing.empty_text = (
            f"No checkpoints by this author. {key} shows all {len(self.all)}." if self.all else empty
        )
        self.listing.set_items(shown)
        self.show_head()
        self.show_detail()

    # -- drawing ---------------------------------------------------------------------------------------------------

    def show_head(self) -> None:
        counts = Counter[str](checkpoint.author for checkpoint in self.all)
        names = [(_SHORT_AUTHORS.get(name, name), counts[name]) for name in FILTERS]
        self.head.title = self.filter_parts("Checkpoints", names, FILTERS.index(self.filter))
        room = self.app.size.width - (0 if self.narrow else self.detail_width) - cells(self.head.title)
        count = format_count(len(self.all), "checkpoint") if self.all else ""
        self.head.right = [part(count, self.style("t2"))] if len(count) + 8 < room else []
        self.head.show()

    def draw_row(self, item: Checkpoint, width: int, line: Pen) -> Strip:
        checkpoint, symbols = item, line.looks.symbols
        changed = bool(checkpoint.files) and checkpoint.on_branch
        left = line.first(symbols.files if changed else symbols.dot, "success" if changed else "t3")
        added, removed = (
            sum(getattr(file, name) for file in checkpoint.files) for name in ("added", "removed")
        )
        lines: list[Part] = []
        for words, role in format_line_changes(added, removed, symbols.minus):
            lines += [(" ", line.style()), (words, line.style(role))]
        part_number = str(checkpoint.part) if checkpoint.part >= 0 else ""
        author = _SHORT_AUTHORS.get(checkpoint.author, checkpoint.author) if _is_change(checkpoint) else ""
        time_of_day = format_time_of_day(checkpoint.time, digits=0) if checkpoint.time else ""
        values = author, part_number, lines, time_of_day
        right = right_columns(COLUMNS, values, width, line.style("t2"))
        room = max(6, width - cells(left) - cells(right) - 4)
        name = clean_line(_name(checkpoint))
        # In a narrow row, show the file's name without its folder.
        if len(name) > room and checkpoint.files and not checkpoint.restored:
            path = checkpoint.files[0].path
            name = name.replace(clean_line(path), clean_line(path.rpartition("/")[2]), 1)
        left.append(
            (
                fit(name, room, symbols.ellipsis),
                line.style("t1" if checkpoint.on_branch else "t3", bold=line.chosen),
            )
        )
        note = "" if checkpoint.on_branch else "  other branch"
        left.append((note if len(name) + len(note) <= room else "", line.style("t3")))
        return line.line(width, left, right)

    def draw_detail(self, facts: Facts, checkpoint: Checkpoint) -> None:
        facts.gap()
        files, rest = checkpoint.files[:MAX_FILES], checkpoint.unlisted_count
        rest += len(checkpoint.files) - len(files)
        _draw_facts(facts, checkpoint)
        if files or checkpoint.folders:
            facts.section("Files")
            for folder in checkpoint.folders:
                facts.text(format_folders([folder]))
            facts.line_counts(FileCounts(file.path, file.added, file.removed) for file in files)
        if rest:
            facts.text(f"and {rest} more", "t3")
        for file in files:
            self._draw_diff(facts, file)
        unread = [file for file in files if _has_content(file) and _blobs(file) not in self._diffs]
        if unread:
            self.start_worker(self._compare(unread), "diff")

    def _draw_diff(self, facts: Facts, file: ChangedFile) -> None:
        comparison = self._diffs.get(_blobs(file))
        if comparison is None or not _has_content(file):
            return
        facts.section(file.path)
        diff, note = comparison
        if diff is None or note:
            facts.text(as_sentence(note), "t3")
        else:
            facts.add_strips(diff_strips(file.path, diff.text, self.looks, facts.width - 3))

    async def _compare(self, files: Sequence[ChangedFile]) -> None:
        for file in files:
            self._diffs[_blobs(file)] = await self.context.reader.compare(file)
        self.show_detail()

    # -- actions ---------------------------------------------------------------------------------------------------

    def use(self, checkpoint: Checkpoint) -> None:
        if self.context.is_running:
            self.say("A turn is running. You can revert when the turn has ended.", "warning")
            return
        target = _name(checkpoint) if checkpoint.part < 0 else f"after part {checkpoint.part}"
        self.context.rewind.confirm_revert(checkpoint.seq, f"Revert to {target}", then=self.leave)

    def show_author(self, number: int) -> None:
        """Show only the checkpoints by the author with this index in `FILTERS`."""
        self.filter = FILTERS[number]
        self._show(EMPTY)

    def run_intent(self, name: str, argument: str) -> None:
        if name == "filter" and argument.isdecimal():
            self.show_author(int(argument))


def _name(checkpoint: Checkpoint) -> str:
    """Return a short description of a checkpoint: `app.py and 2 more`, `restored 3 files`."""
    count = len(checkpoint.files) + checkpoint.unlisted_count
    if checkpoint.restored:
        return f"restored {format_files(count, checkpoint.folders)}"
    if checkpoint.part < 0:
        return "the files as they were before the session"
    first = checkpoint.files[0].path if checkpoint.files else ""
    files = f"{first} and {count - 1} more" if count > 1 else first
    return ", ".join(filter(None, (files, format_folders(checkpoint.folders)))) or "no file"


def _blobs(file: ChangedFile) -> tuple[str | None, str | None]:
    return file.before, file.after


def _is_change(checkpoint: Checkpoint) -> bool:
    """Return True if the checkpoint has changes of files that no restore made."""
    return bool(checkpoint.files) and not checkpoint.restored


def _has_content(file: ChangedFile) -> bool:
    """Return True if the log contains the file's content before or after the change."""
    return file.before is not None or file.after is not None


def _draw_facts(facts: Facts, checkpoint: Checkpoint) -> None:
    is_change = not checkpoint.restored and checkpoint.part >= 0
    facts.text(f"After part {checkpoint.part}" if is_change else _name(checkpoint), bold=True)
    if not checkpoint.on_branch:
        facts.text("on another branch: reverting to it switches to that branch", "warning")
    facts.gap()
    facts.fact("event", f"{checkpoint.seq}" + (f", in turn {checkpoint.turn}" if checkpoint.turn else ""))
    facts.fact("taken", format_time(checkpoint.time) if checkpoint.time else "")
    author = _AUTHORS.get(checkpoint.author, checkpoint.author)
    facts.fact("changed by", author if _is_change(checkpoint) else "")
    facts.fact("commit", checkpoint.commit[:12])
    facts.fact("left out", ", ".join(checkpoint.skipped), "warning")
