"""The verb `sessions checkpoints`: where the files can be put back to, and who had changed what by then."""

import argparse
from dataclasses import asdict

from tui_agent.cli.exit_codes import Exit
from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import moment, say, say_json, table
from tui_agent.cli.sessions.tree import WHICH
from tui_agent.folds.session.checkpoints import Checkpoint, checkpoints
from tui_agent.store.reader import iterate_records
from tui_agent.wiring.base import ground

EXAMPLES = """\
examples:
  tui-agent sessions checkpoints latest
  tui-agent sessions checkpoints ses_01 --json | jq 'select(.author == "human") | .files[].path'
"""
HEADS = ("event", "time", "part", "author", "lines", "files")


def add_verbs(verbs: "argparse._SubParsersAction[Parser]") -> None:
    """The verb `checkpoints`."""
    parser = add_verb(
        verbs, "checkpoints", show_checkpoints, help="the files' states that can come back", examples=EXAMPLES
    )
    parser.add_argument("id", metavar="ID", help=WHICH)


def show_checkpoints(arguments: argparse.Namespace) -> int:
    """Print a line for each, the oldest first."""
    store = ground(session_options(arguments, client="headless", interactive=False)).store
    found = checkpoints(iterate_records(store.find(arguments.id)))
    if arguments.json:
        for one in found:
            say_json(asdict(one))
    elif found:
        table([_row(one) for one in found], HEADS)
    else:
        say("No checkpoint was taken: no file was changed.")
    return Exit.DONE


def _row(one: Checkpoint) -> list[str]:
    added, removed = sum(file.added for file in one.files), sum(file.removed for file in one.files)
    paths = [file.path for file in one.files] + ([f"and {one.more} more"] if one.more else [])
    notes = [*(["put back"] if one.restored else []), *([] if one.on_branch else ["on another branch"])]
    files = ", ".join(paths) or ("the files as they were found" if one.part < 0 else "no file")
    part = str(one.part) if one.part >= 0 else "-"
    told = files + "".join(f" ({note})" for note in notes)
    counted = added or removed or not one.restored  # what a move of files changed in lines is not in the log
    return [str(one.seq), moment(one.at), part, one.author, f"+{added} -{removed}" if counted else "", told]
