"""Notes for the model if the sandbox makes a command's output differ from reality.

Invariant: only the start of the output and a few small files are read.
"""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from tui_agent.ports.environment import ExecResult, SecretFile
from tui_agent.protocol.unicode_text import list_first
from tui_agent.workspace.sandbox.denials import DENIED, contains_name, find_denied_secrets

_MAX_OUTPUT_CHARS = 200_000
"""Number of characters at the start of the output that are checked."""
_LARGEST, _MOST_WORDS, _MOST_NAMED = 64_000, 12, 6
_GIT = re.compile(r"\bgit\b")
_LOOKS_AT_CHANGES = re.compile(
    r"\b(?:status|diff|add|commit|stash|checkout|switch|restore|reset|merge|rebase|am|apply)\b"
)

_LOCAL = re.compile(r"\blocalhost\b|\b127\.0\.0\.1\b|\b0\.0\.0\.0\b|\[?::1\]?")
_REFUSED = re.compile(
    r"connection refused|ECONNREFUSED|(?:couldn't|could not|failed to|unable to) connect", re.I
)
_SILENT_CLIENT = re.compile(r"\b(?:curl|wget)\b")
MISSED_SERVER = (
    "If the server is a background job in the sandbox, no other command can connect to its ports. "
    "Run server and client in one command."
)
"""Note for the model if a command could not reach the server of a background job."""
_NO_LEAK_CHECK = b"LeakSanitizer does not work under ptrace"


def find_leak_check_notes(output: bytes) -> tuple[str, ...]:
    """Return a note for the model if a program with AddressSanitizer failed because the sandbox refuses ptrace."""
    if _NO_LEAK_CHECK not in output:
        return ()
    return (
        "LeakSanitizer cannot look for leaks here, because ptrace is refused; the program may be correct. "
        "To check everything but leaks, set ASAN_OPTIONS=detect_leaks=0.",
    )


def misses_server(script: str, result: ExecResult) -> bool:
    """Return True if a command probably failed because it could not connect to a server on this machine."""
    if not result.exit_code:
        return False
    text = (result.output + result.stderr)[-_MAX_OUTPUT_CHARS:].decode("utf-8", "replace")
    if _REFUSED.search(text):
        return _LOCAL.search(text) is not None or _LOCAL.search(script) is not None
    # `curl -s` prints no error.
    return _SILENT_CLIENT.search(script) is not None and _LOCAL.search(script) is not None


def find_lost_write_notes(paths: Sequence[str]) -> tuple[str, ...]:
    """Return a note for the model on paths that a command created only in the sandbox's own /tmp."""
    if not paths:
        return ()
    verb = "does" if len(paths) == 1 else "do"
    return (
        f"{_join_names(paths)} {verb} not exist outside the sandbox, which has its own /tmp. A command cannot create a "
        "folder in the real /tmp.",
    )


def find_output_notes(
    words: Sequence[str],
    folder: str,
    output: bytes,
    masked: Sequence[SecretFile],
    placeholders: Sequence[str],
    *,
    is_read_only: bool,
) -> Iterator[str]:
    """Yield notes for the model on how the sandbox changed a successful command's output.

    Blocks: call it in a thread.

    `is_read_only`: True if the command only reads files. The masked files appeared empty to such a command.
    """
    text = output[:_MAX_OUTPUT_CHARS].decode("utf-8", "replace")
    names = [Path(path).name for path in placeholders]
    # A name such as `.bashrc` is unmistakable. Other names must be alone in a line, because they can also be words.
    phantoms = sorted(
        name
        for name in _find_listed(text, names)
        if (name.startswith(".") or _is_listed_alone(text, name))
        and not _exists_in_listing(name, words, folder, placeholders)
    )
    undeletable = [name for name in names if re.search(rf"failed to remove '?{re.escape(name)}\b", text)]
    if undeletable:
        yield f"The command could not remove empty placeholders of the sandbox ({_join_names(undeletable)}). Ignore these errors."
    elif phantoms:
        verb_form, noun = (
            ("does", "an empty placeholder") if len(phantoms) == 1 else ("do", "empty placeholders")
        )
        yield f"{_join_names(phantoms)} {verb_form} not exist: the output shows {noun} of the sandbox."
    listed = _listed_files(text, masked)
    if listed:
        subject = (
            "its content, size and time are" if len(listed) == 1 else "their contents, sizes and times are"
        )
        yield f"{_join_names(listed)} may hold secrets: {subject} hidden from commands."
    if is_read_only:
        return
    denied = find_denied_secrets(text, masked).files if DENIED.search(text) else ()
    if denied:
        yield f"The command could not read {_join_names([file.name for file in denied])}, which may hold secrets."
    else:
        yield from _scripts_with_secrets(words, folder, masked)
    replaced = [file.name for file in masked if file.committed_size_and_mtime is not None]
    reported = [
        name
        for name in replaced
        if re.search(rf"^(?: ?[MADT]{{1,2}} |[ \t]*+modified:[ \t]+){re.escape(name)}$", text, re.M)
    ]
    if reported:
        yield f"{_join_names(reported)} may hold secrets and cannot be read here: git could not show the changes."
    unreported = [name for name in replaced if name not in reported]
    if unreported and any(_looks_at_changes(word) for word in (*words, shlex.join(words))):
        yield (
            f"{_join_names(unreported)} may hold secrets, so this command's diffs and commits do not include "
            f"{'its' if len(unreported) == 1 else 'their'} changes since the last commit."
        )


def _looks_at_changes(script: str) -> bool:
    """Return True if `script` could have a git command that compares files with the repository."""
    return any(
        (git := _GIT.search(command)) and _LOOKS_AT_CHANGES.search(command, git.end())
        for command in re.split(r"[;|&\n]", script)
    )


def _listed_files(text: str, masked: Sequence[SecretFile]) -> list[str]:
    listed = [file.name.rstrip("/") for file in masked if _find_listed(text, [file.name.rstrip("/")])]
    by_last_name = {
        file.name.rstrip("/").rpartition("/")[2]: file.name.rstrip("/") for file in reversed(masked)
    }
    return listed + [
        by_last_name[name]
        for name in _find_listed(text, list(by_last_name))
        if by_last_name[name] not in listed
    ]


def _find_listed(text: str, names: Sequence[str]) -> set[str]:
    """Return the `names` that the output lists: in single quotes or at the end of a line."""
    # After a colon and a blank, the name ends a message (`fatal: not a git repository (…): .git`) and is not listed.
    mentioned = {name for name in names if name in text}
    return {
        name
        for name in mentioned
        if re.search(
            rf"(?:^|(?<!:)[\s/]){re.escape(name)}$|[ \t/]{re.escape(name)}/$|'{re.escape(name)}'", text, re.M
        )
    }


def _is_listed_alone(text: str, name: str) -> bool:
    """Return True if a line is the name, a path with this last name, or a row of `ls -l` with the name."""
    return re.search(rf"^(?:d[rwx-]{{9}}.* |\S*/)?{re.escape(name)}/?$", text, re.M) is not None


def _exists_in_listing(name: str, words: Sequence[str], folder: str, placeholders: Sequence[str]) -> bool:
    """Return True if a folder on the command line has an entry of this name. Placeholders do not count."""
    paths = (os.path.normpath(f"{Path(folder, word)}/{name}") for word in (".", *_possible_paths(words)))
    return any(path not in placeholders and os.path.lexists(path) for path in paths)


def _scripts_with_secrets(words: Sequence[str], folder: str, masked: Sequence[SecretFile]) -> Iterator[str]:
    names = {file.name.rstrip("/").rpartition("/")[2]: file.name for file in reversed(masked)}
    for word in _possible_paths(words):
        text = _read_script(Path(folder, word))
        mentioned = [names[name] for name in names if contains_name(text, name)]
        if mentioned:
            yield f"{word} refers to {_join_names(mentioned)}, which may hold secrets and cannot be read by this command."
            return


def _possible_paths(words: Sequence[str]) -> list[str]:
    text = " ".join(words)
    candidates = [
        word for word in re.split(r"[\s;|&<>()\"'`]+", text[:_LARGEST]) if word and word[0] not in "-$/~"
    ]
    return list(dict.fromkeys(candidates))[:_MOST_WORDS]


def _read_script(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return ""
        text = path.read_text("utf-8", "replace")
        return "" if "\0" in text else text  # archives contain file names, too
    except (OSError, ValueError):  # not a valid file name
        return ""


def _join_names(names: Sequence[str]) -> str:
    return list_first(names, _MOST_NAMED)
