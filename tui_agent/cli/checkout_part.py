"""Copy the workspace's files, as they were after one part of a session, to a new folder.

A part is a message, answer, tool call or result.
"""

import argparse
from pathlib import Path

import anyio

from tui_agent.cli.console.output import say_result
from tui_agent.cli.console.shared_options import GROUPS, RECORDING_HELP, add_flag, load_context
from tui_agent.errors import UsageError
from tui_agent.export.archive.checkpoint_export import checkout_part

EXAMPLES = """\
examples:
  tui-agent checkout-part latest 42 /tmp/after-42
  tui-agent checkout-part latest -1 /tmp/before

The first part has number 0. To list the parts of a session: tui-agent trace ID --parts
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the session, the part and the destination folder to the parser."""
    parser.add_argument("id", metavar="ID", help=RECORDING_HELP)
    parser.add_argument("part", metavar="PART", type=int, help="the part's number; -1: before the first part")
    parser.add_argument("dest", metavar="DEST", type=Path, help="an empty or new folder")
    add_flag(parser, "--json", "print one JSON object")
    GROUPS["folders"](parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the files as they were after the given part to the destination folder; return 0."""
    store = load_context(arguments).store
    folder = store.find(arguments.id)
    dest = resolve_folder(arguments.dest)
    commit = anyio.run(checkout_part, folder, arguments.part, dest)
    return report_checkout({"session": folder.name}, commit, dest, arguments)


def report_checkout(names: dict[str, str], commit: str, dest: Path, arguments: argparse.Namespace) -> int:
    """Print which checkpoint was written to `dest`; return 0.

    `names`: further fields of the JSON object, such as the session's id.
    """
    say_result(
        {**names, "part": arguments.part, "commit": commit, "path": str(dest)},
        f"{dest}: files after part {arguments.part}, checkpoint {commit[:12]}",
        as_json=arguments.json,
    )
    return 0


def resolve_folder(path: Path) -> Path:
    """Return the absolute path of a folder. The folder need not exist. Raise `UsageError` if the path is a file."""
    dest = path.expanduser().absolute()
    if dest.exists() and not dest.is_dir():
        raise UsageError(f"{dest} is a file.", hint="Name an empty or new folder.")
    return dest
