"""The verb `sessions rename`. Invariant: a name is an event of the session's log."""

import argparse

from tui_agent.cli.exit_codes import Exit
from tui_agent.cli.options import Parser, add_verb, session_options
from tui_agent.cli.output import say, say_json
from tui_agent.errors import UsageError
from tui_agent.protocol.events.session import SessionTitled
from tui_agent.wiring.startup_context import load_startup_context

EXAMPLES = """\
examples:
  tui-agent sessions rename latest night shift
  tui-agent sessions rename ses_01 "the slow test" --json
"""
MAX_NAME_CHARS = 200
"""Maximum characters of a name."""


def add_verbs(verbs: "argparse._SubParsersAction[Parser]") -> None:
    """Add the verb `rename`."""
    rename = add_verb(verbs, "rename", rename_session, help="give a session a name", examples=EXAMPLES)
    rename.add_argument("id", metavar="ID", help="a session id, its beginning, or latest")
    rename.add_argument("title", metavar="NAME", nargs="+", help="the name")


def rename_session(arguments: argparse.Namespace) -> int:
    """Rename a session that no process has open."""
    store = load_startup_context(session_options(arguments, client="headless", interactive=False)).store
    name, title = store.resolve(arguments.id), " ".join(" ".join(arguments.title).split())[:MAX_NAME_CHARS]
    if not title:
        raise UsageError("The name cannot be empty.", hint=f"Example: tui-agent sessions rename {name} NAME")
    log = store.open(name, wait_s=0.5)
    try:
        log.append(SessionTitled(title=title, titled_by="user"))
    finally:
        log.close()
    if arguments.json:
        say_json({"id": name, "title": title})
    else:
        say(f"Renamed {name} to {title}.")
    return Exit.DONE
