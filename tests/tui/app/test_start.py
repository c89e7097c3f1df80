"""The page before the first message: what was found, what works without a key, what to press."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from anyio import run_process
from textual import events

from tests.stubs.fake_session import FakeSession
from tests.stubs.quick_pilot import piloted
from tests.tui.app.driving import ENVIRON, NOWHERE, Driven, golden, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.errors import ConfigError, SessionVersionError
from tui_agent.protocol.commands import SetModel, SetPolicy
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.plugin import PluginFailed
from tui_agent.protocol.events.session import CommandRejected, SessionStarted, SettingsChanged
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.tui.app import AgentApp
from tui_agent.tui.modals.model_setup import ADDRESS, MODEL, ProviderForm
from tui_agent.tui.panes.model_discovery import Server, find_servers, first_choices
from tui_agent.tui.widgets.sheet import Sheet


def empty_session(model: str = "", workspace: str = "/w") -> list[Record]:
    """A session where nothing was said."""
    settings = SessionSettings(model=ModelInfo(profile="none", provider="", model=model))
    started = SessionStarted(workspace=workspace, product="test", settings=settings)
    session = FakeSession()
    session.feed(started)
    assert isinstance(session.records[0], Envelope)
    return session.records


async def outside(*words: str) -> tuple[int, str]:
    """The page is there without asking any program."""
    raise AssertionError(f"asked for {words}")


def faulty_session(fault: str) -> FakeSession:
    """A session whose model cannot be used."""
    settings = SessionSettings(model=ModelInfo(profile="none", provider="none", model="", fault=fault))
    session = FakeSession()
    session.feed(SessionStarted(workspace="/w", product="test", settings=settings))
    return session


async def shown(driven: Driven, text: str) -> None:
    while text not in driven.text():
        await driven.pilot.pause(0.02)


async def test_without_a_model_the_page_says_so_and_offers_what_there_is() -> None:
    async with open_app(empty_session(), outside=outside, environ={"ANTHROPIC_API_KEY": "k"}) as driven:
        await shown(driven, "Found on this machine")
        text = driven.text()
        assert "No model is set up yet." in text and "Nothing has been sent anywhere." in text
        assert "ANTHROPIC_API_KEY is set" in text and "OPENAI_API_KEY" not in text
        assert "Watch a demo" in text and "Set up a model" in text and "choose a model to begin" in text
        await driven.press("1")
        [command] = driven.session.submitted
        assert isinstance(command, SetModel) and command.model.startswith("anthropic/claude-")


async def test_a_plugin_that_failed_is_named_on_the_page_and_does_not_hide_the_models() -> None:
    session = FakeSession(empty_session())
    session.feed(PluginFailed(plugin="bad", message="config.toml, line 5: 'plugins.bad.limit' is 'many'."))
    async with open_app(session=session, environ={"ANTHROPIC_API_KEY": "k"}) as driven:
        await shown(driven, "ANTHROPIC_API_KEY is set")
        assert "The plugin bad failed. config.toml, line 5: 'plugins.bad.limit' is 'many'." in driven.text()
        model = ModelInfo(profile="p", provider="x", model="m").model_dump(mode="json")
        session.feed(SettingsChanged(key="model", value=model, previous=None))
        await driven.until(lambda: "│ config.toml, line 5" in driven.text())
        assert "ANTHROPIC_API_KEY is set" not in driven.text()


async def test_the_page_is_there_before_the_session_is_open_and_what_is_typed_stays() -> None:
    session = FakeSession(empty_session())
    session.gate = asyncio.Event()
    async with open_app(session=session, outside=outside) as driven:
        await shown(driven, "Ways to start")
        await driven.type("fix it")
        await driven.press("enter")
        await driven.type("and")
        session.gate.set()
        await shown(driven, "Choose a model first")
        assert driven.app.prompt.editor.text == "fix it\nand"
        assert driven.app.prompt.editor.has_focus and len(driven.app.screen_stack) == 1
        assert driven.session.submitted == []


async def test_before_the_session_is_open_each_key_does_what_the_footer_says_and_nothing_twice() -> None:
    session = FakeSession(empty_session())
    session.gate = asyncio.Event()
    async with open_app(session=session, outside=outside) as driven:
        await shown(driven, "1  Set up a model")
        assert driven.app.start is not None and driven.app.start.has_focus
        assert (
            driven.rows()[-1].split("   ")[:4]
            == [
                *("", " 1–9 choose", "Enter use it", "Tab message"),
            ]
            and "Ctrl+P" not in driven.text()
        )
        await driven.press("1", "1")
        assert "opening  your choice takes effect once the session is open" in driven.text()
        assert driven.app.prompt.editor.text == "" and len(driven.app.waiting_intents) == 1
        session.gate.set()
        await driven.until(lambda: isinstance(driven.app.screen, Sheet))
        await driven.press("escape", "escape")
        assert len(driven.app.screen_stack) == 1 and driven.session.submitted == []


async def test_ctrl_d_quits_before_the_session_is_open() -> None:
    session = FakeSession(empty_session())
    session.gate = asyncio.Event()
    async with open_app(session=session, outside=outside) as driven:
        await shown(driven, "1  Set up a model")
        await driven.press("ctrl+d")
        await driven.until(lambda: not driven.app.is_running)


async def test_an_agent_with_a_model_of_its_own_asks_for_none_before_the_session_is_open() -> None:
    settings = SessionSettings(
        model=ModelInfo(profile="", provider="codex", model="its own model"), agent="codex"
    )
    session = FakeSession()
    session.feed(SessionStarted(workspace="/w", product="test", settings=settings))
    session.gate = asyncio.Event()
    options = SessionOptions(cwd=NOWHERE, agent="codex")
    async with open_app(session=session, outside=outside, options=options) as driven:
        await driven.until(
            lambda: driven.app.controller is not None and driven.app.controller.config is not None
        )
        await driven.pilot.pause()
        assert "No model is set up" not in driven.text()
        session.gate.set()
        await shown(driven, "Ready. Describe a change")
        await shown(driven, "policy ask: codex may only read")


async def test_keys_of_the_first_frame_go_to_the_list_letters_and_pastes_to_the_prompt() -> None:
    app = AgentApp(SessionOptions(cwd=NOWHERE), spawn=lambda _: FakeSession(), environ=ENVIRON)
    # Nothing follows the first frame.
    app.run_worker = lambda work, **_: work.close()  # type: ignore[assignment,method-assign,return-value,union-attr]
    async with piloted(app, (120, 40)) as pilot:
        assert app.start is not None and app.start.has_focus
        await pilot.press("2", "1", "ctrl+d")
        assert app.has_quit and app.prompt.editor.text == ""
        app.start.post_message(events.Paste("see\nthis"))
        await pilot.pause()
        await pilot.press("space", "2")
        assert app.prompt.editor.text == "see\nthis 2" and app.prompt.editor.has_focus


async def test_the_page_stands_in_the_first_frame_where_nothing_names_a_model() -> None:
    app = AgentApp(SessionOptions(cwd=NOWHERE), spawn=lambda _: FakeSession(), environ=ENVIRON)
    assert app.first.bare
    for options in (replace(app.options, model="m"), replace(app.options, agent="codex")):
        assert not AgentApp(options, spawn=lambda _: FakeSession(), environ=ENVIRON).first.bare
    chosen = {**ENVIRON, "TUI_AGENT_AGENT": "codex"}
    assert not AgentApp(app.options, spawn=lambda _: FakeSession(), environ=chosen).first.bare
    async with open_app(empty_session(), environ={"OPENAI_API_KEY": "k"}, outside=outside) as driven:
        start = driven.app.start
        assert (
            start is not None and start.usable[start.chosen].name == "OpenAI" and start.numbers["demo"] == 3
        )


async def test_what_is_found_later_changes_neither_the_chosen_row_nor_what_a_digit_means() -> None:
    async with open_app(empty_session(), outside=outside) as driven:
        await shown(driven, "Ways to start")
        assert driven.app.controller is not None
        start, beginning = driven.app.controller.chat.start, driven.app.controller.start_page
        await driven.press("down")
        chosen = start.usable[start.chosen].name
        beginning.local = [Server("Ollama", 11434, ("qwen3",))]
        beginning.refresh(force=True)
        await driven.pilot.pause()
        assert start.usable[start.chosen].name == chosen == "Watch a demo"
        assert start.numbers["demo"] == 2 and "3  Ollama" in driven.text()
        await driven.press("3")
        [command] = driven.session.submitted
        assert isinstance(command, SetModel) and command.model == "openai-chat/qwen3"


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_model_that_cannot_be_used_is_named_whole_and_every_way_on_is_open(
    size: tuple[int, int],
) -> None:
    fault = "models.local wants MY_KEY, which is not set. Export MY_KEY; in the app, type it with /provider."
    async with open_app(session=faulty_session(fault), outside=outside, size=size) as driven:
        await shown(driven, "Ways to start")
        text = " ".join(driven.text().split())
        assert fault in text and "policy ask" in text
        await driven.type("/model openai/gpt-5")
        await driven.press("escape", "enter")
        [command] = driven.session.submitted
        assert isinstance(command, SetModel) and command.model == "openai/gpt-5"


async def test_once_a_model_is_chosen_the_page_says_so_and_the_prompt_has_the_keys() -> None:
    session = FakeSession(empty_session())

    def react(command: object) -> None:
        if isinstance(command, SetModel):
            model = ModelInfo(profile=command.model, provider="openai-chat", model="qwen3")
            session.feed(SettingsChanged(key="model", value=model.model_dump(mode="json"), previous=None))

    session.react = react
    async with open_app(session=session, outside=outside) as driven:
        await shown(driven, "Ways to start")
        await driven.type("/model openai-chat/qwen3")
        await driven.press("escape", "enter")
        await shown(driven, "Using openai-chat/qwen3.")
        await driven.settle()
        assert "No model is set up" not in driven.text()
        assert driven.app.prompt.editor.has_focus


async def test_typing_on_the_page_goes_into_the_prompt_and_nothing_is_lost() -> None:
    async with open_app(empty_session(), outside=outside) as driven:
        await shown(driven, "Ways to start")
        await driven.type("fix it")
        assert driven.app.prompt.editor.text == "fix it"
        await driven.press("enter")
        assert driven.session.submitted == []
        await driven.press("escape")
        assert driven.app.prompt.editor.text == "fix it"


@pytest.mark.slow_variants
@pytest.mark.parametrize("away", [("escape",), ("tab", "escape"), ("tab", "tab"), ("x", "backspace")])
async def test_the_list_is_never_locked(away: tuple[str, ...]) -> None:
    environ = {"OPENAI_API_KEY": "k"}
    async with open_app(empty_session(), outside=outside, environ=environ) as driven:
        await shown(driven, "Found on this machine")
        await driven.press(*away)
        assert driven.app.start is not None and driven.app.start.has_focus
        await driven.press("1")
        assert [type(one) for one in driven.session.submitted] == [SetModel]
        assert driven.app.prompt.editor.text == ""


@pytest.mark.slow_variants
@pytest.mark.parametrize("command", ["/provider", "/model"])
async def test_an_address_typed_into_the_list_opens_the_form_of_an_own_server(command: str) -> None:
    address = "http://127.0.0.1:18411/v1"
    async with open_app(empty_session(), outside=outside) as driven:
        driven.app.prompt.editor.put_text(command)
        await driven.press("escape", "enter")
        await driven.until(lambda: "type to filter" in driven.text())
        await driven.type(address)
        assert f"Own server at {address}" in driven.text()
        await driven.press("enter")
        await driven.until(lambda: "Set up your own server" in driven.text())
        form = driven.app.screen
        assert isinstance(form, ProviderForm)
        assert (form.fields[ADDRESS].text, form.fields[MODEL].text) == (address, "")
        assert "Only if the server asks for a key." in driven.text()


async def test_tab_goes_from_the_list_to_the_message_and_the_footer_follows() -> None:
    async with open_app(empty_session(), outside=outside) as driven:
        await shown(driven, "Ways to start")
        assert ("Tab", "message") in [hint[:2] for hint in driven.app.footer.keys]
        await driven.press("tab")
        assert driven.app.prompt.editor.has_focus
        assert ("Enter", "send") in [hint[:2] for hint in driven.app.footer.keys]
        await driven.type("1 is text here")
        assert driven.app.prompt.editor.text == "1 is text here"


async def test_arrows_enter_and_the_mouse_choose() -> None:
    async with open_app(empty_session(), outside=outside, environ={"OPENAI_API_KEY": "k"}) as driven:
        await shown(driven, "Ways to start")
        await driven.press("down", "enter")
        assert "Own server" in driven.text() and "needs ANTHROPIC_API_KEY" in driven.text()
        await driven.press("escape")
        rows = driven.rows()
        y = next(at for at, row in enumerate(rows) if "OpenAI" in row)
        await driven.pilot.click(offset=(rows[y].index("OpenAI"), y))
        await driven.pilot.pause()
        assert [type(one) for one in driven.session.submitted] == [SetModel]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_with_a_model_the_page_says_to_write_and_shows_no_digit_that_would_be_text(
    size: tuple[int, int],
) -> None:
    async with open_app(empty_session("m"), outside=outside, size=size) as driven:
        await shown(driven, "no git repository")
        text = driven.text()
        assert "Ready. Describe a change, or ask a question." in text
        assert "Sessions" not in text and "1  " not in text
        await driven.type("1")
        assert driven.app.prompt.editor.text == "1"


@pytest.mark.slow_variants
@pytest.mark.parametrize("model", ["", "m"])
async def test_earlier_sessions_are_offered_only_where_there_are_any(tmp_path: Path, model: str) -> None:
    options = SessionOptions(cwd=NOWHERE, data_dir=tmp_path)
    async with open_app(empty_session(model), outside=outside, options=options) as driven:
        await shown(driven, "no git repository")
        assert "continue an earlier session" not in driven.text()
    (tmp_path / "sessions/ses_1").mkdir(parents=True)
    async with open_app(empty_session(model), outside=outside, options=options) as driven:
        await shown(driven, "continue an earlier session")
        assert driven.app.start is not None and driven.app.start.usable[-1].intent == "sessions"


async def test_a_number_and_enter_read_together_open_the_screen_once(tmp_path: Path) -> None:
    (tmp_path / "sessions/ses_1").mkdir(parents=True)
    options = SessionOptions(cwd=NOWHERE, data_dir=tmp_path)
    async with open_app(empty_session(""), outside=outside, options=options) as driven:
        await shown(driven, "continue an earlier session")
        page = driven.app.start
        assert page is not None
        number = page.numbers["sessions"]
        page.pick(number - 1)
        page.use()
        await driven.until(lambda: len(driven.app.screen_stack) > 1)
        await driven.press("escape")
        assert len(driven.app.screen_stack) == 1


async def test_beside_the_panes_no_text_of_the_page_is_cut(tmp_path: Path) -> None:
    (tmp_path / "sessions/ses_1").mkdir(parents=True)
    options = SessionOptions(cwd=NOWHERE, data_dir=tmp_path)
    async with open_app(empty_session("m"), outside=outside, options=options, size=(100, 30)) as driven:
        await shown(driven, "continue an earlier session")
        page = driven.text().partition("This folder")[0]
        assert "lets you undo changes, and records" in page and "event." in page and "…" not in page


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


@pytest.mark.parametrize("keeps_open", [False, True])
async def test_a_local_server_is_found_by_asking_it(keeps_open: bool) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        body = b'{"object": "list", "data": [{"id": "qwen3"}, {"id": "b"}]}'
        # As uvicorn does: the headers first, then the body in a packet of its own.
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
        await writer.drain()
        for _ in range(5):
            await asyncio.sleep(0)  # lets the client read the headers
        writer.write(body)
        await writer.drain()
        if keeps_open:
            await reader.read()  # until the client closes the connection
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        found = await find_servers((("Here", port), ("Nobody", 1)))
    assert found == [Server("Here", port, ("qwen3", "b"))]
    choices = first_choices({}, found, ())
    assert {one.group for one in first_choices({}, [], ())} == {"Ways to start"}
    here = next(one for one in choices if one.name == "Here")
    assert here.intent == f"local http://localhost:{port}/v1 qwen3" and "2 models" in here.about


async def test_a_configuration_that_cannot_be_read_is_corrected_without_leaving(tmp_path: Path) -> None:
    path = tmp_path / "tui-agent" / "config.toml"
    path.parent.mkdir()
    path.write_text('modle = "x"\n')
    refused = FakeSession(failure=ConfigError("unknown key 'modle'."))
    async with open_app(session=refused, environ={"XDG_CONFIG_HOME": str(tmp_path)}) as driven:
        await shown(driven, "fix the configuration, then /new")
        path.write_text('policy = "plan"\n')
        driven.app.spawn = lambda _: FakeSession(empty_session("m"))
        await driven.type("/new")
        await driven.press("escape", "enter")
        await shown(driven, "This folder")
        assert driven.app.controller is not None and driven.app.controller.config is not None


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_why_a_configuration_cannot_be_read_stands_once(tmp_path: Path, size: tuple[int, int]) -> None:
    path = tmp_path / "tui-agent" / "config.toml"
    path.parent.mkdir()
    path.write_text('modle = "x"\n')
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    with pytest.raises(ConfigError) as fault:
        load_config(SessionOptions(cwd=NOWHERE), environ)
    async with open_app(session=FakeSession(failure=fault.value), environ=environ, size=size) as driven:
        await shown(driven, "No session is open")
        assert driven.text().count("Did you mean 'model'?") == 1 and not driven.app.notice.display


async def test_why_a_session_cannot_be_opened_stands_once() -> None:
    refused = FakeSession(failure=SessionVersionError("A newer version wrote it.", hint="Use that version."))
    async with open_app(session=refused, size=(80, 24)) as driven:
        await shown(driven, "No session is open")
        await driven.pilot.pause()
        assert driven.text().count("Use that version.") == 1 and not driven.app.notice.display
        driven.app.do("new")  # which fails again, and is answered
        while not driven.app.notice.display:
            await driven.pilot.pause(0.01)


async def test_the_policy_is_the_folders_when_no_session_can_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "tui-agent" / "config.toml"
    path.parent.mkdir()
    path.write_text('policy = "accept-edits"\n')
    refused = FakeSession(failure=SessionVersionError("A newer version wrote it."))
    async with open_app(session=refused, environ={"XDG_CONFIG_HOME": str(tmp_path)}) as driven:
        await shown(driven, "No session is open")
        assert "policy accept-edits:" in driven.text() and "accept-edits" in driven.rows()[0]


async def test_a_model_that_is_refused_leaves_the_start_page_and_says_why() -> None:
    session = FakeSession(empty_session("m"))
    async with open_app(session=session) as driven:
        await shown(driven, "This folder")
        session.feed(
            CommandRejected(
                command="set_model", reason="There is no model 'nope'.", hint="/model lists them."
            )
        )
        await driven.settle()
        text = driven.text()
        assert "There is no model 'nope'. /model lists them." in text and "This folder" in text
        controller = driven.app.controller
        assert controller is not None and controller.chat.start.display
        driven.app.notice.display = False
        session.feed(UserMessageReceived(text="hello", source="prompt"), TurnStarted(turn=1))
        await driven.settle()
        assert not controller.chat.start.display and not driven.app.notice.display


async def test_the_page_shows_the_folder_as_it_is_when_the_terminal_gets_the_focus(tmp_path: Path) -> None:
    for words in (
        ["init", "-q", "-b", "main"],
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "a"],
    ):
        await run_process(["git", *words], cwd=tmp_path)
    options, records = SessionOptions(cwd=tmp_path), empty_session("m", str(tmp_path))
    async with open_app(records, outside=outside, options=options) as driven:
        start = driven.app.start
        assert start is not None
        await driven.until(lambda: start.content.facts == "git main, clean")
        driven.app.app_focus = False
        (tmp_path / "a.txt").write_text("a")
        driven.app.app_focus = True
        await driven.until(lambda: start.content.facts == "git main, 1 changed")
