"""The layers of configuration: defaults < choices < user file < trusted project file < environment < options.

`choices` are settings that the app remembers; a headless run uses only the remembered model.

Invariant: loading writes nothing, changes no environment variable and uses no file of an untrusted project.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tui_agent.config import dotenv
from tui_agent.config.paths import Paths, find_paths
from tui_agent.config.project.trust import Project, load_projects
from tui_agent.config.project.trust_effects import refusal_of_settings
from tui_agent.config.session_options import Client, SessionOptions
from tui_agent.config.settings.settings import Config
from tui_agent.config.settings.validation_errors import describe_wrong_keys
from tui_agent.config.small_files import read_small
from tui_agent.config.user_choices import FILE_NAME, load_choices
from tui_agent.errors import ConfigError
from tui_agent.protocol.settings import POLICIES, Budgets

Tree = dict[str, Any]

VARIABLES: Mapping[str, tuple[str, ...]] = {
    "TUI_AGENT_OPENAI_MODEL": ("model",),
    "TUI_AGENT_MODEL": ("model",),
    "TUI_AGENT_BASE_URL": ("base_url",),
    "TUI_AGENT_REASONING_EFFORT": ("reasoning_effort",),
    "TUI_AGENT_POLICY": ("policy",),
    "TUI_AGENT_AGENT": ("agent",),
    "TUI_AGENT_ENVIRONMENT": ("environment",),
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
"""Maps an environment variable to the configuration keys that it sets.

If several variables set the same key, the last one in this table wins.
"""

FALLBACKS: Mapping[str, tuple[str, ...]] = {"OPENAI_MODEL": ("model",)}
"""Maps other programs' environment variables to configuration keys.

These variables are used only for keys that no configuration layer sets.
"""


SAME_NAMES = (
    *("model", "base_url", "policy", "agent", "environment", "theme"),
    *("context_mode", "repo_map", "investigator_profile"),
)
"""Names of settings that are also attributes of `SessionOptions`."""


@dataclass
class _Layers:
    """The merged settings of all layers, the origin of each value and the order of the layers."""

    tree: Tree = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)

    def add(self, layer: Tree, origin: str) -> None:
        self.order.append(origin)
        _merge(self.tree, layer, origin, self.origins, "")

    def set(self, key: tuple[str, ...], value: object, origin: str) -> None:
        layer: Tree = {key[-1]: value}
        for part in reversed(key[:-1]):
            layer = {part: layer}
        self.add(layer, origin)


def load_config(options: SessionOptions, environ: Mapping[str, str], *, here: Path | None = None) -> Config:
    """Return the effective configuration for this start of the program.

    `here`: the folder in which the program was started. Its `.env` file is used in addition to the one in
    `options.cwd`.

    Raise `ConfigError` with file, line and key of the error.
    """
    projects = load_projects(options, environ, here=here)
    default = find_paths(options.cwd, environ)
    project = next(known for known in projects if known.folder == default.project)
    files = _read_env_files(projects)
    variables = {**_flatten(files), **environ}
    variable_origins = {
        name: f"{file} ({name})" for file, values in files.items() for name in values if name not in environ
    }
    # A project's file must not redirect the user's configuration, and with it the list of trusted folders.
    relocated = find_paths(options.cwd, variables, options.data_dir)
    paths = Paths(default.config_dir, relocated.data_dir, relocated.cache_dir, default.project, default.home)
    layers = _Layers()
    _add_variables(layers, FALLBACKS, variables, variable_origins)
    fallbacks = dict(layers.origins)
    user_layer, project_layer = read_toml(paths.user_config), _project_layer(project, paths.project_config)
    layers.add(user_layer, str(paths.user_config))
    layers.add(project_layer, str(paths.project_config))
    _join_hooks(layers, user_layer, project_layer, paths)
    _add_variables(layers, VARIABLES, variables, variable_origins)
    layers.add(_options_layer(options), "options")
    if options.readable:
        readable = [*layers.tree.get("sandbox", {}).get("readable", ()), *options.readable]
        layers.set(("sandbox", "readable"), readable, "options")
    _drop_foreign_address(layers)
    _add_folders(layers, options, variables, paths)
    config = _validate(layers.tree, layers.origins)
    if options.client in ("app", "web", "headless"):
        is_set = {key for key, origin in layers.origins.items() if fallbacks.get(key) != origin}
        config = _apply_choices(config, layers.origins, is_set, paths.project, options.client)
    final_paths = Paths(paths.config_dir, config.data_dir, config.cache_dir, paths.project, paths.home)
    return config.with_origins(layers.origins, final_paths, projects, project)


def _apply_choices(
    config: Config, origins: dict[str, str], is_set: Set[str], project: Path, client: Client
) -> Config:
    """Return the configuration, with remembered choices for keys that no layer sets."""
    choices, _ = load_choices(config.data_dir)
    values: Tree = {}
    # The remembered model may not exist on another server.
    is_same_server = "base_url" not in is_set or config.base_url == choices.base_url
    if choices.model and "model" not in is_set and is_same_server:
        values |= {"model": choices.model, "base_url": choices.base_url}
    if client != "headless":
        if choices.theme and "theme" not in is_set:
            values["theme"] = choices.theme
        policy = choices.policies.get(str(project.resolve()), "")
        if policy in POLICIES and "policy" not in is_set:
            values["policy"] = policy
    origins.update(dict.fromkeys(values, str(config.data_dir / FILE_NAME)))
    return config.model_copy(update=values)


def _join_hooks(layers: _Layers, user_tree: Tree, project_tree: Tree, paths: Paths) -> None:
    """Set the hooks: first the user's, then the project's."""
    joined = [*_hook_tables(user_tree), *_hook_tables(project_tree)]
    if not joined:
        return
    layers.tree["hook"] = joined
    del layers.origins["hook"]
    user_count = len(_hook_tables(user_tree))
    for number in range(len(joined)):
        origin = paths.user_config if number < user_count else paths.project_config
        layers.origins[f"hook.{number}"] = str(origin)


def _hook_tables(tree: Tree) -> list[Any]:
    """Return the hooks of one configuration file as a list."""
    # A value of another type is returned too, so that validation rejects it.
    value = tree.get("hook", [])
    return value if isinstance(value, list) else [value]


def _project_layer(project: Project, path: Path) -> Tree:
    text = project.files.read_own("config.toml") if project.is_trusted else None
    tree = {} if text is None else parse_config(text, path)
    if refused := refusal_of_settings(tree):
        raise ConfigError(f"{path}: {refused}.", hint="Set the key in your own configuration file.")
    return tree


def _add_variables(
    layers: _Layers,
    table: Mapping[str, tuple[str, ...]],
    variables: Mapping[str, str],
    files: Mapping[str, str],
) -> None:
    for name, key in table.items():
        value = variables.get(name, "")
        # OpenAI's own programs write the name without the provider.
        if value and name.endswith("OPENAI_MODEL") and "/" not in value:
            value = f"openai/{value}"
        if value:
            layers.set(key, value, files.get(name, f"environment {name}"))


def merge_environment(
    options: SessionOptions, environ: Mapping[str, str], *, here: Path | None = None
) -> dict[str, str]:
    """Return a new mapping with the environment and the variables in the `.env` files of trusted folders.

    The environment wins over the files. The file in `options.cwd` wins over the other files.
    """
    return {**_flatten(_read_env_files(load_projects(options, environ, here=here))), **environ}


def _read_env_files(folders: Sequence[Project]) -> dict[Path, dict[str, str]]:
    files: dict[Path, dict[str, str]] = {}
    for project in folders:
        text = project.files.read_text(".env") if project.is_trusted else None
        if text is not None:
            path = project.folder / ".env"
            files[path] = dotenv.parse_dotenv(text, str(path))
    return files


def _flatten(files: Mapping[Path, Mapping[str, str]]) -> dict[str, str]:
    return {name: value for values in files.values() for name, value in values.items()}


def read_toml(path: Path) -> Tree:
    """Read and validate one configuration file, so that an error is reported with its file and line."""
    text = read_small(path)
    return {} if text is None else parse_config(text, path)


def parse_config(text: str, path: Path) -> Tree:
    """Parse and validate the text of a configuration file. Raise `ConfigError` with the line of the error."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.", hint="Correct that line.") from error
    except RecursionError as error:
        raise ConfigError(f"{path} nests values too deeply.", hint="Use fewer levels.") from error
    try:
        Config.model_validate(_fill_model_names(tree))
    except ValidationError as error:
        raise ConfigError(_describe_errors(error, tree, text, path)) from error
    return tree


def _describe_errors(error: ValidationError, tree: Tree, text: str, path: Path) -> str:
    """Describe each wrong key of a configuration file with its line, in the order of the lines."""
    wrong_keys = describe_wrong_keys(error, tree, Config)
    lines = [(find_line(text, key), problem) for key, problem in wrong_keys]
    # Python's TOML parser keeps no positions, so `find_line` searches for the key; some keys are not found.
    numbered = sorted((line, problem) for line, problem in lines if line is not None)
    problems = [f"Line {line}: {problem}" for line, problem in numbered]
    problems += [problem for line, problem in lines if line is None]
    text = " ".join(problems)
    return f"{path}, line{text.removeprefix('Line')}" if numbered else f"{path}: {text}"


def _fill_model_names(tree: Tree) -> Tree:
    """Add a placeholder name to each model profile without a model name."""
    # Such a profile is valid, because a lower layer can define its name.
    models = tree.get("models")
    if not isinstance(models, dict):
        return tree
    completed = {
        name: {"model": "inherited", **table} if isinstance(table, dict) else table
        for name, table in models.items()
    }
    return {**tree, "models": completed}


def find_line(text: str, loc: list[str]) -> int | None:
    """Return the number of the line with the key or table `loc`; None if there is none."""
    if not loc:
        return None
    table = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        header = re.fullmatch(r"\[++([^\]]++)\]++\s*+(?:#.*)?", line)
        if header:
            table = header[1].replace('"', "").replace(" ", "").strip()
            if table == ".".join(loc):
                return number
            continue
        name = re.match(r"([\w.\"'-]+)\s*=", line)
        if name is None:
            continue
        full_key = ".".join(part for part in (table, name[1].replace('"', "").replace("'", "")) if part)
        if full_key == ".".join(loc) or ".".join(loc).startswith(full_key + "."):
            return number
    return None


def _validate(tree: Tree, origins: Mapping[str, str]) -> Config:
    try:
        return Config.model_validate(tree)
    except ValidationError as error:
        problems = []
        for parts, problem in describe_wrong_keys(error, tree, Config):
            key, table = ".".join(parts), ".".join(parts[:-1]) or ".".join(parts)
            # A missing key has no origin, so the file that sets its neighbours is named.
            beside = (origin for name, origin in origins.items() if name.startswith(f"{table}."))
            problems.append(f"{origins.get(key) or next(beside, 'configuration')}: {problem}")
        raise ConfigError(" ".join(problems)) from error


def _options_layer(options: SessionOptions) -> Tree:
    budgets = {name: getattr(options, name) for name in Budgets.model_fields}
    values: Tree = {name: getattr(options, name) for name in SAME_NAMES} | {
        "reasoning_effort": options.effort,
        "plugin_dirs": options.plugin_dirs or None,
        "budgets": {name: value for name, value in budgets.items() if value is not None},
    }
    return {key: value for key, value in values.items() if value not in (None, {})}


def _drop_foreign_address(layers: _Layers) -> None:
    """Remove a base URL that was set for another model.

    The URL is removed if a later layer sets a model with its own address.
    """
    model, origins, order = str(layers.tree.get("model", "")), layers.origins, layers.order
    if "base_url" not in origins or "model" not in origins:
        return
    has_own_address = "/" in model or ":" in model or model in layers.tree.get("models", {})
    if has_own_address and order.index(origins["base_url"]) < order.index(origins["model"]):
        del layers.tree["base_url"], origins["base_url"]


def _add_folders(
    layers: _Layers, options: SessionOptions, variables: Mapping[str, str], paths: Paths
) -> None:
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
            subtree = tree.get(key)
            tree[key] = subtree if isinstance(subtree, dict) else {}
            _merge(tree[key], value, origin, origins, f"{name}.")
        else:
            tree[key] = value
            origins[name] = origin
