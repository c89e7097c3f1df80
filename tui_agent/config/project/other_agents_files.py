"""The files of Claude Code, Codex and opencode that tui-agent uses too: commands, agents, skills and hooks.

Invariant: for equal names, tui-agent's own file wins over another program's file.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tui_agent.config.paths import Paths

Kind: TypeAlias = Literal["commands", "agents", "skills"]

PROJECT_LAYOUTS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "commands": (".claude/commands", ".opencode/command", ".opencode/commands"),
    "agents": (".claude/agents", ".opencode/agent", ".opencode/agents"),
    "skills": (".claude/skills", ".agents/skills", ".opencode/skill", ".opencode/skills"),
}
"""Maps a kind of file, such as `commands`, to the folders of other programs in a project.

The folders are in order of precedence.
"""
USER_LAYOUTS: Final[Mapping[Kind, tuple[str, ...]]] = {
    "commands": (
        ".claude/commands",
        ".codex/prompts",
        ".config/opencode/command",
        ".config/opencode/commands",
    ),
    "agents": (".claude/agents", ".config/opencode/agent", ".config/opencode/agents"),
    "skills": (
        ".claude/skills",
        ".codex/skills",
        ".agents/skills",
        ".config/opencode/skill",
        ".config/opencode/skills",
    ),
}
"""Maps a kind of file, such as `commands`, to the folders of other programs in the home folder.

The folders are in order of precedence.
"""
USER_SETTINGS: Final = ".claude/settings.json"
"""The file with the user's hooks, below the home folder."""
PROJECT_SETTINGS: Final = (".claude/settings.json", ".claude/settings.local.json")
"""Claude Code's settings files in a project, which can define hooks."""
PROJECT_HOOKS: Final = ".claude/hooks"
"""The folder with the programs of a project's hooks."""
CLAUDE_TOOLS: Final[Mapping[str, str]] = {
    "Bash": "run_command",
    "Read": "read_file",
    "Write": "write_file",
    "Edit": "edit_file",
    "MultiEdit": "edit_file",
    "Grep": "grep",
    "Glob": "glob",
    "LS": "list_directory",
    "TodoWrite": "write_todos",
    "Skill": "read_skill",
}
"""Maps a tool's name in Claude Code to the tool's name in tui-agent."""
_TOOLS: Final = {name.lower(): ours for name, ours in CLAUDE_TOOLS.items()} | {"list": "list_directory"}
_WITHOUT_EDITS: Final = re.compile(r"""["']?\b(write|edit|patch)["']?\s*:\s*["']?(false|deny)\b""")


def user_folders(paths: Paths, kind: Kind) -> tuple[Path, ...]:
    """Return other programs' folders for files of this `kind`, inside the user's home folder. The folders need not
    exist."""
    return tuple(paths.home / folder for folder in USER_LAYOUTS[kind])


def adapt_agent_fields(fields: Mapping[str, str]) -> dict[str, str] | None:
    """Translate the fields of another program's agent file. Return None if the agent cannot get delegated tasks."""
    if fields.get("mode") == "primary":
        return None
    adapted = {name: fields[name] for name in ("name", "description") if name in fields}
    tools = fields.get("tools", "")
    if tools and tools != "*" and ":" not in tools.partition("(")[0]:
        adapted["tools"] = ",".join(_known_tools(tools)) or ","
    denied = set(_known_tools(fields.get("disallowedtools", "")))
    limits = f"{tools} {fields.get('permission', '')}"
    if (
        denied & {"write_file", "edit_file"}
        or fields.get("permissionmode") == "plan"
        or _WITHOUT_EDITS.search(limits)
    ):
        adapted["read_only"] = "yes"
    return adapted


def _known_tools(value: str) -> Iterator[str]:
    """Yield tui-agent's names for the known tools in `value`, such as `Read, Bash(git log:*)`."""
    for piece in re.sub(r"\([^()]*\)", "", value).strip("[]").split(","):
        known = _TOOLS.get(piece.strip(" \t\"'").lower())
        if known is not None:
            yield known
