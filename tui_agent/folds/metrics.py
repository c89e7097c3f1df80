"""L1: figures about a session, one fold for `trace`, evals and reports."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MetricsView:
    """Counts unless a unit is named. `failure` is the category of the newest failure: model, policy, tool,
    environment, budget, or empty."""

    events: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    turns: int = 0
    iterations: int = 0
    parts: int = 0
    model_calls: int = 0
    model_retries: int = 0
    model_failures: int = 0
    tools: dict[str, int] = field(default_factory=dict)
    denials: int = 0
    failed_tools: int = 0
    invalid_calls: int = 0
    repeated_reads: int = 0
    context_packs: int = 0
    checkpoints: int = 0
    files_changed: tuple[str, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = None
    tests_passed: int | None = None
    tests_failed: int | None = None
    output_chars: int = 0
    stored_artifacts: int = 0
    first_at: float = 0.0
    last_at: float = 0.0
    seconds_to_first_edit: float | None = None
    final_answer: str = ""
    failure: str = ""
    last_turn_end: str = ""
