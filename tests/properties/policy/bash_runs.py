"""Run lines by the real bash, shut into a sandbox, with stubs in the place of all programs and builtins; compare what ran
with what our parser says.

A stub notes its words and sometimes fails, so that both sides of a condition are run. `cat` notes its input, too. Each
process has a file of its own for its notes, as bash writes a text of several lines in several pieces.
"""

import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field

from tui_agent.policy.bash.parser import parse_script
from tui_agent.policy.bash.syntax import (
    ForLoop,
    Pattern,
    ProcessOutput,
    Redirect,
    Refusal,
    Script,
    SimpleCommand,
    Substitution,
    Text,
    Variable,
    Word,
)
from tui_agent.policy.bash.tree_check import simple_commands

BASH = shutil.which("bash")
BWRAP = shutil.which("bwrap")
BUILTINS = [
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "caller",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "declare",
    "dirs",
    "disown",
    "echo",
    "enable",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "getopts",
    "hash",
    "help",
    "history",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "wait",
]
PROGRAMS = ["ls", "rm", "git", "grep", "cp"]
WATCHED = ("x", "y", "f", "PATH", "IFS", "HOME")
START = {"PATH": "/none", "IFS": " \t\n", "HOME": "/h"}
ANYTHING = r"(?s:.*)"

_SETUP = r"""
_RECORD=$RECORD
unset RECORD BASH_ENV OLDPWD
declare -i STUBS=0
_note() { builtin printf '%s\0' C "$#" "$@" >> "$_RECORD.$BASHPID"; }
_stub() {
  STUBS+=1
  if [[ $STUBS == 60 ]]; then builtin exit; fi
  if [[ $1 == cat ]]; then
    IFS= builtin read -r -d '' INPUT
    builtin printf '%s\0' I "$#" "$@" "$INPUT" >> "$_RECORD.$BASHPID"
  else
    _note "$@"
  fi
  builtin return $((RANDOM % 3 == 0))
}
command_not_found_handle() { _note "$@"; builtin return $((RANDOM % 3 == 0)); }
_end() { builtin printf '%s\0' V "${x-}" "${y-}" "${f-}" "$PATH" "$IFS" "$HOME" >> "$_RECORD.$BASHPID"; }
builtin trap _end EXIT
""" + "".join(f'function {name} {{ _stub {name} "$@"; }}\n' for name in (*BUILTINS, *PROGRAMS, "cat"))

_DRIVER = r"""
cd /tmp && mapfile -t -d '' lines && count=${#lines[@]} && printf '%s' "$SETUP" > setup || exit 1
unset SETUP OLDPWD
(eval "/bin/mkdir -p record checked place/{1..$count}/below")
export PATH=/none HOME=/h
for ((number = 1; number <= count; number++)); do
  line=${lines[number - 1]}
  "$BASH" -n -c -- "$line" < /dev/null > /dev/null 2> "checked/$number"
  (
    cd "place/$number/below"
    ulimit -t 2
    BASH_ENV=/tmp/setup RECORD="/tmp/record/$number" exec "$BASH" -c -- "$line"
  ) < /dev/null > /dev/null 2>&1
done
/bin/sleep 0.3
shopt -s nullglob dotglob
for ((number = 1; number <= count; number++)); do
  printf 'L\0'
  notes=("record/$number".*)
  [ "${#notes[@]}" = 0 ] || /bin/cat "${notes[@]}"
  names=()
  for path in "place/$number/below"/*; do names+=("${path##*/}"); done
  printf '%s\0' F "${#names[@]}" "${names[@]}"
  printf 'N\0%s\0' "$(< "checked/$number")"
done
"""


@dataclass
class Run:
    """One line as bash ran it: words of commands, their input where it is known, values of variables at its end, names of
    files that it made, and the complaints of `bash -n`."""

    commands: list[tuple[tuple[str, ...], str | None]] = field(default_factory=list)
    values: tuple[str, ...] | None = None
    files: tuple[str, ...] = ()
    complaint: str = ""


def run_lines(lines: Sequence[str]) -> list[Run]:
    """Run each line in an empty folder."""
    assert BASH is not None and BWRAP is not None
    sandbox = [
        BWRAP,
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/home",
    ]
    command = [
        *sandbox,
        "--unshare-all",
        "--new-session",
        "--die-with-parent",
        "--clearenv",
        "--setenv",
        "SETUP",
        _SETUP,
        BASH,
        "-c",
        _DRIVER,
    ]
    finished = subprocess.run(
        command,
        input="".join(f"{line}\0" for line in lines).encode("utf-8", "surrogatepass"),
        capture_output=True,
        timeout=600,
        check=False,
    )
    runs = _parse_records(finished.stdout.decode("utf-8", "surrogateescape").split("\0"))
    assert len(runs) == len(lines), finished.stderr.decode()[-2000:]
    return runs


def _parse_records(fields: list[str]) -> list[Run]:
    runs: list[Run] = []
    position = 0

    def take(count: int) -> tuple[str, ...]:
        nonlocal position
        position += count
        return tuple(fields[position - count : position])

    while position < len(fields) - 1:
        (kind,) = take(1)
        match kind:
            case "L":
                runs.append(Run())
            case "C":
                runs[-1].commands.append((take(int(take(1)[0])), None))
            case "I":
                words = take(int(take(1)[0]))
                runs[-1].commands.append((words, take(1)[0]))
            case "V":
                runs[-1].values = take(len(WATCHED))
            case "F":
                runs[-1].files = take(int(take(1)[0]))
            case "N":
                (runs[-1].complaint,) = take(1)
            case _:
                raise AssertionError(f"an unknown record {kind!r}")
    return runs


def compare(line: str, script: Script, run: Run) -> list[str]:
    """Return everything that bash did with a line and `script`, our reading of it, does not hold."""
    ours = list(simple_commands(script))
    redirects = _redirects(script)
    written = [redirect.target for redirect in redirects if redirect.target and redirect.operator[0] in ">&"]
    names = {assignment.name for command in ours for assignment in command.assignments} | _loop_variables(
        script
    )
    surroundings = _Surroundings(frozenset(names), makes_files=bool(written))
    expected = [(_words_pattern(command, surroundings), _input(command)) for command in ours]
    found = [
        f"bash ran {words} with the input {text!r}"
        for words, text in run.commands
        if not any(
            pattern.fullmatch("".join(f"\0{word}" for word in words))
            and (text is None or input_text in (None, text))
            for pattern, input_text in expected
        )
    ]
    if run.complaint:
        found.append(f"bash -n says {run.complaint!r}")
    for name, value in zip(WATCHED, run.values or (), strict=bool(run.values)):
        if value != START.get(name, "") and name not in names:
            found.append(f"bash set {name} to {value!r}")
    known = [target.literal and target.literal.removeprefix("./") for target in written]
    found += [f"bash made the file {name!r}" for name in run.files if name not in known and None not in known]
    return found


def differences(lines: Sequence[str]) -> tuple[int, list[str]]:
    """Read and run lines. Return how many of them are inside the subset, and every difference with its line."""
    scripts = [(line, script) for line in lines if not isinstance(script := parse_script(line), Refusal)]
    # The stubs need the real `builtin`; a line that calls it would miss them, and the real `time` writes files.
    scripts = [(line, script) for line, script in scripts if "builtin" not in line and "bin/time" not in line]
    runs = run_lines([line for line, _ in scripts])
    found = [
        f"{line!r}: {difference}"
        for (line, script), run in zip(scripts, runs, strict=True)
        for difference in compare(line, script, run)
    ]
    return len(scripts), found


@dataclass(frozen=True)
class _Surroundings:
    """The names that a line sets, and whether it can make files: both decide the words that bash makes."""

    names: frozenset[str]
    makes_files: bool


def _words_pattern(command: SimpleCommand, surroundings: _Surroundings) -> re.Pattern[str]:
    """A pattern of the words that bash gives a stub, each behind a NUL."""
    words = list(command.words)
    patterns = [_joined_pattern(words, surroundings)]
    while words and words[0].source == "time":
        # A program of its own behind `|`, an assignment or a redirection; else a word of the shell.
        words = words[2:] if [word.source for word in words[1:2]] == ["-p"] else words[1:]
        patterns.append(_joined_pattern(words, surroundings))
    return re.compile("|".join(patterns))


def _joined_pattern(words: list[Word], surroundings: _Surroundings) -> str:
    pattern = ""
    for word in words:
        texts = [_piece_pattern(word, index, surroundings) for index in range(len(word.pieces))]
        certain = [text for text in texts if text is not None]
        if len(certain) < len(texts):
            pattern += f"(?:\0{ANYTHING})?"
        elif any(certain) or any(piece.quoted for piece in word.pieces if not isinstance(piece, Pattern)):
            pattern += f"\0{''.join(certain)}"
    return pattern


def _piece_pattern(word: Word, index: int, surroundings: _Surroundings) -> str | None:
    """A pattern of the texts that a piece makes, None where it can make several words."""
    piece = word.pieces[index]
    match piece:
        case Text(text, quoted):
            at_home = not index and not quoted and text[:1] == "~"
            return re.escape(START["HOME"] + text[1:] if at_home else text)
        case Pattern(text):
            return None if surroundings.makes_files or "/" in word.source else re.escape(text)
        case Substitution(script, quoted):
            # Stubs print nothing, but bash may write an error or the report of `time` to where output goes.
            silent = all(redirect.operator != ">&" for redirect in _redirects(script))
            return "" if silent else "[^\0]*" if quoted else None
        case ProcessOutput():
            return "/dev/fd/[0-9]+"
        case Variable("@" | "*", quoted):
            return None
        case Variable(name, quoted, operator, operand):
            unset = name in "123456789" or (name.islower() and name not in surroundings.names)
            missing = re.escape(operand) if operator == ":-" else ""
            return missing if unset else "[^\0]*" if quoted else None


def _input(command: SimpleCommand) -> str | None:
    """The standard input of a command, where its last redirection gives a text that is certain."""
    inputs = [
        redirect for redirect in command.redirects if redirect.operator[0] == "<" and not redirect.descriptor
    ]
    last = inputs[-1] if inputs else None
    if last is None or last.operator not in ("<<", "<<<"):
        return None
    text = last.body.literal if last.body else last.target.literal if last.target else None
    if text is None or (last.operator == "<<<" and text[:1] == "~"):
        return None
    return text if last.operator == "<<" else f"{text}\n"


def _redirects(script: Script) -> list[Redirect]:
    return [node for node in _nodes(script) if isinstance(node, Redirect)]


def _loop_variables(script: Script) -> set[str]:
    return {node.variable for node in _nodes(script) if isinstance(node, ForLoop)}


def _nodes(node: object) -> list[object]:
    """Every node of a tree."""
    if isinstance(node, tuple):
        return [below for part in node for below in _nodes(part)]
    if not hasattr(node, "__dataclass_fields__"):
        return []
    return [node, *(below for name in node.__dataclass_fields__ for below in _nodes(getattr(node, name)))]
