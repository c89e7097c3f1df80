"""The bundled suites by their oracle: known-good actions through the real tools and the real policy, in this process.

A broken action of an oracle makes the suite fail; so does a case whose tests pass before the oracle acts.
"""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from tests.stubs.store import store
from tests.unit.plugin_host.test_plugin_loading import write
from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import Case, VerifierSpec
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.checks.case_functions import run_plugin_oracle, run_plugin_verifier
from tui_agent.evals.runs.arms_and_cells import ORACLE, Arm, Plan
from tui_agent.evals.runs.cell_run import run_cell
from tui_agent.evals.runs.run_folder import CellResult, RunFolder
from tui_agent.export.trajectory.parquet import read_trace
from tui_agent.export.trajectory.trajectory_file import BUNDLE, TRACE, read_session_trace
from tui_agent.plugin_host.registered_objects import OfferedFactory
from tui_agent.ports.eval_functions import Verdict, Verifier
from tui_agent.protocol.envelope import Record
from tui_agent.store.redaction.redactor import Redactor

SUITE = load_suite("bench-20", Path())
CASES = {case.id: case for case in SUITE.cases}
QUICK = ("fix-off-by-one", "denied-then-allowed")
"""The cases of `make test`; `make test-all` runs all."""


PLUGIN = """\
from tui_agent.plugin_api import Verdict, verifier

@verifier
async def ran_tests(workspace, records):
    kinds = [record.payload.kind for record in records]
    is_fixed = "n + 1" in (workspace / "series.py").read_text()
    return Verdict(float(is_fixed and "test.finished" in kinds))
"""


async def run(case: Case, tmp_path: Path, plugin_dirs: tuple[Path, ...] = ()) -> CellResult:
    """Run a case by its oracle."""
    plan = Plan(
        suite="bench-20",
        suite_name="bench-20",
        here=tmp_path,
        arms=(Arm(name=ORACLE, model=ORACLE),),
        cases=(case.id,),
        plugin_dirs=plugin_dirs,
    )
    (cell,) = plan.cells()
    return await run_cell(plan, RunFolder(tmp_path / "run"), case, cell)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


def test_the_suite_has_twenty_cases_of_all_categories() -> None:
    assert len(CASES) == 20
    assert {case.category for case in SUITE.cases} == {
        "algorithm",
        "bugfix",
        "context",
        "greenfield",
        "policy",
        "recovery",
        "security",
    }
    assert all(case.oracle and case.test_command for case in SUITE.cases)


def test_forty_cases_are_the_twenty_and_twenty_held_out_ones() -> None:
    cases = load_suite("bench-40", Path()).cases
    assert len({case.id for case in cases}) == 40
    assert [case.id for case in cases[:20]] == list(CASES)
    assert {(case.split, case.source) for case in cases[20:]} == {("heldout", "synthetic-microbenchmark")}
    assert all(case.oracle and case.test_command for case in cases)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in CASES]
)
async def test_the_oracle_solves_the_case(name: str, tmp_path: Path) -> None:
    result = await run(CASES[name], tmp_path)
    assert (result.passed, result.end, result.failure, result.detail) == (True, "solved", "", "")
    assert (tmp_path / "run" / "data" / "sessions" / result.session / "events.jsonl").is_file()


async def test_a_cell_writes_its_trajectory_with_the_results_of_its_checks(tmp_path: Path) -> None:
    write(tmp_path / "plugins", "judge", PLUGIN)
    case = CASES["fix-off-by-one"].model_copy(update={"verifier": VerifierSpec(plugin="ran_tests")})
    result = await run(case, tmp_path, (tmp_path / "plugins",))
    assert (result.passed, result.verify) == (True, {"reward": 1.0, "fault": ""})
    folder = tmp_path / "run" / "data" / "trajectories" / result.session
    assert (result.notes, sorted(path.name for path in folder.iterdir())) == ((), ["repo.bundle", TRACE])
    trace = read_trace(folder / TRACE)
    assert trace == read_session_trace(
        tmp_path / "run" / "data" / "sessions" / result.session, Redactor(), bundle_uri=BUNDLE
    )
    last, end = trace.parts[-1], trace.run.session_end
    assert [(call.path.split()[0], call.status_code) for call in last.envoi_calls] == [
        ("python3", 0),
        ("verifier:ran_tests", 0),
    ]
    assert last.testing_state is not None
    assert (
        last.testing_state.solved_paths == last.testing_state.total_paths == 3
    )  # with the agent's own test run
    assert end is not None
    assert (end.reason, end.total_parts, end.final_git_commit) == (
        "solved",
        len(trace.parts),
        last.git_commit,
    )
    assert trace.run.task_params["case"] == "fix-off-by-one"


async def test_a_plugins_oracle_solves_a_case_and_an_unknown_function_is_named(tmp_path: Path) -> None:
    mended = []

    async def mend(workspace: Path) -> None:
        mended.append(workspace)

    case = CASES["fix-off-by-one"].model_copy(update={"oracle_plugin": "mend"})
    assert await run_plugin_oracle(case, mend, tmp_path) == ""
    assert mended == [tmp_path]
    with pytest.raises(ConfigError, match="fix-off-by-one: no plugin has the oracle 'mend'"):
        await run(case, tmp_path)


async def hang(workspace: Path, records: Sequence[Record]) -> Verdict:
    await anyio.sleep(600)
    return Verdict(1.0)


async def fail(workspace: Path, records: Sequence[Record]) -> Verdict:
    raise KeyError("b")


async def give_words(workspace: Path, records: Sequence[Record]) -> Verdict:
    return Verdict("much")  # type: ignore[arg-type]


async def give_too_much(workspace: Path, records: Sequence[Record]) -> Verdict:
    return Verdict(10**400)


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (hang, "the verifier of the plugin courts was stopped after 0.1 s"),
        (fail, "the verifier of the plugin courts failed: KeyError: 'b'"),
        (
            give_words,
            "the verifier of the plugin courts gave a reward of the type str, which is not a number",
        ),
        (give_too_much, "the verifier of the plugin courts gave a reward that is too large"),
    ],
)
async def test_a_plugins_verifier_that_gives_no_verdict_is_named(
    function: Verifier, fault: str, tmp_path: Path
) -> None:
    spec = VerifierSpec(plugin="judge", timeout_seconds=0.1)
    log = store(tmp_path).create("ses_a")
    offered = OfferedFactory("courts", "judge", function)
    assert (await run_plugin_verifier(spec, offered, tmp_path, log.folder)).fault == fault


async def test_the_output_of_a_plugins_verifier_is_limited_and_can_be_stored(tmp_path: Path) -> None:
    async def speak(workspace: Path, records: Sequence[Record]) -> Verdict:
        return Verdict(0.0, "\ud800" + "x" * 300_000)

    log = store(tmp_path).create("ses_a")
    offered: OfferedFactory[Verifier] = OfferedFactory("courts", "judge", speak)
    ended = await run_plugin_verifier(VerifierSpec(plugin="judge"), offered, tmp_path, log.folder)
    assert ended.output == "?" + "x" * 199_999 + " … (100,001 characters left out)"


@pytest.mark.slow
async def test_a_broken_action_of_an_oracle_makes_the_case_fail(tmp_path: Path) -> None:
    case = CASES["fix-off-by-one"]
    answers = list(case.oracle)
    edit = answers[1].calls[0]
    answers[1] = answers[1].model_copy(
        update={"calls": (edit.model_copy(update={"arguments": {**edit.arguments, "old_text": "gone"}}),)}
    )
    result = await run(case.model_copy(update={"oracle": tuple(answers)}), tmp_path)
    assert (result.passed, result.failure, result.end) == (False, "tool", "unsolved")
    assert result.detail == "action 2 of the reference solution (edit_file) ended with the status failed"


async def test_a_case_whose_tests_pass_before_the_agent_acts_is_refused(tmp_path: Path) -> None:
    case = CASES["fix-off-by-one"].model_copy(update={"test_command": "true"})
    with pytest.raises(ConfigError, match="fix-off-by-one: its tests pass before the agent acts"):
        await run(case, tmp_path)


@pytest.mark.slow
async def test_tests_and_verifiers_that_hang_are_stopped_and_named(tmp_path: Path) -> None:
    case = CASES["fix-off-by-one"]
    verifier = VerifierSpec(command="sleep 600", timeout_seconds=0.2)
    result = await run(case.model_copy(update={"verifier": verifier}), tmp_path)
    assert (result.passed, result.failure, result.end) == (False, "verifier", "env_error")
    assert (result.tests, result.detail) == (
        True,
        "sleep 600: the verifier was stopped after 0.2 s, its time limit",
    )
