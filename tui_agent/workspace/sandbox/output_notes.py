"""What the output of a confined command shows otherwise than it is, in sentences for whoever reads it.

Invariant: looks only, and never far: at the first of the output, and into few small files that the command line names. What
a program read for itself and said nothing of cannot be known.
"""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from tui_agent.ports.environment import SecretFile
from tui_agent.workspace.sandbox.denials import DENIED, kept_from

_FIRST = 200_000
"""Characters of the output that are looked at."""
_LARGEST, _MOST_WORDS, _MOST_NAMED = 64_000, 12, 6
_LOOKS_AT_CHANGES = re.compile(
    r"\bgit\b[^;|&\n]*\b(?:status|diff|add|commit|stash|checkout|switch|restore|reset|merge|rebase|am|apply)\b"
)


def notes(
    words: Sequence[str],
    folder: str,
    output: bytes,
    masked: Sequence[SecretFile],
    stand_ins: Sequence[str],
    *,
    looks: bool,
) -> tuple[str, ...]:
    """What is to be said of a command of these words that ended well; `looks` as in `ExecSpec`. Blocks."""
    said = output[:_FIRST].decode("utf-8", "replace")
    return tuple(_told(words, folder, said, masked, stand_ins, looks=looks))


def _told(
    words: Sequence[str],
    folder: str,
    said: str,
    masked: Sequence[SecretFile],
    stand_ins: Sequence[str],
    *,
    looks: bool,
) -> Iterator[str]:
    names = [Path(path).name for path in stand_ins]
    phantoms = sorted(
        name
        for name in _listed(said, names)
        if (name.startswith(".") or _in_listing(said, name)) and not _is_there(name, words, folder, stand_ins)
    )
    stuck = [name for name in names if re.search(rf"failed to remove '?{re.escape(name)}\b", said)]
    if stuck:
        yield f"Empty stand-ins of the sandbox cannot be removed ({_named(stuck)}): it failed at these alone, if at nothing else."
    elif phantoms:
        verb, what = ("is", "an empty stand-in") if len(phantoms) == 1 else ("are", "empty stand-ins")
        yield f"{_named(phantoms)} {verb} not there: {what} of the sandbox, gone after the command."
    listed = [one.name.rstrip("/") for one in masked if _listed(said, [one.name.rstrip("/")])]
    near = {one.name.rstrip("/").rpartition("/")[2]: one.name.rstrip("/") for one in reversed(masked)}
    listed += [near[name] for name in _listed(said, list(near)) if near[name] not in listed]
    if listed:
        them = "it, its size and time are" if len(listed) == 1 else "them, their sizes and times are"
        yield f"{_named(listed)} may hold secrets: what commands see of {them} not the file's own."
    if looks:
        return
    unread = kept_from(said, masked).files if DENIED.search(said) else ()
    if unread:
        yield f"It could not read {_named([one.name for one in unread])}, which may hold secrets."
    else:
        yield from _scripts(words, folder, masked)
    held = [one.name for one in masked if one.held is not None]
    shown = [
        name
        for name in held
        if re.search(rf"^(?: ?[MADT]{{1,2}} |\s*modified:\s+){re.escape(name)}$", said, re.M)
    ]
    if shown:
        yield f"{_named(shown)} may hold secrets and cannot be read here: git could not tell in what it was changed."
    changed = [name for name in held if name not in shown]
    if changed and any(_LOOKS_AT_CHANGES.search(word) for word in (*words, shlex.join(words))):
        yield (
            f"{_named(changed)} may hold secrets, and {'was' if len(changed) == 1 else 'were'} changed since the last "
            "commit: to git it looked unchanged here, and stands in no diff and no commit of this command."
        )


def _listed(said: str, names: Sequence[str]) -> set[str]:
    """Those of these names that end a line of a listing, or stand in quotes."""
    found = {name for name in names if name in said}
    return {
        name
        for name in found
        if re.search(
            rf"(?:^|[\s/]){re.escape(name)}$|[ \t/]{re.escape(name)}/$|'{re.escape(name)}'", said, re.M
        )
    }


def _in_listing(said: str, name: str) -> bool:
    """Whether a name that is a word as well stands alone on a line, in a path, or in a row of `ls -l`."""
    return re.search(rf"^(?:d[rwx-]{{9}}.* |\S*/)?{re.escape(name)}/?$", said, re.M) is not None


def _is_there(name: str, words: Sequence[str], folder: str, stand_ins: Sequence[str]) -> bool:
    """Return True if a folder that the command may list has a file or folder of this name, and no stand-in."""
    paths = (os.path.normpath(f"{Path(folder, word)}/{name}") for word in (".", *_plain_words(words)))
    return any(path not in stand_ins and os.path.lexists(path) for path in paths)


def _scripts(words: Sequence[str], folder: str, masked: Sequence[SecretFile]) -> Iterator[str]:
    """Files that the command line names and that name one of the files themselves."""
    names = {one.name.rstrip("/").rpartition("/")[2]: one.name for one in reversed(masked)}
    shapes = {name: re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])") for name in names}
    for word in _plain_words(words):
        text = _text(Path(folder, word))
        wanted = [names[name] for name, shape in shapes.items() if name in text and shape.search(text)]
        if wanted:
            yield f"{word} names {_named(wanted)}, which may hold secrets and cannot be read by this command."
            return


def _plain_words(words: Sequence[str]) -> list[str]:
    """Words of the command line that may name files of it."""
    text = " ".join(words)
    found = [
        word for word in re.split(r"[\s;|&<>()\"'`]+", text[:_LARGEST]) if word and word[0] not in "-$/~"
    ]
    return list(dict.fromkeys(found))[:_MOST_WORDS]


def _text(path: Path) -> str:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            return ""
        text = path.read_text("utf-8", "replace")
        return "" if "\0" in text else text  # an archive names what is in it
    except (OSError, ValueError):  # no name of a file
        return ""


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_NAMED])
    return shown if len(names) <= _MOST_NAMED else f"{shown} and {len(names) - _MOST_NAMED} more"
