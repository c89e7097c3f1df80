"""Settings that hold for every test."""

import gc
import os
import sys
from collections.abc import Callable, Generator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# What one example takes says nothing on a busy machine. All else stays as Hypothesis has it there: in CI the examples
# are the same in every run.
settings.register_profile("ci", settings(), deadline=None)
settings.register_profile(
    "dev", settings.get_profile("ci"), max_examples=settings.get_profile("ci").max_examples // 5
)
settings.load_profile("ci")

# No test may depend on where the caller keeps files, on the size of the caller's terminal, or on which model and key the
# caller uses. A test that needs one of these variables sets it.
CALLERS_OWN = (
    *("XDG_", "TUI_AGENT_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GIT_", "PYTEST_ADDOPTS"),
    *("COLUMNS", "LINES"),
)
for name in [name for name in os.environ if name.startswith(CALLERS_OWN)]:
    del os.environ[name]
# Commands of tests find `python` and `pytest` as in an activated virtual environment.
os.environ["PATH"] = os.pathsep.join((os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)))
# Servers that tests start are on this machine, where the caller's proxy does not find them.
for name in ("no_proxy", "NO_PROXY"):
    os.environ[name] = ",".join(filter(None, (os.environ.get(name), "127.0.0.1,localhost")))


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Mark what only `make test-all` runs, before `-m` selects, and order what is left for the workers."""
    mark_slow_variants(items)
    yield
    items[:] = order_for_workers(items, int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1")))


def mark_slow_variants(items: list[pytest.Item]) -> None:
    """Mark each variant of a `slow_variants` test but the first `slow`."""
    seen: set[str] = set()
    for item in items:
        if item.get_closest_marker("slow_variants") is None:
            continue
        test = item.nodeid.partition("[")[0]
        if test in seen:
            item.add_marker(pytest.mark.slow)
        seen.add(test)


def order_for_workers(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """Return the tests with the slow and the end-to-end ones first in each worker's share.

    `--dist worksteal` gives each worker an equal run of the list. A worker that is done takes over the end of
    another's, so that only short tests are left when the workers finish.
    """
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        share = items[len(items) * worker // workers : len(items) * (worker + 1) // workers]
        ordered += sorted(
            share, key=lambda item: not (item.get_closest_marker("slow") or item.get_closest_marker("e2e"))
        )
    return ordered


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let a worker tell the main process how a passed test ended, but not that it began, was set up and torn down.

    That is half of the messages. Each takes both processes about as long as the smallest tests.
    """
    for plugin in session.config.pluginmanager.get_plugins():
        if hasattr(plugin, "sendevent"):
            plugin.sendevent = partial(send_outcomes, plugin.sendevent)


def send_outcomes(send: Callable[..., None], name: str, **content: Any) -> None:
    """Send a message of a worker of pytest-xdist unless the main process needs it for nothing."""
    report = content.get("data", {})
    is_passed_step = name == "testreport" and report["outcome"] == "passed" and report["when"] != "call"
    if name != "logstart" and not is_passed_step:
        send(name, **content)


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
