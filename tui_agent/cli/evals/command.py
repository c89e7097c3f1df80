"""Run suites of tasks and compare models and configurations; show how many tests passed during a session."""

import argparse
from pathlib import Path

from tui_agent.cli.console.options import Parser, Verbs
from tui_agent.cli.console.output import say, say_json, table
from tui_agent.cli.evals.commits import add_commits_verb
from tui_agent.cli.evals.freeze import add_freeze_verb
from tui_agent.cli.evals.graph import add_graph_verb
from tui_agent.cli.evals.report import add_report_verb
from tui_agent.cli.evals.suite_run import EXAMPLES, add_suite_verbs
from tui_agent.evals.cases.suites import bundled_suites
from tui_agent.evals.runs.board import list_runs


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
