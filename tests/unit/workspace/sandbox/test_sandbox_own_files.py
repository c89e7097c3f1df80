"""What commands of a sandbox made in their /tmp is told apart from what is there outside, and stays so while they run."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio import Path as AsyncPath

from tests.stubs.sandboxed import World, elsewhere, require_sandbox
from tui_agent.ports.environment import ExecSpec
from tui_agent.workspace.sandbox.mounts import first_private_name, is_own


@pytest.fixture
def name() -> Iterator[Path]:
    """A name in the machine's /tmp that is not there."""
    path = Path(f"/tmp/tui-agent-test-{uuid.uuid4().hex}")
    yield path
    path.unlink(missing_ok=True)


def test_a_path_is_theirs_while_nothing_is_at_its_first_name(name: Path, tmp_path: Path) -> None:
    assert is_own(str(name), None)
    assert is_own(f"{name}/a/b", tmp_path)
    assert not is_own(f"{name}/../x", tmp_path)
    name.write_text("theirs")
    assert not is_own(str(name), None)
    assert not is_own(f"{name}/a", tmp_path)


def test_a_link_that_leads_nowhere_is_there(name: Path, tmp_path: Path) -> None:
    name.symlink_to("nowhere")
    assert not is_own(str(name), tmp_path)


@pytest.mark.parametrize("path", ["/tmp", "/tmp/", "/var/tmp", "/home/x", "/tmpx/a", "tmp/a", "/", ""])
def test_no_other_path_is(path: str, tmp_path: Path) -> None:
    assert not is_own(path, tmp_path)


def test_a_link_that_a_command_made_there_is_not_followed(name: Path, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / name.name).symlink_to("/home")
    assert not is_own(str(name), tmp_path)
    assert not is_own(f"{name}/ada", tmp_path)
    assert is_own(f"{name}2/ada", tmp_path)


def test_the_first_name_is_the_one_below_the_folder() -> None:
    assert [first_private_name(path) for path in ("/tmp/a/b", "/var/tmp/c", "/tmp", "/x/tmp/a")] == [
        "/tmp/a",
        "/var/tmp/c",
        "",
        "",
    ]


async def test_what_comes_to_be_there_meanwhile_is_not_seen(name: Path) -> None:
    require_sandbox()
    with elsewhere() as base, World(base / "world") as world:
        env = world.env
        await env.exec(ExecSpec(script=f"echo mine > {name}"), lambda data: None)
        own = tuple(env.find_private_temp_paths([str(name), f"{name}x", "/etc/passwd", str(world.workspace)]))
        await AsyncPath(name).write_text("theirs\n")
        result = await env.exec(
            ExecSpec(script=f"cat {name}; echo more >> {name}", private_temp_paths=own), lambda data: None
        )
        later = await env.exec(ExecSpec(script=f"cat {name}"), lambda data: None)
        after = env.find_private_temp_paths([str(name)])
        await env.aclose()
        assert sorted(own) == [str(name), f"{name}x"]
        assert (result.exit_code, result.output) == (0, b"mine\n")
        assert (later.output, after) == (b"theirs\n", frozenset())
        assert await AsyncPath(name).read_text() == "theirs\n"


async def test_a_program_that_a_command_made_there_is_run(name: Path) -> None:
    require_sandbox()
    with elsewhere() as base, World(base / "world") as world:
        script = f"mkdir {name}; cp /bin/echo {name}/x; cp /bin/echo {name}2; ln -s /bin/echo {name}/link; touch {name}3"
        await world.env.exec(ExecSpec(script=script), lambda data: None)
        programs = [f"{name}/x", f"{name}2", f"{name}/link", f"{name}3", f"{name}4"]
        results = [
            await world.env.exec(ExecSpec(argv=(program, "ran")), lambda data: None) for program in programs
        ]
        await world.env.aclose()
        assert [(result.outcome, result.output) for result in results[:3]] == [("exited", b"ran\n")] * 3
        assert [result.outcome for result in results[3:]] == ["failed", "not_found"]
