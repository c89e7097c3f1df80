"""Workspace programs for `npx` and similar commands. They run instead of a downloaded package.

Invariant: a command counts as local only if its program exists in every folder where the command may run.
"""

import posixpath
from dataclasses import replace

from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.decision.line_uses import from_workspace
from tui_agent.policy.interpreter.report import CommandReport, FileUse, LineReport
from tui_agent.policy.places.paths import lexical_place, place
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect


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
    return replace(line, commands=tuple(_settle(effect, command, facts) for command in line.commands))


def _settle(effect: RunEffect, command: CommandReport, facts: PolicyFacts) -> CommandReport:
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
