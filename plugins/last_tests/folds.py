"""The pane `tests`: the last test runs, and the failures of the newest one."""

from collections.abc import Iterator

from tui_agent.plugin_api import DisplayBlock, Envelope, TableBlock, TestFinished, pane

MOST = 20
"""Number of test runs that are shown."""


class TestRuns:
    """Fold of the last test runs, the newest first."""

    __test__ = False  # the name looks like a test class to pytest

    def __init__(self) -> None:
        self.runs: tuple[TestFinished, ...] = ()

    def apply(self, event: Envelope) -> None:
        """Add the test run that a `test.finished` event records."""
        if isinstance(event.payload, TestFinished):
            self.runs = (event.payload, *self.runs)[:MOST]

    def view(self) -> tuple[TestFinished, ...]:
        """Return the last test runs, newest first."""
        return self.runs


def _count(number: int) -> str:
    return str(number) if number >= 0 else "?"


@pane(TestRuns)
def tests(runs: tuple[TestFinished, ...]) -> Iterator[str | DisplayBlock]:
    """Draw a table of the runs, and below it the names of the tests that failed in the newest run."""
    if not runs:
        yield "No tests have run yet."
        return
    rows = tuple((_count(run.passed), _count(run.failed), run.command) for run in runs)
    yield TableBlock(columns=("passed", "failed", "command"), rows=rows, align="rrl")
    if runs[0].failures:
        yield "\n".join(("Failed in the newest run:", *runs[0].failures))
