"""A link in the transcript shows where it leads and asks before anything opens."""

from tests.tui.app.driving import Driven, end_grace_period, golden, open_app
from tui_agent.tui.modals.confirm import Confirm
from tui_agent.tui.transcript.transcript_messages import LinkClicked
from tui_agent.tui.transcript.widget import TranscriptWidget


def opened(driven: Driven) -> list[str]:
    """Where the app leads the browser from now on."""
    found: list[str] = []

    def take(url: str, *, new_tab: bool = True) -> None:
        found.append(url)

    driven.app.open_url = take  # type: ignore[method-assign]
    return found


async def press_link(driven: Driven, address: str) -> None:
    widget = driven.app.query_one(TranscriptWidget)
    widget.post_message(LinkClicked(address))
    await driven.pilot.pause()
    await driven.pilot.pause()


async def test_the_address_is_read_before_the_browser_opens_it() -> None:
    async with open_app(golden("night_shift")) as driven:
        found = opened(driven)
        await press_link(driven, "https://аррӏе.com@evil.example/x")
        sheet = driven.app.screen
        assert isinstance(sheet, Confirm)
        assert (
            "https://аррӏе.com@evil.example/x" in driven.text()
            and "The link goes to evil.example." in driven.text()
        )
        end_grace_period(sheet)
        await driven.press("enter", "escape")
        assert found == [] and not isinstance(driven.app.screen, Confirm)
        await press_link(driven, "https://evil.example/x")
        assert isinstance(driven.app.screen, Confirm)
        end_grace_period(driven.app.screen)
        await driven.press("y")
        assert found == ["https://evil.example/x"]


async def test_what_is_no_address_of_the_web_is_only_said() -> None:
    async with open_app(golden("night_shift")) as driven:
        found = opened(driven)
        for address in ("file:///etc/passwd", "javascript:alert(1)", "https://e\u202evil.example"):
            await press_link(driven, address)
            assert not isinstance(driven.app.screen, Confirm)
        assert found == [] and "<U+202E>" in driven.text()
