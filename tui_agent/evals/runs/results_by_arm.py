"""The stored results of a whole run, grouped by arm.

Invariant: a result that cannot be read is never counted, but listed with its file and the reason.
"""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from tui_agent.errors import ConfigError
from tui_agent.evals.runs.run_folder import CellResult, RunFolder, describe_fault
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.trace.metrics import MetricsView
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.unicode_text import escape_unprintable

_METRICS = TypeAdapter(MetricsView)


class DamagedResult(FrozenModel):
    """A `result.json` that cannot be read."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class ArmResults:
    """The results of one arm of a run.

    `label`: the arm's name, which is unique among all runs of a report.
    """

    name: str
    label: str
    results: tuple[CellResult, ...]
    missing: int = 0
    """Number of the arm's cells that have no result."""

    def verdicts(self) -> dict[tuple[str, int], bool]:
        """Map (case, repetition) to True if this run of the case passed. Failures of the provider are left out."""
        return {
            (result.case, result.repetition): result.passed
            for result in self.results
            if not result.instability
        }


@dataclass(frozen=True, slots=True)
class RunResults:
    """The results of a run, and the names of the cells without a readable result (`missing`)."""

    path: Path
    suite: str
    planned: int
    arms: tuple[ArmResults, ...]
    missing: tuple[str, ...] = ()
    damaged: tuple[DamagedResult, ...] = ()


def read_metrics(result: CellResult) -> MetricsView:
    """Return the metrics of a cell's session. Raise `ValidationError` if the metrics are damaged."""
    return _METRICS.validate_python(result.metrics)


def load_run(run: RunFolder) -> RunResults:
    """Return all results of a run. Raise `ConfigError` if the folder has no plan or no readable result."""
    plan = run.load_plan()
    results: dict[str, list[CellResult]] = {arm.name: [] for arm in plan.arms}
    missing: dict[str, list[str]] = {arm.name: [] for arm in plan.arms}
    damaged = []
    cells = list(plan.cells())
    for cell in cells:
        try:
            result = run.read_result(cell)
            if result is not None:
                read_metrics(result)
                results[cell.arm].append(result)
                continue
        except (OSError, ValidationError) as error:
            damaged.append(
                DamagedResult(
                    file=escape_unprintable(str(run.result_file(cell))), reason=describe_fault(error)
                )
            )
        missing[cell.arm].append(cell.name)
    if not any(results.values()):
        detail = f": {damaged[0].file}: {damaged[0].reason}" if damaged else ""
        raise ConfigError(
            f"{run.path} has no results{detail}.",
            hint=f"Run its cells: tui-agent eval run --resume {shlex.quote(str(run.path))}",
        )
    return RunResults(
        path=run.path,
        suite=plan.suite_name,
        planned=len(cells),
        arms=tuple(
            ArmResults(name, name, tuple(arm_results), len(missing[name]))
            for name, arm_results in results.items()
        ),
        missing=tuple(name for names in missing.values() for name in names),
        damaged=tuple(damaged),
    )


def load_runs(folders: Iterable[Path]) -> tuple[RunResults, ...]:
    """Return the results of several runs. Arms of the same name get the run's name as a prefix.

    Raise `ConfigError` if a run has no readable result, or is given twice.
    """
    runs = [load_run(RunFolder(folder)) for folder in folders]
    paths = [run.path for run in runs]
    if len(set(paths)) < len(paths):
        raise ConfigError("The same run is given twice.", hint="Name each run once.")
    return tuple(_label_arms(run, runs) for run in runs)


def _label_arms(run: RunResults, runs: Sequence[RunResults]) -> RunResults:
    names = [arm.name for other in runs for arm in other.arms]
    is_unique = [other.path.name for other in runs].count(run.path.name) == 1
    prefix = run.path.name if is_unique else str(run.path)
    return replace(
        run,
        arms=tuple(
            replace(arm, label=f"{prefix}/{arm.name}") if names.count(arm.name) > 1 else arm
            for arm in run.arms
        ),
    )
