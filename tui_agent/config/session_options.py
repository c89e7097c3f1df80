"""Start options of tui-agent, from the command line, a test or the app.

Invariant: the options are plain data of standard types. An option that is None leaves the choice to the configuration.
"""

import json
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass

Client: TypeAlias = Literal["app", "headless", "demo", "eval", "web", "editor", "api", "sim"]


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """The start options of the app, a headless run or the engine process."""

    cwd: Path
    client: Client = "app"
    model: str | None = None
    base_url: str | None = None
    effort: str | None = None
    policy: str | None = None
    agent: str | None = None
    environment: str | None = None
    image: str | None = None
    """The image of the container; None to use the configured image."""
    work_dir: str = ""
    """A second path of the workspace inside a container. Empty if there is none."""
    session: str | None = None
    """Id of the session to open or create."""
    continue_latest: bool = False
    """True to open the newest session of this workspace, or a new session if there is none."""
    carry_from: str | None = None
    """Session to summarise at the start of this session: its id, the start of its id, or `latest`.

    None to start without a summary.
    """
    context_mode: str | None = None
    repo_map: str | None = None
    max_parts: int | None = None
    max_iterations: int | None = None
    max_turns: int | None = None
    timeout_seconds: float | None = None
    max_cost_usd: float | None = None
    investigator_profile: str | None = None
    allowed_tools: tuple[str, ...] | None = None
    """Names of the tools that a new session can call; None for all tools."""
    without: tuple[str, ...] = ()
    """Features that a new session turns off: `section:NAME`, `tool:NAME`, `skill:NAME`, `prompt:NAME` and others.

    `context:compaction` turns off automatic compaction. With `policy:retry`, a turn ends at its first denied call.
    """
    data_dir: Path | None = None
    plugin_dirs: tuple[Path, ...] = field(default=())
    no_plugins: bool = False
    readable: tuple[str, ...] = ()
    """Additional patterns of secret files. Sandboxed commands can read these files."""
    theme: str | None = None
    prompt: str | None = None
    """First message of the session; None to start without a message."""
    steer: str = ""
    """Message that the app sends in a demo while the agent works; empty for none."""
    typed_keys: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Variables and API keys typed by the user for this run, as (name, value) pairs."""
    interactive: bool = True
    """True if someone can answer questions. If False, calls that need approval are denied."""
    trusted_once: tuple[str, ...] = ()
    """Hashes (`ProjectFiles.key`) of the project files that are trusted for this run only."""
    ignore_project: bool = False
    """True to ignore undecided project files instead of asking the user about them."""
    mcp_servers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """The MCP servers of the client, as pairs of name and settings (JSON as in `.mcp.json`)."""
    engine_socket: Path | None = None
    """Unix socket of a server that runs the engines of all sessions. If None, each session starts its own engine."""
    cwd_given: bool = False
    """True if `cwd` was given explicitly. A session whose workspace was deleted then continues in `cwd`."""

    @property
    def is_attended(self) -> bool:
        """True if someone can answer questions. In a headless run, nobody can."""
        return self.interactive and self.client != "headless"

    def to_json(self) -> dict[str, object]:
        """Return the options as a JSON object for the engine process; `from_json` restores them."""
        plain: dict[str, object] = json.loads(json.dumps(asdict(self), default=str))
        return plain

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> "SessionOptions":
        """Restore options from the result of `to_json`."""
        values = {name: _as_tuple(value) for name, value in plain.items()}
        paths = {name: Path(plain[name]) for name in ("cwd", "data_dir", "engine_socket") if plain[name]}
        return cls(**values | paths | {"plugin_dirs": tuple(map(Path, plain["plugin_dirs"]))})


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value
