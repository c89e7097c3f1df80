"""Counts of a run's results by arm and category, for the terminal. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tui_agent.evals.plan import CellResult


@dataclass(frozen=True, slots=True)
class Tally:
    """The results of one group of cells. Cells that the provider spoiled are only in `unstable`."""

    passed: int
    counted: int
    unstable: int
    failures: Counter[str]
    tool_calls: int
    cost_usd: float

    @property
    def rate(self) -> str:
        """The passed share, such as `3/4`."""
        return f"{self.passed}/{self.counted}"


def tally(results: Sequence[CellResult]) -> Tally:
    """Count results."""
    counted = [result for result in results if not result.instability]
    return Tally(
        passed=sum(result.passed for result in counted),
        counted=len(counted),
        unstable=len(results) - len(counted),
        failures=Counter(result.failure for result in counted if not result.passed),
        tool_calls=sum(sum(result.metrics.get("tools", {}).values()) for result in counted),
        cost_usd=sum(result.metrics.get("cost_usd") or 0.0 for result in results),
    )


def describe_failures(counted: Tally) -> str:
    """Return the failures by category, such as `model 2, policy 1`; a dash if there are none."""
    named = [f"{category} {number}" for category, number in sorted(counted.failures.items())]
    return ", ".join(named + ([f"provider {counted.unstable}"] if counted.unstable else [])) or "-"


def summary_rows(results: Sequence[CellResult]) -> Sequence[tuple[str, ...]]:
    """Return a row for each arm: name, passed, failures, tool calls."""
    rows = []
    for arm in dict.fromkeys(result.arm for result in results):
        counted = tally([result for result in results if result.arm == arm])
        rows.append((arm, counted.rate, describe_failures(counted), str(counted.tool_calls)))
    return rows


def category_rows(results: Sequence[CellResult]) -> Sequence[tuple[str, ...]]:
    """Return a row for each category and arm: category, arm, passed, failures."""
    keys = sorted({(result.category, result.arm) for result in results})
    rows = []
    for category, arm in keys:
        counted = tally([result for result in results if (result.category, result.arm) == (category, arm)])
        rows.append((category, arm, counted.rate, describe_failures(counted)))
    return rows
