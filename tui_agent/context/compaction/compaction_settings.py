"""Settings of compaction: when old results are offloaded, and when old turns are summarised."""

from tui_agent.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """Limits of compaction, as fractions of the model's window.

    `reduce_at`: fraction at which old outputs are offloaded.
    `reduce_to`: fraction at which offloading stops.
    `compact_at`: fraction at which old turns are summarised (0: never automatically).
    `keep`: size of the newest messages that stay unchanged.
    """

    reduce_at: float = 0.70
    reduce_to: float = 0.50
    compact_at: float = 0.85
    keep: float = 0.20
    prompt: str = ""
    """The prompt that asks a model to write a summary."""
