"""What the user allowed a command to write outside the workspace is open to it in the sandbox, and nothing more; and a
command starts in the folder that was judged, whatever stands at its name by then."""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.stubs.sandboxed import World, confinement, require_sandbox
from tui_agent.errors import EnvironmentFault
from tui_agent.policy.places.sandbox_places import guarded_outside
from tui_agent.ports.environment import ExecResult, ExecSpec
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.local.reaper_client import ReaperClient
from tui_agent.workspace.local.running_command import Child, StartFailure
from tui_agent.workspace.sandbox import landlock, seatbelt
from tui_agent.workspace.sandbox.extra_mounts import open_paths
from tui_agent.workspace.sandbox.mounts import Bounds, find_mounts


async def run(world: World, script: str, *writable: Path, folder: str = "", cwd: str = "") -> ExecResult:
    spec = ExecSpec(script=script, writable_paths=tuple(map(str, writable)), resolved_cwd=folder, cwd=cwd)
    return await world.env.exec(spec, lambda data: None)


async def test_a_file_outside_that_was_allowed_is_written_and_its_neighbour_is_not(world: World) -> None:
    other = world.outside / "other"
    other.write_text("of the user")
    result = await run(
        world,
        f"echo new > {world.outside}/file; echo x > {other}; touch {world.outside}/third",
        world.outside / "file",
    )
    await world.env.aclose()
    assert (world.outside / "file").read_text() == "new\n"
    assert other.read_text() == "of the user"
    assert not (world.outside / "third").exists()
    assert (
        result.blocked
        == f"The command tried to change {world.outside}/third, which the sandbox does not allow."
    )


async def test_a_new_file_is_made_alone_and_taken_away_where_nothing_came_into_it(world: World) -> None:
    new, unused = world.outside / "new", world.outside / "unused"
    result = await run(world, f"cp -u a.txt {new}; echo x >> {world.outside}/file", new, unused)
    await world.env.aclose()
    assert new.read_text() == "a\n"
    assert not unused.exists()
    assert (world.outside / "file").read_text() == "untouched\n"
    assert result.exit_code == 1


async def test_a_new_file_below_the_real_tmp_that_was_allowed_is_written() -> None:
    require_sandbox()
    with tempfile.TemporaryDirectory(dir="/tmp") as base, World(Path(base), repository=False) as world:
        note, folder = Path(base) / "note.txt", Path(base) / "new"
        result = await run(world, f"echo hi > ../note.txt; cat {note}", note)
        assert (result.output, result.notes, note.read_text()) == (b"hi\n", (), "hi\n")
        result = await run(
            world, f"mkdir -p {folder}/b; echo hi > {folder}/b/c", folder / "b", folder / "b/c"
        )
        assert not folder.exists()
        assert result.notes == (
            f"{folder}/b, {folder}/b/c do not exist outside the sandbox, which has its own /tmp. A command cannot create a "
            "folder in the real /tmp.",
        )
        await world.env.aclose()


async def test_a_folder_that_was_allowed_is_open_below(world: World) -> None:
    made = world.outside / "made"
    made.mkdir()
    result = await run(world, f"cp a.txt {made}; mkdir {made}/deep && mv a.txt {made}/deep", made)
    await world.env.aclose()
    assert result.exit_code == 0
    assert sorted(path.name for path in made.rglob("*")) == ["a.txt", "a.txt", "deep"]


async def test_a_command_that_must_create_its_target_itself_is_told_apart(world: World) -> None:
    new = world.outside / "new"
    for script in (f"git clone -q . {new}", f"cp -r sub {new}", f"mkdir {new}"):
        result = await run(world, f"mkdir -p sub; {script}", new)
        assert result.exit_code and not new.exists(), result.output
        assert result.blocked == (
            f"The command could not create {new}: the sandbox had put an empty file there."
        ), result.output
    new.mkdir()
    result = await run(world, f"mkdir {new}", new)
    assert (result.exit_code, result.blocked) == (1, ""), "it exists outside too"
    await world.env.aclose()


GUARDED = [
    "<home>",
    "<home>/.bashrc",
    "<home>/.ssh/config",
    "<home>/own",
    "<home>/own/config.toml",
    "<home>/.config",
]


@pytest.mark.parametrize(
    "path", [*GUARDED, "<repository>", "<base>", "/", "/etc", "/etc/new", "/tmp", "/proc/self"]
)
def test_what_is_guarded_stays_shut(path: str, tmp_path: Path) -> None:
    home, repository = tmp_path / "home", tmp_path / "repository"
    for folder in (
        home / "own",
        home / ".ssh",
        home / ".config",
        repository / ".git/hooks",
        tmp_path / "work",
    ):
        folder.mkdir(parents=True)
    for file in (home / ".bashrc", home / "own/config.toml"):
        file.write_text("")
    own = (str(home / "own"),)
    bounds = Bounds(
        str(tmp_path / "work"),
        str(home),
        own_folders=own,
        guarded_folders=(f"{home}/.config/autostart",),
        is_guarded=guarded_outside(own),
    )
    named = (
        path.replace("<home>", str(home))
        .replace("<repository>", str(repository))
        .replace("<base>", str(tmp_path))
    )
    with open_paths(bounds, (named,)) as found:
        assert found == ()


def test_a_link_that_stands_for_a_name_by_now_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/file").write_text("")
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "end").symlink_to("real/file")
    bounds = Bounds(str(tmp_path / "work"), is_guarded=lambda path: False)
    wanted = [str(tmp_path / name) for name in ("link/file", "link/new", "end", "real/file")]
    with open_paths(bounds, wanted) as found:
        assert [each.path for each in found] == [str(tmp_path / "real/file")]
    assert not (tmp_path / "real/new").exists()


def test_the_profile_of_macos_opens_it_before_what_it_shuts(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    secret = tmp_path / "secret"
    secret.write_text("")
    found = find_mounts(Bounds(str(tmp_path / "work"), hidden=(str(secret),)), (), {}, ["/outside/file"])
    text = seatbelt.build_profile(found, "/private", network=False)
    allowed = text.index('(subpath "/outside/file")')
    assert allowed < text.index(f'(deny file-read* file-write* (subpath "{secret}"))')


def test_what_was_replaced_while_the_sandbox_was_made_is_found_out_inside_it() -> None:
    """By the program that becomes the command: what is mounted then cannot be replaced any more."""
    made = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            landlock.__file__,
            "=1:2:/etc/passwd",
            "--",
            "/bin/echo",
            "ran",
        ],
        capture_output=True,
        text=True,
    )
    assert (made.returncode, made.stdout) == (126, "")
    assert made.stderr == "/etc/passwd was replaced after the command was allowed. Nothing was run.\n"


@pytest.mark.parametrize("outside", [True, False])
async def test_a_folder_that_is_a_link_by_now_is_not_started_in(world: World, outside: bool) -> None:
    judged, other = world.workspace / "judged", world.workspace / "other"
    judged.mkdir()
    other.mkdir()
    spec = ExecSpec(script="pwd; touch here", cwd="judged", resolved_cwd=str(judged), unsandboxed=outside)
    first = await world.env.exec(spec, lambda data: None)
    (judged / "here").unlink()
    judged.rmdir()
    judged.symlink_to("other")
    with pytest.raises(EnvironmentFault, match="is a link that cannot be followed"):
        await world.env.exec(spec, lambda data: None)
    await world.env.aclose()
    assert first.output.decode().strip() == str(judged)
    assert not (other / "here").exists()


async def test_a_program_starts_in_the_folder_that_was_opened_whatever_its_name_leads_to(
    tmp_path: Path,
) -> None:
    """The folder is put aside between the opening and the start."""
    folder, moved = tmp_path / "judged", tmp_path / "moved"
    folder.mkdir()

    class Swapping(ReaperClient):
        def launch(self, *words: Any, **options: Any) -> Child | StartFailure:
            folder.rename(moved)
            folder.symlink_to("/")
            return super().launch(*words, **options)

    env = LocalEnvironment(tmp_path, reaper=Swapping())
    result = await env.exec(ExecSpec(script="touch here", cwd="judged"), lambda data: None)
    await env.aclose()
    assert result.exit_code == 0
    assert (moved / "here").exists()


async def test_a_confined_program_is_not_run_where_its_folder_was_replaced_before_the_start(
    world: World,
) -> None:
    folder, moved, other = (world.workspace / name for name in ("judged", "moved", "other"))
    folder.mkdir()
    other.mkdir()

    class Swapping(ReaperClient):
        def launch(self, *words: Any, **options: Any) -> Child | StartFailure:
            folder.rename(moved)
            folder.symlink_to("other")
            return super().launch(*words, **options)

    confinement_of = confinement(world.workspace, world.home, world.base / "records")
    env = LocalEnvironment(world.workspace, reaper=Swapping(), confinement=confinement_of)
    result = await env.exec(ExecSpec(script="touch here", cwd="judged"), lambda data: None)
    await env.aclose()
    await world.env.aclose()
    assert result.exit_code == 126
    assert b"The working folder was replaced after the command was allowed. Nothing was run." in result.output
    assert not (other / "here").exists()
