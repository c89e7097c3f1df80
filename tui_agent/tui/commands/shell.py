"""Actions on the work itself: run, read, search, copy, write elsewhere."""

import shlex
from collections.abc import Callable

from tui_agent.protocol.commands import RunUserShell
from tui_agent.tui.context import AppContext
from tui_agent.tui.screens.jobs import JobsScreen
from tui_agent.tui.screens.map.screen import MapScreen

PASSED_OVER = (".?*", "node_modules", "venv", "site-packages", "__pycache__")


def run(context: AppContext, argument: str) -> None:
    """Run a command; the model sees its output."""
    if argument:
        context.submit(RunUserShell(command=argument))
    else:
        context.app.say("/run takes a command, as /run git status. !git status is the same.", "warning")


def read(context: AppContext, argument: str) -> None:
    """Show a file to the model."""
    if argument:
        context.submit(RunUserShell(command=f"cat -n -- {shlex.quote(argument)}"))
    else:
        context.app.say(
            "/read takes a path, as /read src/app.py. @src/app.py in a message mentions it.", "warning"
        )


def search(context: AppContext, argument: str) -> None:
    """Search the files, and show the model."""
    if argument:
        context.submit(RunUserShell(command=search_command(argument)))
    else:
        context.app.say("/search takes a text, as /search duration(.", "warning")


def search_command(text: str) -> str:
    """What finds a text: in a git repository in all files that are not ignored, elsewhere not where libraries lie."""
    wanted = f"-nI -e {shlex.quote(text)}"
    passed_over = " ".join(f"--exclude-dir={shlex.quote(name)}" for name in PASSED_OVER)
    return (
        f"git grep --untracked {wanted} -- . 2>/dev/null || test $? -eq 1 || grep -r {wanted} {passed_over} ."
    )


def copy(context: AppContext, argument: str) -> None:
    """The last answer into the clipboard."""

    async def copied() -> None:
        answer = await context.reader.last_answer()
        if answer:
            context.app.copy_text(answer)
        else:
            context.app.say("There is no answer yet.")

    context.worker(copied(), "copy")


def jobs(context: AppContext, argument: str) -> None:
    """The background jobs: what they print, and the way to end them."""
    context.app.push_screen(JobsScreen(context))


def repo_map(context: AppContext, argument: str) -> None:
    """The map of the repository, for a question or for the newest message."""
    context.app.push_screen(MapScreen(context, argument))


def editor(context: AppContext, argument: str) -> None:
    """Write the message in the user's editor."""
    changed = context.app.edit_outside(context.prompt.message)
    if changed is not None:
        context.prompt.put_message(changed)


def start(context: AppContext, argument: str) -> None:
    """A numbered row of the start page."""
    context.start_page.choose(argument)


def write(context: AppContext, argument: str) -> None:
    """Into the prompt."""
    context.prompt.focus()


def demo(context: AppContext, argument: str) -> None:
    """Leave, and play a demo."""
    context.app.leave_for("demo", *filter(None, [argument]))


HANDLERS: dict[str, Callable[[AppContext, str], None]] = {
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
