"""What is known of one session, at the right of the list. Invariant: drawn from the list's row at once, filled in
from `sessions preview` where it came; what is not known is not shown."""

import time
from collections.abc import Sequence
from pathlib import Path

from textual.strip import Strip

from tui_agent.protocol.unicode_text import format_count
from tui_agent.tui.cli_client import JsonRow, number_of, text_of
from tui_agent.tui.screens.page import Facts
from tui_agent.tui.screens.sessions.rows import Hit, Row, state_of
from tui_agent.tui.screens.sessions.table import marked
from tui_agent.tui.text import clean, clean_line, fit, named
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import Part, cells, part, row, wrap
from tui_agent.units import format_bytes, format_cost, format_percent, format_rough_duration, format_tokens

SAID_ROWS, ANSWER_ROWS, MOST_FILES, MOST_BRANCHES = 4, 6, 8, 6
KINDS = {
    "user.message": "your message",
    "model.responded": "an answer",
    "tool.called": "a call",
    "tool.finished": "a result",
    "session.titled": "the name",
}


class Detail(Facts):
    """The rows of one session's detail. `shown` is what `sessions preview` said, None until it came."""

    def __init__(self, looks: Looks, width: int, words: Sequence[str], now: float) -> None:
        super().__init__(looks, width)
        self._symbols = looks.symbols
        self._found = looks.palette.rich("accent", "s1", bold=True, underline=True)
        self._words = words
        self._now = now

    def draw(self, one: Row, hit: Hit | None, shown: JsonRow | None) -> list[Strip]:
        """All rows."""
        self.gap()
        for piece in wrap(one.name, self.width - 4):
            self.line(self._marked(piece, bold=True))
        self.text(", ".join(word for word in (self._place(one), one.model) if word), "t2")
        self._when(one, shown)
        if shown is None:
            self.gap()
            self._sums(one)
            return self.rows
        self._said(shown)
        if hit is not None and not self._in_sight(hit):
            self._hit(hit)
        self._files(shown)
        self.gap()
        self._sums(one)
        self._work(shown)
        self._branches(one, shown)
        if shown.get("whole") is False:
            self.gap()
            self.text("The log is long: this is from its end.", "t3")
        return self.rows

    # -- the parts -------------------------------------------------------------------------------------------------

    def _place(self, one: Row) -> str:
        home = str(Path.home())
        folder = clean_line(one.workspace)
        return "~" + folder[len(home) :] if folder == home or folder.startswith(home + "/") else folder

    def _when(self, one: Row, shown: JsonRow | None) -> None:
        lasted = format_rough_duration(max(0.0, one.updated - one.started))
        parts = [
            (f"{self._clock(one.started)}, {lasted}, {format_count(one.events, 'event')}", self.style("t2"))
        ]
        flaws = None if shown is None else shown.get("flaws")
        verified = [(f"{self._symbols.done} verified", self.style("success"))] if flaws == [] else []
        if cells(parts) + cells(verified) + 4 > self.width:
            self.line(parts)
            parts = []
        if parts or verified:
            self.line([*parts, (" " if parts and verified else "", self.style()), *verified])
        for flaw in flaws[:2] if isinstance(flaws, list) else ():
            self.text(f"{self._symbols.warning} {flaw}", "warning")

    def _clock(self, at: float) -> str:
        then, today = time.localtime(at), time.localtime(self._now)
        clock = time.strftime("%H:%M", then)
        days = (today.tm_year, today.tm_yday)
        if days == (then.tm_year, then.tm_yday):
            return f"today {clock}"
        return time.strftime("%Y-%m-%d ", then) + clock

    def _said(self, shown: JsonRow) -> None:
        first, last, answer = shown.get("first"), shown.get("last"), shown.get("answer")
        for name, one in (("You", first), ("You, last", last)):
            if isinstance(one, dict):
                self._paragraph(name if first or name == "You" else "You", text_of(one, "text"), SAID_ROWS)
        if isinstance(answer, str):
            self._paragraph("Last answer", answer, ANSWER_ROWS)

    def _paragraph(self, name: str, text: str, most: int) -> None:
        self.heading(name)
        words = clean(text).strip("\n")
        pieces = [
            piece for one in words.split("\n") if one.strip() for piece in wrap(one.rstrip(), self.width - 4)
        ]
        self._seen = getattr(self, "_seen", "") + words
        for at, piece in enumerate(pieces[:most]):
            end = self._symbols.ellipsis if at == most - 1 and len(pieces) > most else ""
            self.line([*self._marked(fit(piece, self.width - 4 - len(end), "")), (end, self.style("t3"))])

    def _marked(self, text: str, *, bold: bool = False) -> list[Part]:
        return marked(text, self._words, self.style("t1", bold=bold), self._found)

    def _in_sight(self, hit: Hit) -> bool:
        shown = getattr(self, "_seen", "").casefold()
        return all(word.casefold() in shown for word in self._words)

    def _hit(self, hit: Hit) -> None:
        more = f", {hit.places - 1} more" if hit.places > 1 else ""
        self.heading(f"Found in {KINDS.get(hit.kind, 'the log')}, event {hit.seq}{more}")
        for piece in wrap(hit.snippet, self.width - 4)[:SAID_ROWS]:
            self.line(self._marked(piece))

    def _files(self, shown: JsonRow) -> None:
        files = [one for one in _list(shown, "files") if isinstance(one, dict)]
        if not files:
            return
        self.heading("Files")
        counts = [(round(number_of(one, "added")), round(number_of(one, "removed"))) for one in files]
        widest = max(len(str(count)) for pair in counts for count in pair) + 1
        for one, (added, removed) in list(zip(files, counts, strict=True))[:MOST_FILES]:
            path = clean_line(text_of(one, "path"))
            room = self.width - 2 * widest - 7
            tail = path if len(path) <= room else self._symbols.ellipsis + path[-room + 1 :]
            self.counted(added, removed, tail, widest)
        if len(files) > MOST_FILES:
            self.text(f"{len(files) - MOST_FILES} more", "t3")

    def _sums(self, one: Row) -> None:
        symbol, role, word = state_of(one, self._symbols)
        parts: list[Part] = [
            ("State".ljust(12), self.style("t2")),
            (symbol, self.style(role)),
            (f" {word}", self.style()),
        ]
        if one.open:
            parts.append((", open now", self.style()))
        self.line(parts)
        turns = "" if one.turns is None else format_count(one.turns, "turn")
        self.fact(
            "Spent",
            ", ".join(word for word in (turns, format_cost(one.cost), format_bytes(one.size)) if word),
        )

    def _work(self, shown: JsonRow) -> None:
        todo, context = shown.get("todo"), shown.get("context")
        if isinstance(todo, dict):
            self.fact("Todo", f"{number_of(todo, 'done'):.0f}/{number_of(todo, 'total'):.0f} done")
        if isinstance(context, dict):
            used, window = round(number_of(context, "used")), round(number_of(context, "window"))
            share = (
                f" of {format_tokens(window)}, {format_percent(number_of(context, 'fraction'))}"
                if window
                else ""
            )
            self.fact("Context", format_tokens(used) + share)
        waiting = shown.get("waiting")
        said = _waits(waiting) if isinstance(waiting, dict) else []
        self.fact("Waiting", "; ".join(said) or "nothing", "warning" if said else "t1")

    def _branches(self, one: Row, shown: JsonRow) -> None:
        found = [each for each in _list(shown, "branches") if isinstance(each, dict)]
        if not found:
            return
        self.heading("Branches")
        self._branch("main", one.started, *self._came_to(shown, one.outcome))
        for each in found[:MOST_BRANCHES]:
            fork = text_of(each, "kind") == "fork"
            at = f"{'fork' if fork else 'left'} at event {number_of(each, 'at_seq'):.0f}"
            came = self._came_to(each, text_of(each, "outcome")) if fork else ("", "t2", "")
            branch = "└ " if self._symbols.name == "unicode" else "` "
            self._branch(branch + at, number_of(each, "started"), *came)

    def _came_to(self, one: JsonRow, outcome: str) -> tuple[str, Role, str]:
        tests = one.get("tests")
        if isinstance(tests, dict) and outcome in ("done", "failed"):
            failed, passed = round(number_of(tests, "failed")), round(number_of(tests, "passed"))
            if failed:
                return (
                    self._symbols.failed,
                    "error",
                    f"{format_count(failed, 'test')} fail{'s' * (failed == 1)}",
                )
            return self._symbols.done, "success", f"{format_count(passed, 'test')} pass{'es' * (passed == 1)}"
        return {
            "done": (self._symbols.done, "success", "done"),
            "failed": (self._symbols.failed, "error", "failed"),
            "waiting": (self._symbols.waiting, "warning", "waiting for you"),
            "running": (self._symbols.running, "accent", "running"),
            "stopped": (self._symbols.stopped, "warning", "stopped"),
        }.get(outcome, (self._symbols.queued, "t3", "not run yet"))  # type: ignore[return-value]

    def _branch(self, name: str, at: float, symbol: str, role: Role, said: str) -> None:
        clock = time.strftime("%H:%M", time.localtime(at))
        parts: list[Part] = [
            (fit(name, 19, self._symbols.ellipsis).ljust(19), self.style()),
            (f"{clock}  ", self.style("t2")),
            (f"{symbol} ", self.style(role)),
            part(said, self.style("t2")),
        ]
        self.rows.append(row(self.width, [("  ", self.style()), *parts], fill=self.style(), margin=1))


def _list(shown: JsonRow, name: str) -> list[object]:
    value = shown.get(name)
    return list(value) if isinstance(value, list) else []


def _waits(waiting: JsonRow) -> list[str]:
    """What waits for the user, in words."""
    said = [f"to be allowed: {named(str(one))}" for one in _list(waiting, "approval")]
    said += [f"asks: {clean_line(str(one))}" for one in _list(waiting, "question")]
    queued = len(_list(waiting, "queued"))
    said += [f"{format_count(queued, 'message')} queued"] if queued else []
    return said + (["a draft"] if waiting.get("draft") else [])
