"""Everything that a configuration file may say, typed.

Invariant: an unknown key is refused; every field says what it means; no secret has a field here.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StringConstraints,
    field_validator,
)
from pydantic_core import PydanticCustomError

from tui_agent.config.hooks import HookSettings
from tui_agent.config.paths import Paths
from tui_agent.config.project import Project
from tui_agent.config.project_files import ProjectFiles
from tui_agent.protocol.base import JsonMap
from tui_agent.protocol.events.hook import HookSource
from tui_agent.protocol.settings import Budgets, ContextMode, Effort, PolicyName

UserPath: TypeAlias = Annotated[Path, AfterValidator(Path.expanduser)]
"""A path in which `~` stands for the home folder."""

HeaderText: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e]*$")]
"""What an HTTP header can carry."""

VariableName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""The whole name of an environment variable."""

Symbols: TypeAlias = Literal["auto", "unicode", "ascii"]
Motion: TypeAlias = Literal["auto", "on", "off"]


class Table(BaseModel):
    """A table of a configuration file: frozen, and strict about its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class ModelProfile(Table):
    """One `[models.NAME]`: a named way to reach a model. Keys are never in it, only the variable that holds one."""

    provider: str = Field(
        "", description="How to talk to it: openai-chat, openai-responses, litellm, or a vendor's name."
    )
    model: str = Field(description="The model's name as the provider knows it.")
    base_url: str = Field("", description="The address, with or without /v1; empty: the provider's own.")
    api_key_env: str = Field(
        "", description="The environment variable that holds the key; empty: the vendor's."
    )
    timeout: float = Field(
        300.0, gt=0, description="Seconds without a byte after which an answer has stalled."
    )
    max_output: int = Field(
        0, ge=0, description="Most tokens of one answer; 0: what the model allows, with a cap."
    )
    reasoning_effort: Effort | None = Field(
        None, description="none, minimal, low, medium, high or xhigh; refused where the provider has none."
    )
    context_window: int = Field(0, ge=0, description="Tokens; 0: as the price map knows it.")
    input_price: float | None = Field(None, ge=0, description="USD for a million input tokens.")
    output_price: float | None = Field(None, ge=0, description="USD for a million output tokens.")
    cached_price: float | None = Field(
        None, ge=0, description="USD for a million tokens read from the cache."
    )
    images: bool | None = Field(
        None, description="Whether it takes images; absent: as the price map knows it."
    )
    stream: bool = Field(True, description="Whether to ask for a stream; false for servers that have none.")
    bridge_tool_results: bool | None = Field(
        None,
        description="Whether its template wants an answer between a result and a user's words, and short call ids; absent: by the model's name.",
    )
    headers: dict[str, HeaderText] = Field(
        default_factory=dict,
        description="More HTTP headers. Never a key: configuration is no place for secrets.",
    )


class SecretSettings(Table):
    """The `[secrets]` table. Logs, panes, exports and reports never hold secrets, whatever it says."""

    model_sees: Literal["redacted", "plain"] = Field(
        "redacted",
        description="What the model is sent of a secret: `[redacted: kind]`, or the secret itself (until the session is closed; taken up again, what came before is redacted).",
    )


class RedactionSettings(Table):
    """The `[redaction]` table: what else is a secret, and what is none (docs/redaction.md). A project cannot set it."""

    rules: tuple[JsonMap, ...] = Field(
        (), description="More rules, as `[[redaction.rules]]` with id, what, pattern, keywords and examples."
    )
    allow: tuple[str, ...] = Field(
        (), description='Texts that are never covered; between slashes a pattern: `"/test-.*/"`.'
    )
    disable: tuple[str, ...] = Field((), description="Ids of rules that are not used.")

    @field_validator("rules", mode="before")
    @classmethod
    def _check_rules(cls, rules: object) -> object:
        if isinstance(rules, dict):
            raise PydanticCustomError("one_table", "write [[redaction.rules]], with two brackets")
        return rules


class CheckpointSettings(Table):
    """The `[checkpoints]` table: what a session may keep of the files, in millions of bytes."""

    file_mb: float = Field(5.0, ge=0, allow_inf_nan=False, description="A new file above this is not kept.")
    total_mb: float = Field(
        1_000.0,
        ge=0,
        allow_inf_nan=False,
        description="What a session's checkpoints may grow by; also what a first one reads at most.",
    )
    borrowed_mb: float = Field(
        256.0,
        ge=0,
        allow_inf_nan=False,
        description="What is copied of a git repository's own objects, in the background between turns; 0: nothing.",
    )


class ContextSettings(Table):
    """The `[context]` table: when a history is made smaller, in shares of the model's window."""

    reduce_at: float = Field(
        0.70, ge=0, le=1, description="From here on old outputs are put away, without the model; 0: never."
    )
    compact_at: float = Field(
        0.85,
        ge=0,
        le=1,
        description="From here on old turns are summarised; 0: only by /compact, and where the provider finds a request too long.",
    )
    keep: float = Field(
        0.20, ge=0.02, le=0.6, description="What of the newest messages stays word for word behind a summary."
    )


class SandboxSettings(Table):
    """The `[sandbox]` table: what confines the commands that an agent runs. A project cannot set it."""

    mode: Literal["auto", "off"] = Field(
        "auto", description="auto: commands are confined where that works; off: they never are."
    )
    writable: tuple[UserPath, ...] = Field(
        (), description="More folders that confined commands may write, such as a package cache."
    )
    readable: tuple[str, ...] = Field(
        (),
        description='Files with secrets in a workspace that its commands may read, as patterns: `".env.test"`, `"certs/*.pem"`.',
    )
    try_confined: bool = Field(
        False,
        description="Try a command that is not understood in the sandbox before asking about it: read-only, without network.",
    )
    variables: tuple[VariableName, ...] = Field(
        (),
        description='Variables that commands are shown though their names say secret, by their whole names: `"PGPASSWORD"`.',
    )


class DelegationSettings(Table):
    """The `[delegation]` table: limits of the agents that work for another one."""

    max_parallel_subtasks: int = Field(
        1, ge=1, le=8, description="Subtasks of one agent that work at a time; the others wait."
    )
    max_depth: int = Field(1, ge=1, le=4, description="Levels of subtasks below the main agent.")
    max_iterations: int = Field(
        30, ge=1, le=500, description="Most iterations of a subtask; a named agent may say its own."
    )
    timeout_seconds: float = Field(
        1_800.0, gt=0, allow_inf_nan=False, description="Seconds after which a subtask is ended."
    )


class Config(Table):
    """The effective configuration. `origin` tells which layer gave a value."""

    model: str = Field(
        "", description="The model to start with: a profile, provider/model, scripted:FILE, demo."
    )
    base_url: str = Field("", description="The address to use instead of the model's own.")
    reasoning_effort: Effort | None = Field(None, description="How hard the model should think.")
    models: dict[str, ModelProfile] = Field(default_factory=dict, description="Model profiles by name.")
    investigator_profile: str = Field(
        "", description="The model profile of read-only delegates; empty: the same."
    )
    delegation: DelegationSettings = Field(
        default_factory=DelegationSettings, description="Limits of subtasks (docs/delegation.md)."
    )
    policy: PolicyName = Field("ask", description="The permission profile to start with.")
    agent: str = Field("default", description="The agent of the hub that takes tasks.")
    context_mode: ContextMode = Field("pack", description="How context is assembled: none, pack or memory.")
    repo_map: Literal["off", "auto"] = Field(
        "auto", description="Whether the repository map goes into the context."
    )
    budgets: Budgets = Field(default_factory=Budgets, description="Limits that end a turn.")
    context: ContextSettings = Field(
        default_factory=ContextSettings, description="When a history is made smaller."
    )
    checkpoints: CheckpointSettings = Field(
        default_factory=CheckpointSettings, description="What may be kept of the files for /undo."
    )
    secrets: SecretSettings = Field(
        default_factory=SecretSettings, description="What the model is sent of secrets."
    )
    redaction: RedactionSettings = Field(
        default_factory=RedactionSettings, description="What else is a secret (docs/redaction.md)."
    )
    hook: tuple[HookSettings, ...] = Field(
        (), description="Commands that are asked or told (docs/hooks.md); those of all files count."
    )
    sandbox: SandboxSettings = Field(
        default_factory=SandboxSettings, description="What confines the commands that an agent runs."
    )
    theme: str = Field("", description="A theme's name; empty: by the terminal's background.")
    symbols: Symbols = Field(
        "auto",
        description="unicode, ascii, or auto: ascii where LC_ALL, LC_CTYPE or LANG names no UTF-8 (so LANG=C) or TERM is linux or dumb.",
    )
    motion: Motion = Field("auto", description="Whether anything blinks or moves.")
    mouse: bool = Field(True, description="Whether the mouse is used.")
    vim: bool = Field(False, description="Vim keys in the prompt.")
    keys: dict[str, str | tuple[str, ...]] = Field(
        default_factory=dict, description="Action name to key or keys, over the built-in ones."
    )
    plugin_dirs: tuple[UserPath, ...] = Field((), description="More folders to look for plugins in.")
    plugins_disabled: tuple[str, ...] = Field((), description="Names of plugins that are not loaded.")
    notes_dir: UserPath = Field(
        Path(),
        description="Where notes across sessions lie, a folder a project; empty: `notes/` in data_dir.",
    )
    data_dir: UserPath = Field(Path(), description="Where sessions lie.")
    cache_dir: UserPath = Field(Path(), description="Where repository maps lie; can be deleted.")

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)
    _paths: Paths | None = PrivateAttr(None)
    _projects: tuple[Project, ...] = PrivateAttr(())
    _project: Project | None = PrivateAttr(None)
    _plugins: bool = PrivateAttr(True)

    @property
    def paths(self) -> Paths:
        """The folders of this start. Raises `RuntimeError` on a configuration that was not loaded by `layers`."""
        if self._paths is None:
            raise RuntimeError("This configuration was built by hand and has no paths.")
        return self._paths

    @property
    def trusted(self) -> bool:
        """Whether the project's own files (configuration, plugins, `.env`) may be used."""
        return self.project is not None

    @property
    def project(self) -> ProjectFiles | None:
        """The files of the project as they were when they were found trusted; None where it is not, or has none.

        What is used of a project is taken from here, never from the disk: there it may have changed since.
        """
        return self._project.files if self._project is not None and self._project.trusted else None

    @property
    def undecided(self) -> tuple[ProjectFiles, ...]:
        """Files of the project, of the working and of the starting folder of which the user has said nothing yet."""
        return tuple(one.files for one in self._projects if one.standing == "open")

    @property
    def ignored(self) -> tuple[Path, ...]:
        """Files that are not used because their folder is not trusted."""
        left = [one for one in self._projects if one.standing in ("open", "without")]
        return tuple(one.folder / file.name for one in left for file in one.files.files)

    @property
    def hooks(self) -> tuple[tuple[HookSettings, HookSource], ...]:
        """The hooks in the order in which they are asked, each with whose it is."""
        own = str(self.paths.project_config)
        return tuple(
            (hook, "project" if self.origin(f"hook.{number}") == own else "user")
            for number, hook in enumerate(self.hook)
        )

    @property
    def plugins_enabled(self) -> bool:
        """False with `--no-plugins`."""
        return self._plugins

    def origin(self, key: str) -> str:
        """Which layer gave a value (`models.fast.base_url`, `redaction.rules.0`): a file, `environment NAME`, `options`, or `default`."""
        if key in self._origins:
            return self._origins[key]
        inner = sorted({layer for name, layer in self._origins.items() if name.startswith(f"{key}.")})
        return ", ".join(inner) or self._origins.get(key.rpartition(".")[0], "default")

    def placed(
        self,
        *,
        origins: dict[str, str],
        paths: Paths,
        projects: Sequence[Project],
        project: Project,
        plugins: bool,
    ) -> "Config":
        """The same values with the facts about where they came from (for `layers`)."""
        copy = self.model_copy()
        copy._origins, copy._paths = dict(origins), paths
        copy._projects, copy._project, copy._plugins = tuple(projects), project, plugins
        return copy
