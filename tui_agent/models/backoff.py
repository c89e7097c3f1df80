"""How long to wait before a model is asked again. Pure; the loop that waits is the engine's.

Invariant: never shorter than the provider asked for, never longer than `LONGEST`: beyond it there is no wait at all.
"""

BASE = 1.0
LONGEST = 60.0
SPREAD = 0.25
ATTEMPTS = 6
"""Requests in all before a transient fault counts as final."""


def wait(attempt: int, retry_after: float | None, jitter: float) -> float | None:
    """Seconds before request number `attempt` + 1, or None: give up and say so.

    `attempt` counts from 1 (the one that failed). `jitter` is a random number in [0, 1). The own wait doubles from
    one second and lies within 25 % of it; the provider's `retry_after` is a floor; over 60 s it is not waited for.
    """
    if attempt >= ATTEMPTS:
        return None
    own: float = min(BASE * 2 ** (attempt - 1), LONGEST / (1 + SPREAD)) * (1 + SPREAD * (2 * jitter - 1))
    longest = max(own, retry_after or 0.0)
    return longest if longest <= LONGEST else None
