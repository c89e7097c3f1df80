"""What a machine cannot offer is left out with a word, but never where CI runs the tests: there it has to be offered."""

import os
import sys
from typing import NoReturn

import pytest

CI = bool(os.environ.get("CI"))


def leave_out(why: str) -> NoReturn:
    """Leave this test out; CI fails."""
    if CI:
        pytest.fail(f"CI needs it: {why}")
    pytest.skip(why)


def only_where(there: bool, why_not: str) -> pytest.MarkDecorator:
    """Leaves tests out where it is not there; in CI they run, and fail by what they miss."""
    return pytest.mark.skipif(not there and not CI, reason=why_not)


def linux_only(why: str) -> pytest.MarkDecorator:
    """Leaves tests out elsewhere."""
    return only_where(sys.platform == "linux", why)
