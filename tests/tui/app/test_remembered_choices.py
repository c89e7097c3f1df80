"""The app remembers theme, model, side panes and each project's policy, and nothing that the user did not choose."""

import asyncio
import json
import stat
from pathlib import Path

import pytest

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, end_grace_period, golden, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.setting_list import list_settings
from tui_agent.config.user_choices import FILE_NAME, UserChoices
from tui_agent.engine.questions import PLAN_OPTIONS
from tui_agent.protocol.commands import AnswerQuestion, CommandBase, SetModel, SetPolicy, SubmitPrompt
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.protocol.events.turn import QuestionAnswered, QuestionAsked, TurnFinished, TurnStarted
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.settings import ModelInfo
from tui_agent.tui.modals.question import Question


def engine(session: FakeSession) -> FakeSession:
    """A session that does what is asked of it: another policy, another model."""

    def react(command: CommandBase) -> None:
        if isinstance(command, SetPolicy):
            session.feed(SettingsChanged(key="policy", value=command.policy, previous="ask"))
        if isinstance(command, SetModel):
            model = ModelInfo(
                profile=command.model, provider="openai", model="m", base_url=command.base_url or ""
            )
            session.feed(SettingsChanged(key="model", value=model.model_dump(mode="json"), previous=None))

    session.react = react  # type: ignore[assignment]
    return session


def options(tmp_path: Path, **more: object) -> SessionOptions:
    return SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data", **more)  # type: ignore[arg-type]


def kept(tmp_path: Path) -> dict[str, object]:
    path = tmp_path / "data" / FILE_NAME
    return dict(json.loads(path.read_text())) if path.exists() else {}


async def run(driven: Driven, line: str) -> None:
    driven.app.prompt.editor.put_text(line)
    await driven.press("escape", "enter")


async def test_theme_side_panes_model_and_policy_are_in_the_file_of_choices(tmp_path: Path) -> None:
    session = engine(FakeSession(golden("night_shift")))
    async with open_app(
        session=session, options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as driven:
        await run(driven, "/theme day")
        await driven.until(lambda: kept(tmp_path).get("theme") == "day")
        assert driven.app.notice.text == "Using theme day."
        await driven.press("f6")
        await driven.until(lambda: kept(tmp_path).get("sidebar") is False)
        await run(driven, "/model vendor/x")
        await driven.until(lambda: kept(tmp_path).get("model") == "vendor/x")
        assert driven.app.notice.text == "Using vendor/x."
        await run(driven, "/policy accept-edits")
        await driven.until(lambda: "accept-edits" in dict(kept(tmp_path)["policies"]).values())  # type: ignore[call-overload]
        await driven.until(
            lambda: driven.app.notice.text == "New sessions in this project start with accept-edits too."
        )
    workspace = json.loads((tmp_path / "data" / FILE_NAME).read_text())["policies"]
    assert list(workspace.values()) == ["accept-edits"]
    assert stat.S_IMODE((tmp_path / "data" / FILE_NAME).stat().st_mode) == 0o600
    assert not (tmp_path / ".config").exists()
    async with open_app(
        golden("night_shift"), options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as again:
        assert again.app.theme == "day" and not again.app.sidebar.display


async def test_a_model_entered_by_its_address_stays_in_the_list_of_models(tmp_path: Path) -> None:
    session = engine(FakeSession(golden("night_shift")))
    async with open_app(
        session=session, options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as driven:
        assert driven.app.controller is not None
        driven.app.controller.choices.choose_model("own", "http://127.0.0.1:9/v1")
        await driven.until(lambda: kept(tmp_path).get("addresses") == {"own": "http://127.0.0.1:9/v1"})
        await run(driven, "/model vendor/x")
        await driven.until(lambda: kept(tmp_path).get("model") == "vendor/x")
    session = engine(FakeSession(golden("night_shift")))
    async with open_app(session=session, options=options(tmp_path), environ={"HOME": str(tmp_path)}) as again:
        await run(again, "/model")
        await again.type("own")
        await again.until(lambda: "http://127.0.0.1:9/v1" in again.text())
        await again.press("enter")
        [command] = [one for one in session.submitted if isinstance(one, SetModel)]
        assert (command.model, command.base_url) == ("own", "http://127.0.0.1:9/v1")


async def test_settings_show_the_model_that_was_chosen_last(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / FILE_NAME).write_text(UserChoices(model="vendor/first").to_json())
    session = engine(FakeSession(golden("night_shift")))
    async with open_app(
        session=session, options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as driven:
        await run(driven, "/model vendor/second")
        await driven.until(lambda: kept(tmp_path).get("model") == "vendor/second")
        await driven.until(lambda: "vendor/second" in _model_row(driven))
        assert "chosen in the app" in _model_row(driven)


def _model_row(driven: Driven) -> str:
    assert driven.app.controller is not None
    config = driven.app.controller.config
    assert config is not None
    (setting,) = (setting for setting in list_settings(config) if setting.name == "model")
    return f"{setting.shown_value} {setting.origin}"


async def test_a_model_from_an_option_is_not_remembered_until_the_user_confirms_it(tmp_path: Path) -> None:
    session = engine(FakeSession(golden("night_shift")))
    given = options(tmp_path, model="claude-sonnet-4-5")
    async with open_app(session=session, options=given, environ={"HOME": str(tmp_path)}) as driven:
        await driven.settle()
        assert kept(tmp_path) == {}
        session.react = None  # The engine records the same value again, so no view changes.
        await run(driven, "/provider claude-sonnet-4-5")
        await driven.press("enter", "enter", "enter")
        await driven.until(lambda: kept(tmp_path).get("model") == "claude-sonnet-4-5")
        assert driven.app.notice.text == "Using claude-sonnet-4-5 (answers in 0 ms)."


async def test_the_own_model_of_an_agents_program_is_not_a_choice(tmp_path: Path) -> None:
    session = FakeSession(golden("night_shift"))
    model = ModelInfo(profile="", provider="codex", model="its own model")
    session.feed(SettingsChanged(key="model", value=model.model_dump(mode="json"), previous=None))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / FILE_NAME).write_text(UserChoices(model="vendor/x").to_json())
    async with open_app(
        session=session, options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as driven:
        await run(driven, "/theme day")
        await driven.until(lambda: kept(tmp_path).get("theme") == "day")
        assert kept(tmp_path)["model"] == "vendor/x"


async def test_choosing_the_model_of_an_option_again_remembers_it_with_its_address(tmp_path: Path) -> None:
    session = engine(FakeSession(golden("night_shift")))
    model = ModelInfo(profile="mock", provider="openai-chat", model="mock", base_url="http://h/v1")
    session.feed(SettingsChanged(key="model", value=model.model_dump(mode="json"), previous=None))
    async with open_app(
        session=session, options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as driven:
        await run(driven, "/model mock")
        await driven.until(lambda: kept(tmp_path).get("model") == "mock")
        assert kept(tmp_path)["base_url"] == "http://h/v1"
        [command] = driven.session.submitted
        assert isinstance(command, SetModel) and (command.model, command.base_url) == ("mock", "http://h/v1")


async def test_bypass_is_never_remembered_and_the_choice_before_it_stays(tmp_path: Path) -> None:
    session = engine(FakeSession(golden("night_shift")))
    async with open_app(
        session=session, options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as driven:
        await run(driven, "/policy accept-edits")
        await driven.until(lambda: kept(tmp_path))
        await run(driven, "/policy bypass")
        await driven.settle()
        await run(driven, "/theme day")
        await driven.until(lambda: kept(tmp_path).get("theme") == "day")
    assert list(dict(kept(tmp_path)["policies"]).values()) == ["accept-edits"]  # type: ignore[call-overload]


def held_session(tmp_path: Path) -> FakeSession:
    """A session that opens when its gate does, in a project whose remembered policy is accept-edits."""
    (tmp_path / "data").mkdir()
    remembered = UserChoices(policies={str(tmp_path.resolve()): "accept-edits"})
    (tmp_path / "data" / FILE_NAME).write_text(remembered.to_json())
    session = FakeSession(golden("night_shift"))
    session.gate = asyncio.Event()
    return session


async def test_no_policy_is_shown_before_it_is_known(tmp_path: Path) -> None:
    session = held_session(tmp_path)
    async with open_app(
        session=session, options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as driven:
        row = driven.app.prompt.policy_row
        while row.policy != "accept-edits":
            assert row.policy == "" and "asks before" not in driven.text()
            await driven.pilot.pause()
        await driven.until(lambda: "accept-edits" in driven.rows()[0])


async def test_the_policy_of_an_earlier_session_is_shown_once_it_is_open(tmp_path: Path) -> None:
    session = held_session(tmp_path)
    given = options(tmp_path, session="ses_a")
    async with open_app(session=session, options=given, environ={"HOME": str(tmp_path)}) as driven:
        await driven.until(lambda: driven.app.controller is not None and bool(driven.app.controller.config))
        await driven.pilot.pause()
        assert driven.app.prompt.policy_row.policy == "" and "accept-edits" not in driven.text()
        assert session.gate is not None
        session.gate.set()
        await driven.until(lambda: driven.app.prompt.policy_row.policy == "ask")


async def switch_policy(driven: Driven, policy: str) -> None:
    await driven.press("shift+tab")
    await driven.until(lambda: driven.app.prompt.policy_row.policy == policy)


async def ask_about_plan(driven: Driven) -> None:
    plan = QuestionAsked(question_id=RequestId("q_1"), text="1. Read", form="plan", options=PLAN_OPTIONS)
    driven.session.feed(TurnStarted(turn=3), plan)
    await driven.until(lambda: isinstance(driven.app.screen, Question))
    assert isinstance(driven.app.screen, Question)
    end_grace_period(driven.app.screen)


async def choose_theme(driven: Driven, tmp_path: Path) -> None:
    """Choose a theme and wait until it is saved, and so everything that was to be saved before it."""
    await run(driven, "/theme day")
    await driven.until(lambda: kept(tmp_path).get("theme") == "day")


async def test_a_policy_on_the_way_to_another_one_is_not_remembered(tmp_path: Path) -> None:
    async with open_app(
        session=engine(FakeSession(golden("night_shift"))),
        options=options(tmp_path),
        environ={"HOME": str(tmp_path)},
    ) as driven:
        await switch_policy(driven, "accept-edits")
        await switch_policy(driven, "plan")
        await run(driven, "plan it")
        await driven.until(
            lambda: any(isinstance(command, SubmitPrompt) for command in driven.session.submitted)
        )
        await choose_theme(driven, tmp_path)
    assert kept(tmp_path)["policies"] == {}


async def test_a_policy_chosen_with_shift_tab_is_remembered_with_the_next_message(tmp_path: Path) -> None:
    async with open_app(
        session=engine(FakeSession(golden("night_shift"))),
        options=options(tmp_path),
        environ={"HOME": str(tmp_path)},
    ) as driven:
        await switch_policy(driven, "accept-edits")
        await choose_theme(driven, tmp_path)
        assert kept(tmp_path)["policies"] == {}
        await run(driven, "change it")
        await driven.until(lambda: kept(tmp_path)["policies"])
    assert list(dict(kept(tmp_path)["policies"]).values()) == ["accept-edits"]  # type: ignore[call-overload]


async def test_ask_chosen_with_shift_tab_is_remembered_at_once(tmp_path: Path) -> None:
    async with open_app(
        session=engine(FakeSession(golden("night_shift"))),
        options=options(tmp_path),
        environ={"HOME": str(tmp_path)},
    ) as driven:
        await switch_policy(driven, "accept-edits")
        await run(driven, "change it")
        await driven.until(lambda: kept(tmp_path).get("policies"))
        await switch_policy(driven, "plan")
        await switch_policy(driven, "ask")
        await driven.until(lambda: "ask" in dict(kept(tmp_path)["policies"]).values())  # type: ignore[call-overload]
        text = "New sessions in this project start with ask too."
        await driven.until(lambda: driven.app.notice.text == text)
        opened: list[SessionOptions] = []

        def spawn(options: SessionOptions) -> FakeSession:
            opened.append(options)
            return engine(FakeSession(golden("night_shift")))

        driven.app.spawn = spawn
        await run(driven, "/new")
        await driven.until(lambda: opened)
        assert [options.policy for options in opened] == [None]
    assert list(dict(kept(tmp_path)["policies"]).values()) == ["ask"]  # type: ignore[call-overload]


async def test_a_new_session_keeps_a_policy_chosen_with_shift_tab_and_remembers_it_with_the_first_message(
    tmp_path: Path,
) -> None:
    async with open_app(
        session=engine(FakeSession(golden("night_shift"))),
        options=options(tmp_path),
        environ={"HOME": str(tmp_path)},
    ) as driven:
        opened: list[SessionOptions] = []
        other = engine(FakeSession(golden("night_shift")))
        other.feed(SettingsChanged(key="policy", value="accept-edits", previous="ask"))

        def spawn(options: SessionOptions) -> FakeSession:
            opened.append(options)
            return other

        driven.app.spawn = spawn
        await switch_policy(driven, "accept-edits")
        await run(driven, "/new")
        await driven.until(lambda: driven.app.controller.session is other)  # type: ignore[union-attr]
        await driven.until(lambda: driven.app.prompt.policy_row.policy == "accept-edits")
        assert [options.policy for options in opened] == ["accept-edits"]
        await choose_theme(driven, tmp_path)
        assert kept(tmp_path)["policies"] == {}
        await run(driven, "change it")
        other.feed(TurnStarted(turn=3))
        await driven.until(lambda: kept(tmp_path)["policies"])


async def test_a_policy_of_one_session_is_not_remembered_with_a_message_in_another(tmp_path: Path) -> None:
    async with open_app(
        session=engine(FakeSession(golden("night_shift"))),
        options=options(tmp_path),
        environ={"HOME": str(tmp_path)},
    ) as driven:
        other = engine(FakeSession(golden("night_shift")))
        driven.app.spawn = lambda _: other
        await switch_policy(driven, "accept-edits")
        await run(driven, "/new")
        await driven.until(lambda: driven.app.prompt.policy_row.policy == "ask")
        await run(driven, "ask me")
        await driven.until(lambda: any(isinstance(command, SubmitPrompt) for command in other.submitted))
        other.feed(SettingsChanged(key="policy", value="accept-edits", previous="ask"))
        await driven.until(lambda: driven.app.prompt.policy_row.policy == "accept-edits")
        await choose_theme(driven, tmp_path)
    assert kept(tmp_path)["policies"] == {}


@pytest.mark.slow_variants
@pytest.mark.parametrize(("key", "policy"), [("1", "ask"), ("2", "accept-edits")])
async def test_the_policy_of_an_approved_plan_holds_for_its_session_only(
    tmp_path: Path, key: str, policy: str
) -> None:
    before = "ask" if policy == "accept-edits" else "accept-edits"
    async with open_app(
        session=engine(FakeSession(golden("night_shift"))),
        options=options(tmp_path),
        environ={"HOME": str(tmp_path)},
    ) as driven:
        await run(driven, f"/policy {before}")
        await driven.until(lambda: kept(tmp_path).get("policies"))
        await run(driven, "/policy plan")
        await driven.until(lambda: driven.app.prompt.policy_row.policy == "plan")
        await ask_about_plan(driven)
        await driven.press(key, "enter")
        await driven.until(
            lambda: any(isinstance(command, AnswerQuestion) for command in driven.session.submitted)
        )
        driven.session.feed(
            QuestionAnswered(question_id=RequestId("q_1"), answer="", choice=int(key) - 1),
            SettingsChanged(key="policy", value=policy, previous="plan"),
            TurnFinished(turn=3, reason="finished"),
        )
        await driven.until(lambda: driven.app.prompt.policy_row.policy == policy)
        await run(driven, "go on")
        await choose_theme(driven, tmp_path)
        opened: list[SessionOptions] = []

        def spawn(options: SessionOptions) -> FakeSession:
            opened.append(options)
            return engine(FakeSession(golden("night_shift")))

        driven.app.spawn = spawn
        await run(driven, "/new")
        await driven.until(lambda: opened)
        assert [options.policy for options in opened] == [None]
    assert list(dict(kept(tmp_path)["policies"]).values()) == [before]  # type: ignore[call-overload]


async def test_a_policy_after_plan_that_the_user_did_not_choose_is_not_remembered(tmp_path: Path) -> None:
    async with open_app(
        session=engine(FakeSession(golden("night_shift"))),
        options=options(tmp_path),
        environ={"HOME": str(tmp_path)},
    ) as driven:
        await run(driven, "/plan")
        await driven.until(lambda: driven.app.prompt.policy_row.policy == "plan")
        driven.session.feed(SettingsChanged(key="policy", value="accept-edits", previous="plan"))
        await driven.until(lambda: driven.app.prompt.policy_row.policy == "accept-edits")
        await choose_theme(driven, tmp_path)
    assert kept(tmp_path)["policies"] == {}


async def test_a_policy_that_the_configuration_overrides_is_not_announced_for_new_sessions(
    tmp_path: Path,
) -> None:
    config = tmp_path / ".config/tui-agent/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('policy = "plan"\n')
    async with open_app(
        session=engine(FakeSession(golden("night_shift"))),
        options=options(tmp_path),
        environ={"HOME": str(tmp_path)},
    ) as driven:
        await run(driven, "/policy accept-edits")
        text = f"Using accept-edits. The next start uses plan, set in {config}."
        await driven.until(lambda: driven.app.notice.text == text)


async def test_a_policy_that_an_opened_session_has_is_no_choice_but_its_change_is(tmp_path: Path) -> None:
    other = engine(FakeSession(golden("night_shift")))
    other.feed(SettingsChanged(key="policy", value="accept-edits", previous="ask"))
    async with open_app(
        golden("night_shift"), options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as driven:
        driven.app.spawn = lambda _: other
        await run(driven, "/new")
        await driven.until(lambda: driven.app.prompt.policy_row.policy == "accept-edits")
        await driven.pilot.pause(0.1)
        assert kept(tmp_path) == {}
        await switch_policy(driven, "plan")
        await driven.pilot.pause(0.1)
        assert kept(tmp_path) == {}
        await switch_policy(driven, "ask")
        await run(driven, "ask me")
        await driven.until(lambda: kept(tmp_path))
    assert list(dict(kept(tmp_path)["policies"]).values()) == ["ask"]  # type: ignore[call-overload]


async def test_what_wins_over_a_choice_is_named(tmp_path: Path) -> None:
    config = tmp_path / ".config/tui-agent/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('theme = "night"\nmodel = "a/b"\n')
    session = engine(FakeSession(golden("night_shift")))
    async with open_app(
        session=session, options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as driven:
        await run(driven, "/theme day")
        assert driven.app.notice.text == f"Using theme day. The next start uses night, set in {config}."
        await run(driven, "/model vendor/x")
        await driven.until(
            lambda: f"Using vendor/x. The next start uses a/b, set in {config}." in driven.app.notice.text
        )
    assert config.read_text() == 'theme = "night"\nmodel = "a/b"\n'


async def test_a_damaged_file_is_a_notice_and_the_next_choice_replaces_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / FILE_NAME).write_text("{oops")
    async with open_app(
        golden("night_shift"), options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as driven:
        assert f"{FILE_NAME} is damaged, so your last choices are not used." in driven.app.notice.text
        await driven.type("still works")
        await driven.press("enter")
        assert len(driven.session.submitted) == 1
        await driven.press("f6")
        await driven.until(lambda: '"sidebar": false' in (tmp_path / "data" / FILE_NAME).read_text())


async def test_a_choice_that_cannot_be_written_is_reported_once_and_holds_until_the_end(
    tmp_path: Path,
) -> None:
    (tmp_path / "data" / FILE_NAME).mkdir(parents=True)
    async with open_app(
        golden("night_shift"), options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as driven:
        assert "is not a file, so your last choices are not used." in driven.app.notice.text
        await driven.press("f6")
        await driven.until(
            lambda: "Your choice applies until you quit, but could not be saved" in driven.app.notice.text
        )
        assert not driven.app.sidebar.display
        driven.app.hide_notice()
        await driven.press("f6")
        await driven.pilot.pause(0.1)
        assert driven.app.sidebar.display and not driven.app.notice.display


async def test_the_start_page_names_the_remembered_policy_before_the_session_is_open(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    text = UserChoices(policies={str(tmp_path): "accept-edits"}).to_json()
    (tmp_path / "data" / FILE_NAME).write_text(text)
    session = FakeSession()
    session.gate = asyncio.Event()
    async with open_app(
        session=session, options=options(tmp_path), environ={"HOME": str(tmp_path)}
    ) as driven:
        await driven.until(lambda: "git" in driven.text() or driven.app.controller is not None)
        controller = driven.app.controller
        assert controller is not None
        controller.start_page.refresh(force=True)
        await driven.pilot.pause()
        assert "policy accept-edits: " in driven.text()
        session.gate.set()
