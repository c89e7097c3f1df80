"""The prompt of `tui-agent run`: the argument, standard input, or both.

Invariant: with a prompt as argument, the run waits at most `STDIN_WAIT_S` for text on standard input.
"""

import os
import select
import stat
import sys
from typing import Final

from tui_agent.cli.console.output import warn
from tui_agent.errors import UsageError
from tui_agent.units import format_time_limit

STDIN_WAIT_S: Final = 3.0
"""Maximum time to wait for text on standard input, if the prompt is an argument."""
# In continuous integration, standard input is often open but never has text.
STDIN_HEADING: Final = "Text from standard input:"
_HINT: Final = 'Describe the task: tui-agent run "…"'


def read_prompt(argument: str | None) -> str:
    """Return the prompt: the argument, with the text of standard input below it.

    Without an argument or with `-`, the prompt is standard input. Raise `UsageError` if the prompt is empty or not
    UTF-8.
    """
    if argument is None and (sys.stdin is None or sys.stdin.isatty()):
        raise UsageError("No prompt given.", hint=_HINT)
    prompt = _read_stdin() if argument in (None, "-") else argument
    if not prompt.strip():
        raise UsageError("The prompt is empty.", hint=_HINT)
    if argument in (None, "-") or not _has_piped_text():
        return prompt
    text = _read_stdin()
    return f"{prompt.rstrip()}\n\n{STDIN_HEADING}\n\n{text}" if text.strip() else prompt


def _read_stdin() -> str:
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as error:
        raise UsageError("Standard input is not UTF-8 text.", hint="Name the file in the prompt.") from error


def _has_piped_text() -> bool:
    """Return True if standard input is a file, or a pipe that has text or has ended."""
    try:
        number = sys.stdin.fileno()
        mode = os.fstat(number).st_mode
    except (AttributeError, OSError, ValueError):  # Standard input is closed.
        return False
    if stat.S_ISREG(mode):
        return True
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return False
    if select.select([number], [], [], STDIN_WAIT_S)[0]:
        return True
    warn(
        f"No text arrived on standard input within {format_time_limit(STDIN_WAIT_S)}, so only the prompt is used. "
        "If your command is slow, use `tui-agent run -`, which waits and reads the whole prompt from standard input. To skip the wait, add `</dev/null`."
    )
    return False
