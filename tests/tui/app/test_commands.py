"""What the slash commands submit, show and choose."""

import pytest

from tests.stubs.fake_session import FakeSession
from tests.stubs.story import called, delta, finished, responded, started, tool_call
from tests.tui.app.driving import golden, open_app
from tests.tui.app.sessions_story import Programs, told
from tests.tui.app.test_start import empty_session
from tui_agent.errors import PluginError, SessionLocked, StoreError
from tui_agent.protocol.commands import (
    CommandBase,
    Delegate,
    Pause,
    Rename,
    Resume,
    RunUserShell,
    SetAgent,
    SetBudgets,
    SetEffort,
    SetModel,
    SetPolicy,
    SubmitPrompt,
    Unqueue,
)
from tui_agent.protocol.display_blocks import TerminalBlock
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.plugin import PluginLoaded
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.protocol.events.turn import TurnFinished, TurnStarted, UserQueued
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.settings import AgentState, Budgets
from tui_agent.protocol.stored_text import BlobText
from tui_agent.tui.modals.diff import DiffSheet
from tui_agent.tui.modals.picker import Picker

WITH_ARGUMENTS: list[tuple[str, CommandBase]] = [
    ("/model scripted", SetModel(model="scripted")),
    ("/reasoning low", SetEffort(effort="low")),
    ("/agent reviewer", SetAgent(agent="reviewer")),
    ("/policy plan", SetPolicy(policy="plan")),
    ("/plan", SetPolicy(policy="plan")),
    ("/model reasoning high", SetEffort(effort="high")),
    ("/effort low", SetEffort(effort="low")),
    ("/delegate verify the tests pass", Delegate(agent="verify", text="the tests pass")),
    ("/accept-edits", SetPolicy(policy="accept-edits")),
    ("/rename night shift", Rename(title="night shift")),
    ("/run git status", RunUserShell(command="git status")),
    ("/read src/a b.py", RunUserShell(command="cat -n -- 'src/a b.py'", typed="/read src/a b.py")),
    ("/cost 2.50", SetBudgets(budgets=Budgets(max_cost_usd=2.5))),
    (
        "/base-url http://localhost:1/v1",
        SetModel(model="claude-sonnet-4-5", base_url="http://localhost:1/v1"),
    ),
]


async def test_a_command_with_an_argument_is_submitted() -> None:
    async with open_app(golden("night_shift")) as driven:
        for line, command in WITH_ARGUMENTS:
            driven.app.prompt.editor.put_text(line)
            await driven.press("escape", "enter")
            [submitted] = driven.session.submitted
            assert submitted.model_copy(update={"id": ""}) == command
            assert driven.app.prompt.editor.text == "", line
            driven.session.submitted.clear()


async def test_a_cost_limit_is_promised_only_where_the_price_is_known() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/cost 1")
        await driven.press("escape", "enter")
        assert "the session stops at $1.00" in driven.app.notice.text
        driven.app.hide_notice()
        settings = driven.app.controller and driven.app.controller.state.settings
        assert settings
        unpriced = settings.model.model_copy(update={"input_price": None}).model_dump(mode="json")
        driven.session.feed(SettingsChanged(key="model", previous=None, value=unpriced))
        await driven.settle()
        await driven.type("/cost 1")
        await driven.press("escape", "enter")
        assert len(driven.session.submitted) == 2 and not driven.app.notice.display


async def test_only_efforts_that_can_be_sent_are_offered() -> None:
    async with open_app(golden("night_shift")) as driven:
        settings = driven.app.controller and driven.app.controller.state.settings
        assert settings

        async def use_model(**fields: object) -> None:
            model = settings.model.model_copy(update=fields).model_dump(mode="json")
            driven.session.feed(SettingsChanged(key="model", previous=None, value=model))
            await driven.settle()

        await use_model(effort=None, efforts=("none", "low"))
        await driven.type("/effort ")
        await driven.until(lambda: driven.app.prompt.menu.display)
        assert [each.insert for each in driven.app.prompt.menu.candidates] == ["none", "low"]
        await driven.press("escape", "enter")
        assert isinstance(driven.app.screen, Picker)
        assert [item.value for item in driven.app.screen.items] == ["none", "low"]
        await driven.press("escape")
        await use_model(model="m", provider="openai-chat", effort=None, efforts=())
        for line in ("/effort", "/effort low", "/model reasoning"):
            driven.app.hide_notice()
            driven.app.prompt.editor.put_text(line)
            await driven.press("escape", "enter")
            assert driven.app.notice.text == "The reasoning effort of m (provider openai-chat) cannot be set."
        assert driven.session.submitted == [] and len(driven.app.screen_stack) == 1


async def test_after_a_turn_under_plan_the_status_says_how_to_go_on() -> None:
    hint = '(to make changes: press Shift+Tab, then type "go on")'
    async with open_app(golden("night_shift"), size=(80, 24)) as driven:
        assert hint not in driven.text()
        driven.session.feed(TurnStarted(turn=3), TurnFinished(turn=3, reason="finished"))
        driven.session.feed(SettingsChanged(key="policy", previous="ask", value="plan"))
        await driven.settle()
        assert hint not in driven.text(), "nothing was planned yet"
        assert "ready  (the policy `plan` only reads; Shift+Tab switches to ask)" in driven.text()
        driven.session.feed(TurnStarted(turn=4), TurnFinished(turn=4, reason="finished"))
        await driven.settle()
        assert hint in driven.text()
        driven.session.feed(SettingsChanged(key="policy", previous="plan", value="ask"))
        await driven.settle()
        assert hint not in driven.text()


async def test_a_wrong_argument_is_explained() -> None:
    async with open_app(golden("night_shift")) as driven:
        for line in ("/policy never", "/reasoning much", "/cost nothing", "/rename", "/run", "/theme pink"):
            driven.app.hide_notice()
            driven.app.prompt.editor.put_text(line)
            await driven.press("escape", "enter")
            assert driven.session.submitted == [], line
            assert driven.app.notice.display and driven.app.notice.text, line


async def test_shift_tab_goes_through_the_safe_policies_only() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.press("shift+tab")
        [command] = driven.session.submitted
        assert isinstance(command, SetPolicy) and command.policy == "accept-edits"


async def test_pause_holds_and_resume_goes_on() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3))
        await driven.settle()
        await driven.type("/pause")
        await driven.press("enter")
        driven.session.feed(AgentStateChanged(state=AgentState.PAUSED))
        await driven.settle()
        assert "paused" in driven.text()
        await driven.type("/resume")
        await driven.press("escape", "enter")
        assert [type(one) for one in driven.session.submitted] == [Pause, Resume]


async def test_a_queued_message_comes_back_into_the_prompt() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(TurnStarted(turn=3), UserQueued(queue_id=RequestId("q1"), text="then this"))
        await driven.settle()
        assert "then this" in driven.text() and "Up edits or removes" in driven.text()
        await driven.type("/unqueue")
        await driven.press("enter")
        [command] = driven.session.submitted
        assert isinstance(command, Unqueue) and command.queue_id == "q1"
        assert driven.app.prompt.editor.text == "then this"


MODELS = """
{"profile": "fast", "provider": "openai-chat", "model": "qwen3", "window": 32000, "input_price": null}
{"profile": "mimo", "model": "mimo-v2.5", "fault": "models.mimo needs MIMO_API_KEY"}
{"profile": "demo:bugfix", "provider": "scripted", "model": "bugfix", "window": 0}
not json
"""


async def outside(*words: str) -> tuple[int, str]:
    """The command line's answers."""
    return 0, {"models": MODELS}.get(words[0], "nothing to say")


async def test_without_any_model_the_picker_offers_to_set_one_up() -> None:
    async with open_app(empty_session(), size=(80, 24)) as driven:
        await driven.type("/model")
        await driven.press("escape", "enter")
        await driven.until(lambda: "Set up a model…" in driven.text())
        assert "Set up another model…" not in driven.text() and "Demos" in driven.text()


async def test_the_model_picker_lists_what_was_found_and_takes_any_name() -> None:
    async with open_app(golden("night_shift"), outside=outside) as driven:
        await driven.type("/model")
        await driven.press("escape", "enter")
        assert "qwen3" in driven.text() and "Set up another model…" in driven.text()
        assert "scripted, in a throw-away workspace" in driven.text() and "demo:bugfix" not in driven.text()
        assert "mimo" not in driven.text()
        await driven.type("qwen3")
        await driven.press("enter")
        await driven.type("/model")
        await driven.press("escape", "enter")
        await driven.type("zzz/none")
        await driven.press("enter")
        first, second = driven.session.submitted
        assert isinstance(first, SetModel) and first.model == "fast"
        assert isinstance(second, SetModel) and second.model == "zzz/none"


@pytest.mark.slow_variants
@pytest.mark.parametrize("keys", [("/model demo:bugfix",), ("/model", "demo bug")])
async def test_a_demo_is_no_model_of_a_session_in_which_something_was_said(keys: tuple[str, ...]) -> None:
    async with open_app(golden("night_shift"), outside=outside) as driven:
        for text in keys:
            await driven.type(text)
            await driven.press("enter") if text == "demo bug" else await driven.press("escape", "enter")
        assert "A demo runs in its own workspace" in driven.text()
        assert "tui-agent demo bugfix" in driven.text()
        assert driven.session.submitted == [] and not driven.app.has_quit


async def test_a_session_that_cannot_be_opened_leaves_the_present_one() -> None:
    locked = FakeSession(failure=SessionLocked("Another process holds ses_b.", hint="Close it there."))
    async with open_app(
        golden("night_shift"), outside=Programs([told(1, "b", "x", 60, id="ses_b")])
    ) as driven:
        driven.app.spawn = lambda _: locked
        await driven.type("/session ses_b")
        await driven.press("enter")
        while not driven.app.notice.display:
            await driven.pilot.pause(0.01)
        assert "Another process holds ses_b. Close it there first, or choose it" in driven.text()
        assert not driven.session.is_closed
        await driven.type("still here")
        await driven.press("enter")
        assert len(driven.session.submitted) == 1


async def test_the_app_lives_when_the_first_session_cannot_be_opened() -> None:
    locked = FakeSession(failure=SessionLocked("Another process holds it.", hint="Close it there."))
    async with open_app(session=locked) as driven:
        while "No session is open" not in driven.text():
            await driven.pilot.pause(0.01)
        assert "no session" in driven.text() and "opening the session" not in driven.text()
        assert driven.text().count("Another process holds it. Close it there first.") == 1
        assert driven.text().count("Another process holds it") == 1
        await driven.until(lambda: "Ctrl+P palette" in driven.rows()[-1])
        assert "policy" not in driven.rows()[-1] and "trace" not in driven.rows()[-1]
        await driven.press("f3")
        await driven.until(lambda: "Esc back" in driven.rows()[-1])
        assert "Up/Down" not in driven.rows()[-1] and "J JSON" not in driven.rows()[-1]
        await driven.press("escape")
        await driven.type("keep me")
        await driven.press("enter")
        assert driven.app.prompt.editor.text == "keep me"


async def test_the_end_of_the_engine_is_said_with_the_way_back() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.end()
        while not driven.app.notice.display:
            await driven.pilot.pause(0.01)
        assert "The engine stopped." in driven.text() and "engine ended" in driven.text()


async def test_the_end_of_the_engine_names_the_running_tool_and_its_plugin() -> None:
    calls = (tool_call("c8", "tidy_up"), tool_call("c9"))
    async with open_app(golden("night_shift")) as driven:
        driven.session.feed(
            PluginLoaded(plugin="mine", version="1", source="user", contributions=("tool:tidy_up",)),
            PluginLoaded(plugin="shell", version="1", source="bundled", contributions=("tool:run_command",)),
            TurnStarted(turn=3),
            responded("r8", *calls),
            called("c8").model_copy(update={"name": "tidy_up"}),
            started("c8"),
            called("c9"),
            started("c9"),
        )
        driven.session.end()
        await driven.until(lambda: "The engine stopped" in driven.text())
        words = " ".join(driven.text().split())
        assert "The engine stopped while tidy_up (plugin mine) was running" in words, words
        assert "/plugins disable mine" in words


async def test_the_end_of_the_engine_gives_the_engines_own_reason() -> None:
    async with open_app(golden("night_shift")) as driven:
        driven.session.failure = PluginError("The function spin of the plugin mine blocked the session.")
        driven.session.end()
        await driven.until(lambda: "The engine stopped" in driven.text())
        words = " ".join(driven.text().split())
        assert "The engine stopped. The function spin of the plugin mine" in words


async def test_a_session_that_could_not_be_opened_again_is_opened_by_the_next_message() -> None:
    full = StoreError("run.started could not be stored: no space is left.", hint="Free some space.")
    sessions = [FakeSession(failure=full), FakeSession(golden("night_shift"))]
    async with open_app(golden("night_shift")) as driven:
        driven.app.spawn = lambda options: sessions.pop(0)
        driven.session.end()
        await driven.until(lambda: "The engine stopped." in driven.text())
        await driven.type("x1")
        await driven.press("enter")
        await driven.until(lambda: "no space is left" in driven.text())
        assert driven.app.prompt.editor.text == "x1"
        assert "engine ended  send a message to open the session again" in driven.text()
        [second] = sessions
        await driven.press("enter")
        await driven.until(lambda: second.submitted)
        [command] = second.submitted
        assert isinstance(command, SubmitPrompt) and command.text == "x1"


async def test_diff_compares_the_content_before_and_after() -> None:
    session = FakeSession(golden("night_shift"))
    async with open_app(session=session) as driven:
        assert driven.app.controller is not None
        for number, one in enumerate(driven.app.controller.views.files.view().files):
            if one.before:
                session.blobs[one.before] = b"same\nold %d\n" % number
            if one.after:
                session.blobs[one.after] = b"same\nnew %d\n" % number
        await driven.type("/diff entry")
        await driven.press("enter")
        await driven.until(lambda: "- old 0" in driven.text().replace("2 -", "-"))
        assert "src/timesheet/entry.py" in driven.text() and "new 0" in driven.text()
        assert isinstance(driven.app.screen, DiffSheet) and "test_report" not in driven.app.screen.plain


async def test_the_totals_of_the_changes_are_those_of_the_lines_that_are_shown() -> None:
    session = FakeSession(golden("night_shift"))
    async with open_app(session=session) as driven:
        assert driven.app.controller is not None
        for number, one in enumerate(driven.app.controller.views.files.view().files):
            if one.before:
                session.blobs[one.before] = b"same\nold\n" if number else b"same\n"
            if one.after:
                session.blobs[one.after] = b"same\nnew\nnewer\n" if number else b"same\n"
        await driven.type("/diff")
        await driven.press("enter")
        while "reading" in driven.text():
            await driven.pilot.pause(0.01)
        sheet = driven.text().split("Changes")[1]
        assert sheet.split("\n")[0].split()[:4] == ["3", "files", "+4", "−2"]
        assert "tests/test_report.py   +2 −1" in sheet
        assert "Only its encoding changed." in sheet


@pytest.mark.parametrize("empty", ["", "\n "])
async def test_copy_takes_the_last_answer_that_says_something(empty: str) -> None:
    session = FakeSession(golden("night_shift"))
    async with open_app(session=session) as driven:
        session.feed(
            TurnStarted(turn=3), delta("r8", "Done."), responded("r8", "Done at last."),
            delta("r9", empty), responded("r9", *([empty] if empty else []), tool_call("c9")),
        )  # fmt: skip
        await driven.settle()
        copied: list[str] = []
        driven.app.copy_text = copied.append  # type: ignore[method-assign]
        driven.app.do("copy")
        await driven.until(lambda: copied or driven.app.notice.display)
        assert copied == ["Done at last."]


async def test_models_lists_the_model_that_answers_first_and_ticked() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/models")
        await driven.press("escape", "enter")
        row = next(row for row in driven.rows() if "›" in row)
        assert "✓ claude-sonnet-4-5" in row


async def test_themes_are_seen_while_choosing_and_esc_gives_the_old_one_back() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/theme")
        await driven.press("escape", "enter")
        before = driven.app.theme
        await driven.press("up")
        assert driven.app.theme != before
        await driven.press("escape")
        assert driven.app.theme == before
        driven.app.prompt.editor.put_text("/theme day")
        await driven.press("escape", "enter")
        assert driven.app.theme == "day" and driven.app.looks.palette.theme.name == "day"


async def test_find_says_which_of_the_matches_is_the_current_one() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/find midnight")
        await driven.press("enter")
        assert '"midnight" 1 of 2' in driven.text()
        await driven.type("/find shfit")
        await driven.press("enter")
        assert 'Nothing matches "shfit".' in driven.text() and 'midnight" ' not in driven.text()


async def test_find_looks_through_the_whole_of_a_long_output_and_opens_it_there() -> None:
    session = FakeSession(golden("night_shift"))
    lines = [f"line {number}" for number in range(900)]
    lines[450] = "line 450 has the Needle"
    session.blobs["b" * 64] = "\n".join(lines).encode()
    kept = BlobText(blob_sha256="b" * 64, size=9_000, preview="line 0\nline 1")
    async with open_app(session=session) as driven:
        done = finished("c9").model_copy(
            update={"display": (TerminalBlock(text="line 899"),), "full_output": kept}
        )
        session.feed(TurnStarted(turn=3), called("c9", "run", "make all"), started("c9"), done)
        await driven.settle()
        await driven.type("/find needle")
        await driven.press("enter")
        while "1 of 1" not in driven.text():
            await driven.pilot.pause(0.01)
        await driven.pilot.pause()
        assert any("line 450 has the Needle" in row for row in driven.rows())
        await driven.type("/find 'needle in no hay'")
        await driven.press("enter")
        while "Nothing matches" not in driven.text():
            await driven.pilot.pause(0.01)
