"""Waiting time before a model request is repeated. Pure; the engine's loop does the waiting.

Invariant: never shorter than the provider asked for, never longer than `LONGEST`; a longer wait is refused.
"""

BASE = 1.0
LONGEST = 60.0
SPREAD = 0.25
ATTEMPTS = 6
"""Number of requests after which a transient fault is final."""


def wait(attempt: int, retry_after: float | None, jitter: float) -> float | None:
    """Return the seconds to wait before the next request, or None to give up.

    `attempt` is the number of the failed request, from 1; `jitter` a random number in [0, 1). The wait doubles from one
    second, varied by 25 %; the provider's `retry_after` is a minimum. None also if the wait would exceed 60 s.
    """
    if attempt >= ATTEMPTS:
        return None
    backoff: float = min(BASE * 2 ** (attempt - 1), LONGEST / (1 + SPREAD)) * (1 + SPREAD * (2 * jitter - 1))
    longest = max(backoff, retry_after or 0.0)
    return longest if longest <= LONGEST else None
