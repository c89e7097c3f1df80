"""A second process swaps files and folders with links out of the workspace while they are opened."""

import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest

from tests.stubs.left_out import linux_only
from tests.stubs.link_race import LinkRace
from tests.stubs.swapper import swapping
from tui_agent.workspace.local.nofollow_open import (
    FOLDER_FLAGS,
    OpenFolder,
    has_openat2,
    open_folder_by_folder,
)

pytestmark = linux_only("the swapping needs renameat2")
ROUNDS = 60
WAYS = [
    pytest.param(open_folder_by_folder, id="folder by folder"),
    *([pytest.param(None, id="at once")] if has_openat2() else []),
]


def following_links(names: Sequence[str]) -> int:
    """The guard taken away: a folder as its name leads."""
    return os.open("/" + "/".join(names), FOLDER_FLAGS & ~os.O_NOFOLLOW)


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
async def test_nothing_escapes(tmp_path: Path, way: OpenFolder | None) -> None:
    with swapping(tmp_path) as arena:
        (arena.outside / "CANARY").touch()
        race = LinkRace(arena, way)
        rounds = iter(range(ROUNDS))
        await race.run(lambda: next(rounds, None) is not None or arena.swaps < 5_000)
        swaps = arena.swaps
    assert race.escapes == []
    assert sum(race.outcomes.values()) >= ROUNDS * 23
    assert swaps >= 5_000
    for kind in ("read", "write", "judged read", "judged write", "make", "list"):
        assert race.outcomes[kind] > 0 and race.outcomes[f"{kind} refused"] > 0, race.outcomes


async def test_the_race_finds_what_escapes_where_links_are_followed(tmp_path: Path) -> None:
    with swapping(tmp_path) as arena:
        (arena.outside / "CANARY").touch()
        race = LinkRace(arena, following_links)
        attempts = count()
        await race.run(lambda: not race.escapes and next(attempts) < 20_000)
    assert race.escapes
