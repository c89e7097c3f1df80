"""Make a test case from a session (`tui-agent eval freeze`)."""

import argparse
import re
import shlex
from pathlib import Path

import anyio

from tui_agent.cli.console.options import RECORDING_HELP, Verbs, add_option, load_context
from tui_agent.cli.console.output import say_result, warn
from tui_agent.errors import UsageError
from tui_agent.evals.frozen.freeze import freeze_session
from tui_agent.protocol.unicode_text import format_count

EXAMPLES = """\
examples:
  tui-agent eval freeze latest
  tui-agent eval freeze ses_01 --to evals/fix-the-parser
  tui-agent eval run evals/fix-the-parser -m oracle

The case replays the recorded answers with the real tools, without an API key. Edit its case.toml, which
lists the expected files, tools and tests. Files are copied unchanged: look for keys in them before you share the case.
"""


def add_freeze_verb(verbs: Verbs) -> None:
    """Add the subcommand `freeze`."""
    freeze = verbs.add("freeze", freeze_case, "make a test case from a session", examples=EXAMPLES)
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
