"""The settings of a running session, as they stand in events and views."""

from enum import StrEnum
from typing import Literal, TypeAlias

from pydantic import Field

from tui_agent.protocol.base import Frozen

Effort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
EFFORTS: tuple[Effort, ...] = ("none", "minimal", "low", "medium", "high", "xhigh")

PolicyName: TypeAlias = Literal["plan", "ask", "accept-edits", "bypass", "read-only-delegate"]
POLICIES: tuple[PolicyName, ...] = ("plan", "ask", "accept-edits", "bypass")
"""What a user switches through. `read-only-delegate` is for delegated agents only."""

ContextMode: TypeAlias = Literal["none", "pack", "memory"]
CONTEXT_MODES: tuple[ContextMode, ...] = ("none", "pack", "memory")


class AgentState(StrEnum):
    """What an agent is doing, as one word for log, header and status line."""

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


PAUSING = "pauses after this call"
"""The reason of a running state while the user has asked for a pause that has not begun yet."""


class ModelInfo(Frozen):
    """Which model answers, without keys. `effort` is what the user set, `effective_effort` what is sent.

    An empty `model` means that there is none to ask; `fault` then says why, where one was asked for. `window` is the context window in tokens (0: unknown). Prices are USD for one million tokens; None: unknown.
    """

    profile: str
    provider: str
    model: str
    base_url: str = ""
    effort: Effort | None = None
    effective_effort: str | None = None
    window: int = 0
    max_output: int = 0
    input_price: float | None = None
    output_price: float | None = None
    cached_price: float | None = None
    images: bool = False
    fault: str = ""


class Budgets(Frozen):
    """Limits that end a turn; None means no limit. `seconds` and `usd` count over one turn and the session."""

    max_parts: int | None = Field(None, gt=0)
    max_iterations: int | None = Field(None, gt=0)
    max_turns: int | None = Field(None, gt=0)
    timeout_seconds: float | None = Field(None, gt=0)
    max_cost_usd: float | None = Field(None, gt=0)


class MapChoice(Frozen):
    """How the map of the repository is made for this session: `pinned` files come first, `hidden` ones not at all."""

    pinned: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    max_tokens: int = Field(1200, ge=100, le=20_000)


class SessionSettings(Frozen):
    """Everything that the user can switch while a session lives."""

    model: ModelInfo
    policy: PolicyName = "ask"
    agent: str = "default"
    context_mode: ContextMode = "pack"
    repo_map: Literal["off", "auto"] = "auto"
    map: MapChoice = MapChoice()
    budgets: Budgets = Budgets()
