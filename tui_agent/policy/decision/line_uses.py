"""The files that the commands of one command line use.

A command can make files reachable for later commands: `ln -s /etc l; cat l/x` reads a file through a new link.

Invariant: uses are only added, never removed.
"""

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.policy.interpreter.command_report import Certainty, CommandReport, FileUse, LineReport
from tui_agent.policy.interpreter.shell_state import goes_back, tidy_path
from tui_agent.policy.places.path_places import place
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

Lines: TypeAlias = Mapping[RunEffect, LineReport]
"""Maps a command line of a tool call (a `RunEffect`) to its report."""
Uses: TypeAlias = Sequence[tuple[FileUse, str]]
"""Uses of files by a command, each with the file's path relative to the workspace."""


@dataclass(frozen=True, slots=True)
class _Link:
    """A link that a command line creates; both paths are absolute."""

    path: str
    target: str


def line_uses(effect: RunEffect, line: LineReport, facts: PolicyFacts) -> list[Uses]:
    """Return the files that each command of a line uses, in the order of the commands."""
    links: list[_Link] = []
    all_uses: list[Uses] = []
    dotted = any(map(_shows_dotted_names, line.commands))
    for command in line.commands:
        uses: list[tuple[FileUse, str]] = [*file_uses(effect, command)]
        if links:
            uses += [use for each in tuple(uses) for use in _behind_links(*each, links, facts)]
        if dotted:
            uses += [
                (use, dots) for use, path in tuple(uses) if _is_pattern(use) for dots in _with_dots(path)
            ]
        all_uses.append(uses)
        if command.name == "ln":
            links += _made_links(command, uses, facts)
    return all_uses


def _made_links(command: CommandReport, uses: Uses, facts: PolicyFacts) -> Iterator[_Link]:
    """Yield each symbolic or hard link that an `ln` command may create."""
    operands = [word.known for word in command.words[1:] if not (word.known or "").startswith("-")]
    sources = [path for use, path in uses if use.action in ("read", "list")]
    texts = [text for text in operands[:-1] if text]
    for path in (path for use, path in uses if use.action == "write"):
        absolute = place(path, facts).absolute
        names = dict.fromkeys(map(posixpath.basename, (*sources, *texts)))
        # The last operand is the link itself, or an existing folder for it.
        for link in (absolute, *(posixpath.join(absolute, name) for name in names)):
            yield from (_Link(link, place(source, facts).absolute) for source in sources)
            # The target of a symbolic link is relative to the link's folder.
            for text in texts:
                if not text.startswith(("/", "~")):
                    yield _Link(link, posixpath.normpath(posixpath.join(posixpath.dirname(link), text)))


def _behind_links(
    use: FileUse, path: str, links: Sequence[_Link], facts: PolicyFacts
) -> Iterator[tuple[FileUse, str]]:
    if use.certainty is Certainty.UNKNOWN:
        return
    absolute = place(path, facts).absolute
    if use.action == "start" and goes_back(path):
        absolute = posixpath.join(facts.workspace, path)  # behind a new link, `..` leads elsewhere
    for link in links:
        if f"{absolute}/".startswith(f"{link.path}/") and absolute != link.target:
            yield use, link.target + absolute[len(link.path) :]


def _shows_dotted_names(command: CommandReport) -> bool:
    return command.name == "shopt" or any(name == "GLOBIGNORE" for name, _ in command.settings)


def _is_pattern(use: FileUse) -> bool:
    return use.certainty is Certainty.BOUNDED


def _with_dots(path: str) -> Iterator[str]:
    """Yield variants of a pattern that match hidden names, as `*` does after `shopt -s dotglob`."""
    names = path.split("/")
    signs = [index for index, name in enumerate(names) if name[:1] in ("*", "?", "[") and name != "**"]
    for chosen in (signs, *([index] for index in signs)):
        yield "/".join(f".{name}" if index in chosen else name for index, name in enumerate(names))


def file_uses(effect: RunEffect, command: CommandReport) -> Uses:
    """Return the files that a command uses, with their paths relative to the workspace."""
    return [
        (use, from_workspace(effect, path))
        for use in command.files
        for path in (
            use.path,
            *(_with_parents(use.path) if _is_pattern(use) and use.action != "list" else ()),
        )
    ] + [(use, use.path) for use in command.files if use.from_top and effect.cwd]


def _with_parents(path: str) -> Iterator[str]:
    """Yield variants of a pattern that lead to a parent folder: `.*` also matches `..`, so `a/.*` yields `a/..`."""
    # Before version 5.2 of bash, names such as `.*` also match `..`.
    names = path.split("/")
    for index, name in enumerate(names):
        if name.startswith(".") and name != ".." and fnmatchcase("..", name):
            yield "/".join([*names[:index], "..", *names[index + 1 :]])


def from_workspace(effect: RunEffect, path: str) -> str:
    """Return a path of a command line relative to the workspace. `path` is relative to the line's start folder."""
    if not effect.cwd or path.startswith(("/", "~")):
        return path or "."
    return literal_path(tidy_path(posixpath.join(effect.cwd, path)))


def literal_path(path: str) -> str:
    """Return the path with a prefix that makes `~` literal: `~/a` becomes `./~/a`."""
    return f"./{path}" if path.startswith("~") else path


def paths_from(command: CommandReport, text: str, cwd: str) -> Iterator[str]:
    """Yield the path `text` relative to the workspace, once for each folder in which the command might run."""
    if not text:
        return
    if text.startswith(("/", "~")):
        yield text
        return
    for folder in command.folders:
        if folder is not None and not folder.startswith("~"):
            yield posixpath.normpath(posixpath.join(cwd, folder, text))
