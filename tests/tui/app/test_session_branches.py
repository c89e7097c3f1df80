"""The branches of a session in the list of sessions: named and counted as in the tree of branches."""

from tests.tui.app.sessions_story import Programs, open_sessions


async def test_every_branch_is_listed_with_its_name_and_its_own_outcome() -> None:
    async with open_sessions(Programs()) as (driven, _):
        await driven.until(lambda: "Branches" in driven.text())
        for words in ("main  ", "✓ done, 30 tests", "└ branch at 50", "✓ 32 tests pass"):
            assert words in driven.text()
