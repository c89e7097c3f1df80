"""Choice of the session for `--resume`. Invariant: the returned session exists."""

from collections.abc import Callable

from tui_agent.cli.console.output import say, table
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import SessionNotFound, UsageError
from tui_agent.store.session_store import SessionStore
from tui_agent.units import format_time
from tui_agent.wiring.startup_context import load_startup_context

MAX_LISTED = 20


def choose_session(options: SessionOptions, reference: str) -> str:
    """Return the id of the session `reference`. If `reference` is empty, ask the user.

    `reference`: an id, the beginning of an id, or `latest`.
    """
    store = load_startup_context(options).store
    if reference:
        return store.resolve(reference)
    return pick_session(store, str(options.cwd), input)


def pick_session(store: SessionStore, workspace: str, ask: Callable[[str], str]) -> str:
    """Print the newest sessions of a workspace, ask the user to choose one, and return its id.

    Raise `SessionNotFound` if there are no sessions, `UsageError` for an answer that is not in the list.
    """
    summaries = store.list(workspace)[:MAX_LISTED]
    if not summaries:
        raise SessionNotFound(f"No sessions in {workspace} yet.", hint="To start a session: tui-agent")
    rows = [
        [str(number), format_time(summary.updated), summary.title or "(untitled)"]
        for number, summary in enumerate(summaries, 1)
    ]
    table(rows, ["", "used", "title"])
    try:
        answer = ask(f"Which session? [1-{len(summaries)}] ").strip() or "1"
    except EOFError:
        answer = ""
    if not answer.isdigit() or not 1 <= int(answer) <= len(summaries):
        raise UsageError(f"{answer!r} is not in the list.", hint="No session was opened.")
    say("")
    return summaries[int(answer) - 1].id
