"""The wait before a failed request is sent again.

Invariant: a wait is bounded, and never shorter than the provider asked for.
"""

from collections.abc import Mapping
from email.utils import parsedate_to_datetime

MAX_WAIT_S = 60.0
"""Maximum wait before a request is sent again, in seconds."""
BASE_WAIT_S = 1.0
WAIT_SPREAD = 0.25
MAX_RETRIES = 4
"""Maximum number of retries of a failed request."""


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return how many seconds the provider asks to wait, or None."""
    exact = _parse_number(headers.get("retry-after-ms"))
    if exact is not None:
        return exact / 1000
    header = headers.get("retry-after")
    seconds = _parse_number(header)
    if seconds is not None or not header:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None


def _parse_number(text: str | None) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    # This also excludes `nan` and `inf`, which `float` accepts.
    return value if value is not None and 0 <= value < 1e9 else None


def next_wait(attempt: int, retry_after: float | None, jitter: float) -> float | None:
    """Return the seconds to wait before the next try, or None if the wait would be longer than 60 s.

    - `attempt`: number of the failed try, from 1. The wait doubles with each try.
    - `retry_after`: minimum wait that the provider asks for, in seconds.
    - `jitter`: random number in [0, 1), which changes the wait by up to 25 %.
    """
    backoff: float = min(BASE_WAIT_S * 2 ** (attempt - 1), MAX_WAIT_S / (1 + WAIT_SPREAD)) * (
        1 + WAIT_SPREAD * (2 * jitter - 1)
    )
    longest = max(backoff, retry_after or 0.0)
    return longest if longest <= MAX_WAIT_S else None
