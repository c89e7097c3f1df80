"""Settings of a running session, as stored in events and views."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from pydantic import Field

from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.units import CostPrecision

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh")

PolicyName: TypeAlias = Literal["plan", "ask", "accept-edits", "bypass", "read-only-delegate"]
UserPolicy: TypeAlias = Literal["plan", "ask", "accept-edits", "bypass"]
"""A policy that a user can choose. `read-only-delegate` is only for delegates."""
POLICIES: tuple[UserPolicy, ...] = get_args(UserPolicy)
POLICY_AFTER_PLAN: Mapping[int | None, UserPolicy] = MappingProxyType({0: "ask", 1: "accept-edits"})
"""Maps the user's answer to a plan, as the index of the chosen option, to the next policy.

Any other answer keeps the policy `plan`.
"""

ContextMode: TypeAlias = Literal["none", "pack", "memory"]
CONTEXT_MODES: tuple[ContextMode, ...] = ("none", "pack", "memory")


class AgentState(StrEnum):
    """State of an agent.

    `loading`: the agent's first record is not read yet. `stopped`: the agent was interrupted or reached a limit.
    """

    LOADING = "loading"
    IDLE = "idle"
    RUNNING = "running"
    WAITING = "waiting"
    PAUSED = "paused"
    THROTTLED = "throttled"
    FINISHED = "finished"
    STOPPED = "stopped"
    REJECTED = "rejected"
    ERROR = "error"


PAUSE_PENDING = "pauses after this call"
"""The reason of the state `running` if the user's pause has not begun yet."""


class ModelInfo(FrozenModel):
    """Description of a model, without API keys.

    `effort`: the user's setting. `effective_effort`: value sent to the provider. `efforts`: settings that the provider
    accepts unchanged (all settings if unknown). `model`: empty if no model is set. `fault`: reason why the requested
    model cannot be used. `window`: context window in tokens (0: unknown). Prices are in USD per million tokens (None:
    unknown).
    """

    profile: str
    provider: str
    model: str
    base_url: str = ""
    effort: Effort | None = None
    effective_effort: str | None = None
    efforts: tuple[Effort, ...] = EFFORTS
    window: int = 0
    max_output: int = 0
    input_price: float | None = None
    output_price: float | None = None
    cached_price: float | None = None
    images: bool = False
    fault: str = ""

    @property
    def has_price(self) -> bool:
        """True if the cost of a request can be computed."""
        return self.input_price is not None and self.output_price is not None


class Budgets(FrozenModel):
    """Limits of a session, including its delegates. None means no limit.

    A fork starts with nothing used. `timeout_seconds`: limit for the time during which turns run. If a limit is
    reached, the running turn ends, and later turns end immediately.
    """

    max_parts: int | None = Field(None, gt=0)
    max_iterations: int | None = Field(None, gt=0)
    max_turns: int | None = Field(None, gt=0)
    timeout_seconds: float | None = Field(None, gt=0)
    max_cost_usd: float | None = Field(None, gt=0)


class BudgetUse(FrozenModel):
    """The used part of a session's `Budgets`, and the tokens of all requests. The number of tokens has no limit."""

    parts: int = 0
    iterations: int = 0
    turns: int = 0
    seconds: float = 0.0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float = 0.0
    cost_precision: CostPrecision = "exact"


class RepoMapOptions(FrozenModel):
    """Options of the repository map for this session.

    `pinned`: files that come first. `hidden`: files that are left out. `max_tokens`: limit for the map's size.
    """

    pinned: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    max_tokens: int = Field(1200, ge=100, le=20_000)


PROGRAM_AGENTS = ("codex", "opencode", "tui-agent")
"""The agents that are separate programs. Each has its own model and permissions, and runs outside the sandbox."""


class SessionSettings(FrozenModel):
    """All settings that the user can change during a session."""

    model: ModelInfo
    policy: PolicyName = "ask"
    agent: str = "default"
    context_mode: ContextMode = "pack"
    repo_map: Literal["off", "auto"] = "auto"
    map_options: RepoMapOptions = RepoMapOptions()
    budgets: Budgets = Budgets()

    @property
    def program(self) -> str:
        """The name of the agent if it is a program, otherwise empty."""
        return self.agent if self.agent in PROGRAM_AGENTS else ""
