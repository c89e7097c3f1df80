"""The completion scripts complete in the shells that they are for; the man page has every command."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.stubs.left_out import only_where
from tui_agent.cli.completion import WRITERS, places
from tui_agent.cli.main import VERBS

CASES = [
    (("sessions", "ex"), {"export"}),
    (("run", "--mod"), {"--model"}),
    (("do",), {"doctor"}),
    (("plugins", "new", "--ki"), {"--kind"}),
    (("completion", "fi"), {"fish"}),
    (("run", "--policy", ""), {"plan", "ask", "accept-edits", "bypass"}),
    (("run", "--policy", "a"), {"ask", "accept-edits"}),
    (("plugins", "new", "x", "--kind", "m"), {"mcp"}),
    (("-m", "demo", "sess"), {"sessions"}),
    (("run", "-C", "sess"), set()),
]
FILE_CASES = [
    (("plugins", "zz"), set()),
    (("plugins", "new", "x", "--kind", ""), {"tool", "command", "pane", "mcp"}),
    (("plugins", "check", "zz"), {"zz.txt"}),
    (("-C", "zz"), {"zz.txt"}),
]
"""Cases beside a file `zz.txt`. Bash itself adds files if nothing else fits, so these are not for bash."""

BASH = """
source "$1"; shift
COMP_WORDS=(tui-agent "$@"); COMP_CWORD=$#
_tui_agent
printf '%s\\n' "${COMPREPLY[@]}"
"""
ZSH = """
compdef() { : }
_files() { print -l -- ${words[CURRENT]}*(N) }
_describe() { print -l -- ${(M)entries:#${words[CURRENT]}*} }
source "$1"; shift
words=(tui-agent "$@"); CURRENT=$#words
_tui_agent
"""
FISH = """
source $argv[1]
complete -C "tui-agent $argv[2..-1]"
"""
SHELLS = {"bash": (BASH, ["-c"]), "zsh": (ZSH, ["-f", "-c"]), "fish": (FISH, ["--no-config", "-c"])}


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "shell",
    [
        pytest.param(name, marks=only_where(shutil.which(name) is not None, f"{name} is not installed"))
        for name in SHELLS
    ],
)
def test_a_shell_completes_commands_verbs_and_options(shell: str, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(WRITERS[shell](places()), encoding="utf-8")
    work = tmp_path / "work"
    work.mkdir()
    (work / "zz.txt").touch()
    code, options = SHELLS[shell]
    for words, expected in CASES if shell == "bash" else CASES + FILE_CASES:
        name = [] if shell == "fish" else [shell]
        ran = subprocess.run(
            [shell, *options, code, *name, str(script), *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=work,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TERM": "dumb"},
        )
        found = {line.split("\t")[0].split(":")[0] for line in ran.stdout.split("\n") if line}
        assert found == expected, (words, ran.stdout, ran.stderr)


@only_where(shutil.which("zsh") is not None, "zsh is not installed")
def test_the_first_tab_completes_when_zsh_loads_the_script_by_itself(tmp_path: Path) -> None:
    (tmp_path / "_tui-agent").write_text(WRITERS["zsh"](places()), encoding="utf-8")
    code = """
    fpath=($1); autoload _tui-agent
    compdef() { print late }; compset() { : }; _files() { : }
    _describe() { print -l -- ${(M)entries:#pl*} }
    words=(tui-agent pl); CURRENT=2
    _tui-agent
    """
    ran = subprocess.run(
        ["zsh", "-f", "-c", code, "zsh", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ran.stdout.startswith("plugins:")


def test_the_man_page_has_every_command() -> None:
    page = WRITERS["man"](places()).replace("\\-", "-")
    assert not [name for name in VERBS if f".SH tui-agent {name}\n" not in page]
    assert not [line for line in page.split("\n") if line.startswith((".\n", "'"))]
