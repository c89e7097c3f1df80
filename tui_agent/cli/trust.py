"""Whether a folder's own files may steer the program: show them, trust them, go on without, or take it back.

Trust is for a folder at its place with exactly these contents. What differs from the last decision is marked.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tui_agent.cli.options import GROUPS, session_options
from tui_agent.cli.output import say, say_json, table
from tui_agent.config import trust
from tui_agent.config.paths import Paths, find
from tui_agent.config.project import Project, projects
from tui_agent.config.project_powers import power
from tui_agent.errors import UsageError

EXAMPLES = """\
examples:
  tui-agent trust                      the files of this folder that could steer the program, and what each could do
  tui-agent trust --yes                use them, as long as they stay as they are
  tui-agent trust ~/code/shop --no     go on without them, unasked, as long as they stay as they are
  tui-agent trust --forget             take it back: ask again
  tui-agent trust --list               every folder that something was decided about
"""
WORDS = {
    "nothing": "has no files that could steer the program",
    "trusted": "is trusted with its present content",
    "without": "is worked in without its own files, as you decided",
    "open": "is not trusted",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """The folder, and what is to become of it."""
    parser.add_argument(
        "folder", nargs="?", type=Path, metavar="DIR", help="the folder (default: the current one)"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--yes", action="store_true", help="trust its files as they are now")
    what.add_argument(
        "--no", action="store_true", help="go on without them until they change, without asking"
    )
    what.add_argument("--forget", action="store_true", help="take back what was decided about it")
    what.add_argument("--list", action="store_true", help="every folder that something was decided about")
    parser.add_argument("--json", action="store_true", help="JSON lines")
    GROUPS["place"](parser)


def run(arguments: argparse.Namespace) -> int:
    """Show or decide, and return the exit status."""
    if arguments.folder is not None:
        if arguments.cwd is not None:
            raise UsageError("DIR and --cwd name two folders.", hint="Give one of them.")
        arguments.cwd = arguments.folder
    options = session_options(arguments, client="headless", interactive=True)
    paths = find(options.cwd, os.environ)
    if arguments.list:
        return show_decisions(paths, as_json=arguments.json)
    for one in projects(options, os.environ):
        if arguments.forget:
            trust.forget(one.folder, paths)
        elif (arguments.yes or arguments.no) and one.files.files:
            trust.decide(one.files, "trusted" if arguments.yes else "without", paths)
    show(projects(options, os.environ), paths, as_json=arguments.json)
    return 0


def show(looked: Sequence[Project], paths: Paths, *, as_json: bool) -> None:
    """What there is, what it could do, and what was decided."""
    for one in looked:
        rows = list(files_of(one, paths))
        if as_json:
            named = [dict(zip(("mark", "file", "power"), row, strict=True)) for row in rows]
            say_json({"folder": str(one.files.folder), "standing": one.standing, "files": named})
            continue
        say(f"{one.files.folder} {WORDS[one.standing]}.")
        if rows:
            table(rows, ["", "file", "what it could do"])
    if not as_json and any(one.standing == "open" for one in looked):
        say("None of this is used. --yes trusts it as it is, --no goes on without it and does not ask again.")


def files_of(one: Project, paths: Paths) -> Iterator[tuple[str, str, str]]:
    """Mark, name and power of each file; those that are gone since the decision last."""
    marked = trust.marks(one.files, paths)
    for file in one.files.files:
        yield marked.get(file.name, ""), file.name, power(file)
    for name, mark in marked.items():
        if mark == "gone":
            yield mark, name, ""


def show_decisions(paths: Paths, *, as_json: bool) -> int:
    """Every folder that something was decided about, and whether that still holds."""
    rows = []
    for folder, decided in sorted(trust.decisions(paths).items()):
        holds = trust.holds(Path(folder), paths)
        if as_json:
            said = {
                "folder": folder,
                "decision": decided.decision,
                "holds": holds,
                "files": len(decided.files),
            }
            say_json(said)
        rows.append([decided.decision, "" if holds else "changed since", str(len(decided.files)), folder])
    if not as_json and rows:
        table(rows, ["decided", "", "files", "folder"])
    elif not as_json:
        say("Nothing was decided about any folder.")
    return 0
