import hashlib
import os
import subprocess
from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stubs.tool_context import Bench, module_of, text, tools_of
from tui_agent.errors import EnvironmentFault, ToolError
from tui_agent.protocol.artifacts import Artifact
from tui_agent.protocol.display_blocks import TerminalBlock
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.stored_text import BlobText


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, tools_of("shell"))


# --- words or a shell ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("git status --short", ("git", "status", "--short")),
        ("echo 'a b' \"c d\" e'f'\"g\"", ("echo", "a b", "c d", "efg")),
        (
            "python -m pytest -q tests/test_a.py::test_b",
            ("python", "-m", "pytest", "-q", "tests/test_a.py::test_b"),
        ),
        ("grep 'a|b; $x' file", ("grep", "a|b; $x", "file")),
        ("ls ä", ("ls", "ä")),
        ("make CFLAGS=-O2", ("make", "CFLAGS=-O2")),
    ],
)
def test_plain_words_run_without_a_shell(bench, command, words):
    assert bench.effects("run_command", command=command) == (RunEffect(argv=words),)


@pytest.mark.parametrize(
    "command",
    [
        "ls | wc -l",
        "a; b",
        "a && b",
        "echo $HOME",
        'echo "$HOME"',
        'echo "`id`"',
        "echo `id`",
        "ls *.py",
        "ls ?",
        "ls [ab]",
        "echo {a,b}",
        "cat < x",
        "echo x > y",
        "cd /tmp",
        "export A=1",
        "A=1 env",
        "A+=1 env",
        "ls ~",
        "a\nb",
        "echo a\\ b",
        "echo 'unfinished",
        "# comment",
        "(ls)",
        "! ls",
        "time ls",
        ". x",
        "if true",
        "[ -f x ]",
        "ls &",
        "'' x",
        "type ls",
    ],
)
def test_what_bash_would_read_differently_runs_under_bash(bench, command):
    assert bench.effects("run_command", command=command) == (RunEffect(script=command),)


def test_the_model_may_decide(bench):
    assert bench.effects("run_command", command="ls -l", shell=True) == (RunEffect(script="ls -l"),)
    assert bench.effects("run_command", command="echo $HOME; rm -rf *", shell=False, cwd="sub") == (
        RunEffect(argv=("echo", "$HOME;", "rm", "-rf", "*"), cwd="sub"),
    )


@pytest.mark.parametrize("command", ["echo ; rm x", "echo * $(id) `id` ${HOME} > x | y", "echo 'a  b' #c ~"])
async def test_without_a_shell_nothing_is_expanded(bench, command):
    bench.write("x", "kept")
    result = await bench.run("run_command", command=command, shell=False)
    words = module_of("shell", "command_words").split_words(command)
    assert text(result) == f"[exit 0]\n{' '.join(words[1:])}"
    assert bench.bytes("x") == b"kept"


async def test_quotes_that_do_not_match_are_told(bench):
    with pytest.raises(ToolError, match="quotes do not match"):
        await bench.run("run_command", command="echo 'a", shell=False)
    with pytest.raises(ToolError, match="empty"):
        await bench.run("run_command", command="  ")
    assert bench.effects("run_command", command=" ") == (RunEffect(),)


ALPHABET = "ab -=_'\"\\$`;|&<>*?[]{}()~#!\n\tä./:%@+^,"


@given(st.text(ALPHABET, max_size=12))
def test_words_are_taken_only_where_bash_takes_the_same_ones(tail: str):
    words = module_of("shell", "command_words").plain_words("printf " + tail)
    if words is None:
        return
    script = "show() { builtin printf '%s\\0' \"$@\"; }; show " + tail
    seen = subprocess.run(
        ["bash", "--norc", "-c", script], capture_output=True, check=True, cwd="/proc/self/fdinfo"
    )
    assert seen.stdout.decode().split("\0")[:-1] == (list(words[1:]) or [""])


# --- running ---------------------------------------------------------------------------------------------------------


async def test_output_and_exit_status_go_to_the_model_and_the_row(bench):
    good = await bench.run("run_command", command="echo out; echo err >&2")
    assert (good.ok, good.summary, text(good)) == (True, "exit 0", "[exit 0]\nout\nerr")
    assert good.display == (TerminalBlock(text="out\nerr\n"),)
    assert good.full_output == "out\nerr\n"
    bad = await bench.run("run_command", command="echo no; exit 3")
    assert (bad.ok, bad.summary, text(bad)) == (False, "exit 3", "[exit 3]\nno")
    assert bad.data == {"exit_code": 3, "ended": "exited", "shell": True, "bytes": 3}
    assert text(await bench.run("run_command", command="true")) == "[exit 0, no output]"


async def test_a_folder_of_the_workspace_may_be_named(bench):
    bench.write("sub/x", "")
    assert text(await bench.run("run_command", command="ls", cwd="sub")) == "[exit 0]\nx"
    with pytest.raises(EnvironmentFault, match="outside"):
        await bench.run("run_command", command="ls", cwd="..")
    with pytest.raises(ToolError, match=r"missing does not exist\.$"):
        await bench.run("run_command", command="ls", cwd="missing")
    bench.write("packages/web/x", "")
    with pytest.raises(ToolError, match=r"web does not exist\. Did you mean packages/web\?"):
        await bench.run("run_command", command="ls", cwd="web")


async def test_a_program_that_is_not_there_is_told(bench):
    with pytest.raises(ToolError, match="no-such-thing was not found"):
        await bench.run("run_command", command="no-such-thing --help")
    assert (await bench.run("run_command", command="no-such-thing; exit $?")).summary == "exit 127"


async def test_a_program_that_cannot_be_started_is_a_fault_of_the_environment(bench):
    bench.write("plain.txt", "no program")
    with pytest.raises(EnvironmentFault, match=r"cannot be executed.*Nothing was run"):
        await bench.run("run_command", command="./plain.txt")


async def test_output_is_live(bench):
    seen = anyio.Event()
    pieces: list[str] = []

    def progress(piece: str) -> None:
        pieces.append(piece)
        seen.set()

    tool = bench.tools["run_command"]
    args = tool.spec.args(command="printf first; cat go")
    os.mkfifo(bench.folder / "go")
    async with anyio.create_task_group() as group:
        group.start_soon(tool.run, args, bench.context(progress))
        await seen.wait()
        assert pieces == ["first"]
        await anyio.Path(bench.folder / "go").write_text("last")
    assert "".join(pieces) == "firstlast"


async def test_a_split_character_is_shown_whole(bench):
    await bench.run("run_command", command=r"printf '\xf0\x9f'; sleep 0.05; printf '\x8e\x89'")
    assert "".join(bench.live) == "🎉"


@pytest.mark.slow
async def test_fifty_megabytes_are_contained(bench):
    result = await bench.run("run_command", command="yes 0123456789 | head -c 50000000")
    said = text(result)
    whole = result.full_output
    assert isinstance(whole, BlobText) and whole.size == 50_000_000
    assert len(said) < 20_000
    assert f"left out: read_file or grep {Artifact.id_for_sha256(whole.blob_sha256)} …]" in said
    assert hashlib.sha256(bench.blobs.read(whole.blob_sha256)).hexdigest() == whole.blob_sha256
    assert said.startswith("[exit 0]\n0123456789\n") and said.endswith("\n0123456789\n012345")


@pytest.mark.slow
async def test_above_the_cap_the_rest_is_counted(bench):
    result = await bench.run(
        "run_command", command="head -c 59999993 /dev/zero | tr '\\0' x; echo; printf ended."
    )
    assert isinstance(result.full_output, BlobText)
    whole = bench.blobs.read(result.full_output.blob_sha256)
    assert b"\n[10 MB of output was not kept]\n" in whole and whole.endswith(b"\nended.")
    assert text(result).endswith("\nended.")
    assert result.data["bytes"] == 60_000_000


async def test_long_output_shows_its_head_and_its_tail(bench):
    said = text(await bench.run("run_command", command="seq 1 10000"))
    assert said.startswith("[exit 0]\n1\n2\n")
    assert said.endswith("\n9999\n10000")
    head, tail = said.split("\n[… ")[0].count("\n"), said.split(" …]\n")[1].count("\n") + 1
    assert f"[… {10000 - head - tail:,} lines left out: read_file or grep artifact:" in said


async def test_lines_are_left_out_only_if_that_saves_room_and_they_can_be_read(bench):
    for script in ("seq 1 900", "seq -f 'a line of some length: %g' 1 401"):
        result = await bench.run("run_command", command=script)
        assert "left out" not in text(result) and text(result).count("\n") >= 401


async def test_control_sequences_do_not_reach_the_model(bench):
    command = r"printf '\033[31mred\033[0m \033]0;title\007x\r\n10%%\r20%%\r100%%\n\b\xff'"
    result = await bench.run("run_command", command=command)
    assert text(result) == "[exit 0]\nred x\n100%\n\ufffd"
    assert "\x1b[31m" in str(result.full_output)


async def test_the_time_limit_ends_the_command_and_keeps_its_output(bench):
    result = await bench.run("run_command", command="echo begun; sleep 1000", timeout=2.5)
    assert (result.ok, result.summary) == (False, "stopped after 2.5 s")
    assert text(result) == "[stopped after 2.5 s]\nbegun"
    assert result.data["ended"] == "timeout"


async def test_an_interruption_passes_through_and_ends_the_command(bench):
    pids: list[int] = []
    seen = anyio.Event()

    def progress(piece: str) -> None:
        pids.append(int(piece))
        seen.set()

    tool = bench.tools["run_command"]
    args = tool.spec.args(command="echo $$; exec sleep 1000")
    async with anyio.create_task_group() as group:
        group.start_soon(tool.run, args, bench.context(progress))
        await seen.wait()
        group.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


@pytest.mark.parametrize(
    "command", ["  rm -rf build ", "\u00a0a > b\u2003", "a\tb | c \n\n", "echo '\u202e' ; x"]
)
async def test_the_preview_shows_the_very_command_that_runs_and_binds_what_was_given(bench, command):
    preview = await bench.preview("run_command", command=command)
    [runs] = bench.effects("run_command", command=command, shell=True)
    assert preview.content == command
    assert preview.blocks[0].text == runs.script


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_time_limit_that_is_not_above_zero_is_no_valid_argument(bench, timeout):
    with pytest.raises(ValueError, match="timeout"):
        bench.effects("run_command", command="ls", timeout=timeout)
