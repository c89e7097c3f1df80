"""The verb `sessions checkpoints`: states to which files can be restored, and whose changes they contain."""

import argparse
from dataclasses import asdict

from tui_agent.cli.exit_codes import Exit
from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import say, say_json, table
from tui_agent.cli.sessions.tree import WHICH
from tui_agent.folds.base import fold
from tui_agent.folds.session.checkpoints import Checkpoint, Checkpoints
from tui_agent.store.log_reader import iterate_records
from tui_agent.units import format_time
from tui_agent.wiring.startup_context import load_startup_context

EXAMPLES = """\
examples:
  tui-agent sessions checkpoints latest
  tui-agent sessions checkpoints ses_01 --json | jq 'select(.author == "human") | .files[].path'
"""
HEADS = ("event", "time", "part", "author", "lines", "files")


def add_verbs(verbs: "argparse._SubParsersAction[Parser]") -> None:
    """Add the verb `list_checkpoints`."""
    parser = add_verb(
        verbs, "checkpoints", show_checkpoints, help="list file states you can restore", examples=EXAMPLES
    )
    parser.add_argument("id", metavar="ID", help=WHICH)


def show_checkpoints(arguments: argparse.Namespace) -> int:
    """Print a line per checkpoint, the oldest first."""
    store = load_startup_context(session_options(arguments, client="headless", interactive=False)).store
    taken = fold(Checkpoints(), iterate_records(store.find(arguments.id)))
    if arguments.json:
        for checkpoint in taken:
            say_json(asdict(checkpoint))
    elif taken:
        table([_row(checkpoint) for checkpoint in taken], HEADS)
    else:
        say("No checkpoints: no file was changed.")
    return Exit.DONE


def _row(checkpoint: Checkpoint) -> list[str]:
    added = sum(file.added for file in checkpoint.files)
    removed = sum(file.removed for file in checkpoint.files)
    paths = [file.path for file in checkpoint.files] + (
        [f"and {checkpoint.unlisted_count} more"] if checkpoint.unlisted_count else []
    )
    notes = [
        *(["restored"] if checkpoint.restored else []),
        *([] if checkpoint.on_branch else ["on another branch"]),
    ]
    files = ", ".join(paths) or ("the files before the session" if checkpoint.part < 0 else "no files")
    part = str(checkpoint.part) if checkpoint.part >= 0 else "-"
    description = files + "".join(f" ({note})" for note in notes)
    has_counts = added or removed or not checkpoint.restored  # the log has no line counts of a restore
    return [
        str(checkpoint.seq),
        format_time(checkpoint.time),
        part,
        checkpoint.author,
        f"+{added} -{removed}" if has_counts else "",
        description,
    ]
