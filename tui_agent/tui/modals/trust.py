"""The sheet that shows a folder's configuration files with their effects and contents, and asks if they are trusted.

Invariant: the sheet shows exactly the content that was read and would be trusted.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from textual.strip import Strip

from tui_agent.config.project.project_files import ProjectFile
from tui_agent.config.project.trust import FileChange, Project
from tui_agent.config.project.trust_effects import describe_effect
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.modals.viewer import Viewer
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean, reveal_line, width
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import cells, wrap
from tui_agent.tui.widgets.sheet import NO_ROW, ChoiceSheet
from tui_agent.units import format_bytes, format_number

Answer: TypeAlias = Literal["trust", "without", "forget", "quit"]
MAX_SHOWN_CHARACTERS: Final = 200_000
_MARK_WIDTH: Final = 9
_ANSWER_WIDTH: Final = 27
_MIN_EFFECT_CELLS: Final = 28
"""Minimum width, in cells, to show a file's effect on the same row as its name."""
_STATES: Final[Mapping[str, str]] = {
    "open": "not used yet",
    "without": "not used, as you decided",
    "trusted": "in use, as you decided",
}
"""Maps a state of trust to its description, the least trusted state first."""


class Entry(NamedTuple):
    """A file on the trust sheet, with hidden characters made visible.

    `file`: None if the file was deleted.
    """

    name: str
    about: str
    mark: FileChange
    file: ProjectFile | None
    folder: str


class TrustChoice(NamedTuple):
    """An answer on the trust sheet and its action.

    `about`: a description, or the reason why the answer is not available.
    """

    action: str
    answer: Answer
    name: str
    about: str
    offered: bool = True


class TrustSheet(ChoiceSheet[Answer | None]):
    """Sheet that asks whether to trust the configuration files in a folder.

    The result is the answer, or None if nothing was decided.
    `asking`: True if the app has not opened the folder yet.
    """

    has_grace_period = True
    sheet_width = 104
    tight_below = 30
    scope = "trust"
    give_action = "trust_use"
    answer_actions = frozenset({"trust_these", "trust_without", "trust_forget", "trust_quit"})

    def __init__(
        self,
        projects: Sequence[Project],
        marks: Mapping[str, Mapping[str, FileChange]],
        *,
        asking: bool,
    ) -> None:
        super().__init__()
        projects = [
            project for project in projects if project.files.files or marks.get(str(project.files.folder))
        ]
        self._asking = asking
        states = {project.trust_state for project in projects if project.files.files}
        self._state = next((state for state in _STATES if state in states), "nothing")
        """The least trusted state of all folders on the sheet."""
        fault = next((project.files.fault for project in projects if project.files.fault), "")
        self.entries = [entry for project in projects for entry in _entries(project, marks)]
        self.choices = self._offer_choices(fault)
        self._has_marks = any(entry.mark for entry in self.entries)
        # The answer selected at first is never "trust", so that Enter pressed by accident trusts nothing.
        safe = [choice.offered and choice.answer != "trust" for choice in self.choices]
        self.chosen = len(self.entries) + (safe.index(True) if True in safe else 0)
        self._first_rows: list[int] = []
        """For each file, the index of the file's first row in the body."""
        self._seen_files = set[int]()
        self.add_class("-warning")

    def _offer_choices(self, fault: str) -> list[TrustChoice]:
        about = f"not possible: {fault}" if fault else "used until one of them changes"
        trust = TrustChoice("trust_these", "trust", "Trust these files", about, not fault)
        leave = TrustChoice(
            "trust_without", "without", "Ignore these files", "not asked again until one changes"
        )
        forget = TrustChoice("trust_forget", "forget", "Revoke trust", "ask at the next start")
        choices = {"open": [trust, leave], "without": [trust], "trusted": []}.get(self._state, [])
        if self._asking:
            return [*choices, TrustChoice("trust_quit", "quit", "Quit", "quit tui-agent")]
        return [*choices, *([forget] if self._state in ("trusted", "without") else [])]

    @property
    def count(self) -> int:
        return len(self.entries) + len(self.choices)

    # -- rows ------------------------------------------------------------------------------------------------------

    def head(self, width: int) -> list[Strip]:
        title = [
            self.part(f"{self.looks.symbols.waiting} ", "warning", bold=True),
            self.part("Trust this folder's configuration?", bold=True),
        ]
        if not self.count:
            title = [self.part("This folder's configuration", bold=True)]
        state = [self.part(_STATES.get(self._state, ""), "t2")]
        fits = cells(title) + cells(state) + 2 <= width
        rows = [self.line(width, title, state if fits else []), *self.loose_gap(width)]
        if self.app.size.height >= 16 and self.entries:
            text = f"{format_count(len(self.entries), 'file')} can change what tui-agent does or runs:"
            if self._has_marks:
                text = "These files have changed since you decided:"
            rows += [*self.text_rows(width, text, "t2"), *self.loose_gap(width)]
        return rows

    def body(self, width: int) -> list[Strip]:
        if not self.entries:
            return self.text_rows(width, "This folder has no files that change what tui-agent does.", "t2")
        rows: list[Strip] = []
        self._first_rows = []
        folder = ""
        for number, entry in enumerate(self.entries):
            if entry.folder != folder:
                folder = entry.folder
                rows += [self.line(width, [])] if rows else []
                rows += self.text_rows(width, folder, bold=True)
            self._first_rows.append(len(rows))
            rows += self._entry_rows(width, number, entry)
        self.cursor_row = self._first_rows[self.chosen] if 0 <= self.chosen < len(self.entries) else None
        return rows

    def _entry_rows(self, room: int, number: int, entry: Entry) -> list[Strip]:
        pen = self.choice_pen(number)
        first = [pen.mark]
        if self._has_marks:
            role: Role = "warning" if entry.mark else "t3"
            first.append(pen.part(entry.mark.ljust(_MARK_WIDTH), role, bold=True))
        used = cells(first)
        style = pen.style("error" if entry.file and entry.file.fault else "t2")
        name_width = min(max(width(other.name) for other in self.entries) + 2, max(20, room // 2))
        about_room = room - used - name_width
        if width(entry.name) < name_width and about_room >= _MIN_EFFECT_CELLS:
            name = pen.part(entry.name.ljust(name_width), bold=pen.chosen)
            return pen.hanging_rows(room, [*first, name], wrap(entry.about, about_room), style)
        names = wrap(entry.name, room - used)
        rows = pen.hanging_rows(room, first, names, pen.style(bold=pen.chosen))
        indent = pen.part(" " * (used + 2))
        return rows + pen.hanging_rows(room, [indent], wrap(entry.about, room - used - 2), style)

    def foot(self, width: int) -> list[Strip]:
        rows = self.spacer(width)
        for number, choice in enumerate(self.choices, len(self.entries)):
            rows += self._choice_rows(width, number, choice)
        if self.choices and self.app.size.height >= 16:
            give = self.key_map.key_of("trust_use")
            rows += self.text_rows(
                width, f"A letter selects an answer; {give} or the same letter confirms it.", "t3"
            )
        return [*rows, *self.keys_rows(width)]

    def key_hints(self) -> Sequence[KeyHint]:
        hint = self.key_map.hint
        leave = hint("trust_later", "ask next time" if self._asking else "close")
        if not self.count:
            return [leave]
        on_answer = self.chosen >= len(self.entries)
        return [
            hint("trust_use", "use it" if on_answer else "open file"),
            *([hint("trust_look")] if on_answer and self.entries else []),
            hint("trust_choose"),
            leave,
        ]

    def _choice_rows(self, room: int, number: int, choice: TrustChoice) -> list[Strip]:
        pen = self.choice_pen(number)
        left = [
            pen.mark,
            pen.part(self.key_map.key_of(choice.action), "accent" if choice.offered else "t3", bold=True),
            pen.part("  "),
            pen.part(choice.name.ljust(22), "t1" if choice.offered else "t3", bold=pen.chosen),
        ]
        room_beside = room - _ANSWER_WIDTH
        about = choice.about
        if choice.answer == "trust" and choice.offered and self.unseen_files:
            about = f"{self.unseen_files} not seen yet" + (
                "; used until one changes" if room_beside >= 39 else ""
            )
        pieces = wrap(reveal_line(about), max(12, room_beside))
        return pen.hanging_rows(room, left, pieces, pen.style("t2" if choice.offered else "t3"))

    @property
    def unseen_files(self) -> int:
        """The number of files that the user has not seen yet."""
        return len(self.entries) - len(self._seen_files)

    def mark_seen(self, rows: int) -> None:
        before = self.unseen_files
        self._seen_files |= {number for number, row in enumerate(self._first_rows) if row < rows}
        if self.unseen_files != before:
            self.redraw()

    # -- keys ------------------------------------------------------------------------------------------------------

    def use(self) -> None:
        """Give the selected answer, or show the selected file; if no row is selected, send the message in the prompt."""
        if self.chosen == NO_ROW:
            self.send_message()
        elif self.chosen < len(self.entries):
            self.look_inside()
        elif self.choices and self.choices[self.chosen - len(self.entries)].offered:
            self.dismiss(self.choices[self.chosen - len(self.entries)].answer)

    def press(self, answer: Answer) -> bool:
        """Select `answer`. If `answer` was already selected, close the sheet with this result.

        Return False if the sheet does not offer `answer`.
        """
        answers = [choice.answer for choice in self.choices]
        if answer in answers:
            self.pick(len(self.entries) + answers.index(answer))
        return answer in answers

    def look_inside(self) -> None:
        """Show the content of the selected file. If an answer is selected, show the first file."""
        entry = next(iter(self.entries[max(0, self.chosen) :] or self.entries), None)
        file = entry.file if entry is not None else None
        if entry is None or file is None:
            return
        text = _content_of(file)

        def draw(facts: Facts) -> None:
            facts.text(entry.about, "t2")
            facts.gap()
            facts.text(text)

        size = format_bytes(len(file.content)) if not file.fault else ""
        self.app.push_screen(Viewer(entry.name, draw, right=size))


def _content_of(file: ProjectFile) -> str:
    """Return the content of a file with visible characters only, or the reason why it cannot be shown."""
    if file.fault:
        return "This file cannot be read, so it cannot be trusted."
    try:
        text = file.content.decode("utf-8")
    except UnicodeDecodeError:
        return f"This is not UTF-8 text. SHA-256 {file.digest}"
    if "\0" in text:
        return f"This is not a text file. SHA-256 {file.digest}"
    shown = clean(text[:MAX_SHOWN_CHARACTERS].replace("\r\n", "\n"), reveal=True).rstrip("\n")
    if len(text) > MAX_SHOWN_CHARACTERS:
        shown += f"\n\nThe first {format_number(MAX_SHOWN_CHARACTERS)} of {format_number(len(text))} characters. SHA-256 {file.digest}"
    return shown or "The file is empty."


def _entries(project: Project, marks: Mapping[str, Mapping[str, FileChange]]) -> list[Entry]:
    folder = str(project.files.folder)
    changes = marks.get(folder, {})
    entries = [
        Entry(
            reveal_line(file.name),
            reveal_line(describe_effect(file)),
            changes.get(file.name, ""),
            file,
            reveal_line(folder),
        )
        for file in project.files.files
    ]
    gone = [name for name, change in changes.items() if change == "gone"]
    about = "deleted since you decided"
    return [*entries, *(Entry(reveal_line(name), about, "gone", None, reveal_line(folder)) for name in gone)]
