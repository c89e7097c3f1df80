"""Builds the sections of a report. The terminal, Markdown and HTML show the same sections.

Invariant: this module does no I/O.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from tui_agent.evals.report.arm_comparison import Comparison
from tui_agent.evals.report.report import CellSummary, FigureValue, Group, Rate, Report
from tui_agent.evals.report.significance import format_p
from tui_agent.fast_dataclass import dataclass
from tui_agent.protocol.unicode_text import clip_line, format_count, list_first
from tui_agent.units import format_average, format_cost, format_percent, format_tokens

DETAIL_CHARS: Final = 160
MAX_NAMES: Final = 10


class Code(str):
    """A table cell with a command or an id."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a report, with sentences, a table, or both."""

    title: str
    sentences: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def report_sections(report: Report) -> list[Section]:
    """Return all non-empty sections of a report."""
    sections = [
        *summary_sections(report),
        _verdicts(report),
        _figures(report),
        _static_checks(report),
        _causes(report),
        _failed_cells(report),
    ]
    return [section for section in sections if section.sentences or section.rows]


def summary_sections(report: Report) -> list[Section]:
    """Return the sections that a run prints when it ends: pass rates and comparisons."""
    sections = [*_baseline(report), _pass_rates(report), _differences(report.comparisons), _problems(report)]
    return [section for section in sections if section.sentences or section.rows]


def _pass_rates(report: Report) -> Section:
    sentences = []
    spoiled = sum(group.provider_failures for group in report.groups if not group.category)
    if spoiled:
        sentences.append(
            f"Not counted: {format_count(spoiled, 'cell')} in which the model's provider failed."
        )
    if report.has_repetitions:
        sentences.append(
            "Repetitions of a case count as independent cells, so the intervals are too narrow and the p-values too low."
        )
    rows = [
        (
            group.category or "all",
            group.arm,
            f"{group.passed.successes}/{group.passed.total}",
            format_percent(group.passed.successes / group.passed.total) if group.passed.total else "-",
            format_interval(group.passed),
            str(group.provider_failures or "-"),
            str(group.missing or "-"),
        )
        for group in report.groups
    ]
    head = ("category", "arm", "passed", "rate", "95 % interval", "provider failed", "no result")
    return Section("Pass rates", tuple(sentences), head, tuple(rows))


def format_interval(rate: Rate) -> str:
    """Format the confidence interval of a rate: `53–89 %`."""
    if rate.low is None or rate.high is None:
        return "-"
    return f"{round(rate.low * 100)}–{format_percent(rate.high)}"


def _verdicts(report: Report) -> Section:
    rows = [
        (
            group.category or "all",
            group.arm,
            *(_rate(rate) for rate in (group.agent, group.patch, group.tests, group.verifier)),
        )
        for group in report.groups
    ]
    sentence = "agent: the agent ended its turn itself; patch: it changed a file. In parentheses: the 95 % confidence interval."
    head = ("category", "arm", "agent", "patch", "tests", "verifier")
    return Section("Agent, patch, tests and verifier", (sentence,), head, tuple(rows))


def _rate(rate: Rate) -> str:
    return f"{rate.successes}/{rate.total} ({format_interval(rate)})" if rate.total else "-"


def _differences(comparisons: Sequence[Comparison], title: str = "Differences") -> Section:
    rows = [
        (
            comparison.first,
            comparison.second,
            str(comparison.pairs),
            str(comparison.only_first),
            str(comparison.only_second),
            format_p(comparison.p_value).removeprefix("= "),
            format_p(comparison.p_adjusted).removeprefix("= "),
        )
        for comparison in comparisons
    ]
    head = ("A", "B", "pairs", "only A passed", "only B passed", "p", "p adjusted")
    return Section(title, tuple(comparison.sentence for comparison in comparisons), head, tuple(rows))


def _baseline(report: Report) -> Iterator[Section]:
    result = report.baseline
    if result is None:
        return
    changes = [("regression", change) for change in result.regressions]
    changes += [("fixed", change) for change in result.fixed]
    sentences = [
        f"Passed in the baseline, but not in this run: {format_count(len(result.regressions), 'case')}. "
        f"Failed in the baseline, but passed in this run: {format_count(len(result.fixed), 'case')}."
    ]
    if result.not_compared:
        names = list_first(result.not_compared, MAX_NAMES)
        sentences.append(f"Not compared, because this run has no usable result for these cases: {names}.")
    rows = [(change.case, change.arm, change.before, change.now, kind) for kind, change in changes]
    yield Section("Baseline", tuple(sentences), ("case", "arm", "baseline", "now", ""), tuple(rows))
    yield _differences(result.comparisons, "Difference from the baseline")


def _figures(report: Report) -> Section:
    rows = [
        (figure.label, *(_figure(figure.name, figure.arms[arm]) for arm in report.arms))
        for figure in report.figures
        if any(value.cells for value in figure.arms.values())
    ]
    sentence = "Before the slash: the median of the cells. After the slash: their sum."
    return Section("Figures", (sentence,), ("", *report.arms), tuple(rows))


def _figure(name: str, value: FigureValue) -> str:
    if value.median is None:
        return "-"
    middle = _number(name, value.median)
    return middle if value.total is None else f"{middle} / {_number(name, value.total)}"


def _number(name: str, value: float) -> str:
    if name == "cost_usd":
        return format_cost(value)
    if name == "compression_ratio":
        return format_percent(value)
    if name.endswith("_tokens"):
        return format_tokens(value)
    return format_average(value)


def _static_checks(report: Report) -> Section:
    rows = [
        (
            check.program,
            check.arm,
            str(check.cells),
            str(check.before),
            str(check.after),
            f"{check.after - check.before:+}",
        )
        for check in report.static_checks
    ]
    head = ("program", "arm", "cells", "before", "after", "difference")
    return Section("Findings of static checks", (), head if rows else (), tuple(rows))


def _causes(report: Report) -> Section:
    counts = Counter((failure.cause, failure.end, failure.arm) for failure in report.failures)
    rows = [
        (cause, end, *(str(counts[cause, end, arm] or "-") for arm in report.arms))
        for cause, end in sorted({(failure.cause, failure.end) for failure in report.failures})
    ]
    return Section("Causes of failure", (), ("cause", "session ended as", *report.arms), tuple(rows))


def _failed_cells(report: Report) -> Section:
    head = ("case", "arm", "repetition", "cause", "detail", "session", "open it with")
    return Section("Failed cells", (), head, tuple(_failed_cell(failure) for failure in report.failures))


def _failed_cell(failure: CellSummary) -> tuple[str, ...]:
    return (
        failure.case,
        failure.arm,
        str(failure.repetition),
        failure.cause,
        clip_line(failure.detail, DETAIL_CHARS),
        Code(failure.session or "-"),
        Code(failure.open_with[0] if failure.open_with else "-"),
    )


def _problems(report: Report) -> Section:
    sentences = []
    for run in report.runs:
        if run.missing:
            names = list_first(run.missing, MAX_NAMES)
            sentences.append(
                f"{run.path}: no result for {len(run.missing)} of {format_count(run.cells, 'cell')}: {names}."
            )
    rows = [(Code(result.file), result.reason) for run in report.runs for result in run.damaged]
    return Section(
        "Missing results", tuple(sentences), ("cannot be read", "reason") if rows else (), tuple(rows)
    )


def describe_group(group: Group) -> str:
    """Return the label of a group in a plot: `ARM`, or `CATEGORY: ARM`."""
    return f"{group.category}: {group.arm}" if group.category else group.arm
