"""Five hundred kills of the real program, each taken up again (KILLS=n for another number)."""

import os
import random
from dataclasses import replace

import pytest

from tests.e2e.conftest import Program
from tests.e2e.killing import Chain, Figures, served
from tests.soak.conftest import Report

KILLS = int(os.environ.get("KILLS", "500"))
SEED = int(os.environ.get("SEED", "0"))
PER_SESSION = 25

pytestmark = [pytest.mark.soak, pytest.mark.e2e]


def test_five_hundred_kills_lose_nothing_and_run_nothing_twice(program: Program, report: Report) -> None:
    dice, figures = random.Random(SEED), Figures()
    number = 0
    try:
        with served(program.home, 2 * PER_SESSION) as url:
            while min(sum(figures.kills.values()), len(figures.resumed_s)) < KILLS:
                number += 1
                place = program.home / str(number)
                own = replace(program, home=place / "home", workspace=place / "work")
                own.home.mkdir(parents=True)
                own.workspace.mkdir()
                _one_session(Chain(own, url, dice, figures))
    finally:
        report(f"seed {SEED}, {number} sessions")
        report(figures.summary())


def _one_session(chain: Chain) -> None:
    while chain.number < PER_SESSION:
        match chain.dice.random():
            case one if one < 0.08:
                chain.kill_the_app()
            case one if one < 0.14:
                chain.kill_the_app(engine_only=True)
            case _:
                chain.kill_a_run()
    chain.finish()
