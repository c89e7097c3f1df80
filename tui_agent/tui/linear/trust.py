"""Asks the user, without a screen, whether to trust the configuration files in a folder.

Invariant: only the answer 2 trusts the files.
"""

from collections.abc import Awaitable, Callable, Mapping

from tui_agent.config.options import SessionOptions
from tui_agent.config.paths import find_paths
from tui_agent.config.project import trust
from tui_agent.config.project.project_effects import describe_effect
from tui_agent.config.project.trust import load_projects
from tui_agent.errors import ConfigError
from tui_agent.tui.modals.trust import Answer
from tui_agent.tui.text import clean_line

_ANSWERS: Mapping[str, Answer] = {"1": "without", "2": "trust", "3": "quit"}
_CHOICES = (
    "1. Ignore these files until one of them changes",
    "2. Trust these files until one of them changes",
    "3. Quit",
)


async def ask_about_files(
    options: SessionOptions,
    environ: Mapping[str, str],
    read_line: Callable[[], Awaitable[str | None]],
    say: Callable[[str], None],
) -> Answer | None:
    """Ask whether to trust the folder's undecided files, and save the answer.

    Return None if there is nothing to ask, and `"quit"` at the end of input.
    """
    folders = [folder for folder in load_projects(options, environ) if folder.trust_state == "open"]
    if not folders:
        return None
    paths = find_paths(options.cwd, environ)
    for folder in folders:
        marks = trust.compare_files(folder.files, paths)
        say(
            clean_line(
                f"These files of {folder.files.folder} can change what tui-agent does or runs. They are not used yet.",
                reveal=True,
            )
        )
        for file in folder.files.files:
            mark = marks.get(file.name, "")
            say(clean_line(f"{f'{mark}, ' if mark else ''}{file.name}, {describe_effect(file)}", reveal=True))
    for choice in _CHOICES:
        say(choice)
    while (line := await read_line()) is not None:
        answer = _ANSWERS.get(line.strip())
        if answer in ("trust", "without"):
            try:
                for folder in folders:
                    trust.save_decision(folder.files, "trusted" if answer == "trust" else "without", paths)
            except ConfigError as fault:
                say(clean_line(str(fault)))
                continue
        if answer is not None:
            return answer
        say("Type 1, 2 or 3.")
    return "quit"
