"""The subcommands of `tui-agent eval` that run a suite: once, for several profiles, or with features turned off."""

import argparse
import os
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import get_args

import anyio

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import say, warn
from tui_agent.cli.console.shared_options import (
    EFFORTS,
    POLICIES,
    Verbs,
    add_effort,
    add_flag,
    add_list_option,
    add_option,
    count,
)
from tui_agent.cli.evals.report import print_sections
from tui_agent.cli.evals.run_progress import Progress, start_detached
from tui_agent.cli.run.command import warn_of_cost
from tui_agent.errors import ConfigError, SessionLocked, UsageError, os_errors_as
from tui_agent.evals.cases.case import Case, Suite
from tui_agent.evals.cases.suites import bundled_suites, load_suite
from tui_agent.evals.report.report import build_report
from tui_agent.evals.report.report_sections import summary_sections
from tui_agent.evals.runs.arms_and_cells import (
    ABLATIONS,
    Arm,
    CheckProgram,
    Plan,
    ablation_arms,
    matrix_arms,
    single_arm,
)
from tui_agent.evals.runs.pool import RunAttempt, run_child, run_pool, wait_for_cells
from tui_agent.evals.runs.preflight import MAX_NAMED_CASES, find_changed_cases, require_runnable
from tui_agent.evals.runs.ray_cluster import open_cluster
from tui_agent.evals.runs.results_by_arm import load_run
from tui_agent.evals.runs.run_folder import LOCK_FILE, RUNS_FOLDER, RunFolder
from tui_agent.protocol.settings import Budgets
from tui_agent.protocol.unicode_text import format_count, list_first
from tui_agent.store.writer_lock import WriterLock
from tui_agent.units import file_time_stamp

EXAMPLES = """\
examples:
  tui-agent eval list
  tui-agent eval run bench-20 -m openai/MODEL
  tui-agent eval run bench-20 -m oracle --case fix-off-by-one
  tui-agent eval run --task my-task -m fast
  tui-agent eval matrix bench-20 --model-profiles fast,strong --repetitions 3
  tui-agent eval matrix bench-20 --agents default,codex,opencode
  tui-agent eval ablate bench-20 -m fast
  tui-agent eval ablate bench-20 -m fast --without tool:grep --without prompt:planning
  tui-agent eval run --resume eval-runs/bench-20-1130-1200
  tui-agent eval report eval-runs/bench-20-1130-1200

A cell is one run of a case with one model or configuration. Each cell has a folder below the run's folder, with the
workspace and result.json. To open a cell's session, use the commands in result.json. The model `oracle`
gives the known-good answers of each case.

exit status: 0 every case passed, 1 not every case passed, 2 usage or configuration, 130 interrupted (use --resume)
"""

RESUME_OPTIONS = frozenset(("resume", "detach", "jobs", "engine", "address", "json", "debug", "call"))
"""Names of command-line arguments that can differ when a run is resumed."""
OPTION_NAMES = {
    "suite": "SUITE",
    "effort": "--reasoning-effort",
    "plugin_dirs": "--plugin-dir",
    "max_cost_usd": "--max-cost",
}
"""Maps an attribute of `arguments` to its option, if their names differ."""


def add_suite_verbs(verbs: Verbs) -> None:
    """Add the subcommands `run`, `matrix` and `ablate`."""
    run = verbs.add("run", run_suite, "run a suite with one model", groups=("limits",))
    matrix = verbs.add("matrix", run_matrix, "run a suite with several model profiles", groups=("limits",))
    ablate = verbs.add("ablate", run_ablation, "run a suite with features turned off", groups=("limits",))
    for verb in (run, matrix, ablate):
        _add_common(verb)
    for verb in (run, ablate):
        add_option(verb, "-m --model NAME", "the model, or oracle", default="")
        add_effort(verb, "how hard a reasoning model thinks", dest="effort")
    add_option(matrix, "--model-profiles A,B", "the models, separated by commas", type=_names, default=())
    add_option(run, "--agent NAME", "the agent to run (see: tui-agent agents list)", default="")
    add_option(matrix, "--agents A,B", "run each model with each of these agents", type=_names, default=())
    add_option(
        matrix, "--reasoning-efforts A,B", "run each model with each effort", type=_efforts, default=()
    )
    add_list_option(
        ablate,
        "--without NAME",
        "turn off section:NAME, tool:NAME, skill:NAME, prompt:NAME, context:compaction or policy:retry (default: "
        f"{', '.join(name for name in ABLATIONS if name != 'full')})",
    )


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "suite", metavar="SUITE", nargs="?", default="", help="a suite's name, file or folder"
    )
    add_option(parser, "--task DIR", "a task folder instead of a suite")
    add_option(parser, "--example NAME", "one case of the bundled suites instead of a suite")
    add_list_option(parser, "--case NAME", "only this case")
    add_option(parser, "--category NAME", "only cases of this category")
    add_option(parser, "--split NAME", "only cases of this split")
    add_option(parser, "--repetitions N", "run each case N times", type=count)
    add_option(parser, "--out DIR", "the run's folder (default: eval-runs/SUITE-TIME)", type=Path)
    add_option(parser, "--resume DIR", "finish an earlier run", type=Path)
    add_flag(parser, "--detach", "run in the background, and return immediately")
    add_option(
        parser,
        "-j --jobs N",
        "number of cases that run at the same time (default: the number of processors)",
        type=count,
    )
    add_option(parser, "--engine", "where the cases run", choices=("local", "ray"), default="local")
    add_option(parser, "--address HOST:PORT", "the Ray cluster (default: RAY_ADDRESS, or this machine)")
    add_flag(
        parser,
        "--preemptible",
        "if a machine is lost, run its case again, up to 10 times (for preemptible machines)",
    )
    add_option(parser, "--policy", "the policy (default: the case's)", choices=POLICIES)
    add_option(parser, "--environment NAME", "where the agent's commands run (default: as configured)")
    add_list_option(parser, "--plugin-dir DIR", "also load plugins from DIR", dest="plugin_dirs", type=Path)
    _add_check_options(parser)


def _add_check_options(parser: argparse.ArgumentParser) -> None:
    add_list_option(parser, "--test PATH", "run only the tests in PATH, one of the cases' test_paths")
    add_option(
        parser,
        "--test-timeout-seconds N",
        "the time limit of the tests and the verifier (default: the case's)",
        type=float,
    )
    add_option(
        parser,
        "--evaluate",
        "commits: also check the files after each change, and tell the agent after each turn what failed",
        choices=("end", "commits"),
    )
    add_option(
        parser,
        "--checks A,B",
        "count the findings of pytest, ruff, mypy or bandit before and after the agent runs",
        type=_check_programs,
        default=(),
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _efforts(text: str) -> tuple[str, ...]:
    return _known_names(text, EFFORTS)


def _check_programs(text: str) -> tuple[str, ...]:
    return _known_names(text, get_args(CheckProgram))


def _known_names(text: str, known: Sequence[str]) -> tuple[str, ...]:
    names = _names(text)
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise argparse.ArgumentTypeError(f"{unknown!r} is not one of {', '.join(known)}")
    return names


def _case_ids(suite: Suite) -> list[str]:
    return [case.id for case in suite.cases]


def run_suite(arguments: argparse.Namespace) -> int:
    """Run a suite with one configuration."""
    return _run(arguments, lambda: (single_arm(arguments.model, arguments.effort, arguments.agent),))


def run_matrix(arguments: argparse.Namespace) -> int:
    """Run a suite with each model profile and effort."""
    if not (arguments.model_profiles or arguments.agents or arguments.resume):
        raise UsageError("No model profiles given.", hint="Name the profiles: --model-profiles fast,strong")
    profiles, efforts, agents = arguments.model_profiles, arguments.reasoning_efforts, arguments.agents
    return _run(arguments, lambda: matrix_arms(profiles, efforts, agents))


def run_ablation(arguments: argparse.Namespace) -> int:
    """Run a suite with all features, and with some turned off."""
    return _run(arguments, lambda: ablation_arms(arguments.model, arguments.effort, arguments.without))


def _run(arguments: argparse.Namespace, make_arms: Callable[[], Sequence[Arm]]) -> int:
    if arguments.resume is not None:
        _refuse_plan_options(arguments)
        folder = RunFolder(arguments.resume)
        plan = folder.load_plan()
        _warn_of_changed_cases(folder, plan)
    else:
        plan = _make_plan(arguments, make_arms())
        folder = RunFolder(arguments.out or _default_folder(plan.suite_name))
    # Checked before the folder is created, so that a run that cannot start leaves nothing behind.
    warn_of_cost(require_runnable(plan, folder, is_local=arguments.engine == "local"))
    with _open_folder(folder, plan):
        if not arguments.detach:
            try:
                with _open_engine(arguments, plan) as run_attempt:
                    return _run_cells(folder, plan, arguments, run_attempt)
            except KeyboardInterrupt:
                return _report_interrupt(folder, arguments)
    # The lock has been released: the new process acquires it itself.
    return start_detached(folder, arguments)


def _warn_of_changed_cases(folder: RunFolder, plan: Plan) -> None:
    """Print a warning if a case was changed after some of its runs had finished."""
    changed = find_changed_cases(plan, folder)
    if changed:
        warn(
            f"These cases changed after some of their cells ran: {list_first(changed, MAX_NAMED_CASES)}. The finished cells keep the "
            f"results of the old cases. To run them again, delete their folders in {folder.path / 'cells'} and resume."
        )


def _report_interrupt(folder: RunFolder, arguments: argparse.Namespace) -> int:
    """Print the command that continues the run, and return the exit status."""
    warn(f"Interrupted. Continue with: {_resume_command(folder, arguments)}")
    return Exit.INTERRUPTED


def _resume_command(folder: RunFolder, arguments: argparse.Namespace) -> str:
    """Return the command line that resumes the evaluation."""
    engine = " --engine ray" if arguments.engine == "ray" else ""
    engine += f" --address {shlex.quote(arguments.address)}" if arguments.address else ""
    return f"tui-agent eval run --resume {shlex.quote(str(folder.path))}{engine}"


def _refuse_plan_options(arguments: argparse.Namespace) -> None:
    """Raise `UsageError` if an option would change the plan of a resumed run."""
    attribute = next(
        (name for name, value in vars(arguments).items() if value and name not in RESUME_OPTIONS), ""
    )
    if attribute:
        option = OPTION_NAMES.get(attribute, f"--{attribute.replace('_', '-')}")
        raise UsageError(
            f"--resume continues a run with its own options and does not accept {option}.",
            hint="Remove the option, or start another run.",
        )


@contextmanager
def _open_folder(folder: RunFolder, plan: Plan) -> Iterator[None]:
    """Store the evaluation's plan in `folder`, and keep the folder locked during the `with` block."""
    with os_errors_as(ConfigError, f"{folder.path} cannot be created", hint="Choose another --out."):
        folder.path.mkdir(parents=True, exist_ok=True)
    try:
        lock = WriterLock(folder.path / LOCK_FILE, wait_s=0.0)
    except SessionLocked:
        raise ConfigError(
            f"Another evaluation writes to {folder.path}.",
            hint="Wait for that evaluation, or choose another --out.",
        ) from None
    try:
        wait_for_cells(
            folder,
            lambda: warn(
                "An earlier process of this evaluation was killed. Waiting until the cells that it started have ended …"
            ),
        )
        folder.save_plan(plan)
        yield
    finally:
        lock.release()


def _make_plan(arguments: argparse.Namespace, arms: Sequence[Arm]) -> Plan:
    suite_name = _suite_name(arguments)
    suite = load_suite(suite_name, Path.cwd())
    cases = [case for case in suite.cases if _is_wanted(case, arguments)]
    unknown = sorted(set(arguments.case) - {case.id for case in suite.cases})
    if unknown:
        raise UsageError(
            f"{suite.name} has no case {unknown[0]!r}.", hint=f"Cases: {', '.join(_case_ids(suite))}."
        )
    unknown = sorted(set(arguments.test).difference(*(case.test_paths for case in suite.cases)))
    if unknown:
        raise UsageError(
            f"No case has the test path {unknown[0]!r}.", hint="Each case lists its paths in test_paths."
        )
    if not cases:
        raise UsageError(
            f"No case of {suite.name} matches the options.", hint="Check --category, --split and --test."
        )
    values = vars(arguments)
    return Plan(
        suite=suite_name,
        suite_name=suite.name,
        here=Path.cwd(),
        arms=tuple(arms),
        cases=tuple(case.id for case in cases),
        repetitions=arguments.repetitions or 1,
        budgets=Budgets(**{name: values[name] for name in Budgets.model_fields}),
        policy=arguments.policy,
        test_timeout_seconds=arguments.test_timeout_seconds,
        test_paths=tuple(arguments.test),
        environment=arguments.environment,
        evaluate=arguments.evaluate or "end",
        static_checks=arguments.checks,
        preemptible=arguments.preemptible,
        plugin_dirs=tuple(path.resolve() for path in arguments.plugin_dirs),
    )


def _suite_name(arguments: argparse.Namespace) -> str:
    sources = [name for name in (arguments.suite, arguments.task, arguments.example) if name]
    if len(sources) != 1:
        raise UsageError(
            "Name one suite, --task or --example.", hint="List the suites with: tui-agent eval list"
        )
    if not arguments.example:
        return str(sources[0])
    # The rest of the code then selects the example like a case given with --case.
    arguments.case = [arguments.example]
    for suite in bundled_suites():
        if arguments.example in _case_ids(suite):
            return suite.name
    raise UsageError(
        f"There is no example {arguments.example!r}.", hint="List the cases with: tui-agent eval list --json"
    )


def _is_wanted(case: Case, arguments: argparse.Namespace) -> bool:
    return (
        (not arguments.case or case.id in arguments.case)
        and arguments.category in (None, case.category)
        and arguments.split in (None, case.split)
        and (not arguments.test or not set(arguments.test).isdisjoint(case.test_paths))
    )


def _default_folder(name: str) -> Path:
    return RUNS_FOLDER / f"{name}-{file_time_stamp(time.time())}"


def _open_engine(arguments: argparse.Namespace, plan: Plan) -> AbstractContextManager[RunAttempt]:
    if arguments.engine == "ray":
        return open_cluster(arguments.address, plan)
    if arguments.address:
        raise UsageError("--address needs --engine ray.", hint="Add --engine ray.")
    return nullcontext(run_child)


def _run_cells(folder: RunFolder, plan: Plan, arguments: argparse.Namespace, run_attempt: RunAttempt) -> int:
    cells, as_json, is_local = list(plan.cells()), arguments.json, arguments.engine == "local"
    # Ray itself starts no more cells than its cluster has processors.
    jobs = arguments.jobs or (os.cpu_count() or 1 if is_local else len(cells))
    left = folder.unfinished_cells(plan)
    progress = Progress(len(cells), len(cells) - len(left), as_json=as_json)
    if not as_json:
        done = f", {progress.done} done already" if progress.done else ""
        say(f"{plan.suite_name}: {format_count(len(cells), 'cell')}{done}; {folder.path}")
    for program in plan.static_checks if is_local else ():
        if shutil.which(program) is None:
            warn(f"{program} is not installed, so its findings are not counted.")
    anyio.run(partial(run_pool, folder, plan, left, jobs, progress.report, run_attempt))
    results = [result for cell in cells if (result := folder.load_result(cell)) is not None]
    if results and not as_json:
        say("")
        print_sections(summary_sections(build_report([load_run(folder)])))
        say(f"\nFull report: tui-agent eval report {shlex.quote(str(folder.path))}")
    if missing := len(cells) - len(results):
        warn(
            f"Without a result: {format_count(missing, 'cell')}. Run again: {_resume_command(folder, arguments)}"
        )
    return (
        Exit.DONE if len(results) == len(cells) and all(result.passed for result in results) else Exit.FAILED
    )
