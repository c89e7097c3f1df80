"""/context shows of every request what came from the provider's cache, and why nothing did."""

import pytest

from tests.stubs.story import requested
from tests.tui.app.driving import golden, open_app
from tests.unit.folds.test_context_breakdown import answered, packed


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_hits_and_misses_stand_with_their_reason_in_the_rows_of_the_requests(
    size: tuple[int, int],
) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        for number, (cached, prefix) in enumerate(((0, "a"), (80, "a"), (0, "b")), start=1):
            name = f"req_{number}"
            # The system prompt is the same: it is only counted anew.
            sections = {"system": 49 + number, "messages": 51 - number}
            manifest = packed(name, {}, prefix=prefix, chars={"system": 200}, **sections)
            driven.session.feed(manifest, requested(name))
            driven.session.feed(answered(name, cached))
        await driven.settle()
        await driven.type("/context")
        await driven.press("escape", "enter", "end")
        rows: list[str] = []
        for _ in range(30):
            rows += [" ".join(row.replace("▌", " ").split()) for row in driven.rows()]
            await driven.press("pageup")
        text = "\n".join(rows)
        assert "newest requests" in text and "cached" in text
        assert any("answers −1 100 80 %" in row for row in rows), text
        assert any("instructions changed 100 0 %" in row for row in rows), text
