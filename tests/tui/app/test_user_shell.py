"""The user's own command (`!`) while it runs: seen, counted, stopped by Esc, with messages that wait for its end."""

from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.protocol.commands import Interrupt, RunUserShell, Steer
from tui_agent.protocol.events.turn import UserShellFinished, UserShellProgress, UserShellStarted
from tui_agent.protocol.frozen_model import Payload


async def _feed(driven: Driven, *payloads: Payload) -> None:
    driven.session.feed(*payloads)
    await driven.settle()


async def test_the_key_bar_says_that_enter_runs_a_shell_line() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("!ls")
        assert "Enter run" in driven.rows()[-1]
        await driven.press("backspace", "backspace", "backspace")
        assert "Enter send" in driven.rows()[-1]


async def test_a_running_command_shows_its_row_its_output_and_the_status_and_esc_stops_it() -> None:
    async with open_app(golden("night_shift")) as driven:
        await _feed(
            driven,
            UserShellStarted(command="make all"),
            UserShellProgress(text="one.o\n"),
            UserShellProgress(text="two.o\n"),
        )
        text = driven.text()
        assert "you ran" in text and "make all" in text and "one.o" in text and "two.o" in text
        assert driven.app.status.view.mood == "running"
        await driven.type("and then")
        assert "waits for your command" in driven.text()
        await driven.press("enter")
        await driven.press("escape")
        sent = driven.session.submitted
        assert isinstance(sent[0], Steer) and isinstance(sent[-1], Interrupt)


async def test_a_search_shows_as_it_was_typed_and_not_as_the_command_that_searches() -> None:
    async with open_app(golden("night_shift")) as driven:
        await driven.type("/sea")
        assert "search for text in the files" in driven.text()
        driven.app.prompt.editor.put_text("/search opening hours")
        await driven.press("enter")
        [sent] = driven.session.submitted
        assert isinstance(sent, RunUserShell) and "git grep" in sent.command
        await _feed(driven, UserShellStarted(command=sent.command, typed=sent.typed))
        assert "you ran" in driven.text() and "/search opening hours" in driven.text()
        output = "shop.py:3:opening hours"
        end = UserShellFinished(command=sent.command, output=output, exit_code=0, duration_ms=9)
        await _feed(driven, end)
        assert "git grep" not in driven.text() and output in driven.text()


async def test_the_row_says_how_a_stopped_command_ended_and_keeps_what_it_printed() -> None:
    async with open_app(golden("night_shift")) as driven:
        await _feed(
            driven,
            UserShellStarted(command="make all"),
            UserShellProgress(text="one.o\n"),
            UserShellFinished(
                command="make all", output="one.o\n", exit_code=None, duration_ms=4_000, end="interrupted"
            ),
        )
        text = driven.text()
        assert text.count("make all") == 1
        assert "stopped after 4.0 s" in text and "one.o" in text
        assert driven.app.status.view.mood != "running"


async def test_the_engine_learns_how_wide_output_is_shown_also_after_a_resize() -> None:
    async with open_app(golden("night_shift"), size=(120, 40)) as driven:
        assert driven.app.shape.main == 82
        await driven.type("!ls")
        await driven.press("enter")
        assert driven.session.output_columns == 74
        await _feed(driven, UserShellStarted(command="ls"), UserShellProgress(text="=" * 74 + "\n"))
        assert "│ " + "=" * 74 in driven.text()
        await driven.pilot.resize_terminal(80, 24)
        await driven.until(lambda: driven.session.output_columns == 72)
