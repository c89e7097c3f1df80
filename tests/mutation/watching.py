"""What looks on, as plugins of pytest, in the process in which the tests run: which test runs what, and who failed.

Invariant: only tests that are asked for run, each with a limit of its own, in the order in which they are asked for.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import coverage
import pytest

ROOT = Path(__file__).resolve().parents[2]
_TIMED_OUT = "from pytest-timeout"


class Recorder:
    """Which lines of some modules each test runs, and how long it takes."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._modules = modules
        files = [str(ROOT / path) for path in modules]
        self._coverage = coverage.Coverage(data_file=None, config_file=False, include=files)
        self.seconds: dict[str, float] = defaultdict(float)

    def begin(self) -> None:
        """What runs from here on runs while something is imported, until a test begins."""
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """The lines from here on are this test's."""
        self._coverage.switch_context(item.nodeid)
        return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Setting up and tearing down are part of a test."""
        self.seconds[report.nodeid] += report.duration

    def lines(self) -> dict[str, dict[int, list[str]]]:
        """The tests of each line of each module, once all have run."""
        self._coverage.stop()
        found = self._coverage.get_data()
        return {path: found.contexts_by_lineno(str(ROOT / path)) for path in self._modules}


class Chooser:
    """Lets the tests run of which it knows the limits in seconds, in that order, and keeps who failed first."""

    def __init__(self, limits: Mapping[str, float]) -> None:
        self._limits = limits
        self.failed = ""
        self.timed_out = False

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Those alone, in that order."""
        found = {item.nodeid: item for item in items}
        missing = [test for test in self._limits if test not in found]
        if missing:
            raise pytest.UsageError(f"no such test: {missing[0]}")
        items[:] = [found[test] for test in self._limits]
        for item in items:
            item.add_marker(pytest.mark.timeout(self._limits[item.nodeid]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A limit that a test reached is told apart from what it found."""
        if report.failed and not self.failed:
            self.failed = report.nodeid
            self.timed_out = _TIMED_OUT in report.longreprtext
