"""The report of stored runs: rates, figures, failures, comparisons and the baseline, as data, Markdown and HTML."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.stubs.cells import plan, result, stored_run
from tui_agent.errors import ConfigError
from tui_agent.evals.report.report import Rate, build_report
from tui_agent.evals.report.report_files import to_html, to_markdown
from tui_agent.evals.report.run_baseline import Baseline, compare_with_baseline, make_baseline
from tui_agent.evals.report.significance import wilson_interval
from tui_agent.evals.runs.arms_and_cells import Cell
from tui_agent.evals.runs.results_by_arm import load_run, load_runs
from tui_agent.evals.runs.run_folder import RunFolder

GOLDEN = Path(__file__).with_name("expected_report.md")
HOSTILE = "<script>alert(1)</script> | [x](javascript:1) \x1b[31m"


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    """A run of two arms and three cases: one cell failed, one was spoiled by the provider, one has no result."""
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    made = plan("full", "no_memory", cases=("fix", "look", "ask"))
    folder.save_plan(made)
    metrics = {"tools": {"read_file": 2, "edit_file": 1}, "input_tokens": 1_200, "output_tokens": 80}
    stored = [
        result(Cell(case="fix", arm="full"), category="bugfix", tests=True, verifier=True, metrics=metrics),
        result(Cell(case="look", arm="full"), tests=True, metrics={**metrics, "cost_usd": 0.5, "denials": 2}),
        result(
            Cell(case="ask", arm="full"),
            passed=False,
            instability=True,
            failure="",
            detail="provider: 429",
            end="agent_error",
            metrics={"denials": 100},
            session="ses_3",
        ),
        result(
            Cell(case="fix", arm="no_memory"),
            category="bugfix",
            passed=False,
            patch=False,
            tests=False,
            failure="budget",
            detail=HOSTILE,
            end="iteration_limit",
            session="ses_4",
            open_with=("tui-agent --data-dir '/a|b' --resume ses_4",),
            metrics={"first_target_read_part": 4, "repomap_uses": 1},
        ),
        result(Cell(case="look", arm="no_memory"), tests=True, metrics=metrics),
    ]
    for item in stored:
        folder.save_result(Cell(case=item.case, arm=item.arm), item)
    return folder


def test_the_markdown_of_a_small_run(run: RunFolder) -> None:
    text = to_markdown(build_report([load_run(run)])).replace(str(run.path.parent), "/runs")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_what_the_provider_spoiled_is_in_no_rate_and_no_figure(run: RunFolder) -> None:
    report = build_report([load_run(run)])
    full = report.groups[0]
    assert (full.arm, full.category, full.provider_failures) == ("full", "", 1)
    assert (full.passed.successes, full.passed.total, full.verifier.total) == (2, 2, 1)
    assert report.groups[1].missing == 1
    figures = {figure.name: figure.arms["full"] for figure in report.figures}
    assert (figures["denials"].total, figures["denials"].median) == (2, 1)
    assert (figures["cost_usd"].cells, figures["cost_usd"].total) == (1, 0.5)
    assert figures["first_target_read_part"].cells == 0
    assert [(failure.arm, failure.cause) for failure in report.failures] == [
        ("full", "provider"),
        ("no_memory", "budget"),
    ]
    assert [cell.cause for cell in report.cells] == ["", "", "provider", "budget", ""]
    assert [comparison.pairs for comparison in report.comparisons] == [2]


class Tags(HTMLParser):
    """Collects the tags of a page, and its attributes that could load or run something."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.active: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.active += [name for name, _ in attrs if name in ("src", "href") or name.startswith("on")]


def test_the_page_escapes_all_text_and_loads_nothing(run: RunFolder) -> None:
    cell = Cell(case="look", arm="full")
    run.save_result(cell, result(cell, category="<img src=x onerror=alert(1)>", passed=False, session="<b>"))
    page = to_html(build_report([load_run(run)]))
    tags = Tags()
    tags.feed(page)
    assert tags.names & {"script", "img", "b", "a", "link"} == set()
    assert tags.active == []
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\x1b" not in page
    assert "default-src &#x27;none&#x27;; style-src" in page
    assert page.count("<svg") == 2


def test_the_plots_show_rate_interval_and_tokens_to_scale(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "run", a="pf")
    cell = Cell(case="case-0", arm="a")
    metrics = {"input_tokens": 800, "cached_tokens": 200, "output_tokens": 200}
    run.save_result(cell, result(cell, metrics=metrics))
    page = to_html(build_report([load_run(run)]))
    assert '<rect x="240" y="5" width="235.0" height="16" class="bar"></rect>' in page  # half of 470
    assert 'd="M284.4 8V18M284.4 13H665.6M665.6 8V18"' in page  # 9.45 % and 90.55 %
    for x, width, style in (("240", "94.0", "whole"), ("334.0", "282.0", "faint"), ("616.0", "94.0", "bar")):
        assert f'<rect x="{x}" y="5" width="{width}" height="16" class="{style}"></rect>' in page


def sentences(tmp_path: Path, **arms: str) -> list[str]:
    report = build_report([load_run(stored_run(tmp_path / "run", **arms))])
    return [comparison.sentence for comparison in report.comparisons]


def test_a_planted_effect_is_found_and_a_null_effect_is_not_claimed(tmp_path: Path) -> None:
    arms = {"worse": "ffffffffpf", "mixed": "fffffppppp", "same": "fffffpppp!", "few": "pfpppppppf"}
    assert sentences(tmp_path, full="pppppppppf", **arms) == [
        "full passes more often than worse (p = 0.016, adjusted for 2 comparisons): 8 of 10 pairs passed only with "
        "full, 0 only with worse.",
        "full and mixed: no difference shown (p = 0.219, adjusted for 2 comparisons). 10 pairs may be too few to show one.",
        "full and same: no difference shown. 5 of 9 pairs differ in their result; at least 6 differing pairs are "
        "needed to show a difference.",
        "full and few: no difference shown. 1 of 10 pairs differ in their result; at least 6 differing pairs are "
        "needed to show a difference.",
    ]


def test_six_pairs_of_which_one_points_the_other_way_show_no_difference(tmp_path: Path) -> None:
    assert sentences(tmp_path, a="pppppf", b="fffffp") == [
        "a and b: no difference shown (p = 0.219). 6 pairs may be too few to show one."
    ]
    assert sentences(tmp_path / "other", a="!!", b="pp") == [
        "a and b: nothing to compare, because the arms have no case in common."
    ]


def test_repetitions_of_a_case_are_pairs_of_their_own_and_their_weakness_is_named(tmp_path: Path) -> None:
    run, made = RunFolder(tmp_path), plan("a", "b", repetitions=3)
    run.save_plan(made)
    for cell in made.cells():
        run.save_result(cell, result(cell, passed=cell.arm == "a" or cell.repetition == 2))
    report = build_report([load_run(run)])
    assert [(c.pairs, c.only_first, c.only_second) for c in report.comparisons] == [(3, 2, 0)]
    assert "the intervals are too narrow and the p-values too low" in to_markdown(report)
    assert make_baseline(load_run(run)).cells[4].model_dump() == {
        "case": "one",
        "arm": "b",
        "repetition": 2,
        "passed": True,
    }


def test_two_runs_are_compared_arm_by_arm_under_the_names_of_their_folders(tmp_path: Path) -> None:
    for name, verdicts in (("before", "pppppp"), ("after", "ffffff")):
        stored_run(tmp_path / name, fast=verdicts, slow="pppppp")
    report = build_report(load_runs([tmp_path / "before", tmp_path / "after"]))
    assert report.arms == ("before/fast", "before/slow", "after/fast", "after/slow")
    assert [(c.first, c.second, c.only_first, c.only_second) for c in report.comparisons] == [
        ("before/fast", "before/slow", 0, 0),
        ("after/fast", "after/slow", 0, 6),
        ("before/fast", "after/fast", 6, 0),
        ("before/slow", "after/slow", 0, 0),
    ]
    with pytest.raises(ConfigError, match="given twice"):
        load_runs([tmp_path / "before", tmp_path / "before"])


def test_a_baseline_names_each_case_that_passed_and_fails_now(tmp_path: Path) -> None:
    before = load_run(stored_run(tmp_path / "before", a="ppff!p"))
    after = load_run(stored_run(tmp_path / "after", a="pfpfp!"))
    stored = Baseline.model_validate_json(make_baseline(before).model_dump_json())
    compared = compare_with_baseline(stored, after)
    assert [(change.case, change.before, change.now) for change in compared.regressions] == [
        ("case-1", "1/1", "0/1")
    ]
    assert [change.case for change in compared.fixed] == ["case-2"]
    assert compared.not_compared == ("case-5 (a)",)
    (comparison,) = compared.comparisons
    assert (comparison.pairs, comparison.only_first, comparison.only_second) == (4, 1, 1)
    other = load_run(stored_run(tmp_path / "other", b="p", c="p"))
    with pytest.raises(ConfigError, match="no case that both ran with the same configuration"):
        compare_with_baseline(stored, other)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"case": "case-1", "arm', "Invalid JSON: EOF while parsing a string at line 1 column 23"),
        ('{"case": 1}', "case: Input should be a valid string"),
        ("", "Invalid JSON: EOF while parsing a value at line 1 column 0"),
    ],
)
def test_a_result_that_cannot_be_read_is_named_with_its_file(tmp_path: Path, text: str, reason: str) -> None:
    run = stored_run(tmp_path / "run", a="ppp")
    file = run.result_file(Cell(case="case-1", arm="a"))
    file.write_text(text)
    report = build_report([load_run(run)])
    (source,) = report.runs
    assert [(damaged.file, damaged.reason) for damaged in source.damaged] == [(str(file), reason)]
    assert source.missing == ("case-1/a-1",)
    assert report.groups[0].passed == Rate(successes=2, total=2, low=wilson_interval(2, 2)[0], high=1.0)


def test_figures_of_the_wrong_type_make_a_result_unreadable(tmp_path: Path) -> None:
    run = stored_run(tmp_path / "run", a="p")
    cell = Cell(case="case-0", arm="a")
    run.save_result(cell, result(cell, metrics={"tools": 3}))
    with pytest.raises(
        ConfigError, match=r"case-0/a-1/result\.json: tools: Input should be a valid dictionary"
    ):
        load_run(run)
