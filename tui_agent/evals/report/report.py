"""The report of one or more evaluation runs: pass rates, measured values, failures and comparisons.

The JSON output has the fields of `Report`.

Invariant: no rate, value or comparison includes a case whose model provider failed.
"""

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from tui_agent.evals.report.arm_comparison import Comparison, compare_arms
from tui_agent.evals.report.run_baseline import Baseline, BaselineResult, compare_with_baseline
from tui_agent.evals.report.significance import wilson_interval
from tui_agent.evals.runs.results_by_arm import ArmResults, DamagedResult, RunResults, read_metrics
from tui_agent.evals.runs.run_folder import CellResult
from tui_agent.folds.trace.metrics import MetricsView
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.unicode_text import escape_unprintable

FIGURES: Final = {
    "tool_calls": "tool calls",
    "repeated_reads": "repeated reads",
    "invalid_calls": "invalid calls",
    "denials": "denials",
    "failed_tools": "failed or invalid calls",
    "model_retry_count": "retries",
    "iterations": "iterations",
    "input_tokens": "input tokens",
    "cached_tokens": "input tokens from the cache",
    "output_tokens": "output tokens",
    "cost_usd": "cost in USD",
    "context_peak_tokens": "tokens in the largest request",
    "context_reduction_count": "outputs shortened in the context",
    "context_compression_count": "summaries of the context",
    "context_budget_reduced_count": "context sections cut to their budget",
    "context_budget_dropped_blocks": "blocks cut from context sections",
    "compression_ratio": "share of tool output sent to models",
    "repomap_uses": "uses of the repository map",
    "repomap_injections": "requests with the repository map",
    "memory_updates": "memory updates",
    "first_target_read_part": "first part that reads an edited file",
}
"""Maps a figure of a report, named as in `MetricsView`, to its label."""
_WITHOUT_SUM: Final = ("context_peak_tokens", "compression_ratio", "first_target_read_part")


class Rate(FrozenModel):
    """A share of cells (runs of a case), e.g. of the cells that passed: `successes` of `total`.

    `low`, `high`: limits of the share's 95 % confidence interval, from 0 to 1; None if `total` is 0.
    """

    successes: int
    total: int
    low: float | None = None
    high: float | None = None


class Group(FrozenModel):
    """The pass rates of one arm in one category, or in all categories if `category` is empty.

    - `provider_failures`: failures because of the model's provider. No rate includes them.
    - `missing`: cases without a result.
    - `tests`, `verifier`: rates at which the tests and the verifier passed, among the cases that ran them.
    """

    arm: str
    category: str = ""
    provider_failures: int
    missing: int = 0
    passed: Rate
    agent: Rate
    patch: Rate
    tests: Rate
    verifier: Rate


class FigureValue(FrozenModel):
    """One kind of value, measured in all sessions of one arm.

    - `cells`: number of sessions with this value.
    - `total`: sum over the sessions; None if a sum has no meaning, as for the largest request.
    """

    cells: int
    median: float | None = None
    total: float | None = None


class Figure(FrozenModel):
    """One kind of measured value, such as `input_tokens`; `arms` maps the name of each arm to its value."""

    name: str
    label: str
    arms: dict[str, FigureValue]


class StaticCheck(FrozenModel):
    """The number of problems that a checker such as `ruff` found, summed over all results of one arm.

    A result counts only if the checker ran before and after the agent's work.
    """

    program: str
    arm: str
    cells: int
    before: int
    after: int


class CellSummary(FrozenModel):
    """The verdict of a cell (one run of a case), and the cell's session.

    `cause`: kind of failure, such as `provider` for the model's provider (empty: the cell passed).
    """

    case: str
    arm: str
    repetition: int
    category: str
    passed: bool
    cause: str
    end: str
    detail: str
    session: str
    open_with: tuple[str, ...]


class RunSource(FrozenModel):
    """A run in the report; `missing` has the names of its cells without a result."""

    path: str
    suite: str
    cells: int
    missing: tuple[str, ...]
    damaged: tuple[DamagedResult, ...]


class Report(FrozenModel):
    """Everything that a report shows."""

    runs: tuple[RunSource, ...]
    arms: tuple[str, ...]
    groups: tuple[Group, ...]
    figures: tuple[Figure, ...]
    static_checks: tuple[StaticCheck, ...] = ()
    cells: tuple[CellSummary, ...]
    comparisons: tuple[Comparison, ...]
    baseline: BaselineResult | None = None
    has_repetitions: bool = False

    @property
    def failures(self) -> tuple[CellSummary, ...]:
        """The cells that did not pass."""
        return tuple(cell for cell in self.cells if not cell.passed)


def build_report(runs: Sequence[RunResults], baseline: Baseline | None = None) -> Report:
    """Return the report of runs. The first run is compared with the baseline.

    Raise `ConfigError` if the baseline and the run have no case in common.
    """
    arms = [arm for run in runs for arm in run.arms]
    return Report(
        runs=tuple(
            RunSource(
                path=escape_unprintable(str(run.path)),
                suite=run.suite,
                cells=run.planned,
                missing=run.missing,
                damaged=run.damaged,
            )
            for run in runs
        ),
        arms=tuple(arm.label for arm in arms),
        groups=tuple(_groups(arms)),
        figures=_figures(arms),
        static_checks=tuple(_static_checks(arms)),
        cells=tuple(_cell_summary(arm.label, result) for arm in arms for result in arm.results),
        comparisons=compare_arms(runs),
        baseline=None if baseline is None else compare_with_baseline(baseline, runs[0]),
        has_repetitions=any(result.repetition > 1 for arm in arms for result in arm.results),
    )


def _groups(arms: Sequence[ArmResults]) -> Iterable[Group]:
    for arm in arms:
        yield _group(arm.label, "", arm.results, arm.missing)
    for category in sorted({result.category for arm in arms for result in arm.results}):
        for arm in arms:
            chosen = [result for result in arm.results if result.category == category]
            if chosen:
                yield _group(arm.label, category, chosen, 0)


def _group(arm: str, category: str, cells: Sequence[CellResult], missing: int) -> Group:
    counted = [result for result in cells if not result.instability]
    return Group(
        arm=arm,
        category=category,
        provider_failures=len(cells) - len(counted),
        missing=missing,
        passed=_rate(result.passed for result in counted),
        agent=_rate(result.agent for result in counted),
        patch=_rate(result.patch for result in counted),
        tests=_rate(result.tests for result in counted),
        verifier=_rate(result.verifier for result in counted),
    )


def _rate(verdicts: Iterable[bool | None]) -> Rate:
    known = [verdict for verdict in verdicts if verdict is not None]
    if not known:
        return Rate(successes=0, total=0)
    low, high = wilson_interval(sum(known), len(known))
    return Rate(successes=sum(known), total=len(known), low=low, high=high)


def _figures(arms: Sequence[ArmResults]) -> tuple[Figure, ...]:
    metrics = {
        arm.label: [read_metrics(result) for result in arm.results if not result.instability] for arm in arms
    }
    return tuple(
        Figure(
            name=name,
            label=label,
            arms={arm: _figure_value(name, measured) for arm, measured in metrics.items()},
        )
        for name, label in FIGURES.items()
    )


def _figure_value(name: str, metrics: Sequence[MetricsView]) -> FigureValue:
    values = [value for view in metrics if (value := getattr(view, name)) is not None]
    if not values:
        return FigureValue(cells=0)
    total = None if name in _WITHOUT_SUM else sum(values)
    return FigureValue(cells=len(values), median=median(values), total=total)


def _static_checks(arms: Sequence[ArmResults]) -> Iterable[StaticCheck]:
    programs = {program for arm in arms for result in arm.results for program in result.static_checks}
    for program in sorted(programs):
        for arm in arms:
            pairs = [
                (findings.before, findings.after)
                for result in arm.results
                if not result.instability
                and (findings := result.static_checks.get(program)) is not None
                and findings.before is not None
            ]
            yield StaticCheck(
                program=program,
                arm=arm.label,
                cells=len(pairs),
                before=sum(before for before, _ in pairs),
                after=sum(after for _, after in pairs),
            )


def _cell_summary(arm: str, result: CellResult) -> CellSummary:
    cause = "" if result.passed else result.failure or "unknown"
    return CellSummary(
        case=result.case,
        arm=arm,
        repetition=result.repetition,
        category=result.category,
        passed=result.passed,
        cause="provider" if result.instability else cause,
        end=result.end,
        detail=result.detail,
        session=result.session,
        open_with=result.open_with,
    )
