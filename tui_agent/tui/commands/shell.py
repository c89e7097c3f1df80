"""Commands that run a shell command for the user, or edit the message."""

import shlex

from tui_agent.config.project.generated_folders import GENERATED_FOLDERS
from tui_agent.protocol.commands import RunUserShell
from tui_agent.tui.app_context import AppContext

SKIPPED = (".?*", "site-packages", *sorted(name for name in GENERATED_FOLDERS if not name.startswith(".")))


def run_command(context: AppContext, argument: str) -> None:
    """Run a shell command; the model sees its output."""
    context.submit(RunUserShell(command=argument))


def read_file(context: AppContext, argument: str) -> None:
    """Run `cat -n` on a file; the model sees the output."""
    command = f"cat -n -- {shlex.quote(argument)}"
    context.submit(RunUserShell(command=command, typed=f"/read {argument}"))


def search_files(context: AppContext, argument: str) -> None:
    """Search the files for a text; the model sees the result."""
    context.submit(RunUserShell(command=search_command(argument), typed=f"/search {argument}"))


def search_command(text: str) -> str:
    """Return the shell command that searches for a text, with `git grep` or `grep`."""
    options = f"-nI -e {shlex.quote(text)}"
    skipped = " ".join(f"--exclude-dir={shlex.quote(name)}" for name in SKIPPED)
    # git grep exits with 1 if nothing matches, and with another status outside a repository. Only then, grep runs.
    with_git = f"git grep --untracked {options} -- . 2>/dev/null"
    search = f"{with_git} || test $? -eq 1 || grep -r {options} {skipped} ."
    return f"{{ {search}; }} | awk '{{ print }} END {{ if (!NR) print \"No matches.\" }}'"


def edit_message(context: AppContext, argument: str) -> None:
    """Open the unsent message in the user's editor."""
    changed = context.app.edit_outside(context.editor.message)
    if changed is not None:
        context.editor.put_message(changed)
