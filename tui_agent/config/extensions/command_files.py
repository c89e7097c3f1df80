"""Slash commands from Markdown files: `commands/NAME.md` of the user or a trusted project, or files of other programs.

Invariant: reading a file runs nothing. Arguments are quoted before they are inserted into a shell command.
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tui_agent.config.front_matter import split_front_matter
from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.config.project.other_agents_files import PROJECT_LAYOUTS
from tui_agent.config.project.project_files import ProjectFiles
from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.slash_command import CommandAnswer
from tui_agent.protocol.events.slash_command import OfferedCommand
from tui_agent.units import format_number

PLACE: Final = re.compile(r"\$(ARGUMENTS|[1-9])")
"""Pattern of a placeholder for words: `$1` to `$9`, or `$ARGUMENTS` for all of them."""
_Context: TypeAlias = Literal["plain", "single", "double"]
_SPECIAL_IN_DOUBLE: Final = re.compile(r'[\\"$`]')
# Everything that changes the quoting context is a token of its own; all other characters are copied one by one.
_TOKENS: Final[dict[_Context, re.Pattern[str]]] = {
    "plain": re.compile(r"(?s)\\.|\$\{\w+\}|\$\((?!\()|."),
    "double": re.compile(r"(?s)\\.|\$\{\w+\}|\$\((?!\()|."),
    "single": re.compile(r"(?s)."),
}
_UNQUOTABLE: Final[dict[_Context, re.Pattern[str]]] = {
    "plain": re.compile(r"\$\{(?!\w+\})|\$[$']|\$?\(\(|(?<![^\s;&|(])(?:#|case\s)"),
    "double": re.compile(r"\$\{(?!\w+\})|\$\$|\$\(\("),
    "single": re.compile(r"(?!)"),
}
"""Matches the start of shell syntax in which no word can be quoted safely, for each quoting context."""


def fill_template(template: str, words: Sequence[str]) -> str:
    """Replace the placeholders in a shell command's template by `words`.

    Raise `ConfigError` if a word cannot be quoted safely.
    """
    filled: list[str] = []
    contexts: list[_Context] = ["plain"]
    position = 0
    while position < len(template):
        context = contexts[-1]
        if place := PLACE.match(template, position):
            filled.append(_QUOTE[context](words_for(place, words)))
            position = place.end()
        elif _UNQUOTABLE[context].match(template, position):
            _refuse_places(template, position)
            return "".join([*filled, template[position:]])
        else:
            token = _TOKENS[context].match(template, position)
            assert token is not None
            _track(contexts, token[0])
            filled.append(token[0])
            position = token.end()
    return "".join(filled)


def words_for(place: re.Match[str], words: Sequence[str]) -> Sequence[str]:
    """Return all words for `$ARGUMENTS`, or the N-th word for `$N`, if there is one."""
    return words if place[1] == "ARGUMENTS" else words[int(place[1]) - 1 : int(place[1])]


def _quote_in_double(words: Sequence[str]) -> str:
    return _SPECIAL_IN_DOUBLE.sub(r"\\\g<0>", " ".join(words))


def _quote_in_single(words: Sequence[str]) -> str:
    return " ".join(words).replace("'", "'\\''")


_QUOTE: Final[dict[_Context, Callable[[Sequence[str]], str]]] = {
    "plain": shlex.join,
    "double": _quote_in_double,
    "single": _quote_in_single,
}


def _track(contexts: list[_Context], token: str) -> None:
    """Update the stack of quoting contexts for the next token of a template. The innermost context is last."""
    match contexts[-1], token:
        case ("single", "'") | ("double", '"'):
            contexts.pop()
        case ("plain" | "double", "$(") | ("plain", "("):
            contexts.append("plain")
        case "plain", '"':
            contexts.append("double")
        case "plain", "'":
            contexts.append("single")
        case "plain", ")" if len(contexts) > 1:
            contexts.pop()
        case _:
            pass


def _refuse_places(template: str, position: int) -> None:
    place = PLACE.search(template, position)
    if place is not None:
        raise ConfigError(
            f"`{template}` uses {place[0]} where it cannot be quoted.",
            hint=f"Move {place[0]} before {template[position:]}",
        )


FOLDER = "commands"
MAX_CHARS = 100_000
MAX_HELP_CHARS = 200
MAX_COMMANDS = 200
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}(:[a-z0-9][a-z0-9_-]{0,40})?", re.IGNORECASE)
_SHELL = re.compile(r"!`([^`\n]+)`")
_TEXT_PLACE = re.compile(rf"\$\$|{PLACE.pattern}|\$(?P<name>[A-Z][A-Z0-9_]*)")
"""Matches a placeholder such as `$1` or `$NAME`. Also matches `$$`, which is not replaced."""
_NAMED_ARGUMENT = re.compile(r"(?s)([A-Z][A-Z0-9_]*)=(.*)")


@dataclass(frozen=True, slots=True)
class CommandFile:
    """A slash command in a Markdown file. The file's text is the message to the agent.

    In the text:
    - `$ARGUMENTS` and `$1` to `$9` are replaced by the text after the command
    - `$NAME` is replaced by the value of an argument `NAME=value`
    - `@path` mentions a file
    - a command in `` !`…` `` is run first
    """

    offer: OfferedCommand
    text: str

    async def answer(self, arguments: str, state: SessionStateView) -> CommandAnswer:
        """Return the text with the arguments filled in, and the shell commands to run first."""
        words = _split(arguments)
        # Only commands of the file itself are run, with quoted arguments: an argument cannot add a command.
        pieces = _SHELL.split(self.text)
        commands = tuple(fill_template(command, words) for command in pieces[1::2])
        values = {match[1]: match[2] for word in words if (match := _NAMED_ARGUMENT.fullmatch(word))}
        places = [place for piece in pieces[::2] for place in _TEXT_PLACE.finditer(piece)]
        named = {place["name"] for place in places} & values.keys()
        has_place = any(place[1] for place in places) or any(map(PLACE.search, pieces[1::2]))
        pieces[::2] = [_fill(piece, arguments, words, values) for piece in pieces[::2]]
        # `split` returns the text at even positions, and the commands at odd ones.
        pieces[1::2] = [f"`{command}` (its output follows)" for command in commands]
        text = "".join(pieces)
        if named:
            arguments = " ".join(word for word in words if word.partition("=")[0] not in named)
        if arguments and not has_place:
            text = f"{text}\n\n{arguments}"
        return CommandAnswer(text, shell=commands)


@dataclass(frozen=True, slots=True)
class CommandFiles:
    """The slash commands from the user's or the project's files.

    `faults`: (name of the command, reason) for each unusable file.
    """

    owner: str
    commands: tuple[CommandFile, ...] = ()
    faults: tuple[tuple[str, str], ...] = ()


def load_command_files(
    user: Path, project: ProjectFiles | None, neighbours: Sequence[Path] = ()
) -> tuple[CommandFiles, ...]:
    """Read the commands of the user's folder, other programs' folders (`neighbours`) and a trusted project."""
    folders = chain.from_iterable(map(_read_folder, (user, *neighbours)))
    return (_parse("user", folders), _parse("project", _read_project(project)))


def _parse(owner: str, files: Iterator[tuple[str, str, str | ConfigError]]) -> CommandFiles:
    commands: dict[str, CommandFile] = {}
    faults = []
    for name, source, text in files:
        fault = ""
        if isinstance(text, ConfigError):
            fault = text.message
        elif not _NAME.fullmatch(name):
            fault = f"{source} is not used: a command's name may contain only letters, digits, - and _."
        elif len(text) > MAX_CHARS:
            fault = f"{source} is not used: it has more than {format_number(MAX_CHARS)} characters."
        elif len(commands) == MAX_COMMANDS:
            fault = f"{source} is left out: there are more than {MAX_COMMANDS} commands."
        if fault:
            faults.append((name, fault))
            continue
        assert isinstance(text, str)
        if name in commands:
            continue  # A folder that is read first wins.
        fields, body, _ = split_front_matter(text)
        first = next(iter(body.split("\n")), "").lstrip("# ")
        offer = OfferedCommand(
            name=name,
            help=_strip_unprintable(fields.get("description") or first)[:MAX_HELP_CHARS],
            arguments=_strip_unprintable(fields.get("argument-hint", ""))[:60],
            source=source,
        )
        commands[name] = CommandFile(offer, body)
    return CommandFiles(owner, tuple(commands.values()), tuple(faults))


def _strip_unprintable(text: str) -> str:
    return "".join(filter(str.isprintable, " ".join(text.split())))


def _read_folder(folder: Path) -> Iterator[tuple[str, str, str | ConfigError]]:
    try:
        paths = sorted((*folder.glob("*.md"), *folder.glob("*/*.md")))
    except OSError as error:
        yield "", str(folder), ConfigError(f"{folder} cannot be read: {error.strerror}.")
        return
    for path in paths:
        name = _command_name(str(path.relative_to(folder)))
        try:
            text = read_small(path)
        except ConfigError as error:
            yield name, str(path), error
            continue
        if text is not None:
            yield name, str(path), text


def _read_project(project: ProjectFiles | None) -> Iterator[tuple[str, str, str | ConfigError]]:
    if project is None:
        return
    for folder in (f"{PROJECT_FOLDER}/{FOLDER}", *PROJECT_LAYOUTS["commands"]):
        yield from _read_project_folder(project, f"{folder}/")


def _read_project_folder(project: ProjectFiles, below: str) -> Iterator[tuple[str, str, str | ConfigError]]:
    for file in (*project.files, *project.left_out):
        name = file.name.removeprefix(below)
        if name == file.name or not name.endswith(".md"):
            continue
        try:
            if file.fault:
                raise ConfigError(f"{project.folder / file.name} is not used: it {file.fault}.")
            text = project.read_text(file.name)
        except ConfigError as error:
            yield _command_name(name), file.name, error
            continue
        if text is not None:
            yield _command_name(name), file.name, text


def _command_name(path: str) -> str:
    return path.removesuffix(".md").replace("/", ":")


def _fill(text: str, arguments: str, words: Sequence[str], values: Mapping[str, str]) -> str:
    def value(place: re.Match[str]) -> str:
        if place[1] is None:
            return values.get(place["name"], place[0])
        return arguments if place[1] == "ARGUMENTS" else "".join(words_for(place, words))

    return _TEXT_PLACE.sub(value, text)


def _split(arguments: str) -> list[str]:
    try:
        return shlex.split(arguments)
    except ValueError:  # an unclosed quote
        return arguments.split()
