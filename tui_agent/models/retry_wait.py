"""Retries of failed requests: how long to wait before each try, and when to give up.

Invariant: waits are bounded, so a turn never hangs on a provider that is down.
"""

from tui_agent.models.faults import MAX_WAIT_S

BASE_WAIT_S = 1.0
SPREAD = 0.25
MAX_RETRIES = 4
"""Maximum number of retries of a failed request."""


def next_wait(attempt: int, retry_after: float | None, jitter: float) -> float | None:
    """Return the seconds to wait before the next try, or None if the wait would be longer than 60 s.

    - `attempt`: number of the failed try, from 1. The wait doubles with each try.
    - `retry_after`: minimum wait that the provider asks for, in seconds.
    - `jitter`: random number in [0, 1), which changes the wait by up to 25 %.
    """
    backoff: float = min(BASE_WAIT_S * 2 ** (attempt - 1), MAX_WAIT_S / (1 + SPREAD)) * (
        1 + SPREAD * (2 * jitter - 1)
    )
    longest = max(backoff, retry_after or 0.0)
    return longest if longest <= MAX_WAIT_S else None
