"""The layers of configuration, nearest wins: defaults < user file < project file (trusted) < environment < options.

Invariant: loading writes nothing, changes no environment variable and uses no file of a project that is not trusted. A
project's files are read once: what was held against the user's decision is what is used.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from tui_agent.config import dotenv, hooks
from tui_agent.config.files import read_small
from tui_agent.config.options import SessionOptions
from tui_agent.config.paths import Paths, find
from tui_agent.config.project import Project, projects, ruling
from tui_agent.config.project_powers import refused_key
from tui_agent.config.settings import (
    CheckpointSettings,
    Config,
    ModelProfile,
    RedactionSettings,
    SandboxSettings,
    SecretSettings,
)
from tui_agent.errors import ConfigError
from tui_agent.protocol.settings import Budgets

Tree = dict[str, Any]

VARIABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "TUI_AGENT_OPENAI_MODEL": ("model",),
        "TUI_AGENT_MODEL": ("model",),
        "TUI_AGENT_BASE_URL": ("base_url",),
        "TUI_AGENT_REASONING_EFFORT": ("reasoning_effort",),
        "TUI_AGENT_POLICY": ("policy",),
        "TUI_AGENT_AGENT": ("agent",),
        "TUI_AGENT_THEME": ("theme",),
        "TUI_AGENT_SYMBOLS": ("symbols",),
        "TUI_AGENT_MOTION": ("motion",),
        "TUI_AGENT_MOUSE": ("mouse",),
        "TUI_AGENT_VIM": ("vim",),
        "TUI_AGENT_CONTEXT_MODE": ("context_mode",),
        "TUI_AGENT_REPO_MAP": ("repo_map",),
        "TUI_AGENT_INVESTIGATOR_PROFILE": ("investigator_profile",),
        "TUI_AGENT_INVESTIGATOR_MODEL_PROFILE": ("investigator_profile",),
        "TUI_AGENT_MAX_PARALLEL_SUBTASKS": ("delegation", "max_parallel_subtasks"),
        "TUI_AGENT_MAX_PARTS": ("budgets", "max_parts"),
        "TUI_AGENT_MAX_ITERATIONS": ("budgets", "max_iterations"),
        "TUI_AGENT_MAX_TURNS": ("budgets", "max_turns"),
        "TUI_AGENT_MAX_COST": ("budgets", "max_cost_usd"),
        "TUI_AGENT_TIMEOUT_SECONDS": ("budgets", "timeout_seconds"),
    }
)
"""What each variable sets; of two for the same key the later one wins."""

FALLBACKS: Mapping[str, tuple[str, ...]] = MappingProxyType({"OPENAI_MODEL": ("model",)})
"""Variables of others' making: they count only where no layer of ours says anything."""


@dataclass
class _Layers:
    """The tree that grows layer by layer, and where each leaf came from."""

    tree: Tree = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)

    def put(self, layer: Tree, origin: str) -> None:
        self.order.append(origin)
        _merge(self.tree, layer, origin, self.origins, "")

    def set(self, key: tuple[str, ...], value: object, origin: str) -> None:
        layer: Tree = {key[-1]: value}
        for part in reversed(key[:-1]):
            layer = {part: layer}
        self.put(layer, origin)


def load(options: SessionOptions, environ: Mapping[str, str], *, here: Path | None = None) -> Config:
    """The effective configuration of one start. Raises `ConfigError` naming file, line, key and what to do.

    `here` is the folder the program was started in, where it is not `options.cwd`: its `.env` counts too.
    """
    looked = projects(options, environ, here=here)
    project = ruling(looked, options, environ)
    files = _env_files(looked)
    variables = {**_merged(files), **environ}
    named = {
        name: f"{file} ({name})" for file, values in files.items() for name in values if name not in environ
    }
    # No file of a project says where the user's own configuration lies, nor with it what is trusted.
    asked, moved = find(options.cwd, environ), find(options.cwd, variables, options.data_dir)
    paths = Paths(asked.config_dir, moved.data_dir, moved.cache_dir, asked.project)
    layers = _Layers()
    _put_variables(layers, FALLBACKS, variables, named)
    user, own = read_toml(paths.user_config), _own_layer(project, paths.project_config)
    layers.put(user, str(paths.user_config))
    layers.put(own, str(paths.project_config))
    _join_hooks(layers, user, own, paths)
    _put_variables(layers, VARIABLES, variables, named)
    layers.put(_from_options(options), "options")
    if options.readable:
        more = [*layers.tree.get("sandbox", {}).get("readable", ()), *options.readable]
        layers.set(("sandbox", "readable"), more, "options")
    _part_addresses(layers)
    _place(layers, options, variables, paths)
    config = _validated(layers.tree, layers.origins)
    placed = Paths(paths.config_dir, config.data_dir, config.cache_dir, paths.project)
    return config.placed(
        origins=layers.origins, paths=placed, projects=looked, project=project, plugins=not options.no_plugins
    )


def _join_hooks(layers: _Layers, user: Tree, own: Tree, paths: Paths) -> None:
    """Both files' hooks count: a nearer layer adds to them."""
    found = hooks.joined(user, own)
    if not found:
        return
    layers.tree["hook"] = found
    del layers.origins["hook"]
    users = len(hooks.joined(user, {}))
    for number in range(len(found)):
        origin = paths.user_config if number < users else paths.project_config
        layers.origins[f"hook.{number}"] = str(origin)


def _own_layer(project: Project, path: Path) -> Tree:
    """What the configuration of a trusted project says."""
    text = project.files.own("config.toml") if project.trusted else None
    tree = {} if text is None else _checked(text, path)
    if refused := refused_key(tree):
        raise ConfigError(f"{path}: {refused}.", hint="Set it in your own configuration file.")
    return tree


def _put_variables(
    layers: _Layers,
    table: Mapping[str, tuple[str, ...]],
    variables: Mapping[str, str],
    files: Mapping[str, str],
) -> None:
    for name, key in table.items():
        value = variables.get(name, "")
        if value and name.endswith("OPENAI_MODEL") and "/" not in value:
            value = f"openai/{value}"
        if value:
            layers.set(key, value, files.get(name, f"environment {name}"))


def environment(
    options: SessionOptions, environ: Mapping[str, str], *, here: Path | None = None
) -> dict[str, str]:
    """The environment over the `.env` files of trusted folders (the project, `--cwd`, and `here`), as a new mapping.

    What the real environment says wins; of two files the one of `--cwd`.
    """
    return {**_merged(_env_files(projects(options, environ, here=here))), **environ}


def _env_files(looked: Sequence[Project]) -> dict[Path, dict[str, str]]:
    """What each trusted `.env` file says; the later one wins."""
    found: dict[Path, dict[str, str]] = {}
    for one in looked:
        text = one.files.text(".env") if one.trusted else None
        if text is not None:
            path = one.folder / ".env"
            found[path] = dotenv.parse(text, str(path))
    return found


def _merged(files: Mapping[Path, Mapping[str, str]]) -> dict[str, str]:
    return {name: value for values in files.values() for name, value in values.items()}


def read_toml(path: Path) -> Tree:
    """One configuration file, checked by itself so that a fault is reported with its file and line."""
    text = read_small(path)
    return {} if text is None else _checked(text, path)


def _checked(text: str, path: Path) -> Tree:
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is no valid TOML: {error}.", hint="Correct that line.") from error
    except RecursionError as error:
        raise ConfigError(f"{path} nests values too deeply.", hint="Make it flatter.") from error
    try:
        Config.model_validate(_complete(tree))
    except ValidationError as error:
        raise ConfigError(*_words(error, path, text, tree)) from error
    return tree


def _complete(tree: Tree) -> Tree:
    """The tree with a name for each model that only overrides another layer's profile."""
    models = tree.get("models")
    if not isinstance(models, dict):
        return tree
    named = {
        name: {"model": "inherited", **table} if isinstance(table, dict) else table
        for name, table in models.items()
    }
    return {**tree, "models": named}


def _words(error: ValidationError, path: Path, text: str, tree: Tree) -> tuple[str]:
    found = error.errors()[0]
    loc = _key(found["type"], found["loc"], tree)
    line = _line_of(text, loc)
    where = f"{path}, line {line}" if line else str(path)
    return (f"{where}: {_fault(found['type'], '.'.join(loc), found['msg'], found.get('input'))}",)


def _fault(kind: str, key: str, message: str, given: object) -> str:
    if kind == "extra_forbidden":
        known = _known_keys(key)
        near = get_close_matches(key.rpartition(".")[2], known, n=1)
        if near:
            return f"unknown key '{key}'. Did you mean '{near[0]}'?"
        listed = f" (known: {', '.join(known)})" if known else ""
        return f"unknown key '{key}'. Remove it or correct it{listed}."
    if kind == "missing":
        return f"'{key}' is missing. Add it."
    return f"'{key}' is {given!r}: {message[:1].lower()}{message[1:]}. Correct the value."


def _known_keys(key: str) -> list[str]:
    parent = key.split(".")[:-1]
    if not parent:
        return sorted(Config.model_fields)
    if parent[0] == "models" and len(parent) == 2:
        return sorted(ModelProfile.model_fields)
    if parent == ["budgets"]:
        return sorted(Budgets.model_fields)
    if parent == ["checkpoints"]:
        return sorted(CheckpointSettings.model_fields)
    if parent == ["sandbox"]:
        return sorted(SandboxSettings.model_fields)
    if parent == ["secrets"]:
        return sorted(SecretSettings.model_fields)
    if parent == ["redaction"]:
        return sorted(RedactionSettings.model_fields)
    if parent[0] == "hook" and len(parent) == 2:
        return sorted(hooks.HookSettings.model_fields)
    return []


def _key(kind: str, loc: tuple[int | str, ...], tree: Tree) -> list[str]:
    """The key that a fault is about; one that is missing stands in no file."""
    return [str(part) for part in loc] if kind == "missing" else _as_written(loc, tree)


def _as_written(loc: Sequence[int | str], tree: object) -> list[str]:
    """The key as the file spells it: without the names of the types that were tried for its value."""
    found: list[str] = []
    for part in loc:
        if isinstance(tree, list):
            tree = dict(enumerate(tree))
        if not isinstance(tree, dict) or part not in tree:
            break
        tree = tree[part]
        found.append(str(part))
    return found


def _line_of(text: str, loc: list[str]) -> int | None:
    """The line where a key is set: the last of its parts that a line names, in or after its table's header."""
    if not loc:
        return None
    table = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        header = re.fullmatch(r"\[+\s*([^\]]+?)\s*\]+\s*(?:#.*)?", line)
        if header:
            table = header[1].replace('"', "").replace(" ", "")
            if table == ".".join(loc):
                return number
            continue
        name = re.match(r"([\w.\"'-]+)\s*=", line)
        if name is None:
            continue
        full = ".".join(part for part in (table, name[1].replace('"', "").replace("'", "")) if part)
        if full == ".".join(loc) or ".".join(loc).startswith(full + "."):
            return number
    return None


def _validated(tree: Tree, origins: Mapping[str, str]) -> Config:
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        found = error.errors()[0]
        key = ".".join(_key(found["type"], found["loc"], tree))
        origin = origins.get(key) or next(
            (o for k, o in origins.items() if k.startswith(f"{key.rsplit('.', 1)[0]}.")), ""
        )
        where = origin or "configuration"
        raise ConfigError(
            f"{where}: {_fault(found['type'], key, found['msg'], found.get('input'))}"
        ) from error


def _from_options(options: SessionOptions) -> Tree:
    said: Tree = {
        "model": options.model,
        "base_url": options.base_url,
        "reasoning_effort": options.effort,
        "policy": options.policy,
        "agent": options.agent,
        "context_mode": options.context_mode,
        "repo_map": options.repo_map,
        "investigator_profile": options.investigator_profile,
        "theme": options.theme,
        "plugin_dirs": options.plugin_dirs or None,
        "budgets": {
            "max_parts": options.max_parts,
            "max_iterations": options.max_iterations,
            "max_turns": options.max_turns,
            "timeout_seconds": options.timeout_seconds,
            "max_cost_usd": options.max_cost_usd,
        },
    }
    said["budgets"] = {key: value for key, value in said["budgets"].items() if value is not None}
    return {key: value for key, value in said.items() if value not in (None, {})}


def _part_addresses(layers: _Layers) -> None:
    """An address that a farther layer gave is not for a model that a nearer one chose and that has its own."""
    model, origins, order = str(layers.tree.get("model", "")), layers.origins, layers.order
    if "base_url" not in origins or "model" not in origins:
        return
    of_its_own = "/" in model or ":" in model or model in layers.tree.get("models", {})
    if of_its_own and order.index(origins["base_url"]) < order.index(origins["model"]):
        del layers.tree["base_url"], origins["base_url"]


def _place(layers: _Layers, options: SessionOptions, variables: Mapping[str, str], paths: Paths) -> None:
    """Fill in where sessions and caches lie, nearest wins as for everything else."""
    if options.data_dir is not None:
        layers.set(("data_dir",), options.data_dir.absolute(), "options")
    elif variables.get("TUI_AGENT_HOME"):
        layers.set(("data_dir",), paths.data_dir, "environment TUI_AGENT_HOME")
    layers.tree.setdefault("data_dir", paths.data_dir)
    layers.tree.setdefault("cache_dir", paths.cache_dir)


def _merge(tree: Tree, layer: Tree, origin: str, origins: dict[str, str], prefix: str) -> None:
    for key, value in layer.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict):
            inner = tree.get(key)
            tree[key] = inner if isinstance(inner, dict) else {}
            _merge(tree[key], value, origin, origins, f"{name}.")
        else:
            tree[key] = value
            origins[name] = origin
