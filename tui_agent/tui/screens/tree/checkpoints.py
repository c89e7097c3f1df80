"""The checkpoints of the open session: what each changed, by whom, and the way back to it.

Invariant: nothing moves by looking; going back asks first, as `/revert` does.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, Literal, TypeAlias, get_args

from rich.style import Style
from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Scope
from tui_agent.tui.cli_client import JsonRow, json_rows, number_of, text_of
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.block_rows import FileComparison, compare_contents, diff_strips
from tui_agent.tui.screens.page import Facts, Page
from tui_agent.tui.text import clean_line, fit
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.listing import ListRow
from tui_agent.tui.widgets.rows import Part, cells, doing, part, row
from tui_agent.units import format_line_changes


@dataclass(frozen=True, slots=True)
class FileRow:
    """One path of a checkpoint; contents are digests."""

    path: str
    added: int
    removed: int
    before: str | None
    after: str | None

    @property
    def told(self) -> bool:
        """Whether the log holds what it was and became."""
        return self.before is not None or self.after is not None


@dataclass(frozen=True, slots=True)
class Kept:
    """One checkpoint."""

    seq: int
    at: float
    turn: int
    part: int
    author: str
    commit: str
    files: tuple[FileRow, ...]
    more: int
    skipped: tuple[str, ...]
    restored: bool
    on_branch: bool

    @property
    def name(self) -> str:
        """What it holds, in a few words."""
        if self.restored:
            return f"put back {format_count(len(self.files) + self.more, 'file')}"
        if self.part < 0:
            return "the files as they were found"
        rest = len(self.files) + self.more - 1
        first = self.files[0].path if self.files else "no file"
        return f"{first} and {rest} more" if rest > 0 else first

    @property
    def added(self) -> int:
        """Lines."""
        return sum(one.added for one in self.files)

    @property
    def removed(self) -> int:
        """Lines."""
        return sum(one.removed for one in self.files)


def kept_rows(said: str) -> list[Kept]:
    """What `sessions checkpoints --json` says, the newest first."""
    return [_kept(one) for one in reversed(json_rows(said))]


def _kept(one: JsonRow) -> Kept:
    files, skipped = one.get("files"), one.get("skipped")
    return Kept(
        seq=round(number_of(one, "seq")),
        at=number_of(one, "time"),
        turn=round(number_of(one, "turn")),
        part=round(number_of(one, "part")),
        author=text_of(one, "author"),
        commit=text_of(one, "commit"),
        files=tuple(_file(file) for file in files if isinstance(file, dict))
        if isinstance(files, list)
        else (),
        more=round(number_of(one, "unlisted_count")),
        skipped=tuple(str(why) for why in skipped) if isinstance(skipped, list) else (),
        restored=one.get("restored") is True,
        on_branch=one.get("on_branch") is not False,
    )


def _file(one: JsonRow) -> FileRow:
    return FileRow(
        path=text_of(one, "path"),
        added=round(number_of(one, "added")),
        removed=round(number_of(one, "removed")),
        before=text_of(one, "before") or None,
        after=text_of(one, "after") or None,
    )


Filter: TypeAlias = Literal["all", "agent", "command", "human"]
FILTERS: Final[tuple[Filter, ...]] = get_args(Filter)
FOLLOW_S = 1.0
AUTHOR_FROM, PART_FROM, LINES_FROM = 44, 66, 54
"""Cells of the list from which on it has these columns."""
SHOWN_FILES = 20
_WHO: Final[dict[str, str]] = {
    "agent": "an edit of the agent",
    "command": "a command, beside what it was run for",
    "human": "you, in between",
}
_AUTHORS: Final[dict[str, str]] = {"human": "you"}
"""Words for people, where the log has another one."""
NOTHING = "No checkpoint yet. The first is taken before the first change of a file."


class CheckpointsScreen(Page):
    """The list; its keys are in the registry, scope `checkpoints`."""

    scope: ClassVar[Scope] = "checkpoints"
    use_action = "checkpoint_go"
    key_methods = {
        "checkpoint_row": "move",
        "checkpoint_go": "enter",
        "checkpoint_author": "show_author",
        "checkpoint_leave": "close_detail_or_leave",
    }

    def __init__(self, context: AppContext) -> None:
        super().__init__(context)
        self.all: list[Kept] = []
        self.shown: list[Kept] = []
        self.filter: Filter = "all"
        self._empty = "reading …"
        self._read_at = -2
        self._diffs: dict[tuple[str | None, str | None], FileComparison] = {}

    def on_mount(self) -> None:
        self.head.columns = lambda width: _columns(width, self.looks_of())
        self.show_head()
        self._follow()
        self.set_interval(FOLLOW_S, self._follow)

    def _follow(self) -> None:
        """Read again once another one can have been taken."""
        views = self.context.views
        changed = views.files.view().last_seq
        stand = max(changed, views.restore_seq, *(move.seq for move in views.branches.view().moves), -1)
        stand = stand * 2 + (not self.context.running)
        if stand != self._read_at:
            self._read_at = stand
            self.run_worker(
                self._read(), name="checkpoints", exclusive=True, group="read", exit_on_error=False
            )

    async def _read(self) -> None:
        status, said = await self.context.ask(
            "sessions", "checkpoints", self.context.app.session_id, "--json"
        )
        self.all = kept_rows(said)
        asked = bool(self.context.state.root_task)
        self._empty = clean_line(said.strip()) if status and asked and said.strip() else NOTHING
        self._list()

    def _list(self) -> None:
        held = self.chosen
        self.shown = [one for one in self.all if self.filter in ("all", one.author)]
        at = next((at for at, one in enumerate(self.shown) if held is not None and one.seq == held.seq), 0)
        self.listing.set_count(len(self.shown), at)
        self.show_head()
        self.show_detail()

    @property
    def chosen(self) -> Kept | None:
        """The checkpoint under the cursor."""
        return self.shown[self.listing.at] if self.listing.at < len(self.shown) else None

    # -- drawing ---------------------------------------------------------------------------------------------------

    def show_head(self) -> None:
        gap: Part = ("   ", self.style())
        title: list[Part] = [("Checkpoints", self.style(bold=True)), gap]
        for at, name in enumerate(FILTERS):
            on, count = name == self.filter, sum(one.author == name for one in self.all)
            style = doing(self.style("accent" if on else "t2", bold=on, underline=on), f"filter {at}")
            word = _AUTHORS.get(name, name)
            title += [(f"{word} {count}" if count else word, style), gap]
        self.head.title = title
        room = self.app.size.width - (0 if self.narrow else 46) - cells(title)
        said = format_count(len(self.all), "checkpoint") if self.all else ""
        self.head.right = [part(said, self.style("t2"))] if len(said) + 8 < room else []
        self.head.show()

    def draw_row(self, at: int, width: int, chosen: bool) -> Strip:
        return _row(self.shown[at], width, self.looks_of(), chosen=chosen)

    def detail_rows(self, width: int) -> list[Strip]:
        facts = Facts(self.looks_of(), width)
        facts.gap()
        one = self.chosen
        if one is None:
            nobody = (
                f"No checkpoint of that author. {self.key_map.key_of('checkpoint_author')} shows all {len(self.all)}."
                if self.all
                else self._empty
            )
            facts.text(nobody, "t3")
            return facts.rows
        self._about(facts, one)
        if one.files:
            facts.heading("Files")
            widest = max(len(str(max(file.added, file.removed))) for file in one.files) + 1
            for file in one.files[:SHOWN_FILES]:
                facts.counted(file.added, file.removed, file.path, widest)
        rest = one.more + max(0, len(one.files) - SHOWN_FILES)
        if rest:
            facts.text(f"and {rest} more", "t3")
        for file in one.files[:SHOWN_FILES]:
            facts.rows += self._diff(facts, file)
        self._read_diffs(one)
        return facts.rows

    def _about(self, facts: Facts, one: Kept) -> None:
        facts.text(one.name if one.restored or one.part < 0 else f"After part {one.part}", bold=True)
        if not one.on_branch:
            facts.text("on another branch: going there is going back to that branch", "warning")
        facts.gap()
        facts.fact("event", f"{one.seq}, in turn {one.turn}" if one.turn else str(one.seq))
        facts.fact("taken", time.strftime("%d %b %H:%M:%S", time.localtime(one.at)) if one.at else "")
        facts.fact("changed by", _WHO.get(one.author, one.author) if one.files and not one.restored else "")
        facts.fact("commit", one.commit[:12])
        facts.fact("left out", ", ".join(one.skipped), "warning")

    def _diff(self, facts: Facts, file: FileRow) -> Sequence[Strip]:
        found = self._diffs.get((file.before, file.after))
        if found is None or not file.told:
            return ()
        rows = Facts(self.looks_of(), facts.width)
        rows.heading(file.path)
        if found.note:
            rows.text(found.note, "t3")
            return rows.rows
        rows.add_strips(diff_strips(file.path, found.text, "", self.looks_of(), facts.width - 3))
        return rows.rows

    def _read_diffs(self, one: Kept) -> None:
        wanted = [file for file in one.files[:SHOWN_FILES] if file.told]
        if any((file.before, file.after) not in self._diffs for file in wanted):
            self.run_worker(
                self._compare(wanted), name="diff", exclusive=True, group="diff", exit_on_error=False
            )

    async def _compare(self, files: Sequence[FileRow]) -> None:
        for file in files:
            if (file.before, file.after) not in self._diffs:
                self._diffs[file.before, file.after] = await compare_contents(
                    self.context, file.before, file.after
                )
        self.show_detail()

    # -- ways from there -------------------------------------------------------------------------------------------

    def use(self) -> None:
        one = self.chosen
        if one is None:
            return
        if self.context.running:
            self.say("A turn is running. Going back has to wait for its end.", "warning")
            return
        where = one.name if one.part < 0 else f"after part {one.part}"
        self.context.rewind.go(one.seq, f"Go back to {where}", then=self.leave)

    def show_author(self, number: int) -> None:
        """Show only what this author changed, or everything."""
        self.filter = FILTERS[number]
        self._list()

    def take_intent(self, name: str, argument: str) -> None:
        if name == "filter" and argument.isdecimal():
            self.show_author(int(argument))


def _measures(
    width: int, author: str, at_part: str, lines: list[Part], clock: str, style: Style
) -> list[Part]:
    """The columns at the right, as many as a list of this width has."""
    found: list[Part] = []
    if width >= AUTHOR_FROM:
        found.append((author.rjust(8), style))
    if width >= PART_FROM:
        found.append((at_part.rjust(6), style))
    if width >= LINES_FROM:
        found += [(" " * max(0, 12 - cells(lines)), style), *lines]
    return [*found, (clock.rjust(10), style)]


def _columns(width: int, looks: Looks) -> Strip:
    quiet = looks.palette.rich("t3", "s0")
    names = _measures(width, "author", "part", [("lines", quiet)], "time", quiet)
    return row(width, [("    what it holds", quiet)], names, fill=quiet)


def _row(one: Kept, width: int, looks: Looks, *, chosen: bool) -> Strip:
    line, symbols = ListRow(looks, chosen), looks.symbols
    changed = bool(one.files) and one.on_branch
    left = line.first(symbols.files if changed else symbols.dot, "success" if changed else "t3")
    lines: list[Part] = []
    for words, hue in format_line_changes(one.added, one.removed, symbols.minus):
        lines += [(" ", line.style()), (words, line.style(hue))]
    at_part = str(one.part) if one.part >= 0 else ""
    clock = time.strftime("%H:%M:%S", time.localtime(one.at)) if one.at else ""
    author = _AUTHORS.get(one.author, one.author)
    right = _measures(width, author, at_part, lines, clock, line.style("t2"))
    room = max(6, width - cells(left) - cells(right) - 4)
    name = line.style("t1" if one.on_branch else "t3", bold=chosen)
    left += _named(one, room, name, line.style("t3"), symbols.ellipsis)
    return line.line(width, left, right)


def _named(one: Kept, room: int, style: Style, quiet: Style, ellipsis: str) -> list[Part]:
    """What it holds: the path, or where there is no room for it the file's name."""
    name = clean_line(one.name)
    if len(name) > room and one.files and not one.restored:
        name = name.replace(
            clean_line(one.files[0].path), clean_line(one.files[0].path.rpartition("/")[2]), 1
        )
    away = "" if one.on_branch else "  other branch"
    return [(fit(name, room, ellipsis), style), (away if len(name) + len(away) <= room else "", quiet)]
