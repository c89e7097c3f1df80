"""The question whether a folder's own files may be used, in lines.

Invariant: only the number that says so trusts anything; the end of input trusts nothing.
"""

from collections.abc import Awaitable, Callable, Mapping

from tui_agent.config import trust
from tui_agent.config.options import SessionOptions
from tui_agent.config.paths import find
from tui_agent.config.project_powers import power
from tui_agent.config.trust import projects
from tui_agent.errors import ConfigError
from tui_agent.tui.modals.trust import Answer
from tui_agent.tui.text import clean_line

_ANSWERS: Mapping[str, Answer] = {"1": "without", "2": "trust", "3": "quit"}
_CHOICES = (
    "1. Go on without them; not asked again until one changes",
    "2. Trust these files until one of them changes",
    "3. Quit",
)


async def ask_about_files(
    options: SessionOptions,
    environ: Mapping[str, str],
    read_line: Callable[[], Awaitable[str | None]],
    say: Callable[[str], None],
) -> Answer | None:
    """Ask where nothing was decided about the folder's files, and keep the answer; None where nothing is to be asked."""
    looked = [one for one in projects(options, environ) if one.standing == "open"]
    if not looked:
        return None
    paths = find(options.cwd, environ)
    for one in looked:
        marked = trust.marks(one.files, paths)
        say(
            clean_line(
                f"These files of {one.files.folder} could steer this program. None is used yet.", reveal=True
            )
        )
        for file in one.files.files:
            mark = marked.get(file.name, "")
            say(clean_line(f"{f'{mark}, ' if mark else ''}{file.name}, {power(file)}", reveal=True))
    for choice in _CHOICES:
        say(choice)
    while (line := await read_line()) is not None:
        answer = _ANSWERS.get(line.strip())
        if answer in ("trust", "without"):
            try:
                for one in looked:
                    trust.decide(one.files, "trusted" if answer == "trust" else "without", paths)
            except ConfigError as fault:
                say(clean_line(str(fault)))
                continue
        if answer is not None:
            return answer
        say("Type 1, 2 or 3.")
    return "quit"
