"""The subcommand `sessions what-if`: runs a fork with one change and compares it with the original.

Invariant: fork and original never work in the same folder. Actions that the policy would ask about are denied, because
no user is there to answer.
"""

import argparse
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from tui_agent.cli.compare import compare_named, show
from tui_agent.cli.options import Verbs, session_options
from tui_agent.cli.output import say
from tui_agent.cli.sessions.fork import CreatedFork, add_arguments, make_fork, requested_change
from tui_agent.engine.command_checks import check_can_continue
from tui_agent.errors import UsageError
from tui_agent.folds.base import current_branch, fold
from tui_agent.folds.context.model_messages import ModelMessages
from tui_agent.folds.session.fold import SessionState
from tui_agent.folds.text.labels import fork_changes
from tui_agent.protocol.events.session import ForkChange
from tui_agent.session.fork_files import read_records_until
from tui_agent.session.fork_start import find_fork_start
from tui_agent.session.fork_workspace import load_state
from tui_agent.wiring.startup_context import load_startup_context

EXAMPLES = """\
examples:
  tui-agent sessions what-if ses_01 --at 40 --model openai/MODEL
  tui-agent sessions what-if latest --at 57 --result "2 passed, 1 failed"
  tui-agent sessions what-if ses_01 --at 12 --message "the same, but without new dependencies" --json
  tui-agent sessions what-if ses_01 --at 40 --reasoning-effort high --worktree ../try-harder

The fork works in a new folder: DIR, or a folder inside the fork's session folder. The folder has the files as they were at
that event, except ignored and very large files. Actions that the policy would ask about are denied. The exit status is that of
the fork's run. To print the comparison again: tui-agent compare FORK
"""


def add_verbs(verbs: Verbs) -> None:
    """Add the subcommand `what-if` to `verbs`."""
    parser = verbs.add(
        "what-if",
        what_if,
        "run a fork with one change, and compare it with the original",
        examples=EXAMPLES,
        groups=("folders", "limits", "project"),
    )
    add_arguments(parser)


def what_if(arguments: argparse.Namespace) -> int:
    """Create the fork, run it and print the comparison; return the run's exit status."""
    change = requested_change(arguments)
    if len(fork_changes(change)) != 1:
        raise UsageError(
            "A what-if needs exactly one change.",
            hint="Give one of --model, --reasoning-effort, --context-mode, --result, --message.",
        )
    options = replace(
        session_options(arguments, client="headless", interactive=False), model=None, context_mode=None
    )
    base = load_startup_context(options)
    home = base.store.folder(base.store.resolve(arguments.id))
    _require_open_end(home, arguments.at, change)
    fork = make_fork(base, arguments)
    _print_fork(fork)
    cwd = options.cwd if arguments.cwd is not None else _workspace(home) or options.cwd
    status: int = import_module("tui_agent.cli.run.command").continue_session(
        replace(options, session=fork.id, cwd=cwd)
    )
    show(compare_named(base.store, fork.parent, fork.id), as_json=arguments.json)
    return status


def _print_fork(fork: CreatedFork) -> None:
    """Print the fork on standard error before it runs, because the fork remains even if its run fails."""
    changes = "; ".join(fork_changes(fork.changed.model_copy(update={"workspace": ""})))
    say(f"{fork.id}  what if: {changes}, after event {fork.at_seq} of {fork.parent}", file=sys.stderr)
    for line in (f"The fork's workspace is {fork.workspace}", fork.note):
        if line:
            say(line, file=sys.stderr)


def _workspace(home: Path) -> Path | None:
    """Return the original session's workspace, whose configuration applies to the fork; None if it is missing."""
    known = Path(load_state(home).workspace)
    return known if known.is_dir() else None


def _require_open_end(home: Path, at_seq: int, change: ForkChange) -> None:
    """Raise `UsageError` if the fork's conversation would not end with something that the agent can respond to."""
    request = find_fork_start(read_records_until(home, at_seq), at_seq, change)
    if change.message is not None:
        return
    records = current_branch(read_records_until(home, request.at_seq))
    if fold(SessionState(), records).open_calls:
        return
    rejection = check_can_continue(fold(ModelMessages(), records))
    if rejection is not None:
        raise UsageError(
            f"The session cannot continue from event {request.at_seq}: {rejection.reason}",
            hint="Choose an event after a message or tool result, or replace the message with --message.",
        )
