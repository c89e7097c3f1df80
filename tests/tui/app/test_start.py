"""The page before the first message: what was found, what works without a key, what to press."""

import asyncio

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.commands import SetModel, SetPolicy
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.tui.found import Server, first_choices, servers


def empty_session(model: str = "") -> list[Record]:
    """A session where nothing was said."""
    settings = SessionSettings(model=ModelInfo(profile="none", provider="", model=model))
    started = SessionStarted(workspace="/w", product="test", settings=settings)
    session = FakeSession()
    session.feed(started)
    assert isinstance(session.records[0], Envelope)
    return session.records


MODELS = '{"profile": "anthropic/claude-x", "provider": "anthropic", "model": "claude-x", "window": 200000}'


async def outside(*words: str) -> tuple[int, str]:
    return 0, MODELS if words[0] == "models" else ""


async def shown(driven: Driven, text: str) -> None:
    while text not in driven.text():
        await driven.pilot.pause(0.02)


async def test_without_a_model_the_page_says_so_and_offers_what_there_is() -> None:
    async with open_app(empty_session(), outside=outside, environ={"ANTHROPIC_API_KEY": "k"}) as driven:
        await shown(driven, "Found on this machine")
        text = driven.text()
        assert "No model is set up yet." in text and "nothing has been sent anywhere" in text
        assert "ANTHROPIC_API_KEY is set" in text and "OPENAI_API_KEY is not set" in text
        assert "Demo" in text and "Other provider" in text and "choose a model to begin" in text
        await driven.press("1")
        [command] = driven.session.submitted
        assert isinstance(command, SetModel) and command.model == "anthropic/claude-x"


async def test_typing_on_the_page_goes_into_the_prompt_and_nothing_is_lost() -> None:
    async with open_app(empty_session(), outside=outside) as driven:
        await shown(driven, "Found on this machine")
        await driven.type("fix it")
        assert driven.app.prompt.editor.text == "fix it"
        await driven.press("enter")
        assert driven.session.submitted == []
        await driven.press("escape")
        assert driven.app.prompt.editor.text == "fix it"


async def test_arrows_enter_and_the_mouse_choose() -> None:
    async with open_app(empty_session(), outside=outside) as driven:
        await shown(driven, "Found on this machine")
        await driven.press("down", "down", "enter")
        assert "Another provider" in driven.text()
        await driven.press("escape")
        rows = driven.rows()
        y = next(at for at, row in enumerate(rows) if "Anthropic" in row)
        await driven.pilot.click(offset=(rows[y].index("Anthropic"), y))
        await driven.pilot.pause()
        assert isinstance(driven.session.submitted[-1], SetModel)


async def test_the_policy_can_be_changed_before_anything_runs() -> None:
    async with open_app(empty_session("m"), outside=outside) as driven:
        await shown(driven, "This folder")
        await driven.press("shift+tab")
        assert isinstance(driven.session.submitted[-1], SetPolicy)


async def test_with_a_model_the_page_is_short_and_the_prompt_has_the_keys() -> None:
    async with open_app(empty_session("some-model"), outside=outside) as driven:
        await shown(driven, "This folder")
        assert "No model is set up" not in driven.text()
        await driven.type("hello")
        assert driven.app.prompt.editor.text == "hello"


async def test_the_page_gives_way_to_the_first_message() -> None:
    session = FakeSession(empty_session("m"))
    async with open_app(session=session, outside=outside) as driven:
        await shown(driven, "This folder")
        for record in golden("night_shift")[4:6]:
            assert isinstance(record, Envelope)
            session.feed(record.payload)
        await driven.settle()
        assert "This folder" not in driven.text() and "How is the weekly report" in driven.text()


async def test_a_local_server_is_found_by_asking_it() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        body = b'{"object": "list", "data": [{"id": "qwen3"}, {"id": "b"}]}'
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        found = await servers((("Here", port), ("Nobody", 1)))
    assert found == [Server("Here", port, ("qwen3", "b"))]
    choices = first_choices([], found, {})
    here = next(one for one in choices if one.name == "Here")
    assert here.intent == f"local http://localhost:{port}/v1 qwen3" and "2 models" in here.about
