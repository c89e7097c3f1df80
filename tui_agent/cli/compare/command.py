"""Compare two sessions, or two branches of one: their outcome, cost and changed files.

Counting starts after the last event that both share; sessions that share none are compared in full. Without B, A is
compared with the session it was forked from, or else with its newest fork.
"""

import argparse
import dataclasses
from pathlib import Path

from tui_agent.cli.compare.markdown import to_markdown
from tui_agent.cli.compare.table import table
from tui_agent.cli.options import GROUPS, session_options
from tui_agent.cli.output import say, say_json, say_text, warn, width
from tui_agent.cli.trace import WHICH
from tui_agent.errors import UsageError
from tui_agent.export.output_file import free_name, write_new
from tui_agent.folds.base import branch
from tui_agent.folds.comparison.fold import Comparison, compare
from tui_agent.folds.comparison.side import Branch
from tui_agent.store.damage_report import flaws
from tui_agent.store.lineage import blobs_of, origin_of
from tui_agent.store.reader import read_records
from tui_agent.store.sessions import SessionStore
from tui_agent.store.summary import summarise
from tui_agent.wiring.base import Ground, ground

EXAMPLES = """\
examples:
  tui-agent compare ses_01 ses_02
  tui-agent compare latest
  tui-agent compare ses_01@120 ses_01
  tui-agent compare ses_01 ses_02 --json | jq '.right.outcome.words'
  tui-agent compare ses_01 ses_02 --markdown -o two-ways.md

ID@SEQ is the branch of a session that ends at event SEQ; ID alone is its current branch.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add both branches and the output form."""
    parser.add_argument("left", metavar="A", help=f"{WHICH}; with @SEQ the branch that ends at that event")
    parser.add_argument("right", metavar="B", nargs="?", help="the other session, in the same form")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    parser.add_argument(
        "--markdown", action="store_true", help="write Markdown to a new file in the current folder"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="with --markdown: the file to write; - for standard output"
    )
    GROUPS["place"](parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare two branches."""
    if arguments.output and not arguments.markdown:
        raise UsageError("-o needs --markdown.", hint="Add --markdown.")
    options = session_options(arguments, client="headless", interactive=False)
    base = ground(options)
    left, right = arguments.left, arguments.right
    if not right:
        left, right = pair(base.store, left)
    comparison = of_names(base.store, left, right)
    if not arguments.markdown:
        show(comparison, as_json=arguments.json)
        return 0
    text = base.redactor.text(to_markdown(comparison))
    if arguments.output == "-":
        say_text(text)
        return 0
    stem = f"compare-{comparison.left.session}-{comparison.right.session}"
    dest = Path(arguments.output).expanduser() if arguments.output else free_name(options.cwd, stem, "md")
    write_new(dest, text.encode())
    if arguments.json:
        say_json({"path": str(dest.absolute())})
    else:
        say(str(dest))
    return 0


def compare_sessions(base: Ground, left: str, right: str, *, as_json: bool) -> None:
    """Print a comparison of two sessions named as on the command line. Raises as `SessionStore.find` does."""
    show(of_names(base.store, left, right), as_json=as_json)


def show(compared: Comparison, *, as_json: bool) -> None:
    """Print a comparison as one JSON object, or as a table as wide as the terminal."""
    if as_json:
        say_json(dataclasses.asdict(compared))
        return
    for line in table(compared, width()):
        say(line)


def of_names(store: SessionStore, left: str, right: str) -> Comparison:
    """Compare two branches named as on the command line. Raises `SessionNotFound`, `UsageError`."""
    return compare(named(store, left), named(store, right))


def named(store: SessionStore, name: str) -> Branch:
    """Return the branch named by `ID` or `ID@SEQ`."""
    session, separator, seq = name.rpartition("@")
    if not (separator and seq.isdecimal()):
        session, seq = name, ""
    folder = store.find(session)
    records = read_records(folder, skip_deltas=True)
    for flaw in flaws(folder, records):
        warn(f"{folder.name}: {flaw}")
    if seq:
        last = records[-1].seq if records else -1
        if int(seq) > last:
            raise UsageError(f"{folder.name} has no event {seq}.", hint=f"It has events 0 to {last}.")
        records = [record for record in records if record.seq <= int(seq)]
    return Branch(folder.name, branch(records), blobs_of(folder).find)


def pair(store: SessionStore, name: str) -> tuple[str, str]:
    """Return a session with its parent, or with its newest fork if it has no parent. Raises `UsageError`."""
    session, _, seq = name.rpartition("@")
    folder = store.find(session if seq.isdecimal() and session else name)
    origin = origin_of(folder)
    if origin is not None:
        return origin.parent, name
    forks = [summary for fork in store.forks(folder.name) if (summary := summarise(store.folder(fork)))]
    if not forks:
        raise UsageError(
            f"{folder.name} is not a fork and has none.",
            hint="Name the second session: tui-agent compare A B. To list sessions: tui-agent sessions list",
        )
    return name, max(forks, key=lambda fork: fork.started).id
