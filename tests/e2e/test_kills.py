"""`kill -9` of the real program at random moments: runs without a screen, the app, its engine alone."""

import os
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.killing import Chain, Figures, served
from tests.stubs.left_out import only_where

KILLS = 5
"""With each seed; `tests/soak/test_kills_for_long.py` does five hundred."""

pytestmark = [
    pytest.mark.e2e,
    only_where(
        hasattr(os, "pidfd_open") and Path("/proc/self/environ").exists(),
        "watches processes by descriptors and by /proc, which this system has not",
    ),
]


@pytest.fixture(scope="module")
def killing_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a stand-in model that knows the scenarios of the kills."""
    with served(tmp_path_factory.mktemp("kills"), 40) as url:
        yield url


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_killed_at_any_moment_is_taken_up_again(program: Program, killing_url: str, seed: int) -> None:
    chain = Chain(program, killing_url, random.Random(seed), Figures())
    for _ in range(KILLS):
        chain.kill_a_run()
    chain.finish()


def test_a_killed_app_and_one_whose_engine_is_killed_come_back_with_draft_and_queue(
    program: Program, killing_url: str
) -> None:
    chain = Chain(program, killing_url, random.Random(3), Figures())
    chain.kill_the_app()
    chain.kill_the_app(engine_only=True)
    chain.finish()
