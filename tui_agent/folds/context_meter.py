"""L1: what fills the context, against the model's window.

Limits (fractions of the window): warning from 0.32 (back below 0.28), soft limit 0.40, error from 0.80, compaction
at 0.85.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

MeterLevel: TypeAlias = Literal["below", "near", "over", "compaction"]

WARN, WARN_OFF, SOFT, CRITICAL, COMPACT = 0.32, 0.28, 0.40, 0.80, 0.85


@dataclass(frozen=True, slots=True)
class MeterSection:
    """A share as the pane names it: system, tools, instructions, repo map, messages, tool results, …"""

    name: str
    tokens: int


@dataclass(frozen=True, slots=True)
class ContextMeterView:
    """`used` tokens of `window` (0: unknown, then `fraction` is 0). `estimated` until a provider's own figure came.

    `next_tokens` and `next_cost_usd` forecast the next turn's first request.
    """

    used: int = 0
    window: int = 0
    fraction: float = 0.0
    level: MeterLevel = "below"
    estimated: bool = True
    sections: tuple[MeterSection, ...] = ()
    next_tokens: int = 0
    next_cost_usd: float | None = None
    warnings: tuple[str, ...] = ()
