"""Detects the sandbox's denials in the last output of a failed command.

Invariant: from a masked file, this module reads only the names of variables. For any other file, it checks only if the
file exists.

The result is a guess. A wrong guess at most makes the app ask the user to run the command again.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tui_agent.ports.environment import SecretFile
from tui_agent.workspace.local.containment import is_within
from tui_agent.workspace.sandbox.mounts import PRIVATE_FOLDERS, Bounds

MAX_OUTPUT_CHARS = 6_000
"""Number of characters to check at the end of the output, where the fatal error is."""
_PATH = re.compile(r"(?<![\w.~-])(~?/[^\s'\"`‘’“”:;,()<>|]+)")
_PARENT_FOLDERS = re.compile(r"^(?:~/|(?:\.\.?/)+)")
_PROGRAM_PREFIX = re.compile(r"^\S*/s?bin/\S+: (?:line \d+: )?")
"""Regular expression for the program's own path at the start of its message."""
_READ_ONLY = re.compile(r"read-only file ?system|\bEROFS\b|os error 30\b|errno 30\b", re.IGNORECASE)
_REPOSITORY = re.compile(r"(?<![\w.-])\.git\b|\brepository\b|\bgit/worktrees\b")
_SEALED = (
    "The command tried to change the repository in .git. In the sandbox only git commands can do that, "
    "such as git add and git commit. Run them in a separate call, without programs that run code."
)
_READ_ONLY_RUN = "The command tried to change the workspace, which is read-only for this command."
_NEEDS_RIGHTS = re.compile(r"maybe need administrative\s+privileges", re.IGNORECASE)
"""CMake's message if it cannot create a folder of the installation, without the error of the system."""
_MODE_OF_MISSING = re.compile(r"cannot change permissions of .*: no such file or directory", re.IGNORECASE)
"""Message of `install -d` if it cannot create a folder."""
_CMAKE_ERROR = re.compile(r"^CMake Error.*(?:\n {2}.*)+", re.MULTILINE)
_BUSY = re.compile(r"device or resource busy|\bEBUSY\b", re.IGNORECASE)
_CROSS_DEVICE = re.compile(r"cross-device link|\bEXDEV\b|os error 18\b|errno 18\b", re.IGNORECASE)
_TARGET_EXISTS = re.compile(r"\bexists\b|not a directory|non-directory", re.IGNORECASE)
_WRITE_REFUSED = re.compile(f"{_READ_ONLY.pattern}|{_BUSY.pattern}", re.IGNORECASE)
_DELETION = re.compile(r"\b(?:remov|unlink|delet)|\brm:", re.IGNORECASE)
"""Words for a deletion, in the message of a program whose write was refused."""
DENIED = re.compile(r"permission denied|access denied|\bEACCES\b|os error 13\b|errno 13\b", re.IGNORECASE)
_NOT_PERMITTED = re.compile(
    r"operation not permitted|no new privileges|\bEPERM\b|os error 1\b|errno 1\b", re.IGNORECASE
)
_NOT_FOUND = re.compile(r"no such file or directory|\bENOENT\b|not found|does not exist", re.IGNORECASE)
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
_EXISTS = re.compile(r"file exists|\bEEXIST\b|already exists|is a directory|not a directory", re.IGNORECASE)
_MAX_FILE_BYTES = 100_000
_MAX_FILES = 5
_GIT_ADD_FAILED = re.compile(r"unable to index file|adding files failed")
_VARIABLE = re.compile(r"(?<![A-Za-z0-9_])[A-Z][A-Z0-9]*_[A-Z0-9_]+(?![A-Za-z0-9_])")
_ASSIGNMENT = re.compile(r"^[ \t]*+(?:export[ \t]++)?([A-Z][A-Z0-9_]*+)[ \t]*+=", re.MULTILINE)
_COMMON_VARIABLES = frozenset({"NODE_ENV", "LOG_LEVEL", "FLASK_ENV", "RAILS_ENV", "APP_ENV"})
"""Names of variables in many settings files. They do not show which file is missing."""
_BAD_SYSTEM_CALL = 128 + 31
"""A shell's exit code for a process ended by SIGSYS, after a forbidden system call."""


class SecretDenial(NamedTuple):
    """The secret files that a command could not read or change. All fields are empty if nothing was denied.

    - `reason`: a sentence about the files
    - `files`: the files to which the sandbox can give the command access
    - `changed`: the files that the command tried to change or delete
    """

    reason: str = ""
    files: tuple[SecretFile, ...] = ()
    changed: tuple[SecretFile, ...] = ()


def explain_denial(
    output: str,
    exit_code: int,
    bounds: Bounds,
    *,
    network: bool,
    sealed: bool = False,
    read_only: bool = False,
) -> str:
    """Return a sentence about the sandbox's denial. Empty if the sandbox was probably not the cause.

    `sealed`, `read_only`: see `repository_read_only` and `read_only` of `ExecSpec`.
    """
    # CMake breaks its messages into lines, even between a path and the error.
    tail = _CMAKE_ERROR.sub(lambda match: " ".join(match[0].split()), output[-MAX_OUTPUT_CHARS:])
    lines = tail.splitlines()
    if exit_code == _BAD_SYSTEM_CALL or any("bad system call" in line.lower() for line in lines):
        return "The command made a system call that the sandbox blocks."
    for line in reversed(lines):  # the last error is usually the one that ended the command
        if read_only and _READ_ONLY.search(line) and not _find_outside_paths(line, bounds):
            return _READ_ONLY_RUN
        if sealed and _READ_ONLY.search(line) and _REPOSITORY.search(line):
            return _SEALED
        if _WRITE_REFUSED.search(line):
            # Node.js repeats the error's code without the path in its last lines.
            refused = (other for other in (line, *reversed(lines)) if _WRITE_REFUSED.search(other))
            changed = next(filter(None, (_find_changed_paths(other, bounds) for other in refused)), ())
            return (
                f"The command tried to change {_describe_paths(changed)}, which the sandbox does not allow."
            )
        reason = _explain_line(line, bounds, network)
        if reason:
            return reason
    return ""


def explain_existing_target(output: str, created: Sequence[str]) -> str:
    """Return a sentence if a command failed because its target exists, although only the sandbox created the target.

    Otherwise, return an empty string. `created`: paths of the empty files that the sandbox created.
    """
    for line in reversed(output[-MAX_OUTPUT_CHARS:].splitlines()):
        if _TARGET_EXISTS.search(line):
            for path in created:
                if _may_name(line, path):
                    return f"The command could not create {path}: the sandbox had put an empty file there."
    return ""


def _may_name(line: str, path: str) -> bool:
    """Return True if a message may name the absolute path `path`: `‘../a’` may be `/home/ada/a`, `‘src/a’` may not."""
    folder, _, name = path.rpartition("/")
    written = re.finditer(rf"(?<![^\s'\"`‘“])([^\s'\"`‘“]*/)?{re.escape(name)}/?(?![^\s'\"`’”:])", line)
    starts = (_PARENT_FOLDERS.sub("", match[1] or "") for match in written)
    return any(f"{folder}/".endswith(start) for start in starts)


def find_denied_secrets(
    output: str, masked: Sequence[SecretFile], *, read_only: bool = False
) -> SecretDenial:
    """Return the secret files that a failed command seems to have tried to read, change or delete.

    Blocks: call it in a thread.

    `read_only`: see `ExecSpec.read_only`.
    """
    tail = output[-MAX_OUTPUT_CHARS:]
    files = _files_in_lines(tail, DENIED, masked)
    if files:
        names = " and ".join(map(_describe_file, files))
        verb = "are" if len(files) > 1 else "is"
        reason = f"The command tried to read {names}, which may hold secrets and {verb} hidden from commands."
        if any(_GIT_ADD_FAILED.search(line) for line in tail.splitlines()):
            excludes = " ".join(f"':!{file.name.rstrip('/')}'" for file in files)
            reason += f" To add everything else: git add -A -- . {excludes}"
        return SecretDenial(reason, files)
    files = () if read_only else _files_in_lines(tail, _WRITE_REFUSED, masked)
    if files:
        return _describe_changes(files, tail)
    named_variables = set(_VARIABLE.findall(tail))
    for file in masked:
        missing = sorted(named_variables & _read_variable_names(file))
        if missing:
            name = file.name.rstrip("/")
            why = f"The output mentions {missing[0]}, which is set in {name}; that file is hidden from commands."
            return SecretDenial(why, (file,))
    return SecretDenial()


def _describe_changes(files: tuple[SecretFile, ...], output: str) -> SecretDenial:
    action = "change"
    deletions = "\n".join(line for line in output.splitlines() if _DELETION.search(line))
    if _files_in_lines(deletions, _WRITE_REFUSED, files):
        action = "delete"
    elif _files_in_lines(output, _BUSY, files):  # a mounted file is busy only if its name is removed or taken
        action = "delete or replace"
    names, verb = " and ".join(map(_describe_file, files)), "are" if len(files) > 1 else "is"
    reason = (
        f"The command tried to {action} {names}, which may hold secrets and {verb} protected from commands."
    )
    # Access does not help with a file that every command finds read-only, such as .env.
    return SecretDenial(reason, files if all(file.is_writable for file in files) else (), files)


def _files_in_lines(
    text: str, pattern: re.Pattern[str], masked: Sequence[SecretFile]
) -> tuple[SecretFile, ...]:
    """Return the files named in lines that match `pattern`. The files of the last line come first."""
    lines = [line for line in text.splitlines() if pattern.search(line)]
    files = dict.fromkeys(file for line in reversed(lines) for file in _files_in_line(line, masked))
    return tuple(files)[:_MAX_FILES]


def _files_in_line(line: str, masked: Sequence[SecretFile]) -> tuple[SecretFile, ...]:
    """Return the files that a line names, by full path or by file name."""
    linked = tuple(
        file
        for file in masked
        if _describe_file(file) != file.name.rstrip("/") and contains_name(line, Path(file.path).name)
    )
    if linked:
        return linked[:1]
    full_names = tuple(
        file for file in masked if "/" in file.name.rstrip("/") and contains_name(line, file.name.rstrip("/"))
    )
    return full_names or tuple(file for file in masked if contains_name(line, Path(file.name).name))[:1]


def _describe_file(file: SecretFile) -> str:
    name, real = file.name.rstrip("/"), Path(file.path).name
    return name if Path(name).name == real else f"{real} (through the link {name})"


def contains_name(line: str, name: str) -> bool:
    """Return True if a line contains the name, and not only inside a longer name."""
    return name in line and re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", line) is not None


def _read_variable_names(file: SecretFile) -> set[str]:
    try:
        with Path(file.path).open("rb") as stream:
            text = stream.read(_MAX_FILE_BYTES).decode("utf-8", "replace")
    except OSError:
        return set()
    return {name for name in _ASSIGNMENT.findall(text) if "_" in name and name not in _COMMON_VARIABLES}


def _explain_line(line: str, bounds: Bounds, network: bool) -> str:
    # The most certain explanations come first. A denied access, for example, can have many other causes.
    outside = _find_outside_paths(line, bounds)
    if _CROSS_DEVICE.search(line):
        place = _describe_paths(outside) if outside else "part of the workspace"
        return (
            f"In the sandbox, {place} is on a separate file system, so renames and links to or from it fail. "
            "Copy instead (`cp` or `mv`)."
        )
    if _EXISTS.search(line) and any(name in line for name in bounds.absent):
        return "The command tried to create a repository, which the sandbox does not allow."
    if _KEYS.search(line.lower()):
        return "The command tried to use your keys, which the sandbox hides."
    if not network and _NETWORK.search(line):
        return "The command tried to use the network, which the sandbox does not allow."
    if _SERVICES.search(line):
        return "The command tried to use a service on your machine, which the sandbox hides."
    if outside and (_NEEDS_RIGHTS.search(line) or _MODE_OF_MISSING.search(line)):
        return f"The command tried to change {_describe_paths(outside)}, which the sandbox does not allow."
    if DENIED.search(line) and outside:
        return f"The command tried to access {_describe_paths(outside)}, which the sandbox does not allow."
    if _NOT_PERMITTED.search(line):
        return "The command made a request that the sandbox blocks (Operation not permitted)."
    if _NOT_FOUND.search(line):
        hidden = [path for path in outside if _is_hidden(_normalise(path, bounds), bounds)]
        if hidden:
            return f"The command tried to use {_describe_paths(hidden)}, which is not visible in the sandbox."
    return ""


def _find_paths(line: str) -> list[str]:
    return [path.rstrip(".") for path in _PATH.findall(_PROGRAM_PREFIX.sub("", line))]


def _find_changed_paths(line: str, bounds: Bounds) -> list[str]:
    """Return the paths that a refused write names: outside paths, other absolute paths, or protected relative paths."""
    return _find_outside_paths(line, bounds) or _find_paths(line) or _find_protected_paths(line, bounds)


def _find_protected_paths(line: str, bounds: Bounds) -> list[str]:
    # Git's hooks and settings are protected too. They are found by their content, so `bounds` does not name them.
    names = (*bounds.read_only, ".git")
    patterns = (rf"(?<![\w.-]){re.escape(name)}(?:/[\w./-]+|(?![\w.-]))" for name in names)
    return [match[0].rstrip(".") for pattern in patterns if (match := re.search(pattern, line))]


def _find_outside_paths(line: str, bounds: Bounds) -> list[str]:
    return [path for path in _find_paths(line) if not is_within(_normalise(path, bounds), bounds.root)]


def _is_hidden(path: str, bounds: Bounds) -> bool:
    places = (*PRIVATE_FOLDERS, *(pattern for pattern in bounds.hidden if "*" not in pattern))
    return any(is_within(path, place) for place in places) and os.path.lexists(path)


def _normalise(path: str, bounds: Bounds) -> str:
    return os.path.normpath(bounds.home + path[1:] if path.startswith("~/") and bounds.home else path)


def _describe_paths(paths: Sequence[str]) -> str:
    return paths[-1] if paths else "something outside the workspace"
