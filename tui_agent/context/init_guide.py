"""A first AGENTS.md from what a repository shows: its languages, commands, layout and checks.

Invariant: only files of the workspace are read, through the environment, and nothing is run; what is written stands in
a file of the repository, nothing is guessed beyond it.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from tui_agent.context.project_commands import FILES, KINDS, Found, commands_of
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import Environment

NAME: Final = "AGENTS.md"
TITLE: Final = "## Commands"
MOST_FILES: Final = 20_000
MOST_FOLDERS: Final = 15
MOST_CHECKS: Final = 20
"""Files of the CI that are read."""
_LANGUAGES: Final = {
    "py": "Python",
    "js": "JavaScript",
    "jsx": "JavaScript",
    "mjs": "JavaScript",
    "ts": "TypeScript",
    "tsx": "TypeScript",
    "go": "Go",
    "rs": "Rust",
    "java": "Java",
    "kt": "Kotlin",
    "c": "C",
    "h": "C",
    "cc": "C++",
    "cpp": "C++",
    "hpp": "C++",
    "cs": "C#",
    "rb": "Ruby",
    "php": "PHP",
    "swift": "Swift",
    "scala": "Scala",
    "ex": "Elixir",
    "exs": "Elixir",
    "lua": "Lua",
    "sh": "Shell",
    "sql": "SQL",
    "vue": "Vue",
    "svelte": "Svelte",
}
_STARTED: Final = re.compile(r"(python -m|uv run|poetry run|bundle exec|bash) ")
_CI: Final = (".gitlab-ci.yml", ".travis.yml", "azure-pipelines.yml", "Jenkinsfile", ".ci/run")


@dataclass(frozen=True, slots=True)
class Survey:
    """What a look at the repository found. `existing` is the AGENTS.md that is there; None: there is none."""

    languages: tuple[tuple[str, int], ...]
    folders: tuple[tuple[str, int, str], ...]
    """(name, files, its main language)"""
    commands: tuple[Found, ...]
    checks: tuple[str, ...]
    existing: str | None = None


async def survey(env: Environment) -> Survey:
    """Look at the repository. Raises `EnvironmentFault` where an AGENTS.md is there that cannot be read."""
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
        if len(paths) >= MOST_FILES:
            break
    known = frozenset(paths)
    checks = [path for path in paths if path.startswith(".github/workflows/") or path in _CI]
    looked_at = [*(name for name in FILES if name in known), *sorted(checks)[:MOST_CHECKS]]
    texts = {name: await _text(env, name) for name in looked_at}
    there = await env.stat(NAME) is not None
    return Survey(
        languages=tuple(languages.most_common(6)),
        folders=tuple(_folder(name, count) for name, count in sorted(folders.items()) if name[0] != "."),
        commands=tuple(commands_of({name: text for name, text in texts.items() if text}, known)),
        checks=tuple(sorted(checks)[:5]),
        existing=(await env.read(NAME)).data.decode("utf-8", "replace") if there else None,
    )


def written(found: Survey) -> str:
    """The file: as it would be first, or the one that is there with what it lacks. The same as `existing` where it lacks
    nothing."""
    if found.existing is None:
        return "\n".join([*_head(found), *_commands(found.commands), *_layout(found), *_rules(found)])
    lacking = [one for one in found.commands if not _stands(one.command, found.existing)]
    if not lacking:
        return found.existing
    lines = found.existing.rstrip("\n").split("\n")
    at = _behind_commands(lines)
    if at:
        return "\n".join([*lines[:at], *_listed(lacking), *lines[at:], ""])
    return "\n".join([*lines, "", *_commands(lacking, f"{TITLE} found in the repository")])


def _behind_commands(lines: list[str]) -> int:
    """Behind the last command of a list that was written here before; 0: there is none."""
    titles = (at for at, line in enumerate(lines) if line in (TITLE, f"{TITLE} found in the repository"))
    begin = next(titles, None)
    if begin is None:
        return 0
    end = next((at for at in range(begin + 1, len(lines)) if lines[at].startswith("#")), len(lines))
    return max((at + 1 for at in range(begin, end) if lines[at].startswith("- ")), default=0)


def _stands(command: str, text: str) -> bool:
    """Whether a text names the command, with whatever arguments and started however."""
    core = _STARTED.sub("", command)
    core = re.sub(r"( \.(/\.\.\.)?)+$", "", core)
    return re.search(rf"(?<![\w-]){re.escape(core)}(?![\w-])", text) is not None


def _head(found: Survey) -> list[str]:
    lines = ["# For coding agents that work on this repository", ""]
    if found.languages:
        named = ", ".join(f"{name} ({count} file{'s' * (count != 1)})" for name, count in found.languages)
        lines += [f"Languages: {named}.", ""]
    return lines


def _commands(commands: "tuple[Found, ...] | list[Found]", title: str = TITLE) -> list[str]:
    return [title, "", *_listed(commands), ""] if commands else []


def _listed(commands: "tuple[Found, ...] | list[Found]") -> list[str]:
    ordered = sorted(commands, key=lambda one: KINDS.index(one.kind))
    return [f"- {one.kind.capitalize()}: `{one.command}` ({one.source})" for one in ordered]


def _layout(found: Survey) -> list[str]:
    if not found.folders:
        return []
    biggest = sorted(found.folders, key=lambda one: -one[1])[:MOST_FOLDERS]
    lines = [
        f"- `{name}/`: {count} file{'s' * (count != 1)}{f', mostly {language}' if language else ''}"
        for name, count, language in sorted(biggest)
    ]
    return ["## Layout", "", *lines, ""]


def _rules(found: Survey) -> list[str]:
    lines = ["## Before a change is done", ""]
    kinds = {one.kind: one.command for one in reversed(found.commands)}
    for kind, words in (("lint", "is clean"), ("check", "passes"), ("test", "passes")):
        if kind in kinds:
            lines.append(f"- `{kinds[kind]}` {words}.")
    if found.checks:
        lines.append(
            f"- What must pass elsewhere stands in {', '.join(f'`{path}`' for path in found.checks)}."
        )
    return [*lines, ""] if len(lines) > 2 else []


def _folder(name: str, count: Counter[str]) -> tuple[str, int, str]:
    language, files = count.most_common(1)[0]
    return name, sum(count.values()), language if 2 * files > sum(count.values()) else ""


async def _text(env: Environment, path: str) -> str:
    """A file's text; empty where it cannot be read: then it tells nothing."""
    try:
        return (await env.read(path, 1_000_000)).data.decode("utf-8", "replace")
    except EnvironmentFault:
        return ""
