"""The question before an undo about files that someone else may have changed.

Invariant: each file is shown with the reason for the question, and only ticked files are undone.
"""

from collections.abc import Sequence
from typing import ClassVar

from textual.strip import Strip

from tui_agent.protocol.events.files import PlannedFileChange
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.actions import KeyHint, Scope
from tui_agent.tui.text import as_sentence, fit_path
from tui_agent.tui.widgets.rows import Part
from tui_agent.tui.widgets.sheet import NO_ROW, ChoiceSheet


class FileChoice(ChoiceSheet[tuple[str, ...] | None]):
    """A list of files with boxes to tick. The result is the ticked paths, or None if the user cancels.

    Files that changed during a long command are ticked at first.
    """

    scope: ClassVar[Scope] = "files"
    give_action: ClassVar[str] = "files_go"
    has_grace_period: ClassVar[bool] = True

    def __init__(self, title: str, changes: Sequence[PlannedFileChange]) -> None:
        super().__init__()
        self.title_text = title
        self._changes = sorted(
            changes, key=lambda change: (not change.uncertain, change.conflict, change.path)
        )
        self._ticked = {change.path for change in changes if change.uncertain}

    @property
    def count(self) -> int:
        return len(self._changes)

    def title_right(self) -> Sequence[Part]:
        return [self.part(f"{len(self._ticked)} of {format_count(self.count, 'file')}", "t2")]

    def body(self, width: int) -> list[Strip]:
        rows: list[Strip] = []
        reason = ""
        for number, change in enumerate(self._changes):
            if change.conflict != reason:
                reason = change.conflict
                rows += [self.line(width, [])] if rows else []
                rows += self.text_rows(width, as_sentence(reason).rstrip("."), "t2", bold=True)
            if number == self.chosen:
                self.cursor_row = len(rows)
            pen = self.choice_pen(number)
            box = f"[{'x' if change.path in self._ticked else ' '}] "
            effect = describe_change(change)
            path = fit_path(change.path, width - len(effect) - 8, self.looks.symbols.ellipsis)
            rows.append(
                pen.line(
                    width, [pen.mark, pen.part(f" {box}{path}", bold=pen.chosen)], [pen.part(effect, "t2")]
                )
            )
        return rows

    def foot(self, width: int) -> list[Strip]:
        text = "Unticked files stay as they are. /redo reverses the undo."
        return [*self.spacer(width), *self.text_rows(width, text, "t3"), *super().foot(width)]

    def key_hints(self) -> Sequence[KeyHint]:
        names = ("files_go", "files_tick", "files_choose", "files_close")
        return [self.key_map.hint(name) for name in names if name != "files_choose" or self.count > 1]

    def tick(self) -> None:
        """Tick or clear the box of the selected file."""
        if self.chosen == NO_ROW:
            return
        self._ticked ^= {self._changes[self.chosen].path}
        self.redraw()

    def use(self) -> None:
        """Tick or clear a box that the user clicked."""
        self.tick()

    def finish(self) -> None:
        """Close with the ticked files; if no row is selected, send the message in the prompt."""
        if self.chosen == NO_ROW:
            self.send_message()
            return
        self.dismiss(tuple(change.path for change in self._changes if change.path in self._ticked))


def describe_change(change: PlannedFileChange) -> str:
    """Return a short description of a restore's effect on a file: `restored`, `removed`, `mode`, or counts such as
    `+3`."""
    counts = " ".join(
        f"{sign}{count}" for sign, count in (("+", change.added), ("−", change.removed)) if count
    )
    return {"create": "restored", "remove": "removed", "write": counts, "mode": "mode"}[change.operation]
