"""Whatever name a file tool is given, nothing outside the workspace is read or written."""

import hashlib
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.stubs.path_tricks import CANARY, TRICKS, Ground
from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.errors import EnvironmentFault, ToolError
from tui_agent.folds.session.state_view import ReadFile
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.nofollow_open import OpenFolder, has_openat2, open_folder_by_folder

WAYS = [
    pytest.param(open_folder_by_folder, id="folder by folder"),
    *([pytest.param(None, id="at once")] if has_openat2() else []),
]
PARTS = 8
"""Of the tricks, each a test: one of its own for each trick cost more than the trick."""
SECRET = hashlib.sha256(f"{CANARY}\n".encode()).hexdigest()
CALLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("read_file", {}),
    ("write_file", {"content": "x"}),
    ("write_file", {"content": "x", "overwrite": True}),
    ("edit_file", {"old_text": CANARY, "new_text": "x"}),
    ("list_directory", {}),
    ("glob", {"pattern": "**"}),
    ("grep", {"pattern": "canary|root:x"}),
)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    made = Ground(tmp_path_factory.mktemp("ground"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def tools() -> dict[str, object]:
    return {**tools_of("files"), **tools_of("search")}


@pytest.fixture(params=WAYS)
async def bench(
    request: pytest.FixtureRequest, ground: Ground, tools: dict[str, object]
) -> AsyncIterator[Bench]:
    way: OpenFolder | None = request.param
    env = LocalEnvironment(ground.root, open_folder=way, grace=0.2)
    yield Bench(ground.root, tools, inner=env)
    await env.aclose()


def test_there_are_enough_tricks() -> None:
    assert len(TRICKS) >= 200


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
async def test_no_tool_comes_out(bench: Bench, ground: Ground, part: int) -> None:
    outside = {
        trick: await came_out(bench, ground, TRICKS[trick](ground)) for trick in sorted(TRICKS)[part::PARTS]
    }
    assert {trick: told for trick, told in outside.items() if told} == {}


async def came_out(bench: Bench, ground: Ground, path: str) -> list[str]:
    """What the tools told or changed of the outside, given this name; nothing where all is well."""
    said = [(name, await answer(bench, name, path, arguments)) for name, arguments in CALLS]
    said += [(name, await shown(bench, name, path, arguments)) for name, arguments in CALLS[1:4]]
    found = [f"{name} of {path!r}: {words}" for name, words in said if ground.told(words.replace(path, ""))]
    try:
        await bench.env.remove(path, SECRET)
    except EnvironmentFault:
        pass
    else:
        found.append(f"{path!r} was removed")
    return [*found, f"{path!r}: the outside changed"] if ground.changed() else found


async def answer(bench: Bench, name: str, path: str, arguments: dict[str, object]) -> str:
    """All that a call tells, whether it is done or refused. That a file was read before is taken as given."""
    if name == "edit_file":
        bench.state = replace(bench.state, read_files={path: ReadFile(SECRET, True)})
    before = set(os.listdir(bench.folder))  # noqa: PTH208 - 23,000 times over; a path each would take half of the time
    try:
        result = await bench.run(name, path=path, **arguments)
    except (ToolError, EnvironmentFault) as refused:
        return str(refused)
    finally:
        for made in set(os.listdir(bench.folder)) - before:  # noqa: PTH208
            _remove(bench.folder / made)
    return f"{text(result)}\n{result.display}\n{result.data}"


async def shown(bench: Bench, name: str, path: str, arguments: dict[str, object]) -> str:
    """All that the preview of a call shows."""
    try:
        preview = await bench.preview(name, path=path, **arguments)
    except (ToolError, EnvironmentFault) as refused:
        return str(refused)
    return f"{preview.blocks}"


def _remove(made: Path) -> None:
    if made.is_dir() and not made.is_symlink():
        for below in made.iterdir():
            _remove(below)
        made.rmdir()
    else:
        made.unlink()
