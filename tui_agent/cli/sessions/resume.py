"""Which earlier session `--resume` means; asks on the terminal where no id is given.

Invariant: what it returns is a session that exists.
"""

from collections.abc import Callable

from tui_agent.cli.output import moment, say, table
from tui_agent.config.options import SessionOptions
from tui_agent.errors import SessionNotFound, UsageError
from tui_agent.store.sessions import SessionStore
from tui_agent.wiring.base import ground

SHOWN = 20


def chosen(options: SessionOptions, wanted: str) -> str:
    """The session that `wanted` names (an id, its beginning, or `latest`), or the one that the user picks."""
    store = ground(options).store
    if wanted:
        return store.resolve(wanted)
    return pick(store, str(options.cwd), input)


def pick(store: SessionStore, workspace: str, ask: Callable[[str], str]) -> str:
    """Show this workspace's newest sessions and ask for one. Raises `SessionNotFound` where there are none."""
    found = store.list(workspace)[:SHOWN]
    if not found:
        raise SessionNotFound(f"There are no sessions of {workspace} yet.", hint="tui-agent starts one.")
    rows = [[str(at), moment(each.updated), each.title or "(untitled)"] for at, each in enumerate(found, 1)]
    table(rows, ["", "used", "title"])
    try:
        answer = ask(f"Which one? [1-{len(found)}] ").strip() or "1"
    except EOFError:
        answer = ""
    if not answer.isdigit() or not 1 <= int(answer) <= len(found):
        raise UsageError(f"{answer!r} is none of them.", hint="Nothing was opened.")
    say("")
    return found[int(answer) - 1].id
