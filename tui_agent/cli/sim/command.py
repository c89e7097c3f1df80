"""Measure an agent with a simulated user: a model that plays a person, answers the agent and approves its calls."""

import argparse
import os
import statistics
from collections import defaultdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import escape_control, say, say_json, shorten, table, warn
from tui_agent.cli.console.shared_options import POLICIES, Parser, Verbs, add_option, session_options
from tui_agent.cli.run.command import warn_of_cost
from tui_agent.config.paths import find_paths
from tui_agent.errors import UsageError
from tui_agent.folds.simulation_fold import seen_text
from tui_agent.folds.usage_totals import NO_USAGE
from tui_agent.protocol.events.simulation import SimulationMessage
from tui_agent.protocol.unicode_text import format_count
from tui_agent.simulation.job_folder import SimulationResult, read_results
from tui_agent.simulation.mode_settings import (
    MODES,
    OrchestratedSettings,
    UserAgentSettings,
    choose_profile,
    load_mode,
    load_profiles,
)
from tui_agent.simulation.task_tree import read_task_tree
from tui_agent.simulation.tasks import load_example, load_task
from tui_agent.units import format_percent, format_tokens

if TYPE_CHECKING:
    from tui_agent.evals.cases.case import Case
    from tui_agent.simulation.simulation_modes import FinishedRun, Simulation

EXAMPLES = """\
examples:
  tui-agent sim run --example shop-discount -m fast
  tui-agent sim run --example shop-discount --mode orchestrated --profile vibe_coder -m fast --user-model strong
  tui-agent sim run --task task.md --env repo --test "python3 -m unittest -q" -m fast
  tui-agent sim profiles
  tui-agent sim report

The outputs are in jobs/TASK/MODE/TIME/: the history, task_tree.json, result.json, and environment_snapshot with
the files at the end. Show a history: tui-agent view FILE

exit status of run: 0 the tests passed, 1 they did not, 2 usage or configuration, 130 interrupted
"""


def configure(parser: Parser) -> None:
    """Add the subcommands of `sim`."""
    verbs = Verbs(parser, EXAMPLES)
    run = verbs.add(
        "run", run_simulation, "run one simulation", groups=("folders", "model", "limits", "extensions")
    )
    add_option(
        run,
        "--mode",
        "the kind of simulation (default: user-agent, a simulated user and the agent)",
        choices=MODES,
        default="user-agent",
    )
    add_option(run, "--task PATH", "a task folder, a case's file, or a prompt (.md)", type=Path)
    add_option(run, "--env DIR", "the folder with the task's files, copied for the run", type=Path)
    add_option(run, "--example NAME", "a bundled example instead of --task and --env")
    add_option(run, "--test COMMAND", "the command that tests the result", default="")
    add_option(run, "--test-timeout-seconds N", "the time limit of the tests", type=float)
    add_option(run, "--agent NAME", "the agent that works on the task")
    add_option(run, "--environment NAME", "where commands run (see docs/environments.md)")
    add_option(
        run,
        "--policy",
        "what the agent may do without asking the user (default: the mode's)",
        choices=POLICIES,
    )
    add_option(run, "--profile NAME", "the profile of the simulated user", default="default")
    add_option(run, "--profiles FILE", "a YAML file with more profiles", type=Path)
    add_option(run, "--user-model NAME", "the model that plays the user", default="")
    add_option(
        run,
        "--orchestrator",
        "the orchestrator for --mode orchestrated (default: simple)",
        choices=("simple", "default"),
    )
    add_option(run, "--tree FILE", "the task tree to use (default: a model makes one)", type=Path)
    add_option(run, "--config FILE", "settings to use instead of the mode's bundled file", type=Path)
    add_option(run, "--jobs DIR", "the folder of the outputs", type=Path, default=Path("jobs"))
    profiles = verbs.add("profiles", list_profiles, "list the profiles of simulated users", groups=())
    add_option(profiles, "--profiles FILE", "a YAML file with more profiles", type=Path)
    report = verbs.add("report", report_runs, "compare the modes and profiles of past runs", groups=())
    report.add_argument(
        "jobs", metavar="DIR", type=Path, nargs="?", default=Path("jobs"), help="the folder of the outputs"
    )


def run_simulation(arguments: argparse.Namespace) -> int:
    """Run one simulation; print its messages as they come, then the result."""
    settings = load_mode(arguments.mode, arguments.config)
    profiles = load_profiles(arguments.profiles, _config_dir())
    # Imported only here, because the other subcommands need no engine.
    runner = import_module("tui_agent.simulation.simulation_modes")
    simulation: Simulation = runner.Simulation(
        case=_load_case(arguments),
        options=session_options(arguments, client="sim", interactive=True),
        jobs=arguments.jobs,
        profile_name=arguments.profile,
        profile=choose_profile(profiles, arguments.profile),
        user_model=arguments.user_model,
        report=partial(_print_message, as_json=arguments.json),
        on_start=lambda settings: warn_of_cost((settings,)),
    )
    if isinstance(settings, OrchestratedSettings):
        if arguments.orchestrator:
            chosen = settings.orchestrator.model_copy(update={"kind": arguments.orchestrator})
            settings = settings.model_copy(update={"orchestrator": chosen})
        tree = read_task_tree(arguments.tree) if arguments.tree is not None else None
        play = partial(runner.run_orchestrated, simulation, settings, tree)
    elif arguments.tree is not None or arguments.orchestrator:
        raise UsageError("--tree and --orchestrator need --mode orchestrated.")
    elif isinstance(settings, UserAgentSettings):
        play = partial(runner.run_user_agent, simulation, settings)
    else:
        play = partial(runner.run_agent_only, simulation, settings)
    try:
        finished: FinishedRun = anyio.run(play)
    except KeyboardInterrupt:
        warn(f"Interrupted. The outputs so far are in {arguments.jobs}.")
        return Exit.INTERRUPTED
    _print_result(finished, as_json=arguments.json)
    return Exit.DONE if finished.result.success else Exit.FAILED


def _config_dir() -> Path:
    return find_paths(Path.cwd(), os.environ).config_dir


def _load_case(arguments: argparse.Namespace) -> "Case":
    if bool(arguments.example) == bool(arguments.task):
        raise UsageError("Give --task and --env, or --example.", hint="See: tui-agent sim run --help")
    if arguments.example and (arguments.env or arguments.test):
        raise UsageError(
            "An example has its own files and test.", hint="Remove --env and --test, or give --task."
        )
    if arguments.example:
        case = load_example(arguments.example)
    else:
        case = load_task(arguments.task, arguments.env, arguments.test)
    if arguments.test_timeout_seconds is None:
        return case
    return case.with_time_limit(arguments.test_timeout_seconds)


def _print_message(message: SimulationMessage, *, as_json: bool) -> None:
    if as_json:
        say_json(message.model_dump(mode="json"))
    else:
        say(escape_control(seen_text(message, "system"), lines=True) + "\n")


def _print_result(finished: "FinishedRun", *, as_json: bool) -> None:
    result = finished.result
    if as_json:
        say_json(result.model_dump(mode="json") | {"folder": str(finished.folder.path)})
        return
    detail = f": {' '.join(escape_control(result.detail).split())}" if result.detail else ""
    say(f"{'passed' if result.success else 'failed'}, {result.end}{detail}")
    say(
        f"{format_count(result.turns, 'turn')}, {format_tokens(result.agent_tokens)} tokens for the agent, {format_tokens(result.user_tokens)} for the simulated user"
    )
    say(f"outputs: {finished.folder.path}")
    for command in result.open_with:
        say(f"open: {command}")


def list_profiles(arguments: argparse.Namespace) -> None:
    """Print the profiles of simulated users."""
    profiles = load_profiles(arguments.profiles, _config_dir())
    if arguments.json:
        for name, text in sorted(profiles.items()):
            say_json({"name": name, "profile": text.strip()})
        return
    table(
        [(name, shorten(" ".join(text.split()), 80)) for name, text in sorted(profiles.items())],
        ("profile", ""),
    )


def report_runs(arguments: argparse.Namespace) -> None:
    """Print success rate, turns and tokens of all runs by mode and profile."""
    groups: dict[tuple[str, str, str], list[SimulationResult]] = defaultdict(list)
    for result in read_results(arguments.jobs):
        groups[result.mode, result.profile or "–", result.agent_model].append(result)
    if not groups:
        raise UsageError(
            f"{arguments.jobs} has no results.", hint="Run a simulation: tui-agent sim run --help"
        )
    rows = [_figures(key, results) for key, results in sorted(groups.items())]
    if arguments.json:
        for row in rows:
            say_json(row)
        return
    table([["–" if cell is None else str(cell) for cell in row.values()] for row in rows], tuple(rows[0]))


def _figures(key: tuple[str, str, str], results: list[SimulationResult]) -> dict[str, object]:
    counted = [result for result in results if result.measures_agent]
    cost = NO_USAGE.with_costs((result.cost_usd, "exact") for result in results).cost_usd
    return {
        "mode": key[0],
        "profile": key[1],
        "model": key[2],
        "runs": len(results),
        "no result": len(results) - len(counted),
        "success": format_percent(statistics.mean(result.success for result in counted)) if counted else None,
        "turns": _mean([result.turns for result in counted], 1),
        "agent tokens": _mean([result.agent_tokens for result in counted]),
        "user tokens": _mean([result.user_tokens for result in counted]),
        "cost": None if cost is None else round(cost, 4),
    }


def _mean(values: list[int], digits: int | None = None) -> float | None:
    return round(statistics.mean(values), digits) if values else None
