"""`eval commits`: run tests on the files after each change in a recorded session."""

import argparse
from functools import partial
from pathlib import Path

import anyio

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import escape_control, say, say_json, table, warn
from tui_agent.cli.console.shared_options import RECORDING_HELP, Verbs, add_option, load_context
from tui_agent.errors import UsageError
from tui_agent.evals.cases.case import Case
from tui_agent.evals.checks.commit_checks import CheckedCommit, check_recorded_commits, find_evaluated_case

EXAMPLES = """\
examples:
  tui-agent eval commits latest --test "python3 -m pytest -q"
  tui-agent --data-dir eval-runs/bench-20-1130-1200/data eval commits ses_01
  tui-agent eval commits ses_01 --suite my-suite --json

Without --test, the case's own tests and verifier run; the session must belong to an evaluation.

exit status: 0 a checkpoint passed everything, 1 no checkpoint did, 2 usage or configuration
"""


def add_commits_verb(verbs: Verbs) -> None:
    """Add the subcommand `commits`."""
    commits = verbs.add(
        "commits", check_commits, "run tests on the files after each change in a session", examples=EXAMPLES
    )
    commits.add_argument("id", metavar="SESSION", help=RECORDING_HELP)
    add_option(commits, "--test COMMAND", "the command that runs the tests", default="")
    add_option(commits, "--suite SUITE", "the suite of the session's case", default="")
    add_option(
        commits, "--test-timeout-seconds N", "the time limit of the tests and the verifier", type=float
    )


def check_commits(arguments: argparse.Namespace) -> int:
    """Check each checkpoint of a session and print the results; the session does not change."""
    if arguments.test and arguments.suite:
        raise UsageError("--test and --suite cannot be given together.", hint="Remove one of them.")
    base = load_context(arguments)
    session = base.store.find(arguments.id)
    if arguments.test:
        case = Case(id=session.name, prompt="-", test_command=arguments.test)
    else:
        case = find_evaluated_case(session, arguments.suite, Path.cwd())
    if arguments.test_timeout_seconds is not None:
        case = case.with_time_limit(arguments.test_timeout_seconds)
    report = partial(_report_fault, as_json=arguments.json)
    checked = anyio.run(check_recorded_commits, base, session, case, report)
    winner = next((commit for commit in checked if _has_passed(commit)), None)
    if arguments.json:
        for commit in checked:
            say_json(_describe(commit))
    else:
        table([_row(commit) for commit in checked], ("part", "checkpoint", "tests", "verifier", "result"))
        say("")
        say(
            f"The files after part {winner.part} are the first that pass all checks. To write them to a folder: "
            f"tui-agent eval graph {session.name} --part {winner.part} --checkout-dest DIR"
            if winner is not None
            else "No checkpoint passes all checks."
        )
    return Exit.DONE if winner is not None else Exit.FAILED


def _report_fault(commit: CheckedCommit, *, as_json: bool) -> None:
    if commit.results is not None and commit.results.fault and not as_json:
        warn(f"part {commit.part}: {escape_control(commit.results.fault)}")


def _has_passed(commit: CheckedCommit) -> bool:
    return commit.results is not None and commit.results.passed


def _row(commit: CheckedCommit) -> tuple[str, ...]:
    described = _describe(commit)
    tests = f"{described['solved']} of {described['commands']}" if described["commands"] else ""
    reward = described["reward"]
    return (
        str(commit.part),
        commit.commit[:12],
        tests,
        "" if reward is None else f"{reward:g}",
        "passed" if described["passed"] else "",
    )


def _describe(commit: CheckedCommit) -> dict[str, object]:
    """Return the test results of a checkpoint as a JSON object."""
    results = commit.results
    assert results is not None
    return {
        "part": commit.part,
        "commit": commit.commit,
        "passed": results.passed,
        "solved": sum(test.exit_code == 0 for test in results.tests),
        "commands": len(results.tests),
        "reward": results.verifier.reward if results.verifier is not None else None,
        "fault": results.fault,
        "tests": [test.model_dump(mode="json", exclude={"kind"}) for test in results.tests],
    }
