"""The number of examples that a property test tries, by the Hypothesis profile (tests/conftest.py)."""

from hypothesis import settings


def example_count(count: int) -> int:
    """Return `count` in the profile `ci`, and a fifth of it in the profile `dev`."""
    return max(count // 5, 1) if settings.get_current_profile_name() == "dev" else count
