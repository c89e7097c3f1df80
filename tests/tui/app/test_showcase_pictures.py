"""The pictures of docs/showcase.md: well-formed, made of what the screen shows, and played in order."""

import re
from xml.etree import ElementTree

from docs.screen_svg import Frame, film, grab
from tests.architecture.source import ROOT
from tests.tui.app.driving import golden, open_app

SVG = "{http://www.w3.org/2000/svg}"


async def test_a_picture_has_the_texts_of_the_screen() -> None:
    async with open_app(golden("night_shift"), size=(60, 20), environ={"TUI_AGENT_MOTION": "off"}) as driven:
        picture = ElementTree.fromstring(film([grab(driven.app.screen)], 60, "night shift"))
        shown = driven.text()
    drawn = "".join(text.text or "" for text in picture.iter(f"{SVG}text"))
    assert "".join(drawn.split()) == "".join(shown.split())
    assert (picture.get("width"), picture.get("height")) == ("480", "340")


def test_a_film_stores_each_row_once_and_shows_each_frame_for_its_time() -> None:
    first, second = Frame(("<text>a</text>", "<text>b</text>"), 1.0), Frame(("<text>a</text>",) * 2, 3.0)
    text = film([first, second], 10, "two frames")
    assert text.count("<text>a</text>") == 1
    assert "play 4.0s" in text
    assert re.findall(r"([\d.]+)%\{transform:translateY\((-?\d+)px\)", text) == [
        ("0.000", "0"),
        ("25.000", "-34"),
    ]


def test_each_picture_is_on_the_page() -> None:
    page = (ROOT / "docs" / "showcase.md").read_text(encoding="utf-8") + (ROOT / "README.md").read_text(
        encoding="utf-8"
    )
    pictures = {path.name for path in (ROOT / "docs" / "pictures").iterdir()}
    assert set(re.findall(r"pictures/([\w-]+\.svg)", page)) == pictures
