"""docs/events.md is what the event classes say, and every class says something."""

import re

from docs.generate_events import PAGE, page
from tui_agent.protocol.events.union import KINDS
from tui_agent.protocol.frozen_model import Payload


def test_the_page_of_events_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m docs.generate_events`"


def test_every_event_has_its_own_words_and_its_place_on_the_page() -> None:
    text = page()
    for kind, cls in KINDS.items():
        assert cls.__doc__ and cls.__doc__ != Payload.__doc__, kind
        assert f"\n### {kind}\n" in text


def test_every_type_of_a_field_that_the_page_links_has_its_section() -> None:
    text = page()
    linked = set(re.findall(r"\]\(#(\w+)\)", text))
    assert linked and not linked - {title.lower() for title in re.findall(r"^### (\w+)$", text, re.M)}
