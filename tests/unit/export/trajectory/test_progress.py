"""The tests passed after each part, as text and as pages that need nothing else."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest

from tui_agent.errors import UsageError
from tui_agent.export.trajectory.progress import (
    ProgressPoint,
    commit_of_part,
    find_progress,
    format_graph,
    to_page,
    to_svg,
)
from tui_agent.export.trajectory.records import (
    AgentTrace,
    EnvoiCall,
    PartRecord,
    RepoCheckpoint,
    RunRecord,
    TestResult,
)


def run_of(command: str, passed: int, failed: int, status: int | None = None) -> EnvoiCall:
    result = TestResult(passed=passed, failed=failed, total=passed + failed) if passed >= 0 else None
    code = int(failed > 0) if status is None else status
    return EnvoiCall(path=command, timestamp="now", duration_ms=1, status_code=code, result=result)


def part(number: int, *calls: EnvoiCall, **fields: Any) -> PartRecord:
    base: dict[str, Any] = {
        "session_id": "s",
        "agent_model": "m",
        "timestamp": "now",
        "part_type": "text",
        "turn": 1,
    }
    return PartRecord(**{**base, "part": number, "seq": number, "envoi_calls": calls, **fields})


def trace(*parts: PartRecord) -> AgentTrace:
    return AgentTrace(run=RunRecord(trajectory_id="<t>", started_at="then"), parts=parts)


PROGRESS = trace(
    part(0),
    part(3, run_of("pytest a", 1, 3)),
    part(5, run_of("pytest a", 9, 0), abandoned=True),
    part(7, run_of("pytest a", 4, 0), run_of("verifier:x", -1, 0, 1), git_commit="c7"),
    part(9),
)


def test_each_command_counts_with_its_newest_run_on_the_current_branch() -> None:
    assert find_progress(PROGRESS) == (
        ProgressPoint(3, 1, passed=1, total=4, solved=0, commands=1, command="pytest a", commit=None),
        ProgressPoint(7, 1, passed=4, total=5, solved=1, commands=2, command="verifier:x", commit="c7"),
    )


def test_the_text_is_a_bar_chart_over_the_parts() -> None:
    lines = format_graph(find_progress(PROGRESS), 9, 80)
    assert lines == [
        "5 │",
        "  │       ▃▃▃",
        "  │       ███",
        "  │       ███",
        "  │       ███",
        "  │       ███",
        "  │   ▅▅▅▅███",
        "  │   ███████",
        "0 └──────────",
        "   0   part 9",
    ]
    assert max(map(len, format_graph(find_progress(PROGRESS), 100_000, 80))) == 80


def test_the_svg_and_the_page_show_the_points_and_escape_texts() -> None:
    svg = ET.fromstring(to_svg(PROGRESS))
    names = {"s": "http://www.w3.org/2000/svg"}
    titles = [title.text for title in svg.iterfind("s:circle/s:title", names)]
    assert titles == ["part 3: 1 of 4 tests passed (pytest a)", "part 7: 4 of 5 tests passed (verifier:x)"]
    page = to_page(PROGRESS)
    assert "<h1>Progress of &lt;t&gt;</h1>" in page
    assert "<td>7</td><td>1</td><td>4</td><td>5</td><td>1 of 2</td><td>verifier:x</td>" in page
    assert "<script" not in page


def test_a_part_has_a_commit_or_the_reason_why_not() -> None:
    first = RepoCheckpoint(commit_before="base", commit_after="c1")
    made = trace(part(0, git_commit="base"), part(1, git_commit="c1", repo_checkpoint=first))
    assert [commit_of_part(made, number) for number in (-1, 0, 1)] == ["base", "base", "c1"]
    with pytest.raises(UsageError, match="has no part 2"):
        commit_of_part(made, 2)
    with pytest.raises(UsageError, match="No checkpoint was taken before the end of part 0"):
        commit_of_part(trace(part(0)), 0)
