"""The long runs end with their figures."""

from collections.abc import Callable

import pytest

from tests.e2e.conftest import program as program  # the same program of its own for each test

FIGURES: pytest.StashKey[list[str]] = pytest.StashKey()
Report = Callable[[str], None]


@pytest.fixture
def report(request: pytest.FixtureRequest) -> Report:
    """Keeps lines for the end of the run."""
    lines = request.config.stash.setdefault(FIGURES, [])
    return lines.append


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what the long runs measured."""
    lines = config.stash.get(FIGURES, [])
    if lines:
        terminalreporter.section("soak")
        for line in lines:
            terminalreporter.write_line(line)
