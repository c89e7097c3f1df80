"""`/compact`: the command, the row that tells of it, and the list of what was put away."""

import asyncio
import re

import pytest
from textual.strip import Strip

from tests.stubs.fake_session import FakeSession
from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.folds.session.state_view import COMPACTING_REASON
from tui_agent.protocol.commands import Compact, PinContext, RestoreContext
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.agent import AgentStateChanged
from tui_agent.protocol.events.context import ContextCompacted, ContextPinned, ContextStuck
from tui_agent.protocol.events.model import ModelRequested, ModelResponded
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived, UserQueued
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.parts import Usage
from tui_agent.protocol.settings import AgentState, ModelInfo
from tui_agent.tui.commands.compaction import READING
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.screens.compacted_items import EMPTY, IN_CONTEXT
from tui_agent.tui.screens.map.screen import MapScreen


def story() -> FakeSession:
    """Golden talk, all of which a summary stands for."""
    records = golden("night_shift")
    session = FakeSession(list[Record](records))
    session.feed(
        ContextCompacted(
            through_seq=records[-1].seq,
            summary="# What came before\nThe duration was parsed anew.",
            removed_seqs=(),
            turns=2,
            before_tokens=42_000,
            after_tokens=1_200,
            trigger="user",
        ),
        after=3.0,
    )
    return session


async def listed(driven: Driven) -> Picker:
    await driven.type("/compact list")
    await driven.press("enter")
    await driven.until(lambda: isinstance(driven.app.screen, Picker))
    screen = driven.app.screen
    assert isinstance(screen, Picker)
    await driven.until(lambda: READING not in driven.text())
    return screen


async def chosen(driven: Driven, words: str) -> None:
    """Filter, and take what is left."""
    await driven.type(words)
    await driven.press("enter")


def task(session: FakeSession) -> Envelope:
    first = (
        one
        for one in session.records
        if isinstance(one, Envelope) and isinstance(one.payload, UserMessageReceived)
    )
    return next(first)


async def test_the_command_carries_its_focus() -> None:
    async with open_app(session=story()) as driven:
        await driven.type("/compact the parser")
        await driven.press("enter")
        assert isinstance(driven.session.submitted[-1], Compact)
        assert driven.session.submitted[-1].focus == "the parser"


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("window", "output", "says"),
    [
        (200_000, 8_000, "summarised at 170k"),
        (20_000, 5_000, "summarised at 15k"),
        (0, 0, "or if the server refuses"),
    ],
)
async def test_the_context_says_from_where_on_it_comes_by_itself(window: int, output: int, says: str) -> None:
    session = FakeSession(list[Record](golden("night_shift")))
    model = ModelInfo(profile="m", provider="p", model="m", window=window, max_output=output)
    session.feed(SettingsChanged(key="model", value=model.model_dump(mode="json"), previous=None), after=1.0)
    async with open_app(session=session) as driven:
        await driven.type("/context")
        await driven.press("enter")
        assert says in " ".join(driven.text().replace("▌", " ").split())


@pytest.mark.slow_variants
@pytest.mark.parametrize(("window", "output", "tick"), [(200_000, 8_000, "85"), (20_000, 6_000, "70")])
async def test_the_meters_tick_stands_where_compaction_comes(window: int, output: int, tick: str) -> None:
    session = FakeSession(list[Record](golden("night_shift")))
    model = ModelInfo(profile="m", provider="p", model="m", window=window, max_output=output)
    session.feed(SettingsChanged(key="model", value=model.model_dump(mode="json"), previous=None), after=1.0)
    async with open_app(session=session, size=(160, 50)) as driven:
        assert re.search(rf" 32 +40 +{tick}\b", driven.text())
        await driven.type("/context")
        await driven.press("enter")
        assert f"{tick} compaction" in driven.text()


@pytest.mark.slow_variants
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
@pytest.mark.parametrize("in_turn", [False, True])
async def test_the_activity_line_says_that_it_summarises(size: tuple[int, int], in_turn: bool) -> None:
    session = FakeSession(list[Record](golden("night_shift")))
    async with open_app(session=session, size=size) as driven:
        if in_turn:
            session.feed(TurnStarted(turn=9), after=1.0)
        session.feed(AgentStateChanged(state=AgentState.RUNNING, reason=COMPACTING_REASON), after=1.0)
        await driven.settle()
        assert "summarising old turns" in " ".join(driven.text().split())
        assert driven.app.status.view.mood == "running"
        assert ("steer now" in driven.text()) is in_turn
        assert "queue for after" in driven.text()
        session.feed(*(UserQueued(queue_id=RequestId(f"q{at}"), text="and then") for at in (1, 2)), after=1.0)
        await driven.settle()
        assert ("after this turn" if in_turn else "after the summary") in driven.text()
        await driven.type("hello")
        assert ("steers this turn" in driven.text()) is in_turn
        assert ("waits for the summary" in driven.text()) is not in_turn
        after = AgentState.RUNNING if in_turn else AgentState.IDLE
        session.feed(AgentStateChanged(state=after), after=1.0)
        await driven.settle()
        assert "summarising" not in driven.app.status.view.word


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_its_row_says_how_much_it_saved(size: tuple[int, int]) -> None:
    async with open_app(session=story(), size=size) as driven:
        shown = " ".join(driven.text().split())
        assert "2 turns summarised: the context went from 42.0k to 1.2k tokens" in shown


@pytest.mark.slow
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_what_a_summary_stands_for_is_listed_by_turn_and_the_summary_can_be_taken_back(
    size: tuple[int, int],
) -> None:
    async with open_app(session=story(), size=size) as driven:
        picker = await listed(driven)
        assert "undo the newest summary and restore" in driven.text() and "Turn 1" in driven.text()
        assert len(picker.items) > 5
        rows = driven.rows()
        [first] = [at for at, row in enumerate(rows) if "▌  Turn 1" in row]
        assert not rows[first - 1].split("▌")[1][: size[0] // 2].strip(" ▐")
        assert any(item.label == "read_file" and ".py  " in item.about for item in picker.items)
        await driven.press("enter", "enter")
        assert not driven.session.submitted  # an Enter too many takes no summary back
        await listed(driven)
        await driven.press("enter")
        await driven.type("undo")
        assert "Keep it" in driven.text(), "no filter hides the safe row"
        await driven.press("down", "enter")
        [command] = driven.session.submitted
        assert isinstance(command, RestoreContext) and command.compaction == driven.session.records[-1].seq


async def test_one_message_is_brought_back_or_pinned() -> None:
    async with open_app(session=story()) as driven:
        seq = task(driven.session).seq
        for deed, wanted in (
            ("Restore", RestoreContext(seqs=(seq,))),
            ("pin", PinContext(seqs=(seq,))),
        ):
            await listed(driven)
            await driven.press("down", "enter")
            await driven.until(lambda: "Show the full text" in driven.text())
            await chosen(driven, deed)
            command = driven.session.submitted[-1]
            assert command.model_copy(update={"id": wanted.id}) == wanted
        driven.session.feed(ContextPinned(seqs=(seq,)))
        await driven.settle()
        assert "1 message is pinned: later summaries keep it word for word." in driven.text()
        await listed(driven)
        assert "pinned" in driven.text()
        await driven.press("escape")
        driven.session.feed(ContextPinned(seqs=(seq, seq + 1), pinned=False))
        await driven.settle()
        assert "2 messages are no longer pinned: later summaries may leave them out." in driven.text()


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_call_and_its_result_are_one_row_and_what_an_agent_says_names_its_calls(
    size: tuple[int, int],
) -> None:
    async with open_app(session=story(), size=size) as driven:
        picker = await listed(driven)
        listed_rows = [(item.label, item.about) for item in picker.items]
        for label, path in (
            ("read_file", "src/timesheet/report.py"),
            ("edit_file", "src/timesheet/entry.py"),
        ):
            assert any(about.startswith(f"{path}  ") for name, about in listed_rows if name == label), (
                listed_rows
            )
        agents = [about for label, about in listed_rows if label == "agent"]
        assert any("edit src/timesheet/entry.py" in about for about in agents), agents
        assert not any("{" in about or "_file" in about for about in agents)
        assert "{" not in driven.text()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_list_is_filtered_by_a_path_a_turn_or_what_became_of_a_message(
    size: tuple[int, int],
) -> None:
    async with open_app(session=story(), size=size) as driven:
        driven.session.feed(ContextPinned(seqs=(task(driven.session).seq,)))
        await driven.settle()
        picker = await listed(driven)
        for typed, labels in (
            ("timesheet/cli.py", {"read_file"}),
            ("pinned", {"you"}),
            ("week's lines", {"agent"}),
            ("newest summary", {"undo"}),
        ):
            await driven.type(typed)
            assert {item.label for item in picker.matches} == labels, typed
            await driven.press("escape")
        await driven.type("turn 1")
        assert {item.group for item in picker.matches} == {"Turn 1"}


async def test_home_and_end_go_to_the_ends_of_a_list_until_something_is_typed() -> None:
    async with open_app(session=story()) as driven:
        picker = await listed(driven)
        await driven.press("end")
        assert picker.chosen == picker.count - 1 > 1
        await driven.press("home")
        assert picker.chosen == 0
        await driven.type("urn 1")
        await driven.press("home", "t", "end", "x")
        assert picker.field.text == "turn 1x"


@pytest.mark.slow
async def test_the_list_opens_before_a_long_session_is_read() -> None:
    async with open_app(golden("night_shift")) as driven:
        controller = driven.app.controller
        assert controller is not None
        gate, read = asyncio.Event(), controller.reader.events_between

        async def held(first: int, last: int, most: int) -> list[Record]:
            await gate.wait()
            return await read(first, last, most)

        controller.reader.events_between = held  # type: ignore[method-assign]
        await driven.type("/compact list")
        await driven.press("enter")
        await driven.until(lambda: READING in driven.text())
        await driven.press("enter", "escape")
        assert not isinstance(driven.app.screen, Picker)
        gate.set()
        await driven.pilot.pause()
        await listed(driven)
        assert IN_CONTEXT in driven.text()


async def test_what_is_in_the_context_can_be_pinned_before_it_goes() -> None:
    async with open_app(golden("night_shift")) as driven:
        picker = await listed(driven)
        assert {item.group for item in picker.items} == {IN_CONTEXT}
        assert {"you", "agent", "read_file"} <= {item.label for item in picker.items}
        await chosen(driven, "How is the weekly report")
        await driven.until(lambda: "you, turn 1" in driven.text())
        assert "Restore it" not in driven.text()
        await chosen(driven, "Pin it")
        [pin] = driven.session.submitted
        assert isinstance(pin, PinContext) and pin.pinned and len(pin.seqs) == 1


@pytest.mark.slow
async def test_a_key_draws_two_rows_of_a_long_list_and_not_all() -> None:
    async with open_app(golden("night_shift")) as driven:
        items = [Item(str(at), f"file {at}") for at in range(500)]
        picker = Picker("Files", items)
        driven.app.push_screen(picker)
        await driven.until(lambda: "file 3" in driven.text())
        drawn: list[int] = []
        draw = picker._item_rows

        def counted(cells: int, at: int, item: Item, labels: int) -> list[Strip]:
            drawn.append(at)
            return draw(cells, at, item, labels)

        picker._item_rows = counted  # type: ignore[method-assign]
        await driven.press("down")
        assert set(drawn) == {0, 1}
        driven.app.do("theme", "day")
        drawn.clear()
        await driven.press("down")
        assert len(set(drawn)) == 500


async def test_an_empty_list_says_why_in_whole_words_on_a_narrow_screen() -> None:
    async with open_app(golden("night_shift"), size=(60, 20)) as driven:
        driven.app.push_screen(Picker("Nothing", [], empty=EMPTY))
        await driven.until(lambda: "Nothing yet" in driven.text())
        rows = driven.rows()
        at = next(at for at, row in enumerate(rows) if "Nothing yet: all messages are in" in row)
        assert "context." in rows[at] + rows[at + 1] and "…" not in rows[at]


async def test_nothing_put_away_is_said_and_no_way_on_is_a_warning() -> None:
    async with open_app(golden("night_shift")) as driven:
        picker = await listed(driven)
        assert {item.group for item in picker.items} == {IN_CONTEXT}
        await driven.press("escape")
        driven.session.feed(ContextStuck(message="The summary freed only 3 % of the context.", hint="/new"))
        await driven.settle()
        assert "freed only 3 % of" in driven.text()


async def test_a_summary_at_your_wish_has_its_row_in_the_cost_and_stands_beside_the_turns_in_the_trace() -> (
    None
):
    session = story()
    request, usage = RequestId("req_summary"), Usage(input_tokens=9_000, output_tokens=300)
    model = ModelInfo(profile="m", provider="p", model="m")
    session.feed(
        AgentStateChanged(state=AgentState.RUNNING, reason=COMPACTING_REASON),
        ModelRequested(
            request_id=request,
            iteration=9,
            local_iteration=9,
            model=model,
            tools=(),
            messages=1,
            max_tokens=900,
            purpose="compaction",
        ),
        ModelResponded(
            request_id=request,
            first_part=40,
            parts=(),
            finish="stop",
            usage=usage,
            cost_usd=0.5,
            duration_ms=4_000.0,
        ),
        AgentStateChanged(state=AgentState.IDLE),
    )
    async with open_app(session=session) as driven:
        [row] = [row for row in driven.rows() if "✓ model, 300 out" in row]
        assert row.index("✓") == next(row for row in driven.rows() if "▸ turn 1" in row).index("▸")
        assert "$0.500" in row
        await driven.type("/cost")
        await driven.press("enter")
        [row] = [row for row in driven.rows() if "summaries" in row and "$" in row]
        assert row.split("summaries")[1].split()[:4] == ["$0.500", "9.0k", "300", "9.0k"]
        assert "last turn" in driven.text() and "this turn" not in driven.text()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_the_context_names_the_ways_on_and_the_way_out_and_all_of_them_work(
    size: tuple[int, int],
) -> None:
    async with open_app(golden("night_shift"), size=size) as driven:
        await driven.type("half a thought")
        for key, wanted in (("l", Picker), ("m", MapScreen), ("escape", None), ("s", None)):
            await driven.press("f4")
            assert "Esc close" in driven.text() and "S summarise" in driven.text()
            assert "21 %  below soft limit" in driven.text() or size[0] == 60
            await driven.press(key)
            if wanted is not None:
                await driven.until(lambda wanted=wanted: isinstance(driven.app.screen, wanted))
                await driven.press("escape")
            assert driven.app.prompt.editor.text == "half a thought"
        assert isinstance(driven.session.submitted[-1], Compact)
