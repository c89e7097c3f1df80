"""The details of the selected session, on the right side of the session list.

Invariant: the details are drawn at once from the list's row, and completed later by `sessions preview`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.text.line_diff import FileCounts
from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.cli_client import JsonRow, text_of
from tui_agent.tui.screens.sessions.session_rows import SearchHit, SessionRow, state_of
from tui_agent.tui.screens.sessions.session_table import branch_mark, highlight
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean, clean_line, fit, reveal_line, shorten_home
from tui_agent.tui.widgets.facts import Facts
from tui_agent.tui.widgets.rows import Part, cells, part, state_mark, wrap
from tui_agent.units import (
    format_bytes,
    format_cost,
    format_day,
    format_minute,
    format_percent,
    format_rough_duration,
    format_time_of_day,
    format_tokens,
)

MAX_MESSAGE_ROWS, MAX_ANSWER_ROWS, MAX_FILES, MAX_BRANCHES = 4, 6, 8, 6
KINDS = {
    "user.message": "your message",
    "user.steered": "your message",
    "user.shell_finished": "your command",
    "model.responded": "an answer",
    "tool.called": "a call",
    "tool.finished": "a result",
    "session.titled": "the name",
}


@dataclass(frozen=True, slots=True)
class PendingInput:
    """Input that a session waits for: approvals, questions, queued messages, a draft."""

    approval: tuple[str, ...] = ()
    question: tuple[str, ...] = ()
    queued: tuple[str, ...] = ()
    draft: bool = False

    def describe(self) -> str:
        """Return the waiting input in words; empty if nothing waits."""
        words = [f"needs approval: {reveal_line(request)}" for request in self.approval]
        words += [f"asks: {clean_line(question)}" for question in self.question]
        words += [f"{format_count(len(self.queued), 'message')} queued"] if self.queued else []
        return "; ".join(words + (["a draft"] if self.draft else []))


@dataclass(frozen=True, slots=True)
class BranchPreview:
    """A branch or a fork of the session.

    `current`: True for the session's current branch.
    """

    kind: str = ""
    name: str = ""
    started: float = 0.0
    outcome: str = ""
    state: str = ""
    current: bool = False
    tests: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """A session as printed by `sessions preview --json`.

    - `flaws`: descriptions of the damage in the log; None if the log was not checked
    - `first`, `last`: the user's first and last message; None if there is none, or if it was not read
    - `tests`: the counts `passed` and `failed`
    - `todo`: the counts `done` and `total`
    - `context`: `used` and `window` in tokens, and `fraction`
    """

    is_complete: bool = True
    flaws: tuple[str, ...] | None = None
    first: JsonRow | None = None
    last: JsonRow | None = None
    answer: str | None = None
    tests: Mapping[str, int] | None = None
    files: tuple[FileCounts, ...] = ()
    todo: Mapping[str, int] | None = None
    context: Mapping[str, float | None] | None = None
    waiting: PendingInput = PendingInput()
    branches: tuple[BranchPreview, ...] = ()


class SessionDetail:
    """Draws the details of one session.

    `words`: the words of the search, which are highlighted.
    """

    def __init__(self, facts: Facts, words: Sequence[str], now: float) -> None:
        self._facts = facts
        self._symbols = facts.looks.symbols
        self._words = words
        self._now = now
        self._seen = ""
        """All text drawn so far, to check which words of the search appear in it."""

    def draw(self, session: SessionRow, hit: SearchHit | None, preview: Preview | None) -> None:
        """Add all rows. Without a preview, add only the facts from the list of sessions."""
        facts = self._facts
        facts.gap()
        for line in wrap(session.name, facts.room):
            facts.line(self._highlight(line, bold=True))
        facts.text(
            ", ".join(filter(None, (clean_line(shorten_home(Path(session.workspace))), session.model))), "t2"
        )
        self._draw_times(session, preview)
        if preview is None:
            facts.gap()
            self._draw_sums(session)
            return
        self._draw_messages(preview)
        # Show the match only if the words of the search are not visible anyway.
        if hit is not None and not all(word.casefold() in self._seen.casefold() for word in self._words):
            self._draw_hit(hit)
        self._draw_files(preview.files)
        facts.gap()
        self._draw_sums(session)
        self._draw_work(preview)
        self._draw_branches(session, preview)
        if not preview.is_complete:
            facts.gap()
            facts.text("The log is long: only its end is shown here.", "t3")

    def _draw_times(self, session: SessionRow, preview: Preview | None) -> None:
        facts = self._facts
        duration = format_rough_duration(max(0.0, session.updated - session.started))
        clock = self._clock(session.started)
        times = [(f"{clock}, {duration}, {format_count(session.events, 'event')}", facts.style("t2"))]
        flaws = preview.flaws if preview is not None else None
        verified = [(f"{self._symbols.done} verified", facts.style("success"))] if flaws == () else []
        if not verified or cells(times) + cells(verified) + 4 > facts.width:
            facts.line(times)
            times = []
        if verified:
            facts.line([*times, *([(" ", facts.style())] if times else []), *verified])
        for flaw in (flaws or ())[:2]:
            facts.text(f"{self._symbols.warning} {flaw}", "warning")

    def _clock(self, moment: float) -> str:
        is_today = format_day(moment) == format_day(self._now)
        return f"today {format_time_of_day(moment)}" if is_today else format_minute(moment)

    def _draw_messages(self, preview: Preview) -> None:
        if preview.first is not None:
            self._draw_paragraph("You", text_of(preview.first, "text"), MAX_MESSAGE_ROWS)
        if preview.last is not None:
            name = "You, last" if preview.first is not None else "You"
            self._draw_paragraph(name, text_of(preview.last, "text"), MAX_MESSAGE_ROWS)
        if preview.answer is not None:
            self._draw_paragraph("Last answer", preview.answer, MAX_ANSWER_ROWS)

    def _draw_paragraph(self, name: str, text: str, max_rows: int) -> None:
        facts = self._facts
        facts.section(name)
        text = clean(text).strip("\n")
        self._seen += text
        filled = (line.rstrip() for line in text.split("\n") if line.strip())
        lines = [piece for line in filled for piece in wrap(line, facts.room)]
        for number, line in enumerate(lines[:max_rows], 1):
            end = self._symbols.ellipsis if number == max_rows and len(lines) > max_rows else ""
            shown = fit(line, facts.room - len(end), "")
            facts.line([*self._highlight(shown), (end, facts.style("t3"))])

    def _highlight(self, text: str, *, bold: bool = False) -> list[Part]:
        highlighted = self._facts.looks.palette.style("accent", "s1", bold=True, underline=True)
        return highlight(text, self._words, self._facts.style(bold=bold), highlighted)

    def _draw_hit(self, hit: SearchHit) -> None:
        more = f", {hit.places - 1} more" if hit.places > 1 else ""
        self._facts.section(f"Found in {KINDS.get(hit.kind, 'the log')}, event {hit.seq}{more}")
        for line in wrap(hit.snippet, self._facts.room)[:MAX_MESSAGE_ROWS]:
            self._facts.line(self._highlight(line))

    def _draw_files(self, files: Sequence[FileCounts]) -> None:
        if not files:
            return
        self._facts.section("Files")
        widest = max(len(str(count)) for file in files for count in (file.added, file.removed)) + 1
        room = self._facts.width - 2 * widest - 7

        def tail(path: str) -> str:
            path = clean_line(path)
            return path if len(path) <= room else self._symbols.ellipsis + path[-room + 1 :]

        self._facts.line_counts(file._replace(path=tail(file.path)) for file in files[:MAX_FILES])
        if len(files) > MAX_FILES:
            self._facts.text(f"{len(files) - MAX_FILES} more", "t3")

    def _draw_sums(self, session: SessionRow) -> None:
        facts = self._facts
        symbol, role, words = state_of(session, self._symbols)
        facts.line(
            [
                ("State".ljust(12), facts.style("t2")),
                (symbol, facts.style(role)),
                (f" {words}{', open now' if session.open else ''}", facts.style()),
            ]
        )
        facts.fact("Turns", "" if session.turns is None else str(session.turns))
        facts.fact("Cost", format_cost(session.cost_usd, session.cost_precision))
        facts.fact("Log", format_bytes(session.size_bytes))

    def _draw_work(self, preview: Preview) -> None:
        if preview.todo:
            self._facts.fact("Todo", "{done}/{total} done".format_map(preview.todo))
        if preview.context:
            used, window, fraction = (
                preview.context.get(name) or 0 for name in ("used", "window", "fraction")
            )
            share = f" of {format_tokens(round(window))}, {format_percent(fraction)}" if window else ""
            self._facts.fact("Context", format_tokens(round(used)) + share)
        waiting = preview.waiting.describe()
        self._facts.fact("Waiting", waiting or "nothing", "warning" if waiting else "t1")

    def _draw_branches(self, session: SessionRow, preview: Preview) -> None:
        if not preview.branches:
            return
        self._facts.section("Branches")
        shown, mark = preview.branches[:MAX_BRANCHES], branch_mark(self._facts.looks)
        names = [f"{mark if index else ''}{branch.name}" for index, branch in enumerate(shown)]
        widest = max(map(len, names))
        for name, branch in zip(names, shown, strict=True):
            if branch.current:
                result = self._result(preview.tests, session.outcome)
            elif branch.kind == "fork":
                result = self._result(branch.tests, branch.state)
            else:
                result = *state_mark(branch.state, self._symbols), branch.outcome
            self._draw_branch(name.ljust(widest), branch.started, *result)

    def _result(self, tests: Mapping[str, int] | None, outcome: str) -> tuple[str, Role, str]:
        symbols = self._symbols
        if tests is not None and outcome in ("done", "failed"):
            failed, passed = tests.get("failed", 0), tests.get("passed", 0)
            if failed:
                return symbols.failed, "error", f"{format_count(failed, 'test')} fail{'s' * (failed == 1)}"
            return symbols.done, "success", f"{format_count(passed, 'test')} pass{'es' * (passed == 1)}"
        words = {"waiting": "waiting for you", "": "not run yet"}.get(outcome, outcome)
        return *state_mark(outcome, symbols), words

    def _draw_branch(self, name: str, started: float, symbol: str, role: Role, words: str) -> None:
        facts = self._facts
        facts.line(
            [
                (name, facts.style()),
                (f"  {format_time_of_day(started)}  ", facts.style("t2")),
                (f"{symbol} ", facts.style(role)),
                part(words, facts.style("t2")),
            ]
        )
