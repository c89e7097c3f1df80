"""The pane `tests`: the last test runs, and the failures of the newest one."""

from collections.abc import Iterator

from tui_agent.plugin_api import DisplayBlock, Envelope, TableBlock, TestFinished, pane

MAX_SHOWN_RUNS = 20
"""Number of test runs that are shown."""
RARE_RESULTS = ("errors", "skipped", "xfailed", "xpassed")
"""Fields of `TestFinished` with rare results. They get a column only if they occur."""


class TestRuns:
    """Collects the last test runs from the session's events, the newest first."""

    __test__ = False  # the name looks like a test class to pytest

    def __init__(self) -> None:
        self.runs: tuple[TestFinished, ...] = ()

    def apply(self, event: Envelope) -> None:
        """Add the test run that a `test.finished` event records."""
        if isinstance(event.payload, TestFinished):
            self.runs = (event.payload, *self.runs)[:MAX_SHOWN_RUNS]

    def view(self) -> tuple[TestFinished, ...]:
        """Return the last test runs, newest first."""
        return self.runs


def _count(number: int) -> str:
    return str(number) if number >= 0 else "?"


@pane(TestRuns)
def tests(runs: tuple[TestFinished, ...]) -> Iterator[str | DisplayBlock]:
    """Draw a table of the test runs. Below the table, draw the newest run's failed tests, or the reason why it failed."""
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
    newest = runs[0]
    if newest.failures:
        counts = (newest.failed - newest.errors, "Failed"), (newest.errors, "Errors")
        title = " and ".join(word for count, word in counts if count > 0) or "Failed"
        yield "\n".join((f"{title.capitalize()} in the last run:", *newest.failures))
    elif newest.fault:
        yield f"The last run failed: {newest.fault}"
