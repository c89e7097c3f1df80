"""All settings of a configuration file, typed.

Invariant: unknown keys are refused, every field has a description, and no field holds a secret.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import (
    Field,
    PrivateAttr,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from tui_agent.config.paths import Paths
from tui_agent.config.project.project_files import ProjectFiles
from tui_agent.config.project.trust import Project
from tui_agent.config.settings.environment_settings import EnvironmentsSettings
from tui_agent.config.settings.setting_types import HeaderText, Table, UserPath, VariableName
from tui_agent.config.user_choices import FILE_NAME
from tui_agent.ports.hook import DEFAULT_TIME_LIMIT_S, MATCHER_EVENTS
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT
from tui_agent.protocol.events.hook import HookEvent, HookSource
from tui_agent.protocol.settings import Budgets, ContextMode, Effort, UserPolicy
from tui_agent.protocol.stored_text import JsonMap

Symbols: TypeAlias = Literal["auto", "unicode", "ascii"]
Motion: TypeAlias = Literal["auto", "on", "off"]
Notifications: TypeAlias = Literal["auto", "osc9", "osc777", "bell", "desktop", "off"]
MATCH_ALL = ("", "*")
"""Values of a hook's `matcher` that match every tool."""
MAX_TIMEOUT_S = 600.0


class HookSettings(Table):
    """A `[[hook]]` entry of the configuration: a command that runs on an event."""

    event: HookEvent = Field(
        description="The event: before_tool, after_tool, before_prompt, … (docs/hooks.md)."
    )
    command: str = Field(
        description="Command line, run by bash in the workspace with JSON on its standard input.",
        min_length=1,
    )
    matcher: str = Field(
        "",
        description="Regular expression for the whole tool name (write_file|edit_file), the source of a session_start, or the trigger of a compaction. The command runs only if the expression matches; empty: always.",
    )
    timeout: float = Field(
        DEFAULT_TIME_LIMIT_S, gt=0, le=MAX_TIMEOUT_S, description="Seconds before the command is stopped."
    )

    @field_validator("matcher")
    @classmethod
    def _check_matcher(cls, matcher: str) -> str:
        try:
            re.compile("" if matcher in MATCH_ALL else matcher)
        except re.error as error:
            raise ValueError(f"not a valid regular expression: {error}") from error
        return matcher

    @model_validator(mode="after")
    def _check_event(self) -> "HookSettings":
        if self.matcher and self.event not in MATCHER_EVENTS:
            raise ValueError(
                f"matcher does not work with {self.event}; it works with {', '.join(sorted(MATCHER_EVENTS))}"
            )
        return self

    @property
    def pattern(self) -> re.Pattern[str] | None:
        """The compiled `matcher`, or None if it matches everything."""
        return None if self.matcher in MATCH_ALL else re.compile(self.matcher)


class ModelProfile(Table):
    """A table `[models.NAME]` of the configuration: a named way to reach a model.

    A profile never holds a key, only the name of the variable with the key.
    """

    provider: str = Field(
        "", description="The API: openai-chat, openai-responses, litellm, or a provider's name."
    )
    model: str = Field(description="The model's name as the provider knows it.")
    base_url: str = Field("", description="The address, with or without /v1; empty: the provider's default.")
    api_key_env: str = Field(
        "", description="The environment variable that holds the key; empty: the provider's variable."
    )
    timeout: float = Field(
        300.0, gt=0, description="Seconds without data after which a request is treated as stalled."
    )
    max_output: int = Field(
        0,
        ge=0,
        description="Maximum tokens of one answer; 0: the model's limit, but at most 32,768 and at most a quarter of the context window.",
    )
    reasoning_effort: Effort | None = Field(
        None,
        description="none, minimal, low, medium, high or xhigh. A value that the provider does not support is an error.",
    )
    context_window: int = Field(
        0, ge=0, description="Size of the context window in tokens; 0: taken from litellm's price map."
    )
    input_price: float | None = Field(None, ge=0, description="USD per million input tokens.")
    output_price: float | None = Field(None, ge=0, description="USD per million output tokens.")
    cached_price: float | None = Field(None, ge=0, description="USD per million tokens read from the cache.")
    images: bool | None = Field(
        None, description="The model accepts images. If not set, taken from litellm's price map."
    )
    stream: bool = Field(
        True, description="Request a streamed answer; set to false for servers that cannot stream."
    )
    bridge_tool_results: bool | None = Field(
        None,
        description="True if the chat template needs short call ids, and an assistant message between a tool result and a user message. If not set, tui-agent decides by the model's name.",
    )
    headers: dict[str, HeaderText] = Field(
        default_factory=dict,
        description="Extra HTTP headers. Never put a key here: configuration must not hold secrets.",
    )


class SecretSettings(Table):
    """The `[secrets]` table: how secrets are sent to the model.

    Logs, panes, exports and reports never contain secrets, whatever this table says.
    """

    model_sees: Literal["redacted", "plain"] = Field(
        "redacted",
        description="How secrets are sent to the model: as `[redacted: kind]` or in plain text. When a closed session is resumed, earlier secrets are always redacted.",
    )


class RedactionSettings(Table):
    """The `[redaction]` table: extra secrets and exceptions (docs/redaction.md). A project cannot set it."""

    rules: tuple[JsonMap, ...] = Field(
        (), description="Extra rules, as `[[redaction.rules]]` with id, what, pattern, keywords and examples."
    )
    allow: tuple[str, ...] = Field(
        (), description='Texts that are never redacted; a regular expression between slashes: `"/test-.*/"`.'
    )
    disable: tuple[str, ...] = Field((), description="Ids of rules to turn off.")

    @field_validator("rules", mode="before")
    @classmethod
    def _check_rules(cls, rules: object) -> object:
        if isinstance(rules, dict):
            raise PydanticCustomError("one_table", "write [[redaction.rules]] with double brackets")
        return rules


class CheckpointSettings(Table):
    """The `[checkpoints]` table: size limits of file snapshots, in MB (millions of bytes)."""

    file_mb: float = Field(
        5.0, ge=0, allow_inf_nan=False, description="New files above this size are not saved."
    )
    total_mb: float = Field(
        1_000.0,
        ge=0,
        allow_inf_nan=False,
        description="Size limit: the first checkpoint reads at most this much, and a session's checkpoints grow by at most this much.",
    )
    borrowed_mb: float = Field(
        256.0,
        ge=0,
        allow_inf_nan=False,
        description="Maximum size of the objects that are copied from the project's git repository in the background between turns; 0: nothing is copied.",
    )


class ContextSettings(Table):
    """The `[context]` table: how full the model's context window can get before old messages are made smaller."""

    reduce_at: float = Field(
        0.70,
        ge=0,
        le=1,
        description="Shorten old outputs, without a model call, when this share of the model's context window is filled; 0: never.",
    )
    compact_at: float = Field(
        0.85,
        ge=0,
        le=1,
        description="Summarise old turns when this share of the model's context window is filled; 0: only by /compact, or when the provider rejects a request as too long.",
    )
    keep: float = Field(
        0.20,
        ge=0.02,
        le=0.6,
        description="Share of the model's context window that is reserved for the newest messages, which a summary leaves unchanged.",
    )


class SandboxSettings(Table):
    """The `[sandbox]` table: limits of the commands that an agent runs. A project cannot set it."""

    mode: Literal["auto", "off"] = Field(
        "auto", description="auto: run commands in the sandbox where the system supports it; off: never."
    )
    writable: tuple[UserPath, ...] = Field(
        (), description="Extra folders that commands in the sandbox may write, such as a package cache."
    )
    readable: tuple[str, ...] = Field(
        (),
        description='Secret files of a workspace that commands may read, as patterns: `".env.test"`, `"certs/*.pem"`. Commands can also change them, except protected ones such as `.env` in the top folder of the workspace.',
    )
    try_confined: bool = Field(
        False,
        description="Run an unknown command read-only and without network in the sandbox before asking about it.",
    )
    variables: tuple[VariableName, ...] = Field(
        (),
        description='Secret-looking environment variables that commands may see, by full name: `"PGPASSWORD"`.',
    )


class DelegationSettings(Table):
    """The `[delegation]` table: limits for subtasks, i.e. tasks that an agent gives to other agents (its delegates)."""

    max_parallel_subtasks: int = Field(
        1, ge=1, le=8, description="Maximum number of delegates of one agent that work at the same time."
    )
    max_depth: int = Field(
        1,
        ge=1,
        le=4,
        description="Maximum number of levels of delegates below the main agent. With 1, a delegate has no delegates.",
    )
    max_iterations: int = Field(
        30, ge=1, le=500, description="Maximum iterations of a delegate; a named agent can set its own limit."
    )
    timeout_seconds: float = Field(
        1_800.0, gt=0, allow_inf_nan=False, description="Seconds after which a delegate is stopped."
    )


class StatusSettings(Table):
    """The `[status]` table: your own text in the status line. A project cannot set it."""

    command: str = Field(
        "",
        description="Command line for bash. The command gets facts about the session as JSON on standard input; the status line shows the first line of its output.",
    )


class McpServerTable(Table):
    """An `[mcp.NAME]` table of the configuration: an MCP server, with the same fields as in `.mcp.json`."""

    command: str = Field("", description="The program to start as the server.")
    args: tuple[str, ...] = Field((), description="The arguments of the program.")
    env: dict[VariableName, str] = Field(
        default_factory=dict,
        description="Environment variables for the server. `${NAME}` is replaced by your variable NAME; `${NAME:-x}` becomes x if NAME is not set.",
    )
    cwd: str = Field("", description="The folder in which the server runs; empty: the workspace.")
    url: str = Field("", description="The address of an HTTP server; use it instead of `command`.")
    headers: dict[str, str] = Field(
        default_factory=dict, description="HTTP headers; write a key as `${NAME}`, never the key itself."
    )
    enabled: bool = Field(
        True, description="Set to false to keep the server's entry without using the server."
    )
    timeout: float = Field(
        60.0,
        gt=0,
        le=MAX_TIMEOUT_S,
        description="Time limit in seconds for the start of the server, and for each call.",
    )

    @model_validator(mode="after")
    def _check_kind(self) -> "McpServerTable":
        if bool(self.command) == bool(self.url):
            raise ValueError("needs either command or url")
        return self


class Config(Table):
    """The effective configuration for one start of the program. `origin` returns the layer that set a value."""

    model: str = Field(
        "", description="The model to start with: a profile, provider/model, scripted:FILE, demo."
    )
    base_url: str = Field("", description="The address to use instead of the model's default.")
    reasoning_effort: Effort | None = Field(None, description="How hard the model should think.")
    models: dict[str, ModelProfile] = Field(default_factory=dict, description="Model profiles by name.")
    investigator_profile: str = Field(
        "",
        description="The model profile of investigator agents, which can only read; empty: the session's model.",
    )
    delegation: DelegationSettings = Field(
        default_factory=DelegationSettings,
        description="Limits of delegates, the agents that get subtasks (docs/delegation.md).",
    )
    policy: UserPolicy = Field(
        "ask", description="The policy to start with: plan, ask, accept-edits or bypass."
    )
    agent: str = Field("default", description="The agent that works on your messages.")
    context_mode: ContextMode = Field(
        "pack",
        description="What to send to the model besides the conversation: none, pack (instructions, repository map, summary of an earlier session) or memory (pack, and notes on the task).",
    )
    repo_map: Literal["off", "auto"] = Field(
        "auto", description="Include the repository map in the context: auto or off."
    )
    budgets: Budgets = Field(default_factory=Budgets, description="Limits that end a turn.")
    context: ContextSettings = Field(
        default_factory=ContextSettings, description="When a long conversation is shortened or summarised."
    )
    checkpoints: CheckpointSettings = Field(
        default_factory=CheckpointSettings, description="Size limits of the file snapshots for /undo."
    )
    secrets: SecretSettings = Field(
        default_factory=SecretSettings, description="How secrets are sent to the model."
    )
    redaction: RedactionSettings = Field(
        default_factory=RedactionSettings, description="Extra secrets and exceptions (docs/redaction.md)."
    )
    hook: tuple[HookSettings, ...] = Field(
        (),
        description="Commands that run on events (docs/hooks.md); the hooks of all configuration files run.",
    )
    mcp: dict[str, McpServerTable] = Field(
        default_factory=dict, description="MCP servers by name (docs/mcp.md)."
    )
    sandbox: SandboxSettings = Field(
        default_factory=SandboxSettings, description="Limits of the commands that an agent runs."
    )
    environment: str = Field(
        LOCAL_ENVIRONMENT,
        min_length=1,
        description="The environment in which commands run: local, docker, or an environment of a plugin (docs/environments.md).",
    )
    environments: EnvironmentsSettings = Field(
        default_factory=EnvironmentsSettings, description="How environments other than local are started."
    )
    theme: str = Field("", description="A theme's name; empty: night or day, by the terminal's background.")
    symbols: Symbols = Field(
        "auto",
        description="unicode, ascii or auto. auto means ascii if LC_ALL, LC_CTYPE or LANG is not UTF-8 (such as LANG=C), or if TERM is linux or dumb.",
    )
    motion: Motion = Field("auto", description="Animations and blinking: auto, on or off.")
    mouse: bool = Field(True, description="Use the mouse.")
    notifications: Notifications = Field(
        "auto",
        description="How you are notified that a turn ended or waits for you: auto, osc9, osc777, bell, desktop or off.",
    )
    status: StatusSettings = Field(
        default_factory=StatusSettings, description="Your own text in the status line."
    )
    vim: bool = Field(False, description="Vim keys in the prompt.")
    keys: dict[str, str | tuple[str, ...]] = Field(
        default_factory=dict,
        description="Maps an action name to its key or keys, which replace the built-in keys.",
    )
    plugin_dirs: tuple[UserPath, ...] = Field((), description="Extra folders with plugins.")
    plugins_disabled: tuple[str, ...] = Field((), description="Names of plugins to turn off.")
    plugins_enabled: tuple[str, ...] = Field(
        (), description="Names of plugins to turn on, if they are off by default."
    )
    plugins: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="Settings of plugins; each plugin has a table: [plugins.NAME]."
    )
    notes_dir: UserPath = Field(
        Path(),
        description="Folder for notes across sessions, with one folder per project; empty: `notes/` in data_dir.",
    )
    data_dir: UserPath = Field(Path(), description="Folder for sessions.")
    cache_dir: UserPath = Field(
        Path(), description="Folder for caches, such as repository maps; can be deleted."
    )

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)
    _paths: Paths | None = PrivateAttr(None)
    _projects: tuple[Project, ...] = PrivateAttr(())
    _project: Project | None = PrivateAttr(None)

    @property
    def paths(self) -> Paths:
        """The folders that this start uses. Raise `RuntimeError` if the configuration was not created by `layers`."""
        if self._paths is None:
            raise RuntimeError("This configuration was not read from files, so it has no paths.")
        return self._paths

    @property
    def is_trusted(self) -> bool:
        """True if the project's own files (configuration, plugins, `.env`) can be used."""
        return self.project is not None

    @property
    def project(self) -> ProjectFiles | None:
        """The project's files as they were when trust was checked; None if there are no trusted files."""
        return self._project.files if self._project is not None and self._project.is_trusted else None

    @property
    def undecided_projects(self) -> tuple[ProjectFiles, ...]:
        """The project files that the user has not decided about yet, one item for each folder."""
        return tuple(project.files for project in self._projects if project.trust_state == "open")

    @property
    def ignored_files(self) -> tuple[Path, ...]:
        """The project files that are not used, because their folders are not trusted."""
        untrusted = [project for project in self._projects if project.trust_state in ("open", "without")]
        return tuple(project.folder / file.name for project in untrusted for file in project.files.files)

    @property
    def hooks(self) -> tuple[tuple[HookSettings, HookSource], ...]:
        """The hooks in order of execution, each with its source."""
        project_config = str(self.paths.project_config)
        return tuple(
            (hook, "project" if self.origin(f"hook.{number}") == project_config else "user")
            for number, hook in enumerate(self.hook)
        )

    def origin(self, key: str) -> str:
        """Return the layer that set the value of `key`: a file, `environment NAME`, `options`, or `default`.

        `key`: dotted, such as `models.fast.base_url` or `redaction.rules.0`.
        """
        if key in self._origins:
            return self._origins[key]
        layers = sorted({layer for name, layer in self._origins.items() if name.startswith(f"{key}.")})
        return ", ".join(layers) or self._origins.get(key.rpartition(".")[0], "default")

    def note_on_choice(self, key: str, value: str) -> str:
        """Return a note if a file or variable overrides the user's choice `value` for this key."""
        origin, other = self.origin(key), getattr(self, key)
        # Options apply to one start only, and a remembered choice or a fallback variable gives way to the new choice.
        is_weaker = origin in ("default", "options") or origin.endswith(
            (FILE_NAME, " OPENAI_MODEL", "(OPENAI_MODEL)")
        )
        return "" if is_weaker or other == value else f" The next start uses {other}, set in {origin}."

    def with_origins(
        self, origins: dict[str, str], paths: Paths, projects: Sequence[Project], project: Project
    ) -> "Config":
        """Return a copy of the configuration with the origins of its values (used by `layers`)."""
        copy = self.model_copy()
        copy._origins, copy._paths = dict(origins), paths
        copy._projects, copy._project = tuple(projects), project
        return copy
