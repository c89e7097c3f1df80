"""Show a folder's files that need trust, and decide whether to use them.

These files can change what tui-agent does or runs. A decision applies to the folder's path and the files' present
contents. Changes since the last decision are marked. --trust-project trusts the present contents for one run, and
stores nothing.
"""

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tui_agent.cli.console.output import say, say_json, table
from tui_agent.cli.console.shared_options import GROUPS, add_flag, session_options
from tui_agent.config.paths import Paths, find_paths
from tui_agent.config.project import trust
from tui_agent.config.project.trust import Project, load_projects
from tui_agent.config.project.trust_effects import describe_effect
from tui_agent.errors import UsageError

EXAMPLES = """\
examples:
  tui-agent trust                      list this folder's files that can change what tui-agent does or runs
  tui-agent trust --yes                use these files; ask again when they change
  tui-agent trust ~/code/shop --no     ignore the files of a folder; ask again when they change
  tui-agent trust --forget             forget the decision and ask again
  tui-agent trust --list               list all folders with a decision
"""
STANDING_TEXTS = {
    "nothing": "has no files that change what tui-agent does or runs",
    "trusted": "is trusted with its current files",
    "without": "is used without these files, as you decided",
    "open": "is not trusted",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the folder and the decision to the parser."""
    parser.add_argument(
        "folder", nargs="?", type=Path, metavar="DIR", help="the folder (default: the current one)"
    )
    decision = parser.add_mutually_exclusive_group()
    add_flag(decision, "--yes", "use the files until they change")
    add_flag(decision, "--no", "ignore the files without asking until they change")
    add_flag(decision, "--forget", "forget the decision about the folder")
    add_flag(decision, "--list", "list all folders with a decision")
    add_flag(parser, "--json", "print JSON lines")
    GROUPS["folders"](parser)


def run(arguments: argparse.Namespace) -> int:
    """Store the decision, if one is given, then show the folder's files and the decision about them."""
    if arguments.folder is not None:
        if arguments.cwd is not None:
            raise UsageError("DIR and --cwd name two different folders.", hint="Use only one of them.")
        arguments.cwd = arguments.folder
    options = session_options(arguments, client="headless", interactive=True)
    paths = find_paths(options.cwd, os.environ)
    if arguments.list:
        return show_decisions(paths, as_json=arguments.json)
    for project in load_projects(options, os.environ):
        if arguments.forget:
            trust.remove_decision(project.folder, paths)
        elif (arguments.yes or arguments.no) and project.files.files:
            trust.save_decision(project.files, "trusted" if arguments.yes else "without", paths)
    show(load_projects(options, os.environ), paths, as_json=arguments.json)
    return 0


def show(projects: Sequence[Project], paths: Paths, *, as_json: bool) -> None:
    """Print the decision about each folder and the folder's files, with what each file could do."""
    for project in projects:
        rows = list(files_of(project, paths))
        if as_json:
            objects = [dict(zip(("mark", "file", "power"), row, strict=True)) for row in rows]
            say_json({"folder": str(project.files.folder), "standing": project.trust_state, "files": objects})
            continue
        say(f"{project.files.folder} {STANDING_TEXTS[project.trust_state]}.")
        if rows:
            table(rows, ["", "file", "what it could do"])
    if not as_json and any(project.trust_state == "open" for project in projects):
        say(
            "These files are not used. To trust them as they are, add --yes; to ignore them without asking, add --no."
        )


def files_of(project: Project, paths: Paths) -> Iterator[tuple[str, str, str]]:
    """Yield (change since the last decision, name, possible effect) of each file of a project, deleted files last."""
    marked = trust.compare_files(project.files, paths)
    for file in project.files.files:
        yield marked.get(file.name, ""), file.name, describe_effect(file)
    for name, mark in marked.items():
        if mark == "gone":
            yield mark, name, ""


def show_decisions(paths: Paths, *, as_json: bool) -> int:
    """Print every folder that has a trust decision.

    In the JSON output, `holds` is False if the folder's files have changed since the decision.
    """
    rows = []
    for folder, decision in sorted(trust.load_decisions(paths).items()):
        is_current = trust.is_decision_current(Path(folder), paths)
        count = len(decision.files)
        if as_json:
            say_json({"folder": folder, "decision": decision.decision, "holds": is_current, "files": count})
        rows.append([decision.decision, "" if is_current else "changed since", str(count), folder])
    if not as_json and rows:
        table(rows, ["decided", "", "files", "folder"])
    elif not as_json:
        say("No decisions yet.")
    return 0
