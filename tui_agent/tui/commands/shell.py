"""Commands that run something for the user, and those on the message and the last answer."""

import shlex

from tui_agent.protocol.commands import RunUserShell
from tui_agent.tui.context import AppContext

SKIPPED = (".?*", "node_modules", "venv", "site-packages", "__pycache__")


def run_command(context: AppContext, argument: str) -> None:
    """Run a shell command; the model sees its output."""
    if argument:
        context.submit(RunUserShell(command=argument))
    else:
        context.app.say(
            "/run needs a command, for example /run git status. !git status does the same.", "warning"
        )


def read_file(context: AppContext, argument: str) -> None:
    """Show a file to the model."""
    if argument:
        context.submit(RunUserShell(command=f"cat -n -- {shlex.quote(argument)}"))
    else:
        context.app.say(
            "/read needs a path, for example /read src/app.py. @src/app.py in a message mentions it.",
            "warning",
        )


def search_files(context: AppContext, argument: str) -> None:
    """Search the files for a text; the model sees the result."""
    if argument:
        context.submit(RunUserShell(command=search_command(argument)))
    else:
        context.app.say("/search needs a text, for example /search duration(.", "warning")


def search_command(text: str) -> str:
    """Return the shell command that finds a text: with git, else with grep outside library folders."""
    options = f"-nI -e {shlex.quote(text)}"
    skipped = " ".join(f"--exclude-dir={shlex.quote(name)}" for name in SKIPPED)
    return (
        f"git grep --untracked {options} -- . 2>/dev/null || test $? -eq 1 || grep -r {options} {skipped} ."
    )


def copy_answer(context: AppContext, argument: str) -> None:
    """Copy the last answer."""

    async def copy() -> None:
        answer = await context.reader.last_answer()
        if answer:
            context.app.copy_text(answer)
        else:
            context.app.say("No answer to copy yet.")

    context.worker(copy(), "copy")


def edit_message(context: AppContext, argument: str) -> None:
    """Write the message in the user's editor."""
    changed = context.app.edit_outside(context.prompt.message)
    if changed is not None:
        context.prompt.put_message(changed)
