"""Nothing that runs meanwhile uncovers what a sandbox hides, and nothing else in sight holds it or acts for a command."""

import os
import shlex
import socket
import sys
from asyncio import create_task
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.stubs.sandboxed import SECRET, World, elsewhere, git, require_sandbox
from tui_agent.config.session_options import SessionOptions
from tui_agent.ports.environment import ExecResult, ExecSpec
from tui_agent.wiring.environments import build_confinement
from tui_agent.wiring.startup_context import load_startup_context
from tui_agent.workspace.local.environment import LocalEnvironment
from tui_agent.workspace.sandbox import bubblewrap
from tui_agent.workspace.sandbox.sockets import find_listening_below


def meanwhile(
    monkeypatch: pytest.MonkeyPatch,
    happens: Callable[[], None],
    change: Callable[[list[str]], list[str]] = list,
) -> None:
    """Let something happen after all was looked at, and before it is laid."""
    make = bubblewrap.bubblewrap_arguments

    def made(*given: Any, **more: Any) -> list[str]:
        happens()
        return change(make(*given, **more))

    monkeypatch.setattr(bubblewrap, "bubblewrap_arguments", made)


def not_run(result: ExecResult) -> bool:
    said = result.output.decode("utf-8", "replace")
    return (
        result.outcome == "failed" or "was replaced while the sandbox was created. Nothing was run." in said
    )


# The product's own store.


@pytest.mark.slow_variants
@pytest.mark.parametrize("where", ["data_dir", "TUI_AGENT_HOME", "usual"])
async def test_what_sessions_keep_is_not_seen(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    require_sandbox()
    with elsewhere() as base:
        monkeypatch.setenv("HOME", str(base / "home"))
        monkeypatch.setenv("TUI_AGENT_HOME", str(base / "moved"))
        data = {
            "data_dir": base / "data",
            "TUI_AGENT_HOME": base / "moved",
            "usual": base / "home/.local/share/tui-agent",
        }[where]
        store = data / "sessions/ses_1"
        store.mkdir(parents=True)
        git(store, "init", "-q")
        (store / ".env").write_text(f"A={SECRET}\n")
        git(store, "add", ".")
        git(store, "commit", "-qm", "x")
        (data / "prompts.jsonl").write_text(SECRET)
        root = base / "data/work"  # a workspace beside the store stays as it is
        root.mkdir(parents=True)
        (root / "a.txt").write_text("a\n")
        start = load_startup_context(SessionOptions(cwd=root, data_dir=base / "data"), dict(os.environ))
        env = LocalEnvironment(root, confinement=build_confinement(start, root))
        words = f"git --git-dir {store}/.git show HEAD:.env; cat {data}/prompts.jsonl {store}/.env; cat a.txt > b.txt"
        result = await env.exec(ExecSpec(script=words), lambda data: None)
        await env.aclose()
        assert SECRET not in result.output.decode()
        assert (root / "b.txt").read_text() == "a\n"


# Names that change while a sandbox is made.


async def test_a_link_that_comes_to_stand_at_a_kept_name_uncovers_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = world.workspace / ".claude"
    kept.mkdir()

    def happens() -> None:
        kept.rename(world.workspace / "aside")
        kept.symlink_to("../home/.ssh")

    meanwhile(monkeypatch, happens)
    result = await world.attempt("cat .claude/* <home>/.ssh/*; touch ran")
    await world.env.aclose()
    assert world.damage(result) == []
    assert not_run(result), result.output
    assert not (world.workspace / "ran").exists()


async def test_what_a_link_led_to_while_it_was_laid_is_not_run_with(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the link stood there only while bubblewrap looked for what to lay."""
    kept = world.workspace / ".claude"
    kept.mkdir()

    def change(words: list[str]) -> list[str]:
        at = words.index(str(kept))
        return [*words[:at], f"{world.home}/.ssh", *words[at + 1 :]]

    meanwhile(monkeypatch, lambda: None, change)
    result = await world.attempt("cat .claude/*; touch ran")
    await world.env.aclose()
    assert world.damage(result) == []
    assert not_run(result), result.output


async def test_a_kept_name_that_was_left_open_is_not_run_with(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where it was laid at what a link led to, and the folder stands there again."""
    kept = world.workspace / ".claude"
    kept.mkdir()

    def change(words: list[str]) -> list[str]:
        at = words.index(str(kept)) - 1
        return [*words[:at], *words[at + 3 :]]

    meanwhile(monkeypatch, lambda: None, change)
    result = await world.attempt("touch .claude/made")
    await world.env.aclose()
    assert not_run(result), result.output
    assert not (kept / "made").exists()


async def test_folders_that_change_places_uncover_no_file_with_secrets(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = world.workspace / "k", world.workspace / "k_"
    one.mkdir()
    other.mkdir()
    (one / "id_rsa").write_text(SECRET)

    def happens() -> None:
        one.rename(world.workspace / "between")
        other.rename(one)
        (world.workspace / "between").rename(other)

    meanwhile(monkeypatch, happens)
    result = await world.attempt("cat k/id_rsa k_/id_rsa")
    await world.env.aclose()
    assert SECRET.encode() not in result.output
    assert not_run(result), result.output


async def test_a_command_runs_where_all_stayed(world: World) -> None:
    for name in (".claude", ".vscode", "k"):
        (world.workspace / name).mkdir()
    for name in (".env", "k/id_rsa", ".claude/.env"):
        (world.workspace / name).write_text(SECRET)
    (world.workspace / "other.env").symlink_to("k/id_rsa")
    (world.workspace / "far.env").symlink_to(world.outside / "file")
    result = await world.attempt("cat .env k/id_rsa .claude/.env *.env; cat a.txt")
    await world.env.aclose()
    assert result.output.endswith(b"\na\n")
    assert SECRET.encode() not in result.output


# Sockets in the workspace.

ASK = (
    "import os, socket\nfor at, _, names in os.walk('.'):\n for name in names:\n  if name.endswith('.sock'):\n"
    "   s = socket.socket(socket.AF_UNIX)\n   try: s.connect(os.path.join(at, name)); print('ESCAPED')\n"
    "   except OSError as e: print(e)"
)


def service(path: str) -> socket.socket:
    one = socket.socket(socket.AF_UNIX)
    one.bind(path)
    one.listen(8)
    return one


@pytest.mark.slow_variants
@pytest.mark.parametrize("how", ["whole", "below", "relative", "moved"])
async def test_a_service_that_listens_in_the_workspace_is_not_reached(
    world: World, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = world.workspace / "d"
    folder.mkdir()
    monkeypatch.chdir(folder)
    path = {"whole": f"{world.workspace}/.a.sock", "relative": "./.a.sock"}.get(how, f"{folder}/.a.sock")
    with service(path):
        if how == "moved":
            await world.attempt(
                f"mv d e && mkdir d && {shlex.quote(sys.executable)} -c \"import socket; socket.socket(1).bind('d/.a.sock')\""
            )
            assert (world.workspace / "e").exists()
        result = await world.attempt(ASK)
    await world.env.aclose()
    assert world.damage(result) == []
    assert b"refused" in result.output or b"not permitted" in result.output or b"socket" in result.output, (
        result.output
    )


async def test_what_another_confined_command_listens_on_stays_usable(world: World) -> None:
    serve = (
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.bind('own.sock')\ns.listen()\n"
        "open('ready', 'w').close()\ns.accept()[0].sendall(b'served')"
    )
    ask = (
        "import os, socket, time\nwhile not os.path.exists('ready'): time.sleep(0.02)\n"
        "s = socket.socket(socket.AF_UNIX)\ns.connect('own.sock')\nprint(s.recv(99).decode())"
    )
    serving = create_task(world.attempt(serve))
    result = await world.attempt(ask)
    await serving
    await world.env.aclose()
    assert result.output == b"served\n"


def test_a_name_in_the_table_is_looked_for_in_all_of_the_workspace(tmp_path: Path) -> None:
    work = tmp_path / "w"
    (work / "a/b").mkdir(parents=True)
    table = tmp_path / "unix"
    head = "Num       RefCount Protocol Flags    Type St Inode Path\n"
    row = "0: 00000002 00000000 00010000 0001 01 1 "
    table.write_text(
        f"{head}{row}./x y.sock\n{row}@tui.sock\n{row}{work}/gone/z.sock\n{row}/other/q.sock\n{row[:-1]}\n"
    )
    made = [socket.socket(socket.AF_UNIX) for _ in range(4)]
    try:
        for one, name in zip(made, ("x y.sock", "tui.sock", "z.sock", "q.sock"), strict=True):
            one.bind(f"{work}/a/b/{name}")
        assert find_listening_below(str(work), table) == [f"{work}/a/b/x y.sock", f"{work}/a/b/z.sock"]
    finally:
        for one in made:
            one.close()
    assert find_listening_below(str(work), tmp_path / "none") == []
