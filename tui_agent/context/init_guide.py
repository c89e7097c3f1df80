"""First version of a repository's AGENTS.md, written from the repository's languages, commands, layout and checks.

Invariant: files are read only through the environment, and nothing is run.
"""

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import Final

from tui_agent.context.project_commands import FILES, KINDS, ProjectCommand, find_commands
from tui_agent.errors import EnvironmentFault
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import Environment

GUIDE_FILE: Final = "AGENTS.md"
TITLE: Final = "## Commands"
MAX_FILES: Final = 20_000
MAX_FOLDERS: Final = 15
MAX_CHECKS: Final = 20
"""Maximum number of CI (continuous integration) files to read."""
_LANGUAGES: Final = {
    suffix: language
    for language, suffixes in {
        "Python": "py",
        "JavaScript": "js jsx mjs",
        "TypeScript": "ts tsx",
        "Go": "go",
        "Rust": "rs",
        "Java": "java",
        "Kotlin": "kt",
        "C": "c h",
        "C++": "cc cpp hpp",
        "C#": "cs",
        "Ruby": "rb",
        "PHP": "php",
        "Swift": "swift",
        "Scala": "scala",
        "Elixir": "ex exs",
        "Lua": "lua",
        "Shell": "sh",
        "SQL": "sql",
        "Vue": "vue",
        "Svelte": "svelte",
    }.items()
    for suffix in suffixes.split()
}
_STARTED: Final = re.compile(r"(python -m|uv run|poetry run|bundle exec|bash) ")
_CI: Final = (".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "Jenkinsfile", ".ci/run")


@dataclass(frozen=True, slots=True)
class Survey:
    """Facts about a repository.

    `existing`: the text of the repository's AGENTS.md, or None.
    """

    languages: tuple[tuple[str, int], ...]
    folders: tuple[tuple[str, int, str], ...]
    """(name, number of files, main language) of each folder."""
    commands: tuple[ProjectCommand, ...]
    checks: tuple[str, ...]
    existing: str | None = None


async def survey(env: Environment) -> Survey:
    """Collect the facts about the repository. Raise `EnvironmentFault` if an existing AGENTS.md cannot be read."""
    languages: Counter[str] = Counter()
    folders: dict[str, Counter[str]] = {}
    paths: list[str] = []
    async for info in env.walk():
        if info.kind != "file":
            continue
        paths.append(info.path)
        language = _LANGUAGES.get(PurePosixPath(info.path).suffix.removeprefix("."), "")
        top, slash, _ = info.path.partition("/")
        if slash:
            folders.setdefault(top, Counter())[language] += 1
        if language:
            languages[language] += 1
        if len(paths) >= MAX_FILES:
            break
    known = frozenset(paths)
    checks = [path for path in paths if path.startswith(".github/workflows/") or path in _CI]
    files_to_read = [*(name for name in FILES if name in known), *sorted(checks)[:MAX_CHECKS]]
    texts = {name: await _read_text(env, name) for name in files_to_read}
    exists = await env.stat(GUIDE_FILE) is not None
    return Survey(
        languages=tuple(languages.most_common(6)),
        folders=tuple(
            _folder_entry(name, count) for name, count in sorted(folders.items()) if name[0] != "."
        ),
        commands=tuple(find_commands({name: text for name, text in texts.items() if text}, known)),
        checks=tuple(sorted(checks)[:5]),
        existing=(await env.read(GUIDE_FILE)).data.decode("utf-8", "replace") if exists else None,
    )


def render_guide(facts: Survey) -> str:
    """Return the text of an AGENTS.md. An existing AGENTS.md only gets the missing commands."""
    if facts.existing is None:
        sections = [
            *_head(facts),
            *_commands(facts.commands),
            *_layout(facts),
            *_rules(facts),
        ]
        return "\n".join(sections)
    missing = [command for command in facts.commands if not _is_mentioned(command.command, facts.existing)]
    if not missing:
        return facts.existing
    lines = facts.existing.rstrip("\n").split("\n")
    position = _commands_end(lines)
    if position:
        return "\n".join([*lines[:position], *_command_lines(missing), *lines[position:], ""])
    return "\n".join([*lines, "", *_commands(missing, f"{TITLE} found in the repository")])


def _commands_end(lines: list[str]) -> int:
    """Return the index of the line after the command list of an earlier run; 0 if there is no list."""
    titles = (
        index for index, line in enumerate(lines) if line in (TITLE, f"{TITLE} found in the repository")
    )
    start = next(titles, None)
    if start is None:
        return 0
    end = next((index for index in range(start + 1, len(lines)) if lines[index].startswith("#")), len(lines))
    return max((index + 1 for index in range(start, end) if lines[index].startswith("- ")), default=0)


def _is_mentioned(command: str, text: str) -> bool:
    """Return True if `text` contains the command; runners such as `uv run` and an argument such as `.` are ignored."""
    core = _STARTED.sub("", command)
    while core.endswith((" .", " ./...")):
        core = core.removesuffix(" ./...").removesuffix(" .")
    return re.search(rf"(?<![\w-]){re.escape(core)}(?![\w-])", text) is not None


def _head(facts: Survey) -> list[str]:
    lines = ["# For coding agents that work on this repository", ""]
    if facts.languages:
        languages = ", ".join(f"{name} ({count} file{'s' * (count != 1)})" for name, count in facts.languages)
        lines += [f"Languages: {languages}.", ""]
    return lines


def _commands(commands: "tuple[ProjectCommand, ...] | list[ProjectCommand]", title: str = TITLE) -> list[str]:
    return [title, "", *_command_lines(commands), ""] if commands else []


def _command_lines(commands: "tuple[ProjectCommand, ...] | list[ProjectCommand]") -> list[str]:
    ordered = sorted(commands, key=lambda command: KINDS.index(command.kind))
    return [f"- {command.kind.capitalize()}: `{command.command}` ({command.source})" for command in ordered]


def _layout(facts: Survey) -> list[str]:
    if not facts.folders:
        return []
    largest = sorted(facts.folders, key=lambda folder: -folder[1])[:MAX_FOLDERS]
    lines = [
        f"- `{name}/`: {count} file{'s' * (count != 1)}{f', mostly {language}' if language else ''}"
        for name, count, language in sorted(largest)
    ]
    return ["## Layout", "", *lines, ""]


def _rules(facts: Survey) -> list[str]:
    lines = ["## Before a change is done", ""]
    kinds = {command.kind: command.command for command in reversed(facts.commands)}
    for kind, words in (("lint", "is clean"), ("check", "passes"), ("test", "passes")):
        if kind in kinds:
            lines.append(f"- `{kinds[kind]}` {words}.")
    if facts.checks:
        lines.append(f"- CI also runs the checks in {', '.join(f'`{path}`' for path in facts.checks)}.")
    return [*lines, ""] if len(lines) > 2 else []


def _folder_entry(name: str, count: Counter[str]) -> tuple[str, int, str]:
    language, files = count.most_common(1)[0]
    return name, sum(count.values()), language if 2 * files > sum(count.values()) else ""


async def _read_text(env: Environment, path: str) -> str:
    try:
        return (await env.read(path, 1_000_000)).data.decode("utf-8", "replace")
    except EnvironmentFault:
        return ""
