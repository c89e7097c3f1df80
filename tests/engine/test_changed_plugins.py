"""Changed plugins replace the old ones as a whole, between two iterations and never within one."""

from pathlib import Path

import anyio

from tests.engine.harness import Bench, EchoTool, HeldTool, call, running, say
from tui_agent.engine.components import ChangedExtensions, Extensions
from tui_agent.engine.tools.registry import ToolRegistry
from tui_agent.engine.turns.engine_agents import ModelAgent
from tui_agent.ports.model import FinishChunk, TextChunk
from tui_agent.protocol.commands import ReloadPlugins, SubmitPrompt
from tui_agent.protocol.display_blocks import TextBlock
from tui_agent.protocol.events.plugin import PluginFailed, PluginLoaded, PluginUnloaded
from tui_agent.protocol.events.slash_command import CommandRan, CommandsOffered
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.frozen_model import Payload

LOADED = PluginLoaded(plugin="mine", version="2", source="user", contributions=("tool:second",))


def changed(bench: Bench, *tools: EchoTool) -> ChangedExtensions:
    registry = ToolRegistry()
    for tool in tools:
        registry.add("mine", tool)
    return ChangedExtensions(
        Extensions(registry, agents={"default": ModelAgent}, listeners=bench.recorder.listeners), (LOADED,)
    )


async def test_between_turns_the_change_is_used_at_once(tmp_path: Path) -> None:
    second = EchoTool("second")
    answers = [say("One."), call(("second", "{}")), say("Two.")]
    async with running(
        tmp_path, answers, [EchoTool()], load_changed=lambda _: changed(bench, second)
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        bench.submit(ReloadPlugins())
        await bench.until("plugin.loaded")
        bench.submit(SubmitPrompt(text="again"))
        await bench.until("turn.finished", 2)
        offered = [[tool.name for tool in request.tools] for request in bench.model.requests]
    assert offered == [["echo"], ["second"], ["second"]] and second.ran == [""]


async def test_a_call_that_runs_ends_with_the_old_tool_and_the_next_request_has_the_new_ones(
    tmp_path: Path,
) -> None:
    tool = HeldTool()
    old = tool
    new, second = EchoTool(), EchoTool("second")
    answers = [
        call(("echo", '{"words": "old"}')),
        call(("echo", '{"words": "new"}'), ("second", "{}")),
        say("Done."),
    ]

    def load(_: bool) -> ChangedExtensions:
        return changed(bench, new, second)

    async with running(tmp_path, answers, [old], load_changed=load) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await tool.started.wait()
        bench.submit(ReloadPlugins())
        ran = await bench.until_payload(CommandRan)
        assert "plugin.loaded" not in bench.kinds()
        tool.go.set()
        await bench.until("turn.finished")
        offered = [[tool.name for tool in request.tools] for request in bench.model.requests]
    assert offered == [["echo"], ["echo", "second"], ["echo", "second"]]
    assert (old.ran, new.ran, second.ran) == (["old"], ["new"], [""])
    kinds = bench.kinds()
    assert (
        kinds.index("tool.finished")
        < kinds.index("plugin.loaded")
        < len(kinds) - kinds[::-1].index("iteration.started")
    )
    assert all(isinstance(end, ToolFinished) and end.status == "ok" for end in bench.results())
    used_later = "Changed: mine. In the running turn, the change takes effect at the next iteration."
    assert ran.display == (TextBlock(text=used_later),)


async def test_plugins_saved_while_the_last_answer_is_written_are_used_once_the_turn_has_ended(
    tmp_path: Path,
) -> None:
    asked, saved = anyio.Event(), anyio.Event()
    failed = PluginFailed(plugin="mine", message="line 1: '(' was never closed")

    def load(_: bool) -> ChangedExtensions:
        return ChangedExtensions(changed(bench, EchoTool("second")).extensions, (failed,))

    async def hold() -> None:
        asked.set()
        await saved.wait()

    answers = [[TextChunk("One."), hold, FinishChunk("stop")], say("Two.")]
    async with running(tmp_path, answers, [EchoTool()], load_changed=load) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await asked.wait()
        bench.submit(ReloadPlugins(automatic=True))
        bench.submit(ReloadPlugins(automatic=True))
        await anyio.wait_all_tasks_blocked()
        assert "plugin.failed" not in bench.kinds()
        saved.set()
        await bench.until("plugin.failed")
        kinds = bench.kinds()
        assert kinds.index("turn.finished") < kinds.index("plugin.failed")
        bench.submit(SubmitPrompt(text="again"))
        await bench.until("turn.finished", 2)
        offered = [[tool.name for tool in request.tools] for request in bench.model.requests]
    assert offered == [["echo"], ["second"]] and bench.kinds().count("plugin.failed") == 1


async def test_a_call_of_a_tool_that_was_unloaded_is_answered_not_run(tmp_path: Path) -> None:
    answers = [say("One."), call(("echo", "{}")), say("I see.")]
    async with running(tmp_path, answers, [EchoTool()], load_changed=lambda _: changed(bench)) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        bench.submit(ReloadPlugins())
        await bench.until("plugin.loaded")
        bench.submit(SubmitPrompt(text="again"))
        await bench.until("turn.finished", 2)
    (end,) = bench.results()
    assert end.status == "invalid" and "There is no tool 'echo'" in str(end.content)


async def test_a_reload_by_the_user_says_what_changed_once_it_is_used(tmp_path: Path) -> None:
    broken = PluginFailed(plugin="broken", message="It failed.")
    gone, offered = PluginUnloaded(plugin="old"), CommandsOffered(owner="mine", items=())
    loads: list[tuple[Payload, ...]] = [(), (LOADED, gone, broken, offered), (offered,)]

    def load(_: bool) -> ChangedExtensions | None:
        events = loads.pop(0)
        return ChangedExtensions(changed(bench).extensions, events) if events else None

    async with running(tmp_path, [], load_changed=load) as bench:
        for number, command in enumerate(
            (ReloadPlugins(), SubmitPrompt(text="/reload"), SubmitPrompt(text=" /reload ")), 1
        ):
            bench.submit(command)
            await bench.until("command.ran", number)
        news = [kind for kind in bench.kinds() if kind.startswith(("plugin.", "commands.", "command."))]
    assert news == [
        "command.ran",
        *("plugin.loaded", "plugin.unloaded", "plugin.failed", "commands.offered", "command.ran"),
        *("commands.offered", "command.ran"),
    ]
    assert [ran.display for ran in bench.of(CommandRan)] == [
        (TextBlock(text="No plugin has changed."),),
        (TextBlock(text="Changed: mine, old. Failed: broken."),),
        (TextBlock(text="Changed: slash commands."),),
    ]
