"""Settings that hold for every test."""

import gc
import os
from collections.abc import Generator

import pytest
from hypothesis import settings

# What one example takes says nothing on a busy machine. All else stays as Hypothesis has it there: in CI the examples
# are the same in every run.
settings.register_profile("ci", settings(), deadline=None)
settings.register_profile(
    "dev", settings.get_profile("ci"), max_examples=settings.get_profile("ci").max_examples // 5
)
settings.load_profile("ci")

# No test may depend on where the caller keeps files, or on which model and key the caller uses. A test that needs one
# of these variables sets it.
CALLERS_OWN = ("XDG_", "TUI_AGENT_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GIT_")
for name in [name for name in os.environ if name.startswith(CALLERS_OWN)]:
    del os.environ[name]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each variant of a `slow_variants` test but the first `slow`."""
    seen: set[str] = set()
    for item in items:
        if item.get_closest_marker("slow_variants") is None:
            continue
        test = item.nodeid.partition("[")[0]
        if test in seen:
            item.add_marker(pytest.mark.slow)
        seen.add(test)


GC_THRESHOLDS = (20_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector away from what lives as long as the process: the modules and the collected tests.

    These are more than a million objects. Going through them again and again was a tenth of the suite's time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(*GC_THRESHOLDS)
        gc.enable()
