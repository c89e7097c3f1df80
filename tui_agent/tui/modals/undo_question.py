"""The sheet that asks before an undo: it names running background jobs, and files that someone else may have changed.

Invariant: each file is shown with the reason for the question, and only ticked files are undone.
"""

from collections.abc import Sequence
from typing import ClassVar

from textual.strip import Strip

from tui_agent.folds.text.undo_sentences import quote_commands
from tui_agent.protocol.events.files import PlannedFileChange
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.keys_and_commands import KeyHint, Scope
from tui_agent.tui.untrusted_text import as_sentence, clean_line, fit_path
from tui_agent.tui.widgets.rows import Part
from tui_agent.tui.widgets.sheet import NO_ROW, ChoiceSheet

_REDO_HINT = "/redo reverses the undo, but does not start the job again."


class FileChoice(ChoiceSheet[tuple[str, ...] | None]):
    """A list of files with boxes to tick. The result is the ticked paths, or None if the user cancels.

    Typed text goes to the message in the prompt. Files that changed during a long command are ticked at first.

    - `jobs`: commands of the background jobs that the undo stops.
    - `unlisted_count`: number of further files that someone else may have changed.
    """

    scope: ClassVar[Scope] = "files"
    give_action: ClassVar[str] = "files_go"
    answer_actions: ClassVar[frozenset[str]] = frozenset({"files_go"})
    has_grace_period: ClassVar[bool] = True

    def __init__(
        self,
        title: str,
        changes: Sequence[PlannedFileChange],
        jobs: Sequence[str] = (),
        unlisted_count: int = 0,
    ) -> None:
        super().__init__()
        self.title_text = title
        self._unlisted_count = unlisted_count
        self._jobs = jobs
        # Changes with the same reason must be neighbours, because `body` writes each reason once.
        self._changes = sorted(
            changes, key=lambda change: (not change.uncertain, change.conflict, change.path)
        )
        self._ticked = {change.path for change in changes if change.uncertain}

    @property
    def count(self) -> int:
        return len(self._changes)

    def title_right(self) -> Sequence[Part]:
        text = f"{len(self._ticked)} of {format_count(self.count, 'file')}" if self.count else ""
        return [self.part(text, "t2")]

    def body(self, width: int) -> list[Strip]:
        rows = self._job_rows(width)
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
        if self._unlisted_count:
            more = f"and {format_count(self._unlisted_count, 'more file')}, which the undo does not change"
            rows += self.text_rows(width, more, "t2")
        return rows

    def _job_rows(self, width: int) -> list[Strip]:
        """Return the rows that name the running background jobs."""
        if not self._jobs:
            return []
        subject = (
            "A background job" if len(self._jobs) == 1 else format_count(len(self._jobs), "background job")
        )
        verb, pronoun = ("is", "it") if len(self._jobs) == 1 else ("are", "them")
        text = f"{subject} of this turn {verb} still running: {quote_commands(self._jobs)}"
        effect = f"The undo stops {pronoun} first. New files that appear before the undo are removed too."
        return [
            *self.text_rows(width, clean_line(text), bold=True),
            *self.text_rows(width, effect, "t2"),
        ]

    def foot(self, width: int) -> list[Strip]:
        text = "Unticked files stay as they are. /redo reverses the undo." if self.count else _REDO_HINT
        return [*self.spacer(width), *self.text_rows(width, text, "t3"), *super().foot(width)]

    def key_hints(self) -> Sequence[KeyHint]:
        names = ["files_go", "files_tick", "files_choose", "files_close"]
        if not self.count:
            return [self.key_map.hint("files_go"), self.key_map.hint("files_close")]
        useless = {"files_choose"} if self.count == 1 else set[str]()
        if self.chosen == NO_ROW:  # a message was typed
            useless.add("files_tick")
        return [self.key_map.hint(name) for name in names if name not in useless]

    def select_default(self) -> None:
        self.chosen = 0

    def end_writing(self) -> None:
        """Use keys as answers again, with the first row selected."""
        self.select_default()
        super().end_writing()

    def tick(self) -> None:
        """Tick or clear the box of the selected file."""
        if self.chosen == NO_ROW or not self.count:
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
    """Return what the undo does to a file: `restored`, `removed`, `mode`, or the changed lines, such as `+3 −1`."""
    counts = " ".join(
        f"{sign}{count}" for sign, count in (("+", change.added), ("−", change.removed)) if count
    )
    return {"create": "restored", "remove": "removed", "write": counts, "mode": "mode"}[change.operation]
