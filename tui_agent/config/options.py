"""What one start of the program was asked for, as the command line (or a test, or the app) says it.

Invariant: plain data of the standard library; None means "not said", so that configuration decides.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

Client: TypeAlias = Literal["app", "headless", "demo", "eval", "web", "editor"]


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Options that mean the same for the app, headless runs and the engine's process."""

    cwd: Path
    client: Client = "app"
    model: str | None = None
    base_url: str | None = None
    effort: str | None = None
    policy: str | None = None
    agent: str | None = None
    session: str | None = None
    """Open this session, or make it where it is absent."""
    continue_latest: bool = False
    """Open the newest session of this workspace (a new one where there is none)."""
    carry_from: str | None = None
    """A new session begins with a bounded summary of this one's turns (an id, its beginning, or `latest`)."""
    context_mode: str | None = None
    repo_map: str | None = None
    max_parts: int | None = None
    max_iterations: int | None = None
    max_turns: int | None = None
    timeout_seconds: float | None = None
    max_cost_usd: float | None = None
    investigator_profile: str | None = None
    data_dir: Path | None = None
    plugin_dirs: tuple[Path, ...] = field(default=())
    no_plugins: bool = False
    readable: tuple[str, ...] = ()
    """Files with secrets that commands may read, beside those of the configuration, as patterns."""
    theme: str | None = None
    prompt: str | None = None
    """A first message that the app sends once it is ready."""
    keys: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Variables and the keys that the user typed for this run alone: they are in memory only, and win."""
    interactive: bool = True
    """Someone can answer questions. Without, what the policy would ask is denied."""
    trusted_once: tuple[str, ...] = ()
    """Keys of the contents of project files that are trusted for this run."""
    ignore_project: bool = False
    """Go on without a project's files that nothing was decided about; nobody is asked."""
    cwd_given: bool = False
    """`cwd` was named: a session whose own workspace is gone goes on there."""

    @property
    def attended(self) -> bool:
        """Whether a session of this client has someone who answers: a headless one or an eval never has, whatever its
        maker said, for it would wait without end."""
        return self.interactive and self.client not in ("headless", "eval")

    def to_json(self) -> dict[str, object]:
        """A JSON object for the engine's process; `from_json` gives the same options back."""
        plain = asdict(self)
        for key in ("cwd", "data_dir"):
            plain[key] = None if plain[key] is None else str(plain[key])
        plain["plugin_dirs"] = [str(path) for path in self.plugin_dirs]
        plain["readable"] = list(self.readable)
        return plain

    @classmethod
    def from_json(cls, plain: dict[str, object]) -> "SessionOptions":
        """The inverse of `to_json`."""
        values = dict(plain)
        values["cwd"] = Path(str(values["cwd"]))
        values["data_dir"] = None if values["data_dir"] is None else Path(str(values["data_dir"]))
        listed = values["plugin_dirs"]
        values["plugin_dirs"] = tuple(Path(str(path)) for path in listed) if isinstance(listed, list) else ()
        opened = values.get("readable")
        values["readable"] = tuple(map(str, opened)) if isinstance(opened, list) else ()
        once = values.get("trusted_once")
        values["trusted_once"] = tuple(map(str, once)) if isinstance(once, list) else ()
        typed = values.get("keys")
        values["keys"] = (
            tuple((str(name), str(key)) for name, key in typed) if isinstance(typed, list) else ()
        )
        return cls(**values)  # type: ignore[arg-type]
