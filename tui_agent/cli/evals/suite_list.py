"""`eval list`: list the bundled suites, and the runs in the current folder."""

import argparse
from collections.abc import Iterator

from tui_agent.cli.exit_codes import Exit
from tui_agent.cli.options import Verbs
from tui_agent.cli.output import say, say_json, table
from tui_agent.errors import ConfigError
from tui_agent.evals.plan import LOCK_FILE, PLAN_FILE, RUNS_FOLDER, RunFolder
from tui_agent.evals.suites import bundled_suites
from tui_agent.store.writer_lock import is_locked


def add_list_verb(verbs: Verbs) -> None:
    """Add the subcommand `list`."""
    verbs.add("list", list_suites, "list the bundled suites, and the runs in this folder", groups=())


def list_suites(arguments: argparse.Namespace) -> int:
    """Print the bundled suites and the runs in `eval-runs`; with `--json` also the cases of each suite."""
    suites, runs = list(bundled_suites()), list(_runs())
    if arguments.json:
        for suite in suites:
            entry = suite.model_dump(mode="json", include={"name", "description"})
            say_json({**entry, "cases": [case.id for case in suite.cases]})
        for path, state, done, cells in runs:
            say_json({"run": path, "state": state, "done": done, "cells": cells})
        return Exit.DONE
    table(
        [(suite.name, str(len(suite.cases)), suite.description) for suite in suites], ("suite", "cases", "")
    )
    if runs:
        say("")
        rows = [(path, state, f"{done}/{cells}") for path, state, done, cells in runs]
        table(rows, ("run", "state", "cells done"))
    return Exit.DONE


def _runs() -> Iterator[tuple[str, str, int, int]]:
    """Yield each run as (folder, state, number of finished cells, number of all cells)."""
    for path in sorted(RUNS_FOLDER.glob(f"*/{PLAN_FILE}")):
        run = RunFolder(path.parent)
        try:
            cells = list(run.load_plan().cells())
        except ConfigError:
            yield str(path.parent), "cannot be read", 0, 0  # `eval report` says why
            continue
        done = sum(run.load_result(cell) is not None for cell in cells)
        state = (
            "running" if is_locked(run.path / LOCK_FILE) else "finished" if done == len(cells) else "stopped"
        )
        yield str(path.parent), state, done, len(cells)
