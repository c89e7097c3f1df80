"""Actions on the work itself: run, read, search, copy, write elsewhere."""

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING

from tui_agent.protocol.commands import RunUserShell
from tui_agent.tui.screens.jobs import JobsScreen
from tui_agent.tui.screens.map.screen import MapScreen

if TYPE_CHECKING:
    from tui_agent.tui.controller.controller import Live

PASSED_OVER = (".?*", "node_modules", "venv", "site-packages", "__pycache__")


def run(live: "Live", argument: str) -> None:
    """Run a command; the model sees its output."""
    if argument:
        live.submit(RunUserShell(command=argument))
    else:
        live.app.say("/run takes a command, as /run git status. !git status is the same.", "warning")


def read(live: "Live", argument: str) -> None:
    """Show a file to the model."""
    if argument:
        live.submit(RunUserShell(command=f"cat -n -- {shlex.quote(argument)}"))
    else:
        live.app.say(
            "/read takes a path, as /read src/app.py. @src/app.py in a message mentions it.", "warning"
        )


def search(live: "Live", argument: str) -> None:
    """Search the files, and show the model."""
    if argument:
        live.submit(RunUserShell(command=search_command(argument)))
    else:
        live.app.say("/search takes a text, as /search duration(.", "warning")


def search_command(text: str) -> str:
    """What finds a text: in a git repository in all files that are not ignored, elsewhere not where libraries lie."""
    wanted = f"-nI -e {shlex.quote(text)}"
    passed_over = " ".join(f"--exclude-dir={shlex.quote(name)}" for name in PASSED_OVER)
    return (
        f"git grep --untracked {wanted} -- . 2>/dev/null || test $? -eq 1 || grep -r {wanted} {passed_over} ."
    )


def copy(live: "Live", argument: str) -> None:
    """The last answer into the clipboard."""

    async def copied() -> None:
        answer = await live.reading.last_answer()
        if answer:
            live.app.copy_text(answer)
        else:
            live.app.say("There is no answer yet.")

    live.worker(copied(), "copy")


def jobs(live: "Live", argument: str) -> None:
    """The background jobs: what they print, and the way to end them."""
    live.app.push_screen(JobsScreen(live))


def repo_map(live: "Live", argument: str) -> None:
    """The map of the repository, for a question or for the newest message."""
    live.app.push_screen(MapScreen(live, argument))


def editor(live: "Live", argument: str) -> None:
    """Write the message in the user's editor."""
    written = live.app.prompt.editor
    changed = live.app.edit_outside(written.message)
    if changed is not None:
        written.chips.clear()
        written.put(changed)


def start(live: "Live", argument: str) -> None:
    """A numbered row of the start page."""
    live.chat.start.choose(argument)


def write(live: "Live", argument: str) -> None:
    """Into the prompt."""
    live.app.prompt.editor.focus()


def demo(live: "Live", argument: str) -> None:
    """Leave, and play a demo."""
    live.app.then = ("demo", argument) if argument else ("demo",)
    live.app.leave()


HANDLERS: "dict[str, Callable[[Live, str], None]]" = {
    "run": run,
    "read": read,
    "search": search,
    "copy": copy,
    "jobs": jobs,
    "map": repo_map,
    "editor": editor,
    "start": start,
    "demo": demo,
    "write": write,
}
