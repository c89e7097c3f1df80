"""The contract of ports.environment, the same for every environment: what is read, and from where nothing ever is."""

import os
import socket
from pathlib import Path

import anyio
import pytest

from tests.unit.workspace.local.contract import digest, names
from tests.unit.workspace.local.contract import env as env  # each environment in turn
from tests.unit.workspace.local.contract import root as root
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import ExecSpec


async def test_read_gives_the_bytes_their_digest_and_the_path_from_the_root(env, root):
    (root / "a").mkdir()
    (root / "a/b.txt").write_bytes(b"\xff\x00x")
    content = await env.read("./a/../a/b.txt")
    assert (content.path, content.data, content.digest) == ("a/b.txt", b"\xff\x00x", digest(b"\xff\x00x"))
    assert (await env.read(str(root / "a/b.txt"))).path == "a/b.txt"


@pytest.mark.parametrize("path", ["missing", "a/missing", "file/below", "", ".", "a", "nul\0", "x" * 300])
async def test_reading_what_is_no_file_is_refused_with_its_name(env, root, path):
    (root / "a").mkdir()
    (root / "file").touch()
    with pytest.raises(EnvironmentFault):
        await env.read(path)


async def test_a_pipe_a_socket_and_a_device_are_refused_without_waiting(env, root):
    os.mkfifo(root / "pipe")
    listener = socket.socket(socket.AF_UNIX)
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(root)
        listener.bind("socket")
    finally:
        os.fchdir(here)
        os.close(here)
    (root / "zero").symlink_to("/dev/zero")
    for path in ("pipe", "socket", "zero"):
        with pytest.raises(EnvironmentFault):
            await env.read(path)
        with pytest.raises(EnvironmentFault):
            await env.write(path, b"x", None)
    listener.close()


async def test_a_file_above_the_limit_is_refused_by_its_size(env, root):
    with (root / "big").open("wb") as file:
        file.truncate(5_000_000_000)
    with pytest.raises(EnvironmentFault, match="too large"):
        await env.read("big")
    (root / "small").write_bytes(b"12345")
    assert (await env.read("small", max_bytes=5)).data == b"12345"
    with pytest.raises(EnvironmentFault, match="too large"):
        await env.read("small", max_bytes=4)


OUTSIDE = [
    "../outside/secret.txt",
    "/etc/passwd",
    "a/../../outside/secret.txt",
    "link",
    "folder/secret.txt",
    "folder/../outside/secret.txt",
    "chain",
    "./././../outside/secret.txt",
    "//etc/passwd",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
]


@pytest.fixture
def tricks(root: Path) -> None:
    (root / "a").mkdir()
    (root / "link").symlink_to("../outside/secret.txt")
    (root / "folder").symlink_to(root.parent / "outside")
    (root / "chain").symlink_to("link")
    (root / "dangling").symlink_to("../outside/new.txt")
    (root / "loop").symlink_to("loop")


@pytest.mark.usefixtures("tricks")
@pytest.mark.parametrize(
    "path", [*OUTSIDE, "loop", "loop/x", "dangling", "folder/new.txt", "~/x/../../../../etc/x"]
)
async def test_nothing_outside_the_root_is_read_written_listed_or_removed(env, root, path):
    with pytest.raises(EnvironmentFault):
        await env.read(path)
    for expect in (None, digest(b"secret")):
        with pytest.raises(EnvironmentFault):
            await env.write(path, b"changed", expect)
    with pytest.raises(EnvironmentFault):
        await env.remove(path, digest(b"secret"))
    with pytest.raises(EnvironmentFault):
        await env.listdir(path)
    assert (root.parent / "outside" / "secret.txt").read_text() == "secret"
    assert names(root.parent / "outside") == ["secret.txt"]


@pytest.mark.usefixtures("tricks")
@pytest.mark.parametrize("path", ["..", "/", "folder", "/tmp"])
async def test_no_program_is_started_in_a_folder_outside(env, path):
    with pytest.raises(EnvironmentFault, match="outside"):
        await env.exec(ExecSpec(argv=("true",), cwd=path), lambda data: None)


@pytest.mark.slow_variants
async def test_a_folder_that_is_swapped_with_a_link_never_leads_outside(env, root):
    (root / "real").mkdir()
    (root / "real/f").write_bytes(b"inside")
    (root / "outward").symlink_to("../outside")
    (root.parent / "outside/f").write_bytes(b"secret")
    done = anyio.Event()

    def swap() -> None:
        for _ in range(2000):
            (root / "real").rename(root / "d")
            (root / "d").rename(root / "real")
            (root / "outward").rename(root / "d")
            (root / "d").rename(root / "outward")

    async def swapping() -> None:
        await anyio.to_thread.run_sync(swap)
        done.set()

    async with anyio.create_task_group() as group:
        group.start_soon(swapping)
        while not done.is_set():
            try:
                content = await env.read("d/f")
                assert content.data == b"inside"
                await env.write("d/f", b"inside", content.digest)
            except EnvironmentFault:
                await anyio.lowlevel.checkpoint()
    assert (root.parent / "outside/f").read_bytes() == b"secret"
    assert names(root.parent / "outside") == ["f", "secret.txt"]


async def test_a_root_next_to_one_with_a_longer_name_does_not_reach_it(env, root):
    beside = root.parent / "root-other"
    beside.mkdir()
    (beside / "x").touch()
    with pytest.raises(EnvironmentFault, match="outside"):
        await env.read(str(beside / "x"))


async def test_a_link_that_stays_inside_is_followed_to_the_real_file(env, root):
    (root / "real.txt").write_text("old")
    (root / "alias").symlink_to("real.txt")
    content = await env.read("alias")
    assert content.path == "real.txt"
    assert (await env.write("alias", b"new", content.digest)).path == "real.txt"
    assert (root / "alias").is_symlink()
    assert (root / "real.txt").read_text() == "new"
