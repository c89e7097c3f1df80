"""Watching the folders of plugins, also one that is created while the session runs."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest

from tui_agent.plugin_host import plugin_watch


async def test_a_folder_that_is_created_later_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_watch, "POLL_S", 0.01)
    events = [anyio.Event(), anyio.Event()]
    count = 0

    def changed() -> None:
        events[0 if not count else 1].set()

    plugins = tmp_path / "plugins"
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(plugin_watch.watch_plugins, [plugins], changed)
            await anyio.wait_all_tasks_blocked()
            plugins.mkdir()
            await events[0].wait()
            while not events[1].is_set():  # the watch begins soon after the folder was found
                count += 1
                (plugins / "lines.py").write_text(f"# {count}")
                await anyio.sleep(0.1)
            group.cancel_scope.cancel()


async def test_the_thread_that_waits_for_changes_ends_with_its_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = anyio.Event()

    async def wait(*folders: Path, debounce: int, stop_event: anyio.Event) -> AsyncIterator[None]:
        begun.set()
        with anyio.CancelScope(shield=True):  # as a thread that nothing can cancel
            await stop_event.wait()
        return
        yield

    monkeypatch.setattr("watchfiles.awatch", wait)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(plugin_watch.watch_plugins, [tmp_path], lambda: None)
            await begun.wait()
            group.cancel_scope.cancel()
