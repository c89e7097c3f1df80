"""Plain-English summary of the possible effects of a trusted project's file.

Invariant: this module looks only at the content in `ProjectFile`, not at the file on disk.
"""

import tomllib
from collections.abc import Iterable, Mapping

from tui_agent.config import dotenv
from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.config.project.other_agents_files import PROJECT_SETTINGS
from tui_agent.config.project.project_files import ProjectFile, ProjectFiles
from tui_agent.errors import ConfigError
from tui_agent.json_text import parse_json
from tui_agent.protocol.unicode_text import format_count

MAX_LISTED = 3
"""Maximum number of names in a list, before "and N more"."""
MAX_VALUE_CHARS = 80
"""Maximum length of a shown value, in characters."""
_BY_FOLDER: Mapping[str, str] = {
    "commands": "a slash command: its text is sent to the model",
    "command": "a slash command: its text is sent to the model",
    "skills": "instructions for the model, or a program that the instructions use",
    "skill": "instructions for the model, or a program that the instructions use",
    "agents": "an agent: its instructions, its tools, its model",
    "agent": "an agent: its instructions, its tools, its model",
    "hooks": "a program for a hook",
    "suites": "evaluation tasks",
    "themes": "colours",
}
_TABLES: Mapping[str, str] = {
    "hook": "runs commands before or after tool calls and turns",
    "base_url": "sets the model's address",
    "models": "sets models, their addresses and which keys they receive",
    "policy": "sets the policy",
    "environment": "sets the environment for running commands",
    "environments": "sets how environments are started: the programs and their options",
    "secrets": "sets whether secrets are sent to the model",
    "model": "sets the model",
    "data_dir": "changes the session folder",
    "agent": "sets the agent",
    "keys": "changes key bindings",
    "theme": "sets the colours",
}
"""Maps a key of config.toml to a description of the key's effect, the most important key first."""
_REFUSED: Mapping[str, str] = {
    "plugin_dirs": f"a project cannot set plugin_dirs, because trust covers only files in {PROJECT_FOLDER}/; put its plugins in {PROJECT_FOLDER}/plugins/",
    "notes_dir": "a project cannot set notes_dir, because the notes are sent to the model without asking",
    "sandbox": "a project cannot set [sandbox], because it could loosen the limits of its own commands",
    "mcp": "a project cannot set [mcp], because it could change one of your servers; put its servers in .mcp.json",
    "plugins": "a project cannot set [plugins], because it could change what your plugins do",
    "status": "a project cannot set [status], because its command runs without asking",
    "redaction": "a project cannot set [redaction], because it could reveal secrets",
}
"""Maps a key of config.toml to the reason why a project cannot set the key."""


def describe_effect(file: ProjectFile) -> str:
    """Describe what a project's file could do once it is trusted, or why it cannot be trusted."""
    if file.fault:
        return file.fault
    folder, _, name = file.name.rpartition("/")
    if file.name == ".env":
        return _describe_variables(file.content)
    if name in ("mcp.json", ".mcp.json") and folder in ("", PROJECT_FOLDER):
        return _describe_servers(file.content)
    if file.name in PROJECT_SETTINGS:
        return _describe_hooks(file.content)
    if folder == PROJECT_FOLDER and name == "config.toml":
        return _describe_settings(file.content)
    if folder == PROJECT_FOLDER and name == "policy.toml":
        return _describe_rules(file.content)
    if folder == PROJECT_FOLDER and name == "programs.toml":
        return "makes the policy stricter about programs, never looser"
    part = file.name.split("/")[1] if file.name.count("/") > 1 else ""
    if part == "plugins":
        code = name.endswith((".py", ".so", ".pyd"))
        return "code that runs when a session opens" if code else "read by a plugin"
    return _BY_FOLDER.get(part, "does nothing by itself, but another file can use it")


def refusal_of_settings(settings: Mapping[str, object]) -> str:
    """Return the reason why a project's configuration must not have these settings, or an empty text."""
    return next((reason for key, reason in _REFUSED.items() if key in settings), "")


def refusal_of_files(files: ProjectFiles) -> str:
    """Return the reason why a project's configuration file is refused, or an empty text."""
    texts = (file.content for file in files.files if file.name == f"{PROJECT_FOLDER}/config.toml")
    return refusal_of_settings(_parse_toml(next(texts, b"")) or {})


def _describe_variables(content: bytes) -> str:
    try:
        names = list(dotenv.parse_dotenv(content.decode("utf-8-sig")))
    except (ConfigError, UnicodeDecodeError):
        return "sets variables; not a valid .env file"
    return f"sets {_join_names(names)}" if names else "sets no variable"


def _describe_settings(content: bytes) -> str:
    tree = _parse_toml(content)
    if tree is None:
        return "settings; not valid TOML"
    if refused := refusal_of_settings(tree):
        return f"refused: {refused}"
    effects = [_describe_setting(effect, tree[key]) for key, effect in _TABLES.items() if key in tree]
    other_count = len([key for key in tree if key not in _TABLES])
    if other_count:
        effects.append(format_count(other_count, "other setting"))
    return _join_names(effects, limit=len(effects)) or "no setting"


def _describe_setting(effect: str, value: object) -> str:
    return f"{effect} to {value[:MAX_VALUE_CHARS]}" if isinstance(value, str) else effect


def _describe_rules(content: bytes) -> str:
    tree = _parse_toml(content)
    rules = tree.get("rule") if tree is not None else None
    if not isinstance(rules, list):
        return "policy rules"
    allowed = sum(isinstance(rule, dict) and "allow" in rule for rule in rules)
    other = len(rules) - allowed
    calls = "kind of call" if allowed == 1 else "kinds of calls"
    effects = [f"lets {allowed} {calls} run without asking"] if allowed else []
    effects += [format_count(other, "rule asks or denies", "rules ask or deny")] if other else []
    return "; ".join(effects) or "no rule"


def _describe_hooks(content: bytes) -> str:
    try:
        groups = [group for listed in parse_json(content)["hooks"].values() for group in listed]
        commands = [str(hook["command"])[:MAX_VALUE_CHARS] for group in groups for hook in group["hooks"]]
    except (ValueError, AttributeError, KeyError, TypeError):
        return "runs commands before or after tool calls and turns"
    return f"runs {_join_names(commands)}" if commands else "runs no command"


def _describe_servers(content: bytes) -> str:
    try:
        servers = parse_json(content)
        table = servers.get("mcpServers", servers.get("servers", servers))
        programs = [str(server.get("command") or server.get("url") or name) for name, server in table.items()]
    except (ValueError, AttributeError):
        return "starts programs that provide tools"
    return f"starts or connects to {_join_names(programs)}" if programs else "starts no program"


def _parse_toml(content: bytes) -> Mapping[str, object] | None:
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _join_names(names: Iterable[str], limit: int = MAX_LISTED) -> str:
    known = list(names)
    more = f" and {len(known) - limit} more" if len(known) > limit else ""
    return ", ".join(known[:limit]) + more
