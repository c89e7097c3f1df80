"""The pane `tests`: the last test runs, and the failures of the newest one."""

from collections.abc import Iterator

from tui_agent.plugin_api import DisplayBlock, Envelope, LaterChanges, TableBlock, TestFinished, pane

MAX_SHOWN_RUNS = 20
"""Number of test runs that are shown."""
RARE_RESULTS = ("errors", "skipped", "xfailed", "xpassed")
"""Fields of `TestFinished` with rare results. They get a column only if they occur."""


class TestRuns:
    """Collects the last test runs from the session's events, the newest first, and the later changes."""

    __test__ = False  # the name looks like a test class to pytest

    def __init__(self) -> None:
        self.runs: tuple[TestFinished, ...] = ()
        self.later_changes = LaterChanges()

    def apply(self, event: Envelope) -> None:
        """Add the test run that a `test.finished` event records, or a later change."""
        self.later_changes = self.later_changes.add_event(event.payload)
        if isinstance(event.payload, TestFinished):
            self.runs = (event.payload, *self.runs)[:MAX_SHOWN_RUNS]

    def view(self) -> tuple[tuple[TestFinished, ...], LaterChanges]:
        """Return the last test runs, newest first, and the changes since the newest one."""
        return self.runs, self.later_changes


def _count(number: int) -> str:
    return str(number) if number >= 0 else "?"


@pane(TestRuns)
def tests(view: tuple[tuple[TestFinished, ...], LaterChanges]) -> Iterator[str | DisplayBlock]:
    """Draw a table of the test runs. Below the table, draw the newest run's failed tests, or the reason why it failed."""
    runs, later_changes = view
    if not runs:
        yield "No tests have run yet."
        return
    shown = [kind for kind in RARE_RESULTS if any(getattr(run, kind) > 0 for run in runs)]
    rows = tuple(
        (
            _count(run.passed),
            _count(run.failed - run.errors),
            *(_count(getattr(run, kind)) for kind in shown),
            run.command,
        )
        for run in runs
    )
    align = "r" * (2 + len(shown)) + "l"
    yield TableBlock(columns=("passed", "failed", *shown, "command"), rows=rows, align=align)
    newest, staleness = runs[0], later_changes.description
    last_run = f"the last finished run ({staleness})" if staleness else "the last run"
    if newest.failures:
        counts = (newest.failed - newest.errors, "Failed"), (newest.errors, "Errors")
        title = " and ".join(word for count, word in counts if count > 0) or "Failed"
        yield "\n".join((f"{title.capitalize()} in {last_run}:", *newest.failures))
    elif newest.fault:
        yield f"{last_run.capitalize()} failed: {newest.fault}"
