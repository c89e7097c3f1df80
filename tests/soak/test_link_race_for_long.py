"""Ten seconds, by each way of opening, in which a second process swaps files and folders with links out of the workspace."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.stubs.link_race import LinkRace
from tests.stubs.swapper import swapping
from tui_agent.workspace.local.nofollow_open import OpenFolder, has_openat2, open_folder_by_folder

pytestmark = pytest.mark.soak
SECONDS = float(os.environ.get("SECONDS_OF_RACE", "10"))
WAYS = [
    pytest.param(open_folder_by_folder, id="folder by folder"),
    *([pytest.param(None, id="at once")] if has_openat2() else []),
]


@pytest.mark.parametrize("way", WAYS)
async def test_nothing_escapes(
    tmp_path: Path, way: OpenFolder | None, report: Callable[[str], None], request: pytest.FixtureRequest
) -> None:
    with swapping(tmp_path) as arena:
        (arena.outside / "CANARY").touch()
        race = LinkRace(arena, way)
        until = time.monotonic() + SECONDS
        await race.run(lambda: time.monotonic() < until)
        swaps = arena.swaps
    attempts = sum(race.outcomes.values())
    refused = sum(number for kind, number in race.outcomes.items() if kind.endswith("refused"))
    report(
        f"link race, {request.node.callspec.id}: {SECONDS:g} s, {swaps:,} swaps, {attempts:,} attempts, "
        f"{refused:,} refused, {len(race.escapes)} escapes"
    )
    assert race.escapes == []
    assert attempts > 100 * SECONDS and swaps > 100 * SECONDS
