"""The map of the repository in a running session: with the first message, as a tool, and where nobody wants one."""

import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from anyio import to_thread

from tests.engine.harness import EchoTool, call, running, say
from tests.stubs.legal_history import check_pairs
from tests.stubs.tool_context import text, tools_of
from tui_agent.config.session_options import SessionOptions
from tui_agent.config.settings.layers import load_config
from tui_agent.engine.middleware.repomap import LATE_REASON, RepoMapSection
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.repomap import MapRequest, RenderedMap
from tui_agent.ports.symbols_and_skills import SymbolLocation
from tui_agent.ports.tool import ToolResult
from tui_agent.protocol.commands import SetContextMode, SetRepoMap, SetRepoMapOptions, SubmitPrompt
from tui_agent.protocol.events.context import ContextPacked, RepomapBuilt, RepomapUsed
from tui_agent.protocol.events.session import ErrorRaised
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.settings import ContextMode, RepoMapOptions
from tui_agent.wiring.repomap import SessionMaps, index_folder


@dataclass
class FakeMaps:
    """Gives the same map always, and notes what was asked for."""

    total: int = 20
    fault: EnvironmentFault | None = None
    wishes: list[MapRequest] = field(default_factory=list)
    slow: int = 0
    """So often a map that came late is asked for in vain; 0: it comes at once."""

    async def render(self, wish: MapRequest) -> RenderedMap:
        self.wishes.append(wish)
        if self.fault is not None:
            raise self.fault
        return RenderedMap("a.py\n  1-2 def find()", 8, ("a.py",), self.total, 3, False, 1.5)

    async def render_within(self, wish: MapRequest, seconds: float) -> RenderedMap | None:
        found = await self.render(wish)
        return None if self.slow else found

    def take_late_map(self) -> RenderedMap | None:
        self.slow -= 1
        return None if self.slow else RenderedMap("b.py", 4, ("b.py",), self.total, 3, True, 20_000)

    async def aclose(self) -> None:
        """Nothing to let go of."""


async def test_the_first_message_of_a_session_gets_the_map_and_the_next_does_not(tmp_path: Path) -> None:
    maps = FakeMaps()
    async with running(tmp_path, [say("One."), say("Two.")], middlewares=[RepoMapSection(maps)]) as bench:
        for count, words in enumerate(("Where is find?", "And now?"), start=1):
            bench.submit(SubmitPrompt(text=words))
            await bench.until("turn.finished", count)
        first, second = bench.model.requests
        (asked, shown) = first.messages
        assert isinstance(shown, UserMessage) and shown.origin == "map"
        assert "def find()" in str(shown.content) and "<repo_map>" in str(shown.content)
        assert second.messages[:2] == (asked, shown) and len(second.messages) == 4
        [wish] = maps.wishes
        assert wish == MapRequest("Where is find?", max_tokens=400, brief=True), "4 % of a window of 10,000"
        (built,), (used,) = bench.of(RepomapBuilt), bench.of(RepomapUsed)
        assert isinstance(built, RepomapBuilt) and isinstance(used, RepomapUsed)
        assert (built.files, built.skipped, used.injected, used.files) == (20, 3, True, ("a.py",))
        packed = bench.of(ContextPacked)
        assert all("repo_map" in {one.name for one in manifest.sections} for manifest in packed)


async def test_a_later_map_also_looks_for_the_words_of_the_sessions_title(tmp_path: Path) -> None:
    maps = FakeMaps()
    async with running(tmp_path, [say("One."), say("Two.")], middlewares=[RepoMapSection(maps)]) as bench:
        bench.submit(SetRepoMap(mode="off"))
        bench.submit(SubmitPrompt(text="Fix the second cookie of a name"))
        await bench.until("turn.finished")
        bench.submit(SetRepoMap(mode="auto"))
        bench.submit(SubmitPrompt(text="What is left?"))
        await bench.until("turn.finished", 2)
        assert [wish.query for wish in maps.wishes] == ["What is left?\nFix the second cookie of a name"]


@pytest.mark.parametrize("mode", ["pack", "memory"])
async def test_the_folders_own_map_goes_with_the_first_message_in_both_modes_that_have_one(
    tmp_path: Path, mode: ContextMode
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    for name in ("lock", "store", "clock", "files", "names", "words", "units", "paths"):
        (workspace / f"{name}.py").write_text(f"def acquire_{name}() -> None:\n    pass\n")
    maps = SessionMaps(workspace, tmp_path / "cache")
    try:
        async with running(
            tmp_path, [say("One."), say("Two.")], middlewares=[RepoMapSection(maps, 60)]
        ) as bench:
            bench.submit(SetContextMode(mode=mode))
            for count in (1, 2):
                bench.submit(SubmitPrompt(text="Where is the store acquired?"))
                await bench.until("turn.finished", count)
        first, second = bench.model.requests
        shown = [one for one in first.messages if isinstance(one, UserMessage) and one.origin == "map"]
        text = str(shown[0].content)
        assert (
            len(shown) == 1
            and "def acquire_store()" in text
            and text.index("store.py") < text.index("lock.py")
        )
        assert [one for one in second.messages if one in shown] == shown
        assert len(bench.of(RepomapUsed)) == 1
    finally:
        await maps.aclose()


@pytest.mark.parametrize("way", ["off", "none", "small"])
async def test_nobody_gets_a_map_that_is_not_wanted(tmp_path: Path, way: str) -> None:
    maps = FakeMaps(total=3 if way == "small" else 20)
    async with running(tmp_path, [say("One.")], middlewares=[RepoMapSection(maps)]) as bench:
        if way == "off":
            bench.submit(SetRepoMap(mode="off"))
        if way == "none":
            bench.submit(SetContextMode(mode="none"))
        bench.submit(SubmitPrompt(text="Hello"))
        await bench.until("turn.finished")
        assert len(bench.model.requests[0].messages) == 1
        assert bench.of(RepomapUsed) == [] and bench.of(RepomapBuilt) == []


async def test_a_map_that_takes_long_keeps_no_request_waiting_and_the_next_one_has_it(tmp_path: Path) -> None:
    maps = FakeMaps(slow=2)
    script = [call(("echo", '{"words":"a"}')), say("Two."), say("Three.")]
    async with running(tmp_path, script, [EchoTool()], middlewares=[RepoMapSection(maps)]) as bench:
        for count, words in enumerate(("Where is find?", "And now?"), start=1):
            bench.submit(SubmitPrompt(text=words))
            await bench.until("turn.finished", count)
        first, second, third = bench.model.requests
        assert len(first.messages) == 1 and "b.py" in str(second.messages[-1].content)  # type: ignore[union-attr]
        assert third.messages[: len(second.messages)] == second.messages
        assert not check_pairs(third.messages) and len(maps.wishes) == 1
        packed = bench.of(ContextPacked)
        missing = next(one for one in packed[0].sections if one.name == "repo_map")
        assert (missing.tokens, missing.dropped_blocks, missing.rule) == (0, 1, LATE_REASON)
        for manifest in packed[1:]:
            told = next(one for one in manifest.sections if one.name == "repo_map")
            assert told.tokens > 0 and not told.dropped_blocks
        assert [one.delay_reason for one in bench.of(RepomapBuilt)] == [LATE_REASON, ""]  # type: ignore[attr-defined]


async def test_a_map_that_is_not_there_when_a_turn_ends_comes_with_the_next(tmp_path: Path) -> None:
    maps = FakeMaps(slow=1)
    async with running(tmp_path, [say("One."), say("Two.")], middlewares=[RepoMapSection(maps)]) as bench:
        for count, words in enumerate(("Where is find?", "And now?"), start=1):
            bench.submit(SubmitPrompt(text=words))
            await bench.until("turn.finished", count)
        assert "b.py" in str(bench.model.requests[1].messages)
        [wish] = maps.wishes
        assert wish == MapRequest("Where is find?", max_tokens=400, brief=True), "4 % of a window of 10,000"


async def test_a_method_is_found_in_its_own_class_only(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for name in ("Cart", "Basket"):
        (tmp_path / "work" / f"{name.lower()}.py").write_text(
            f"class {name}:\n    def total(self):\n        pass\n"
        )
    maps = SessionMaps(tmp_path / "work", tmp_path / "cache")
    try:
        await maps.render(MapRequest(query="total", refresh=True))
        assert await maps.find_definitions("Cart.total") == [SymbolLocation("Cart.total", "cart.py", 2, 3)]
        assert await maps.find_definitions("shop.Order.total") == []
        assert len(await maps.find_definitions("total") or []) == 2
    finally:
        await maps.aclose()


async def test_all_definitions_of_exactly_a_name_are_found_whatever_longer_names_their_files_have(
    tmp_path: Path,
) -> None:
    (tmp_path / "work" / "lib").mkdir(parents=True)
    longer = "".join(
        f"int get_array_item_{word}(int array, int item)\n{{\n    return get_array_item(array, item);\n}}\n"
        for word in ("first", "last", "next", "any", "array", "item")
    )
    exact = (
        "static int get_array_item(int one, int two)\n{\n" + "    one += two;\n" * 40 + "    return one;\n}\n"
    )
    for path in ("array.c", "item.c", "lib/get.c"):
        (tmp_path / "work" / path).write_text(
            f"static int get_array_item(int one, int two);\n{longer}{exact}"
        )
    maps = SessionMaps(tmp_path / "work", tmp_path / "cache")
    try:
        rendered = await maps.render(MapRequest(query="Where is get_array_item used?", refresh=True))
        assert rendered.text.count("\n  26-69 static int get_array_item(int one") == 3
        places = await maps.find_definitions("get_array_item")
        assert places is not None
        assert {place.path for place in places[:3]} == {"array.c", "item.c", "lib/get.c"}
        assert [(place.line, place.last_line) for place in places] == [(26, 69)] * 3 + [(1, 1)] * 3
    finally:
        await maps.aclose()


async def test_while_the_index_is_being_built_a_name_is_found_with_its_overloads_and_its_body(
    tmp_path: Path,
) -> None:
    (tmp_path / "work").mkdir()
    stub = "@overload\ndef lines(size: {}) -> str: ...\n"
    text = stub.format("int") + stub.format("None") + "def lines(size):\n    return str(size)\n"
    (tmp_path / "work" / "models.py").write_text(text)
    for number in range(4):
        (tmp_path / "work" / f"large{number}.py").write_text("# nothing here\n" * 30_000)
    maps = SessionMaps(tmp_path / "work", tmp_path / "cache")
    try:
        places = await maps.find_definitions("lines")
        assert places is not None
        assert [(place.line, place.last_line) for place in places] == [(2, 2), (4, 4), (5, 6)]
    finally:
        await maps.aclose()


async def test_a_map_of_a_slow_folder_is_given_once_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for number in range(10):
        (tmp_path / "work" / f"a{number}.py").write_text("def find():\n    pass\n")
    maps = SessionMaps(tmp_path / "work", tmp_path / "cache")
    try:
        await to_thread.run_sync(maps._render_late, MapRequest(query="find"))  # nobody waits for it any more
        found = maps.take_late_map()
        assert found is not None and found.total == 10 and maps.take_late_map() is None
        again = await maps.render_within(MapRequest(query="find"), 60)
        assert again is not None and maps.take_late_map() is None
    finally:
        await maps.aclose()


async def test_a_folder_that_cannot_be_mapped_is_told_and_the_turn_goes_on(tmp_path: Path) -> None:
    maps = FakeMaps(fault=EnvironmentFault("The folder cannot be mapped."))
    async with running(tmp_path, [say("One.")], middlewares=[RepoMapSection(maps)]) as bench:
        bench.submit(SubmitPrompt(text="Hello"))
        await bench.until("turn.finished")
        (error,) = bench.of(ErrorRaised)
        assert error.where == "repo_map"
        assert len(bench.model.requests) == 1


async def test_what_the_user_chose_of_the_map_is_a_setting_of_the_session(tmp_path: Path) -> None:
    maps = FakeMaps()
    choice = RepoMapOptions(pinned=("b.py",), hidden=("c.py",), max_tokens=300)
    async with running(tmp_path, [say("One.")], middlewares=[RepoMapSection(maps)]) as bench:
        bench.submit(SetRepoMapOptions(options=choice))
        bench.submit(SubmitPrompt(text="Hello"))
        await bench.until("turn.finished")
        (wish,) = maps.wishes
        assert (wish.pinned, wish.hidden, wish.max_tokens) == (("b.py",), ("c.py",), 300)
        settings = bench.recorder.state.settings
        assert settings is not None and settings.map_options == choice


async def test_the_tool_maps_the_workspace_without_its_secrets(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "lock.py").write_text("class WriterLock:\n    def acquire(self):\n        pass\n")
    (workspace / "other.py").write_text("def unrelated():\n    pass\n")
    (workspace / ".env").write_text("WRITER_LOCK=canary\n")
    maps = SessionMaps(workspace, tmp_path / "cache")
    asked = json.dumps({"query": "where is the writer lock taken", "refresh": True})
    script = [call(("repo_map", asked)), say("Done.")]
    tools = list(tools_of("repomap").values())
    try:
        async with running(tmp_path, script, tools, repomap=maps) as bench:
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished")
            (end,) = bench.of(ToolFinished)
            assert end.status == "ok", end
            shown = text(ToolResult(ok=True, content=end.content))
            assert shown.index("lock.py") < shown.index("other.py")
            assert "class WriterLock" in shown and ".env" not in shown
            (used,) = bench.of(RepomapUsed)
            assert not used.injected and used.files[0] == "lock.py"
            (built,) = bench.of(RepomapBuilt)
            assert (built.files, built.partial) == (2, False)
    finally:
        await maps.aclose()


async def test_a_refresh_by_the_tool_is_told_and_the_map_that_is_late_stays_so(tmp_path: Path) -> None:
    maps = FakeMaps(slow=9)
    asked = [call(("repo_map", json.dumps({"refresh": wanted}))) for wanted in (False, True)]
    tools = list(tools_of("repomap").values())
    script = [*asked, say("Done.")]
    async with running(tmp_path, script, tools, middlewares=[RepoMapSection(maps)], repomap=maps) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert [one.delay_reason for one in bench.of(RepomapBuilt)] == [LATE_REASON, ""]  # type: ignore[attr-defined]
        manifest = bench.of(ContextPacked)[-1]
        assert [one.rule for one in manifest.sections if one.name == "repo_map"] == [LATE_REASON]


def test_the_index_lies_beside_sessions_that_have_a_place_of_their_own(tmp_path: Path) -> None:
    config = load_config(SessionOptions(cwd=tmp_path), {"HOME": str(tmp_path)})
    own = SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")
    assert index_folder(own, config) == tmp_path / "data" / "repomap"
    assert index_folder(SessionOptions(cwd=tmp_path), config) == config.paths.repo_maps
