"""Drops doubts and downloads from a command line's report if the files of the workspace rule them out.

A pattern such as `*` in a command line raises a doubt. A file's name might look like an option (`-rf`), have a special
meaning for the program, or be split into several words. If no file has such a name, the doubt is dropped. `npx` and
similar commands run a program of the workspace, if it exists, instead of a downloaded package.

Invariant: a doubt is dropped only if every name that its pattern can match was checked, and a command counts as local
only if its program exists in every folder where the command may run.
"""

import posixpath
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tui_agent.policy.catalog.catalog_schema import Effect
from tui_agent.policy.decision.line_uses import from_workspace
from tui_agent.policy.decision.path_patterns import matches_path
from tui_agent.policy.interpreter.command_report import CommandReport, Doubt, FileUse, LineReport
from tui_agent.policy.places.path_places import lexical_place, place
from tui_agent.policy.places.pattern_overlap import paths_overlap, split_pattern
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

_OPTION_STARTS: Final = frozenset("-+@|=")
_OTHER_MEANINGS: Final = frozenset(":*?[")
"""Characters that may give a file name another meaning, as in `HEAD:.env` or `a*`."""


def settle_doubts(effect: RunEffect, line: LineReport, facts: PolicyFacts) -> LineReport:
    """Return a line's report without unfounded doubts.

    A doubt about a pattern is unfounded if the pattern matches no dangerous file name.
    """
    if not any(doubt.value for command in line.commands for doubt in command.doubts):
        return line
    return replace(line, commands=tuple(_drop_unfounded(effect, command, facts) for command in line.commands))


def _drop_unfounded(effect: RunEffect, command: CommandReport, facts: PolicyFacts) -> CommandReport:
    folders = [None if path is None else _in_workspace(effect, path, facts) for path in command.folders]
    doubts = tuple(
        doubt
        for doubt in command.doubts
        if not all(folder is not None and _is_settled(doubt, folder, facts) for folder in folders)
    )
    return replace(command, doubts=doubts)


def _in_workspace(effect: RunEffect, path: str, facts: PolicyFacts) -> str | None:
    return place(from_workspace(effect, path), facts).relative


def _is_settled(doubt: Doubt, folder: str, facts: PolicyFacts) -> bool:
    """Return True if the doubt is unfounded in this folder: its pattern matches no file with a dangerous name."""
    value = doubt.value
    if value is None or not value.names_files:
        return False
    pattern = place(posixpath.join(facts.workspace, folder, value.text), facts).relative
    if pattern is None:
        return False
    names: Sequence[str] = facts.odd_names
    unscanned = [name for name in facts.unscanned if _leads_below(pattern, name)]
    if doubt.name == "option-like" and not value.splits:
        names = [name for name in facts.option_names if _begins_word(name, folder)]
        unscanned = [name for name in facts.unscanned if f"{folder}/".startswith(f"{name}/")]
    elif doubt.name == "option-like":
        names = (*facts.odd_names, *facts.option_names)
    elif not value.splits:
        names = [name for name in facts.odd_names if not _OTHER_MEANINGS.isdisjoint(name)]
    return not unscanned and not any(_leads_to(pattern, name) for name in names)


def _begins_word(name: str, folder: str) -> bool:
    """Return True if the path of a file, relative to the folder, begins like an option (`-rf`)."""
    front = f"{folder}/" if folder else ""
    return name.startswith(front) and name[len(front) :][:1] in _OPTION_STARTS


def _leads_to(pattern: str, name: str) -> bool:
    """Return True if a shell pattern matches `name`, or a path below the folder `name/`."""
    return matches_path(pattern, name) or (name.endswith("/") and _leads_below(pattern, name.rstrip("/")))


def _leads_below(pattern: str, folder: str) -> bool:
    below = (*split_pattern(folder, literal=True), "**", "*")
    return paths_overlap(split_pattern(pattern), below, dotted=True)


def local_program_paths(effect: RunEffect, command: CommandReport) -> list[str]:
    """Return the paths at which a command looks for its local program."""
    if not command.local_program:
        return []
    folders = [from_workspace(effect, folder) for folder in command.folders if folder is not None]
    return [path for folder in folders for path in _in_folder_and_parents(folder, command.local_program)]


def _in_folder_and_parents(folder: str, name: str) -> list[str]:
    paths = [posixpath.join(folder, name)]
    while folder not in ("/", ".", ""):
        folder = posixpath.dirname(folder)
        paths.append(posixpath.join(folder, name))
    return paths


def settle_downloads(effect: RunEffect, line: LineReport, facts: PolicyFacts) -> LineReport:
    """Return a line's report without unnecessary downloads. `npx tsc` downloads nothing if its program is present."""
    removes = any(use.action in ("delete", "move") for command in line.commands for use in command.files)
    if removes or not facts.local_programs:
        return line  # without its file, a command would download the package after all
    return replace(line, commands=tuple(_drop_download(effect, command, facts) for command in line.commands))


def _drop_download(effect: RunEffect, command: CommandReport, facts: PolicyFacts) -> CommandReport:
    if not command.local_program:
        return command
    existing = {lexical_place(path, facts.workspace).relative for path in facts.local_programs}
    started: list[FileUse] = []
    for folder in command.folders:
        # A link to a folder elsewhere has other parents.
        real = None if folder is None else place(from_workspace(effect, folder), facts).relative
        paths = [] if real is None else _in_folder_and_parents(real, command.local_program)
        path = next(filter(existing.__contains__, paths), None)
        if path is None:
            return command
        started.append(FileUse(path, "start"))
    return replace(
        command,
        effects=command.effects - {Effect.CONNECTS},
        program=command.program.model_copy(update={"downloads": False}),
        files=(*command.files, *started),
    )
