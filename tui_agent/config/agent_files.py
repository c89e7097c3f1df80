"""Named agents: Markdown files that say who a delegate is, with a few fields in front.

Invariant: a file that cannot be used is told of and costs nothing else; of one name the nearest file counts: the
project's (where it is trusted), the user's, the product's own.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tui_agent.config.files import read_small
from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.config.project_files import ProjectFiles
from tui_agent.errors import ConfigError
from tui_agent.ports.delegate import INVESTIGATOR, SUBTASK, Role
from tui_agent.protocol.ids import MAIN_AGENT

FOLDER = "agents"
NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
RESERVED = frozenset({SUBTASK, INVESTIGATOR, MAIN_AGENT, "default"})
FIELDS = ("name", "description", "tools", "model", "max_iterations", "read_only")
MOST_PROMPT = 40_000
MOST_DESCRIPTION = 300
MOST_ITERATIONS = 500
_FENCE = "---"
_YES = {"true": True, "yes": True, "false": False, "no": False}


@dataclass(frozen=True, slots=True)
class AgentFault:
    """A file, and what is wrong with it: a fault where it is no agent, else a remark."""

    source: str
    message: str


@dataclass(frozen=True, slots=True)
class NamedAgents:
    """The agents that can be delegated to by name, sorted by it, and the files that are none.

    `hidden` are those of the user's files whose name a nearer file has.
    """

    roles: tuple[Role, ...] = ()
    faults: tuple[AgentFault, ...] = ()
    hidden: tuple[AgentFault, ...] = ()


def named_agents(own: Path, user: Path, project: ProjectFiles | None) -> NamedAgents:
    """Read the agents of the product (`own`), of the user's folder and of a trusted project."""
    found: dict[str, Role] = {}
    faults: list[AgentFault] = []
    hidden: list[AgentFault] = []
    for files in (_of_folder(own, faults), _of_folder(user, faults), _of_project(project, faults)):
        near = _roles(files, faults)
        hidden += [_hidden(found[name], near[name]) for name in near if name in found]
        found |= near
    theirs = tuple(one for one in hidden if Path(one.source).parent != own)
    return NamedAgents(tuple(found[name] for name in sorted(found)), tuple(faults), theirs)


def _roles(files: Iterator[tuple[str, str]], faults: list[AgentFault]) -> dict[str, Role]:
    """The agents of one place by name; of one name the first file counts."""
    roles: dict[str, Role] = {}
    for source, text in files:
        try:
            role = role_of(source, text)
        except ConfigError as error:
            faults.append(AgentFault(source, error.message))
            continue
        if role.name in roles:
            taken = f"its name {role.name!r} is that of {Path(roles[role.name].source).name}"
            faults.append(AgentFault(source, taken))
        else:
            roles[role.name] = role
    return roles


def _hidden(far: Role, near: Role) -> AgentFault:
    return AgentFault(far.source, f"the agent {far.name} of {near.source} is nearer and counts in its place")


def role_of(source: str, text: str) -> Role:
    """The agent that a file describes. Raises `ConfigError` that says what is wrong with it."""
    fields, body = _parted(text)
    unknown = sorted(set(fields) - set(FIELDS))
    if unknown:
        raise ConfigError(f"its field {unknown[0]!r} is none of {', '.join(FIELDS)}")
    name = str(fields.get("name") or Path(source).stem)
    if not NAME.fullmatch(name):
        raise ConfigError(f"its name {name!r} is none: small letters, digits, - and _, at most 32")
    if name in RESERVED:
        raise ConfigError(f"its name {name!r} is taken")
    if not body:
        raise ConfigError("it has no text: what stands below the fields is what the agent is told")
    if len(body) > MOST_PROMPT:
        raise ConfigError(f"its text is longer than {MOST_PROMPT:,} characters")
    description = " ".join(str(fields.get("description", "")).split())
    model = str(fields.get("model", ""))
    iterations, read_only = (
        _iterations(fields.get("max_iterations")),
        _yes(str(fields.get("read_only", "no"))),
    )
    if not description:
        raise ConfigError("it has no `description`, the field that says what it is for")
    return Role(
        name=name,
        prompt=body,
        description=description[:MOST_DESCRIPTION],
        tools=_tools(fields.get("tools")),
        model="" if model == "inherit" else model,
        max_iterations=iterations,
        read_only=read_only,
        source=source,
    )


def _of_folder(folder: Path, faults: list[AgentFault]) -> Iterator[tuple[str, str]]:
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".md")
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        faults.append(AgentFault(str(folder), f"it cannot be read: {error.strerror}"))
        return
    for path in paths:
        try:
            text = read_small(path)
        except ConfigError as error:
            faults.append(AgentFault(str(path), _of_it(str(path), error)))
            continue
        if text is not None:
            yield str(path), text


def _of_project(project: ProjectFiles | None, faults: list[AgentFault]) -> Iterator[tuple[str, str]]:
    inside = f"{PROJECT_FOLDER}/{FOLDER}/"
    for one in project.files if project is not None else ():
        if not one.name.startswith(inside) or not one.name.endswith(".md") or "/" in one.name[len(inside) :]:
            continue
        try:
            text = project.text(one.name) if project is not None else None
        except ConfigError as error:
            faults.append(AgentFault(one.name, _of_it(one.name, error)))
            continue
        if text is not None:
            yield one.name, text


def _of_it(name: str, error: ConfigError) -> str:
    """What is wrong with a file, behind its name: the name is not told twice."""
    before, found, what = error.message.partition(f"{name} ")
    return f"it {what}".rstrip(".") if found and (not before or before.endswith("/")) else error.message


def _parted(text: str) -> tuple[dict[str, str | list[str]], str]:
    """The fields between the two lines `---`, and the text below. Raises `ConfigError`."""
    lines = text.splitlines()
    if not lines:
        raise ConfigError("it is empty")
    if lines[0].strip() != _FENCE:
        raise ConfigError(
            "it has no fields: it begins with no line `---`, and no `description` stands below that"
        )
    end = next((at for at, line in enumerate(lines[1:], 1) if line.strip() == _FENCE), None)
    if end is None:
        raise ConfigError("its fields have no end: a line `---` is missing")
    return _fields(lines[1:end]), "\n".join(lines[end + 1 :]).strip()


def _fields(lines: Sequence[str]) -> dict[str, str | list[str]]:
    fields: dict[str, str | list[str]] = {}
    key = ""
    for number, line in enumerate(lines, 2):
        said = line.strip()
        if not said or said.startswith("#"):
            continue
        held = fields.get(key)
        if said.startswith("- ") and key and (held == "" or isinstance(held, list)):
            fields[key] = [*(held or []), _bare(said[2:])]
            continue
        if line[:1].isspace() and isinstance(held, str) and held:
            fields[key] = f"{held} {said}"
            continue
        key, colon, value = (piece.strip() for piece in said.partition(":"))
        if not colon or not key:
            raise ConfigError(f"its line {number} is no field: {said[:60]!r}")
        fields[key] = _bare(value)
    return fields


def _bare(value: str) -> str:
    value = value.strip()
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if quoted else value


def _tools(value: str | list[str] | None) -> tuple[str, ...] | None:
    if value is None or value in ("", "*"):
        return None
    pieces = value if isinstance(value, list) else value.strip("[]").split(",")
    return tuple(dict.fromkeys(name for piece in pieces if (name := _bare(piece))))


def _iterations(value: str | list[str] | None) -> int | None:
    if value is None:
        return None
    if not isinstance(value, str) or not value.isdecimal() or not 0 < int(value) <= MOST_ITERATIONS:
        raise ConfigError(f"max_iterations is a number from 1 to {MOST_ITERATIONS}")
    return int(value)


def _yes(value: str) -> bool:
    if value.lower() not in _YES:
        raise ConfigError("read_only is yes or no")
    return _YES[value.lower()]
