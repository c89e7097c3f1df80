"""Run suites of tasks and compare models and configurations; show how many tests passed during a session."""

import argparse
import re
import shlex
from pathlib import Path

import anyio

from tui_agent.cli.console.output import say, say_json, say_result, table, warn
from tui_agent.cli.console.shared_options import RECORDING_HELP, Parser, Verbs, add_option, load_context
from tui_agent.cli.evals.commits import add_commits_verb
from tui_agent.cli.evals.report import add_report_verb
from tui_agent.cli.evals.suite_run import EXAMPLES, add_suite_verbs
from tui_agent.cli.evals.trajectory_graph import add_graph_verb
from tui_agent.errors import UsageError
from tui_agent.evals.cases.suites import bundled_suites
from tui_agent.evals.frozen.freeze import freeze_session
from tui_agent.evals.runs.progress_board import list_runs
from tui_agent.protocol.unicode_text import format_count

FREEZE_EXAMPLES = """\
examples:
  tui-agent eval freeze latest
  tui-agent eval freeze ses_01 --to evals/fix-the-parser
  tui-agent eval run evals/fix-the-parser -m oracle

The case replays the recorded answers with the real tools, without an API key. Edit its case.toml, which
lists the expected files, tools and tests. Files are copied unchanged: look for keys in them before you share the case.
"""


def configure(parser: Parser) -> None:
    """Add the subcommands of `eval`."""
    verbs = Verbs(parser, EXAMPLES)
    add_suite_verbs(verbs)
    verbs.add("list", list_suites, "list the bundled suites, and the runs in this folder", groups=())
    add_report_verb(verbs)
    add_graph_verb(verbs)
    add_commits_verb(verbs)
    add_freeze_verb(verbs)


def list_suites(arguments: argparse.Namespace) -> None:
    """Print the bundled suites and the runs in `eval-runs`; with `--json`, also the cases of each suite."""
    suites, runs = list(bundled_suites()), list_runs(Path.cwd())
    if arguments.json:
        for suite in suites:
            entry = suite.model_dump(mode="json", include={"name", "description"})
            say_json({**entry, "cases": [case.id for case in suite.cases]})
        for run in runs:
            say_json({"run": str(run.path), "state": run.state, "done": run.done, "cells": run.cells})
        return
    table(
        [(suite.name, str(len(suite.cases)), suite.description) for suite in suites], ("suite", "cases", "")
    )
    if runs:
        say("")
        rows = [(str(run.path), run.state, f"{run.done}/{run.cells}") for run in runs]
        table(rows, ("run", "state", "cells done"))


def add_freeze_verb(verbs: Verbs) -> None:
    """Add the subcommand `freeze`."""
    freeze = verbs.add("freeze", freeze_case, "make a test case from a session", examples=FREEZE_EXAMPLES)
    freeze.add_argument("id", metavar="SESSION", help=RECORDING_HELP)
    add_option(freeze, "--to DIR", "a new folder (default: frozen/SESSION)", type=Path)


def freeze_case(arguments: argparse.Namespace) -> None:
    """Write a case made from a session, and print how to run it."""
    session = load_context(arguments).store.find(arguments.id)
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", session.name)
    dest = (arguments.to or Path("frozen") / name).expanduser()
    if dest.exists() and (not dest.is_dir() or any(dest.iterdir())):
        raise UsageError(f"{dest} exists already.", hint="Name a new folder with --to.")
    frozen = anyio.run(freeze_session, session, dest.absolute())
    for note in frozen.notes:
        warn(note)
    counts = f"{format_count(frozen.turns, 'turn')}, {format_count(frozen.calls, 'call')}"
    say_result(
        {"session": session.name, "path": str(dest.absolute()), "turns": frozen.turns, "notes": frozen.notes},
        f"{dest}  {counts}\nTo run the case: tui-agent eval run {shlex.quote(str(dest))} -m oracle",
        as_json=arguments.json,
    )
