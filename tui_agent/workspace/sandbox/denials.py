"""What the sandbox seems to have refused a command that failed, told from its last words.

Invariant: pure but for looks whether a named file is there, and for names of variables in one that was kept from it. A
guess: it decides nothing but whether the command is offered again.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tui_agent.ports.environment import SecretFile
from tui_agent.workspace.sandbox.mounts import PRIVATE, Bounds

LAST = 6_000
"""Characters of the output that are looked at: a refusal that ends a command stands near the end."""
_PATH = re.compile(r"(?<![\w.~-])(~?/[^\s'\"`:;,()<>|]+)")
_SPEAKER = re.compile(r"^\S*/s?bin/\S+: (?:line \d+: )?")
"""The program that a message begins with: its path is not what was refused."""
_READ_ONLY = re.compile(r"read-only file ?system|\bEROFS\b|os error 30\b|errno 30\b", re.IGNORECASE)
_REPOSITORY = re.compile(r"(?<![\w.-])\.git\b|\brepository\b|\bgit/worktrees\b")
_SEALED = (
    "It wanted to change the repository in .git, which in the sandbox only commands of git do "
    "(git add, git commit and the like: in a call of their own, without a program that runs code)."
)
_READS_ONLY = "It tried to change the workspace, which it may only read."
_BUSY = re.compile(r"device or resource busy|\bEBUSY\b|invalid cross-device link|\bEXDEV\b", re.IGNORECASE)
DENIED = re.compile(r"permission denied|access denied|\bEACCES\b|os error 13\b|errno 13\b", re.IGNORECASE)
_NOT_PERMITTED = re.compile(
    r"operation not permitted|no new privileges|\bEPERM\b|os error 1\b|errno 1\b", re.IGNORECASE
)
_ABSENT = re.compile(r"no such file or directory|\bENOENT\b|not found|does not exist", re.IGNORECASE)
_NETWORK = re.compile(
    r"could not resolve|couldn't resolve|temporary failure in name resolution|name or service not known|"
    r"network is unreachable|no route to host|unable to resolve host|failed to lookup address|nodename nor servname|"
    r"\b(?:ENETUNREACH|EAI_AGAIN|ENOTFOUND|EHOSTUNREACH|ECONNREFUSED)\b|getaddrinfo|connection refused|"
    r"failed to establish a new connection|(?:couldn't|could not|failed to|unable to) connect|no internet|dial tcp|dns error",
    re.IGNORECASE,
)
_KEYS = re.compile(
    r"permission denied \(publickey|could not read username|host key verification failed|no secret key"
)
_SERVICES = re.compile(
    r"docker daemon|cannot open display|cannot connect to x server|gpg-agent|"
    r"failed to connect to (?:the )?(?:system|session|user)[- ]?(?:scope )?bus|dbus",
    re.IGNORECASE,
)
_TAKEN = re.compile(r"file exists|\bEEXIST\b|already exists|is a directory|not a directory", re.IGNORECASE)
_LARGEST = 100_000
_MOST_WANTED = 5
_ADDED = re.compile(r"unable to index file|adding files failed")
_VARIABLE = re.compile(r"(?<![A-Za-z0-9_])[A-Z][A-Z0-9]*_[A-Z0-9_]+(?![A-Za-z0-9_])")
_SET = re.compile(r"^\s*(?:export\s+)?([A-Z][A-Z0-9_]*)\s*=", re.MULTILINE)
_ORDINARY = frozenset({"NODE_ENV", "LOG_LEVEL", "FLASK_ENV", "RAILS_ENV", "APP_ENV"})
"""Names that stand in most outputs, whatever failed."""
_BAD_CALL = 128 + 31
"""How a shell tells of SIGSYS."""


class Kept(NamedTuple):
    """What a command was kept from: a sentence, empty where nothing points to that, and the files."""

    why: str = ""
    files: tuple[SecretFile, ...] = ()


def blocked(
    output: str,
    exit_code: int,
    bounds: Bounds,
    *,
    network: bool,
    sealed: bool = False,
    read_only: bool = False,
) -> str:
    """A sentence about what was refused; empty where nothing points to the sandbox. `sealed` and `read_only` as in `ExecSpec`."""
    lines = output[-LAST:].splitlines()
    if exit_code == _BAD_CALL or any("bad system call" in line.lower() for line in lines):
        return "It made a system call that the sandbox refuses."
    for line in reversed(lines):
        if read_only and _READ_ONLY.search(line) and not _paths_outside(line, bounds):
            return _READS_ONLY
        if sealed and _READ_ONLY.search(line) and _REPOSITORY.search(line):
            return _SEALED
        said = _of_line(line, bounds, network)
        if said:
            return said
    return ""


def kept_from(output: str, masked: Sequence[SecretFile]) -> Kept:
    """Files with secrets that a failed command seems to have wanted: it says that it could not open them, or names a
    variable that stands in one. Blocks."""
    words = output[-LAST:]
    denied = [line for line in words.splitlines() if DENIED.search(line)]
    found = dict.fromkeys(one for line in reversed(denied) for one in _meant(line, masked))
    files = tuple(found)[:_MOST_WANTED]
    if files:
        names = " and ".join(map(_label, files))
        are = "are" if len(files) > 1 else "is"
        said = f"It wanted to read {names}, which may hold secrets and {are} kept from commands."
        if any(_ADDED.search(line) for line in words.splitlines()):
            left = " ".join(f"':!{one.name.rstrip('/')}'" for one in files)
            said += f" Without it: git add -A -- . {left}"
        return Kept(said, files)
    said_variables = set(_VARIABLE.findall(words))
    for one in masked:
        missed = sorted(said_variables & _variables(one))
        if missed:
            name = one.name.rstrip("/")
            why = f"It speaks of {missed[0]}, which stands in {name}, and that file is kept from commands."
            return Kept(why, (one,))
    return Kept()


def _meant(line: str, masked: Sequence[SecretFile]) -> tuple[SecretFile, ...]:
    """The files that a line names: by their whole names, or else the one nearest to the top by its last part."""
    led = tuple(
        one for one in masked if _label(one) != one.name.rstrip("/") and _names(line, Path(one.path).name)
    )
    if led:
        return led[:1]
    whole = tuple(one for one in masked if "/" in one.name.rstrip("/") and _names(line, one.name.rstrip("/")))
    return whole or tuple(one for one in masked if _names(line, Path(one.name).name))[:1]


def _label(one: SecretFile) -> str:
    """Its name; of a link with such a name the file as well, which has another."""
    name, real = one.name.rstrip("/"), Path(one.path).name
    return name if Path(name).name == real else f"{real}, to which the link {name} leads,"


def _names(line: str, name: str) -> bool:
    return name in line and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", line) is not None


def _variables(one: SecretFile) -> set[str]:
    """The names that a file of settings gives values to."""
    try:
        with Path(one.path).open("rb") as file:
            text = file.read(_LARGEST).decode("utf-8", "replace")
    except OSError:
        return set()
    return {name for name in _SET.findall(text) if "_" in name and name not in _ORDINARY}


def _of_line(line: str, bounds: Bounds, network: bool) -> str:
    outside = _paths_outside(line, bounds)
    if _READ_ONLY.search(line) or _BUSY.search(line):
        return f"It wanted to change {_named(outside or _paths(line))}, which the sandbox forbids."
    if _TAKEN.search(line) and any(name in line for name in bounds.absent):
        return "It wanted to make a file of settings, which the sandbox forbids."
    if _KEYS.search(line.lower()):
        return "It wanted keys of yours, which the sandbox hides."
    if not network and _NETWORK.search(line):
        return "It wanted to reach the network, which the sandbox forbids."
    if _SERVICES.search(line):
        return "It wanted a service that runs on your machine, which the sandbox hides."
    if DENIED.search(line) and outside:
        return f"It wanted to get at {_named(outside)}, which the sandbox forbids."
    if _NOT_PERMITTED.search(line):
        return "It asked the system for something that the sandbox refuses (Operation not permitted)."
    if _ABSENT.search(line):
        unseen = [path for path in outside if _hidden(_plain(path, bounds), bounds)]
        return f"It wanted {_named(unseen)}, which is not seen in the sandbox." if unseen else ""
    return ""


def _paths(line: str) -> list[str]:
    return [path.rstrip(".") for path in _PATH.findall(_SPEAKER.sub("", line))]


def _paths_outside(line: str, bounds: Bounds) -> list[str]:
    return [path for path in _paths(line) if not _within(_plain(path, bounds), bounds.root)]


def _hidden(path: str, bounds: Bounds) -> bool:
    """Whether it is there, but in a place that a sandbox does not show."""
    places = (*PRIVATE, *(each for each in bounds.hidden if "*" not in each))
    return any(_within(path, place) for place in places) and os.path.lexists(path)


def _plain(path: str, bounds: Bounds) -> str:
    return os.path.normpath(bounds.home + path[1:] if path.startswith("~/") and bounds.home else path)


def _named(paths: Sequence[str]) -> str:
    return paths[-1] if paths else "something outside the workspace"


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
