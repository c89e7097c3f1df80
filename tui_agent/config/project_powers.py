"""What a project's file could do once it is trusted, in words for the user who decides.

Invariant: reads the bytes that are given and nothing else; a file that cannot be understood is told by its place.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping

from tui_agent.config import dotenv
from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.config.project_files import ProjectFile, ProjectFiles
from tui_agent.errors import ConfigError

NAMED = 3
LONGEST = 80
"""Characters of a value that is shown."""
_BY_FOLDER: Mapping[str, str] = {
    "commands": "a slash command: its text goes to the model",
    "skills": "instructions for the model, or a program that they name",
    "agents": "an agent: its instructions, its tools, its model",
    "hooks": "a program that a hook may run",
    "suites": "tasks of an evaluation",
    "themes": "colours",
}
_TABLES: Mapping[str, str] = {
    "hook": "runs commands beside tool calls and turns",
    "mcp": "starts programs that offer tools",
    "mcp_servers": "starts programs that offer tools",
    "base_url": "sets the model's address",
    "models": "sets models, their addresses and which key they get",
    "policy": "sets the policy",
    "secrets": "sets whether the model is sent secrets as they are",
    "model": "sets the model",
    "data_dir": "moves where sessions are stored",
    "agent": "sets the agent",
    "keys": "changes keys",
    "theme": "sets the colours",
}
"""What a key of config.toml does, the weightiest first."""
_REFUSED: Mapping[str, str] = {
    "plugin_dirs": f"a project cannot name plugin_dirs, for trust is bound to the files in {PROJECT_FOLDER}/; its plugins are in {PROJECT_FOLDER}/plugins/",
    "notes_dir": "a project cannot name notes_dir, for what lies there is sent to the model unasked",
    "sandbox": "a project cannot set [sandbox], for that would open what confines its own commands",
    "redaction": "a project cannot set [redaction], for that could show its secrets",
}
"""Keys of config.toml that only the user's own file may have, with the reason."""


def power(file: ProjectFile) -> str:
    """What the file could do. Where it has a fault, that."""
    if file.fault:
        return file.fault
    folder, _, name = file.name.rpartition("/")
    if file.name == ".env":
        return _variables(file.content)
    if name in ("mcp.json", ".mcp.json") and folder in ("", PROJECT_FOLDER):
        return _servers(file.content)
    if folder == PROJECT_FOLDER and name == "config.toml":
        return _settings(file.content)
    if folder == PROJECT_FOLDER and name == "policy.toml":
        return _rules(file.content)
    if folder == PROJECT_FOLDER and name == "programs.toml":
        return "tells more of what programs do: more questions, never fewer"
    part = file.name.split("/")[1] if file.name.count("/") > 1 else ""
    if part == "plugins":
        code = name.endswith((".py", ".so", ".pyd"))
        return "code that runs whenever a session opens" if code else "read by a plugin"
    return _BY_FOLDER.get(part, "nothing by itself; another file may name it")


def refused_key(settings: Mapping[str, object]) -> str:
    """Return why a project may not have these settings; empty if it may."""
    return next((reason for key, reason in _REFUSED.items() if key in settings), "")


def refused_config(found: ProjectFiles) -> str:
    """Return why a project may not have its configuration file; empty if it may, or has none that can be read."""
    texts = (file.content for file in found.files if file.name == f"{PROJECT_FOLDER}/config.toml")
    return refused_key(_toml(next(texts, b"")) or {})


def _variables(content: bytes) -> str:
    try:
        names = list(dotenv.parse(content.decode("utf-8-sig")))
    except (ConfigError, UnicodeDecodeError):
        return "sets variables; it cannot be read as it is"
    return f"sets {_listed(names)}" if names else "sets no variable"


def _settings(content: bytes) -> str:
    tree = _toml(content)
    if tree is None:
        return "settings; it is no valid TOML"
    if refused := refused_key(tree):
        return f"refused: {refused}"
    found = [_setting(said, tree[key]) for key, said in _TABLES.items() if key in tree]
    more = len([key for key in tree if key not in _TABLES])
    if more:
        found.append(f"{more} other {'setting' if more == 1 else 'settings'}")
    return _listed(found, most=len(found)) or "no setting"


def _setting(said: str, value: object) -> str:
    return f"{said} to {value[:LONGEST]}" if isinstance(value, str) else said


def _rules(content: bytes) -> str:
    tree = _toml(content)
    rules = tree.get("rule") if tree is not None else None
    if not isinstance(rules, list):
        return "rules of the policy"
    allowed = sum(isinstance(rule, dict) and "allow" in rule for rule in rules)
    other = len(rules) - allowed
    found = (
        [f"lets {allowed} {'kind of call' if allowed == 1 else 'kinds of calls'} run unasked"]
        if allowed
        else []
    )
    return ", ".join([*found, *([f"{other} that ask or deny"] if other else [])]) or "no rule"


def _servers(content: bytes) -> str:
    try:
        servers = json.loads(content)
        table = servers.get("mcpServers", servers.get("servers", servers))
        found = [_server(name, one) for name, one in table.items()]
    except (ValueError, AttributeError, RecursionError):
        return "starts programs that offer tools"
    return f"starts {_listed(found)}" if found else "starts no program"


def _server(name: str, one: Mapping[str, object]) -> str:
    return str(one.get("command") or one.get("url") or name)


def _toml(content: bytes) -> Mapping[str, object] | None:
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _listed(names: Iterable[str], most: int = NAMED) -> str:
    known = list(names)
    more = f" and {len(known) - most} more" if len(known) > most else ""
    return ", ".join(known[:most]) + more
