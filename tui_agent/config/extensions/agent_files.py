"""Named agents: Markdown files that describe an agent for delegated tasks, with a few fields at the start.

Invariant: a faulty file is reported and affects nothing else.

For equal names, the order of precedence is: trusted project, user, plugins, built-in agents.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tui_agent.config.front_matter import split_front_matter
from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.config.project.other_agents_files import PROJECT_LAYOUTS, adapt_agent_fields
from tui_agent.config.project.project_files import ProjectFiles
from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.delegate import INVESTIGATOR, SUBTASK, Role
from tui_agent.protocol.ids import MAIN_AGENT
from tui_agent.units import format_number

FOLDER = "agents"
NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
RESERVED = frozenset({SUBTASK, INVESTIGATOR, MAIN_AGENT, "default"})
FIELDS = ("name", "description", "tools", "model", "max_iterations", "read_only")
"""Names of the possible fields in an agent file's front matter."""
MAX_PROMPT_CHARS = 40_000
MAX_DESCRIPTION_CHARS = 300
MAX_ITERATIONS = 500
_FLAGS = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class AgentFault:
    """An error or a warning about an agent file. A file with an error defines no agent."""

    source: str
    message: str


@dataclass(frozen=True, slots=True)
class NamedAgents:
    """The agents for delegated tasks, sorted by name, and the errors of unusable agent files.

    `hidden`: user files that are not used, because another file has the same agent name.
    """

    roles: tuple[Role, ...] = ()
    faults: tuple[AgentFault, ...] = ()
    hidden: tuple[AgentFault, ...] = ()


def load_named_agents(
    built_in: Path,
    user: Path,
    project: ProjectFiles | None,
    plugins: Sequence[Path] = (),
    neighbours: Sequence[Path] = (),
) -> NamedAgents:
    """Read the named agents from the built-in files, the user's files, a trusted project and plugins.

    `neighbours`: other programs' folders in the user's home folder.
    """
    roles: dict[str, Role] = {}
    faults: list[AgentFault] = []
    hidden: list[AgentFault] = []
    # A later source replaces the agents of earlier ones.
    sources = [(_read_folder(folder, faults), False) for folder in (built_in, *plugins)]
    sources += [(_read_folder(folder, faults), True) for folder in reversed(neighbours)]
    sources.append((_read_folder(user, faults), False))
    if project is not None:
        layouts = reversed(PROJECT_LAYOUTS["agents"])
        sources += [(_read_project(project, folder, faults), True) for folder in layouts]
        sources.append((_read_project(project, f"{PROJECT_FOLDER}/{FOLDER}", faults), False))
    for files, is_neighbour in sources:
        nearer = _read_roles(files, faults, is_neighbour=is_neighbour)
        hidden += [
            AgentFault(roles[name].source, f"overridden by the agent {name} in {near.source}")
            for name, near in nearer.items()
            if name in roles
        ]
        roles |= nearer
    users_hidden = tuple(fault for fault in hidden if Path(fault.source).parent not in (built_in, *plugins))
    return NamedAgents(tuple(roles[name] for name in sorted(roles)), tuple(faults), users_hidden)


def _read_roles(
    files: Iterator[tuple[str, str]], faults: list[AgentFault], *, is_neighbour: bool
) -> dict[str, Role]:
    """Read the agent files of one source, and return the agents by name; append errors to `faults`."""
    roles: dict[str, Role] = {}
    for source, text in files:
        try:
            role = parse_neighbour_agent(source, text) if is_neighbour else parse_agent(source, text)
        except ConfigError as error:
            faults.append(AgentFault(source, error.message))
            continue
        if role is None:
            continue
        if role.name in roles:
            message = f"the name {role.name!r} is already used by {Path(roles[role.name].source).name}"
            faults.append(AgentFault(source, message))
        else:
            roles[role.name] = role
    return roles


def parse_agent(source: str, text: str) -> Role:
    """Parse one agent file. Raise `ConfigError` if the file is invalid."""
    fields, body, fault = split_front_matter(text)
    if fault:
        raise ConfigError(fault)
    unknown = sorted(set(fields) - set(FIELDS))
    if unknown:
        raise ConfigError(f"unknown field {unknown[0]!r} (allowed: {', '.join(FIELDS)})")
    return _build_role(source, fields, body)


def parse_neighbour_agent(source: str, text: str) -> Role | None:
    """Parse an agent file of another program; return None if the agent is not for delegated tasks.

    Raise `ConfigError` if the file is not valid.
    """
    fields, body, _ = split_front_matter(text)
    adapted = adapt_agent_fields(fields)
    return None if adapted is None else _build_role(source, adapted, body)


def _build_role(source: str, fields: Mapping[str, str], body: str) -> Role:
    name = fields.get("name") or Path(source).stem
    if not NAME.fullmatch(name):
        raise ConfigError(f"{name!r} is not a valid name: use at most 32 lower-case letters, digits, - and _")
    if name in RESERVED:
        raise ConfigError(f"the name {name!r} is reserved")
    if not body:
        raise ConfigError("it has no instructions: write them below the second `---`")
    if len(body) > MAX_PROMPT_CHARS:
        raise ConfigError(f"its instructions are longer than {format_number(MAX_PROMPT_CHARS)} characters")
    description = " ".join(fields.get("description", "").split())
    model = fields.get("model", "")
    iterations = _parse_iterations(fields.get("max_iterations"))
    read_only = _parse_flag(fields.get("read_only", "no"))
    if not description:
        raise ConfigError("it has no `description`: say in one line what the agent is for")
    return Role(
        name=name,
        prompt=body,
        description=description[:MAX_DESCRIPTION_CHARS],
        tools=_parse_tools(fields.get("tools", "")),
        model="" if model == "inherit" else model,
        max_iterations=iterations,
        read_only=read_only,
        source=source,
    )


def _read_folder(folder: Path, faults: list[AgentFault]) -> Iterator[tuple[str, str]]:
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".md")
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        faults.append(AgentFault(str(folder), f"cannot be read: {error.strerror}"))
        return
    for path in paths:
        try:
            text = read_small(path)
        except ConfigError as error:
            faults.append(AgentFault(str(path), _strip_file_name(str(path), error)))
            continue
        if text is not None:
            yield str(path), text


def _read_project(project: ProjectFiles, folder: str, faults: list[AgentFault]) -> Iterator[tuple[str, str]]:
    for file in project.files:
        parent, _, name = file.name.rpartition("/")
        if parent != folder or not name.endswith(".md"):
            continue
        try:
            text = project.read_text(file.name)
        except ConfigError as error:
            faults.append(AgentFault(file.name, _strip_file_name(file.name, error)))
            continue
        if text is not None:
            yield file.name, text


def _strip_file_name(name: str, error: ConfigError) -> str:
    head, separator, rest = error.message.partition(f"{name} ")
    return f"it {rest}".rstrip(".") if separator and (not head or head.endswith("/")) else error.message


def _parse_tools(value: str) -> tuple[str, ...] | None:
    if value in ("", "*"):
        return None
    names = (piece.strip(" \t\"'") for piece in value.strip("[]").split(","))
    return tuple(dict.fromkeys(filter(None, names)))


def _parse_iterations(value: str | None) -> int | None:
    if value is None:
        return None
    if not value.isdecimal() or not 0 < int(value) <= MAX_ITERATIONS:
        raise ConfigError(f"max_iterations must be a number from 1 to {MAX_ITERATIONS}")
    return int(value)


def _parse_flag(value: str) -> bool:
    if value.lower() not in _FLAGS:
        raise ConfigError("read_only must be yes or no")
    return _FLAGS[value.lower()]
