"""The question whether a folder's own files may be used: what they are, what each could do, what is in them.

Invariant: what is shown is what was read and would be trusted; Enter and Esc trust nothing unless `Trust` was chosen;
names and contents are shown whole, with invisible characters as code points.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final, Literal, NamedTuple, TypeAlias

from textual.strip import Strip

from tui_agent.config.project_effects import describe_effect
from tui_agent.config.project_files import ProjectFile
from tui_agent.config.trust import FileChange, Project
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import Scope
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.text import clean, clean_line, width
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.rows import Part, cells, part, wrap
from tui_agent.tui.widgets.sheet import Sheet
from tui_agent.units import format_bytes

Answer: TypeAlias = Literal["trust", "without", "forget", "quit"]
MOST_SHOWN: Final = 200_000
"""Characters of a file that are shown."""
_MARK = 9
_BESIDE = 28
"""Cells that what a file could do needs beside its name; with less it stands below."""
_SAID: Final[Mapping[str, str]] = {
    "open": "nothing of it is used yet",
    "trusted": "in use, as you decided",
    "without": "left aside, as you decided",
}


class Entry(NamedTuple):
    """One file of the list; one that is gone has no `file`."""

    name: str
    about: str
    mark: FileChange
    file: ProjectFile | None
    folder: str


class Choice(NamedTuple):
    """One answer; one that is not offered says why. `action` is the name of its action."""

    action: str
    answer: Answer
    name: str
    about: str
    offered: bool = True


class TrustSheet(Sheet[Answer | None]):
    """Gives the answer; None where nothing was decided. `asking`: the app is just opening the folder."""

    deaf = True
    most_width: ClassVar[int] = 104
    scope: ClassVar[Scope] = "trust"
    key_methods = {
        "trust_choose": "move",
        "trust_use": "use_chosen",
        "trust_look": "look_inside",
        "trust_these": ("give", "trust"),
        "trust_without": ("give", "without"),
        "trust_forget": ("give", "forget"),
        "trust_quit": ("give", "quit"),
        "trust_later": "close",
    }

    def __init__(
        self,
        looks: Callable[[], Looks],
        projects: Sequence[Project],
        marks: Mapping[str, Mapping[str, FileChange]],
        *,
        asking: bool,
    ) -> None:
        super().__init__(looks)
        self._projects = [one for one in projects if one.files.files or marks.get(str(one.files.folder))]
        self._asking = asking
        self.entries = [entry for one in self._projects for entry in _entries(one, marks)]
        self.choices = self._answers()
        self._marked = any(entry.mark for entry in self.entries)
        safe = next((at for at, one in enumerate(self.choices) if one.answer != "trust" and one.offered), 0)
        self.at = len(self.entries) + safe
        self._row_of: dict[int, int] = {}
        self._in_sight_once = set[int]()
        self.add_class("-warning")

    @property
    def _standing(self) -> str:
        """The least that holds for any of the folders."""
        held = {one.trust_state for one in self._projects if one.files.files}
        return next((one for one in ("open", "without", "trusted") if one in held), "nothing")

    def _answers(self) -> list[Choice]:
        fault = next((one.files.fault for one in self._projects if one.files.fault), "")
        standing = self._standing
        found: list[Choice] = []
        if standing in ("open", "without"):
            why = f"cannot be: {fault}" if fault else "used until one of them changes"
            found.append(Choice("trust_these", "trust", "Trust these files", why, not fault))
        if standing == "open":
            found.append(
                Choice("trust_without", "without", "Go on without them", "not asked again until one changes")
            )
        if not self._asking and standing in ("trusted", "without"):
            found.append(
                Choice("trust_forget", "forget", "Take it back", "not used; the next start asks again")
            )
        if self._asking:
            found.append(Choice("trust_quit", "quit", "Quit", "leave the program"))
        return found

    # -- rows ------------------------------------------------------------------------------------------------------

    def head(self, width: int) -> list[Strip]:
        title: list[Part] = [
            (self.looks.symbols.waiting, self.style("warning", bold=True)),
            (" ", self.style()),
            ("Use this folder's own files?", self.style(bold=True)),
        ]
        said = [part(_SAID.get(self._standing, ""), self.style("t2"))]
        rows = [self.line(width, title, said if cells(title) + cells(said) + 2 <= width else [])]
        rows += self._gap(width)
        if self.app.size.height >= 16:
            why = f"{format_count(len(self.entries), 'file')} could steer this program; what each could do:"
            if self._marked:
                why = "They are not as they were when you decided about them:"
            rows += self.text_rows(width, why, "t2")
            rows += self._gap(width)
        return rows

    @property
    def tight(self) -> bool:
        return self.app.size.height < 30

    def _gap(self, width: int) -> list[Strip]:
        return [] if self.tight else [self.line(width, [])]

    def body(self, width: int) -> list[Strip]:
        if not self.entries:
            return [self.line(width, [("This folder has no files that could steer it.", self.style("t2"))])]
        rows: list[Strip] = []
        self._row_of = {}
        folder = ""
        for at, entry in enumerate(self.entries):
            if entry.folder != folder:
                folder = entry.folder
                rows += [self.line(width, [])] if rows else []
                rows += self.text_rows(width, clean_line(folder, reveal=True), bold=True)
            self._row_of[at] = len(rows)
            rows += self._entry(width, at, entry)
        self.cursor_row = self._row_of.get(self.at)
        return rows

    def _entry(self, room: int, at: int, entry: Entry) -> list[Strip]:
        row = self.choice_row(at == self.at, f"file {at}")
        first = [row.mark]
        if self._marked:
            mark = row.style("warning" if entry.mark else "t3", bold=True)
            first.append((entry.mark.ljust(_MARK), mark))
        used = cells(first)
        name = row.style(bold=row.chosen)
        about = row.style("error" if entry.file and entry.file.fault else "t2")
        names = min(max(width(_name(entry)) for entry in self.entries) + 2, max(20, room // 2))
        shown = _name(entry)
        beside = room - used - names
        if width(shown) < names and beside >= _BESIDE:
            return row.hanging_rows(
                room, [*first, (shown.ljust(names), name)], wrap(entry.about, beside), about
            )
        rows = row.hanging_rows(room, first, wrap(shown, room - used), name)
        indent: Part = (" " * (used + 2), row.style())
        return rows + row.hanging_rows(room, [indent], wrap(entry.about, room - used - 2), about)

    def foot(self, width: int) -> list[Strip]:
        rows = [row for at, one in enumerate(self.choices) for row in self._choice(width, at, one)]
        later = "ask next time" if self._asking else "close"
        hint = self.key_map.hint
        on_answer = self.at >= len(self.entries)
        keys = [hint("trust_use", "use it" if on_answer else "look inside"), hint("trust_later", later)]
        if on_answer and self.entries:
            keys.append(hint("trust_look"))
        keys.append(hint("trust_choose"))
        return [*self.spacer(width), *rows, *self.spacer(width), self.keys_line(width, keys)]

    @property
    def unseen(self) -> int:
        """How many files were not in sight yet."""
        return len(self.entries) - len(self._in_sight_once)

    def looked_at(self, rows: int) -> None:
        before = self.unseen
        self._in_sight_once |= {at for at, row in self._row_of.items() if row < rows}
        if self.unseen != before:
            self.redraw()

    def _about(self, choice: Choice, room: int) -> str:
        if choice.answer == "trust" and choice.offered and self.unseen:
            return f"{self.unseen} not seen yet" + ("; used until one changes" if room >= 39 else "")
        return choice.about

    def _choice(self, room: int, number: int, choice: Choice) -> list[Strip]:
        row = self.choice_row(number + len(self.entries) == self.at, f"answer {number}")
        left: list[Part] = [
            row.mark,
            (self.key_map.key_of(choice.action), row.style("accent" if choice.offered else "t3", bold=True)),
            ("  ", row.style()),
            (choice.name.ljust(22), row.style("t1" if choice.offered else "t3", bold=row.chosen)),
        ]
        pieces = wrap(clean_line(self._about(choice, room - 27), reveal=True), max(12, room - 27))
        return row.hanging_rows(room, left, pieces, row.style("t2" if choice.offered else "t3"))

    # -- keys ------------------------------------------------------------------------------------------------------

    def use_chosen(self) -> None:
        """Give the chosen answer, or look into the chosen file."""
        self._use(self.at)

    def look_inside(self) -> None:
        """Look into the chosen file."""
        self._look_inside(self.at)

    def give(self, answer: Answer) -> bool:
        """Give an answer, where it is among the choices."""
        at = next((at for at, choice in enumerate(self.choices) if choice.answer == answer), None)
        if at is not None:
            self._use(len(self.entries) + at)
        return at is not None

    def move(self, by: int) -> None:
        """Choose the row above or below."""
        self.at = (self.at + by) % max(1, len(self.entries) + len(self.choices))
        self.redraw()

    def _use(self, at: int) -> None:
        if at < len(self.entries):
            self._look_inside(at)
            return
        choice = self.choices[at - len(self.entries)] if self.choices else None
        if choice is not None and choice.offered:
            self.dismiss(choice.answer)

    def _look_inside(self, at: int) -> None:
        entry = self.entries[at] if at < len(self.entries) else self.entries[0] if self.entries else None
        if entry is None or entry.file is None:
            return
        text, file = content_of(entry.file), entry.file
        size = format_bytes(len(file.content)) if not file.fault else ""
        title = clean_line(entry.name, reveal=True)

        def draw(viewer: Viewer, width: int) -> list[Strip]:
            return [*viewer.say(width, entry.about), viewer.gap(width), *viewer.say(width, text, "t1")]

        self.app.push_screen(Viewer(self.looks_of, title, draw, right=size))

    def clicked(self, wish: str) -> None:
        what, _, number = wish.partition(" ")
        if not number.isdigit():
            return
        at = int(number) + (len(self.entries) if what == "answer" else 0)
        if what in ("file", "answer") and at < len(self.entries) + len(self.choices):
            self.at = at
            self.redraw()
            self._use(at)


def content_of(file: ProjectFile) -> str:
    """What is in a file, as it can be shown: every character that an eye cannot see as its code point."""
    if file.fault:
        return "There is no content that trust could be bound to."
    try:
        text = file.content.decode("utf-8")
    except UnicodeDecodeError:
        return f"It is no UTF-8 text. SHA-256 {file.digest}"
    if "\0" in text:
        return f"It is no text. SHA-256 {file.digest}"
    shown = clean(text[:MOST_SHOWN].replace("\r\n", "\n"), reveal=True).rstrip("\n")
    if len(text) > MOST_SHOWN:
        shown += f"\n\nThe first {MOST_SHOWN:,} of {len(text):,} characters. SHA-256 {file.digest}"
    return shown or "It is empty."


def _entries(one: Project, marks: Mapping[str, Mapping[str, FileChange]]) -> list[Entry]:
    folder = str(one.files.folder)
    marked = marks.get(folder, {})
    found = [
        Entry(
            file.name, clean_line(describe_effect(file), reveal=True), marked.get(file.name, ""), file, folder
        )
        for file in one.files.files
    ]
    gone = [name for name, mark in marked.items() if mark == "gone"]
    return [*found, *(Entry(name, "it was there when you decided", "gone", None, folder) for name in gone)]


def _name(entry: Entry) -> str:
    return clean_line(entry.name, reveal=True)
