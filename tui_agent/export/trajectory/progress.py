"""The progress of a trajectory: tests passed after each part, as text, SVG and HTML.

Invariant: a page needs no network and runs no script, and texts are redacted.
"""

from collections.abc import Sequence
from typing import Final

from tui_agent.errors import UsageError
from tui_agent.export.html.markup import COLOURS, SafeHtml, element, html_table, join, plain_page
from tui_agent.export.trajectory.records import AgentTrace, EnvoiCall
from tui_agent.fast_dataclass import dataclass

WIDTH: Final = 880
HEIGHT: Final = 320
MARGIN: Final = 56
TEXT_ROWS: Final = 8
_EIGHTHS: Final = " ▁▂▃▄▅▆▇█"
_STYLE: Final = """\
.passed { fill: none; stroke: var(--line); stroke-width: 2; }
.total { fill: var(--area); stroke: none; }
.axis { stroke: var(--rule); }
circle { fill: var(--line); }
"""


@dataclass(frozen=True, slots=True)
class ProgressPoint:
    """Test counts after a part that ran tests. Only the newest run of each test command counts.

    - `command`: newest test command.
    - `commands`: number of test commands so far.
    - `solved`: number of test commands that passed in their newest run.
    """

    part: int
    turn: int | None
    passed: int
    total: int
    solved: int
    commands: int
    command: str
    commit: str | None


def find_progress(trace: AgentTrace) -> tuple[ProgressPoint, ...]:
    """Return a point of the graph for each part of the current branch that ran tests."""
    newest: dict[str, tuple[int, int, bool]] = {}
    points = []
    for part in trace.parts:
        if part.abandoned or not part.envoi_calls:
            continue
        newest |= {call.path: _count_tests(call) for call in part.envoi_calls}
        points.append(
            ProgressPoint(
                part=part.part,
                turn=part.turn,
                passed=sum(passed for passed, _, _ in newest.values()),
                total=sum(total for _, total, _ in newest.values()),
                solved=sum(is_solved for _, _, is_solved in newest.values()),
                commands=len(newest),
                command=part.envoi_calls[-1].path,
                commit=part.git_commit,
            )
        )
    return tuple(points)


def _count_tests(call: EnvoiCall) -> tuple[int, int, bool]:
    """Return (passed tests, all tests, True if all passed). If the call's result has no counts, the call counts as one
    test."""
    is_solved = call.status_code == 0 and call.error is None
    result = call.result
    if result is None or result.total < 0:
        return int(is_solved), 1, is_solved
    return max(result.passed, 0), result.total, is_solved and result.failed <= 0


def commit_of_part(trace: AgentTrace, part: int) -> str:
    """Return the commit with the files after a part. Part -1 is the state before the first part.

    Raise `UsageError` if the part does not exist, or if there is no checkpoint.
    """
    matching_parts = [record for record in trace.parts if part in (record.part, -1)][:1]
    if not matching_parts:
        raise UsageError(f"The trajectory has no part {part}.", hint=f"It has {len(trace.parts)} parts.")
    commits = [matching_parts[0].git_commit]
    if part < 0:
        commits = [record.repo_checkpoint.commit_before for record in trace.parts if record.repo_checkpoint]
    commit = next(filter(None, commits), None) or trace.parts[0].git_commit
    if commit is None:
        raise UsageError(
            f"No checkpoint was taken before the end of part {part}.",
            hint="Files are available only from the first checkpoint on.",
        )
    return commit


def format_graph(points: Sequence[ProgressPoint], last_part: int, width: int) -> list[str]:
    """Return lines of text with a bar chart of the tests passed, and a line for each point."""
    highest = max(1, *(point.total for point in points))
    label_width = len(str(highest))
    columns = max(10, min(last_part + 1, width - label_width - 2))
    heights = [0] * columns
    for column in range(columns):
        part = (column + 1) * (last_part + 1) / columns - 1
        value = max(
            (point for point in points if point.part <= part), key=lambda point: point.part, default=None
        )
        heights[column] = round((value.passed if value else 0) / highest * TEXT_ROWS * 8)
    lines = []
    for row in range(TEXT_ROWS - 1, -1, -1):
        label = str(highest) if row == TEXT_ROWS - 1 else ""
        bar = "".join(_EIGHTHS[min(8, max(0, height - row * 8))] for height in heights)
        lines.append(f"{label:>{label_width}} │{bar}".rstrip())
    lines.append(f"{0:>{label_width}} └{'─' * columns}")
    lines.append(f"{'':>{label_width}}  0{f'part {last_part}':>{columns - 1}}")
    return lines


def to_svg(trace: AgentTrace) -> str:
    """Return the graph as an SVG document."""
    return f"{_svg(trace, is_document=True)}\n"


def to_page(trace: AgentTrace) -> str:
    """Return an HTML page with the graph and its points as a table."""
    points, run = find_progress(trace), trace.run
    end = run.session_end.reason if run.session_end else "not ended"
    columns = ("part", "turn", "tests passed", "of", "commands with all tests passed", "newest test command")
    rows = [
        (
            str(point.part),
            str(point.turn),
            str(point.passed),
            str(point.total),
            f"{point.solved} of {point.commands}",
            point.command,
        )
        for point in points
    ]
    return plain_page(
        f"Progress of {run.trajectory_id}",
        _STYLE,
        element("p", f"{len(trace.parts)} parts, {end}, {run.started_at}"),
        _svg(trace, is_document=False),
        html_table(columns, rows),
    )


def _svg(trace: AgentTrace, *, is_document: bool) -> SafeHtml:
    points = find_progress(trace)
    last_part = max((part.part for part in trace.parts), default=0)
    highest = max(1, *(point.total for point in points), 1)

    def x(part: float) -> float:
        return round(MARGIN + part / max(1, last_part) * (WIDTH - 2 * MARGIN), 1)

    def y(tests: float) -> float:
        return round(HEIGHT - MARGIN - tests / highest * (HEIGHT - 2 * MARGIN), 1)

    def line(values: Sequence[tuple[int, int]]) -> str:
        height, path = y(0), [f"M{x(0)} {y(0)}"]
        for part, tests in values:
            height = y(tests)
            path += [f"H{x(part)}", f"V{height}"]
        return " ".join([*path, f"H{x(last_part)}"])

    total_line = line([(point.part, point.total) for point in points])
    dots = [
        element(
            "circle",
            element(
                "title", f"part {point.part}: {point.passed} of {point.total} tests passed ({point.command})"
            ),
            cx=x(point.part),
            cy=y(point.passed),
            r=4,
        )
        for point in points
    ]
    return element(
        "svg",
        element("style", SafeHtml(COLOURS + _STYLE)) if is_document else None,
        element("path", class_="total", d=f"{total_line} V{y(0)} Z"),
        element("path", class_="axis", d=f"M{x(0)} {y(0)} H{x(last_part)}"),
        element("path", class_="passed", d=line([(point.part, point.passed) for point in points])),
        join(*dots),
        element("text", str(highest), x=MARGIN - 8, y=y(highest) + 4, text_anchor="end"),
        element("text", "0", x=MARGIN - 8, y=y(0) + 4, text_anchor="end"),
        element("text", "part 0", x=x(0), y=y(0) + 20),
        element("text", f"part {last_part}", x=x(last_part), y=y(0) + 20, text_anchor="end"),
        element("text", "tests passed", x=MARGIN, y=MARGIN - 18),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
    )
