"""Finds and reads the files of instructions that hold for a workspace: the user's, the repository's, nested ones.

Invariant: reading follows no link out of the workspace (above it, none at all), opens only regular files of a bounded
size, and follows nothing that a text names; what is left out is told in a note.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from anyio import to_thread

from tui_agent.errors import EnvironmentFault
from tui_agent.ports.environment import Environment
from tui_agent.protocol.base import text_preview
from tui_agent.protocol.events.instructions import InstructionFile, InstructionScope

NAMES = ("AGENTS.md", "CLAUDE.md")
"""Of each folder the first of these that is there."""
MAX_FILE_CHARS = 32_000
MAX_ALL_CHARS = 96_000
"""Together; where there is more, those farther away give way first, the user's own last."""
LEAST_CHARS = 2_000
"""A file that has less room is left out; one that joins on the way has so much in any case."""
JOINING = 0.10
"""Share of the window that one file may take which joins on the way."""
MAX_READ_BYTES = 1_000_000
CHARS_PER_TOKEN = 4
MOST_PLACES = 50
"""Of the files and folders that one call's commands name."""
_PATTERN = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Found:
    """What was read, the farthest first, and what was left out and why."""

    files: tuple[InstructionFile, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Reading:
    files: list[InstructionFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, path: str, scope: InstructionScope, data: bytes) -> None:
        """Take a file's bytes in, or say why not."""
        try:
            text = data.decode("utf-8-sig").strip()
        except UnicodeDecodeError as error:
            self.notes.append(f"{path} is left out: it is not UTF-8 text (byte {error.start}).")
            return
        if not text:
            return
        shown = text[:MAX_FILE_CHARS]
        if len(text) > len(shown):
            shown = shown[: shown.rfind("\n") + 1] or shown
            self.notes.append(
                f"{path} is cut: {len(shown):,} of its {len(text):,} characters are used. Make it shorter."
            )
        self.files.append(
            InstructionFile(
                path=path,
                scope=scope,
                sha256=hashlib.sha256(data).hexdigest(),
                size=len(data),
                tokens=-(-len(shown) // CHARS_PER_TOKEN),
                text=shown,
                cut=len(shown) < len(text),
            )
        )


class InstructionFiles:
    """Reads them. `user` is the folder of the user's own file; without `project` the repository's files are left alone,
    and the note says so. `may_read` tells of a path, and of where it leads, why it is not to be read."""

    def __init__(
        self,
        env: Environment,
        user: Path,
        *,
        project: bool = True,
        may_read: Callable[[str, str], str] = lambda path, real: "",
    ) -> None:
        self._env = env
        self._may_read = may_read
        self._user = user
        self._project = project

    async def all(self, known: Sequence[InstructionFile] = ()) -> Found:
        """Those that hold from the start, and below the workspace those that are `known` already. What is as it was known
        is given as it was known."""
        reading = _Reading()
        await to_thread.run_sync(self._users, reading)
        if self._project:
            root = Path(self._env.root)
            await to_thread.run_sync(self._above, reading, root)
            await self._one(reading, "", "project")
            for one in known:
                if one.scope == "nested":
                    await self._one(reading, str(PurePosixPath(one.path).parent), "nested")
        elif await self._there(""):
            reading.notes.append(
                "The instructions of this folder are left out: its own files are not trusted (/trust)."
            )
        told = {(one.path, one.sha256): one for one in known}
        files = [told.get((one.path, one.sha256), one) for one in reading.files]
        return _within(files, reading.notes, told)

    async def places(self, paths: Sequence[str]) -> list[str]:
        """What of these files and folders lies in the workspace, seen from there; a folder with a `/` behind it, a pattern only
        where the folder that it begins in is certain."""
        found, root = list[str](), self._env.root.rstrip("/") + "/"
        for path in paths[:MOST_PLACES]:
            near = path.removeprefix(root)
            if near.startswith(("/", "~")) or _PATTERN.intersection(PurePosixPath(near).parent.as_posix()):
                continue
            try:
                there = await self._env.stat(near)
            except EnvironmentFault:
                continue
            found.append(f"{near}/" if there is not None and there.kind == "directory" else near)
        return found

    async def below(self, folders: Sequence[str], known: Sequence[InstructionFile], room: int) -> Found:
        """Those of folders below the workspace that have not joined yet, the farthest first; each has `room` characters at
        most."""
        reading = _Reading()
        if not self._project:
            return Found()
        joined = {str(PurePosixPath(one.path).parent) for one in known if one.scope == "nested"}
        for folder in folders:
            if folder not in joined:
                await self._one(reading, folder, "nested")
        left, files = MAX_ALL_CHARS - sum(map(_chars, known)), list[InstructionFile]()
        for one in reading.files:
            files.append(_cut(one, max(LEAST_CHARS, min(room, left)), reading.notes))
            left -= _chars(files[-1])
        return Found(tuple(files), tuple(reading.notes))

    def _users(self, reading: _Reading) -> None:
        for name in NAMES:
            path = self._user / name
            if _read_plain(path, str(path), "user", reading, links=True):
                return

    def _above(self, reading: _Reading, root: Path) -> None:
        """The folders between the top of the repository and the workspace."""
        home = Path(os.path.expanduser("~"))  # noqa: PTH111 - it raises nothing where there is no home
        above: list[Path] = []
        for folder in (root, *root.parents):
            if folder == home or folder.parent == folder:
                return
            above.append(folder)
            try:
                if (folder / ".git").exists():
                    break
            except OSError:
                return  # what cannot be looked into has nothing to say
        else:
            return
        for folder in reversed(above[1:]):
            for name in NAMES:
                shown = os.path.relpath(folder / name, root)
                if _read_plain(folder / name, shown, "project", reading):
                    break

    async def _there(self, folder: str) -> bool:
        for name in NAMES:
            try:
                if await self._env.stat(_joined(folder, name)) is not None:
                    return True
            except EnvironmentFault:
                return True
        return False

    async def _one(self, reading: _Reading, folder: str, scope: InstructionScope) -> None:
        """The file of one folder of the workspace, by the environment."""
        for name in NAMES:
            path = _joined(folder, name)
            try:
                found = await self._env.stat(path)
                if found is None:
                    continue
                real = self._env.resolve(path)
                if why := self._may_read(path, real):
                    reading.notes.append(f"{path} is left out: {why}.")
                    continue
                if found.kind == "link" and not _names_instructions(real):
                    reading.notes.append(f"{path} is left out: it is a link to something else.")
                    continue
                content = await self._env.read(path, MAX_READ_BYTES)
            except EnvironmentFault as fault:
                reading.notes.append(f"{path} is left out: {fault.message}")
                continue
            reading.take(path, scope, content.data)
            return


def room_of(window: int) -> int:
    """Characters that one file may have which joins on the way; `window` is 0 where nobody knows it."""
    return round(window * JOINING * CHARS_PER_TOKEN) if window else MAX_FILE_CHARS


def joined(known: Sequence[InstructionFile], fresh: Sequence[InstructionFile]) -> list[InstructionFile]:
    """All that hold where these join the known ones: each behind those of the folders above it."""
    order = list(known)
    for one in fresh:
        folder = PurePosixPath(one.path).parent
        below = (at for at, other in enumerate(order) if _lies_below(other, folder))
        order.insert(next(below, len(order)), one)
    return order


def _lies_below(one: InstructionFile, folder: PurePosixPath) -> bool:
    return one.scope == "nested" and folder in PurePosixPath(one.path).parent.parents


def folders_of(paths: Sequence[str]) -> list[str]:
    """The folders below the workspace that files of these paths lie in, each above those that it holds; a path that ends
    with a `/` is such a folder itself."""
    found: dict[str, None] = {}
    for path in paths:
        parts = PurePosixPath(path).parts[: None if path.endswith("/") else -1]
        if path.startswith("/") or ".." in parts:
            continue
        for depth in range(1, len(parts) + 1):
            found["/".join(parts[:depth])] = None
    return sorted(found, key=lambda folder: (folder.count("/"), folder))


def _read_plain(
    path: Path, shown: str, scope: InstructionScope, reading: _Reading, *, links: bool = False
) -> bool:
    """Read a file outside the workspace; False where there is none. Blocking."""
    try:
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
        descriptor = os.open(path, flags)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        reading.notes.append(f"{shown} is left out: {error.strerror}.")
        return True
    with os.fdopen(descriptor, "rb") as file:
        try:
            data = file.read(MAX_READ_BYTES + 1) if path.is_file() else b""
        except OSError as error:
            reading.notes.append(f"{shown} is left out: {error.strerror}.")
            return True
    if len(data) > MAX_READ_BYTES:
        reading.notes.append(f"{shown} is left out: it is larger than {MAX_READ_BYTES // 1_000_000} MB.")
    else:
        reading.take(shown, scope, data)
    return True


def _within(files: Sequence[InstructionFile], notes: list[str], told: Collection[tuple[str, str]]) -> Found:
    """As many as there is room for: what was told stays, then the user's own has it, then the nearest."""
    ranks = [((one.path, one.sha256) not in told, one.scope != "user", -at) for at, one in enumerate(files)]
    room, kept = MAX_ALL_CHARS, dict[int, InstructionFile]()
    for rank, at in sorted((rank, at) for at, rank in enumerate(ranks)):
        one = files[at]
        if _chars(one) > room and rank[0]:
            if room < LEAST_CHARS:
                notes.append(f"{one.path} is left out: the instructions are too long together.")
                continue
            one = _cut(one, room, notes)
        kept[at], room = one, room - _chars(one)
    return Found(tuple(kept[at] for at in sorted(kept)), tuple(notes))


def _cut(one: InstructionFile, room: int, notes: list[str]) -> InstructionFile:
    """The file with so many characters of its text at most."""
    text = text_preview(one.text)
    if len(text) <= room:
        return one
    shown = text[:room]
    shown = shown[: shown.rfind("\n") + 1] or shown
    notes.append(
        f"{one.path} is cut: {len(shown):,} of its {len(text):,} characters are used, for want of room."
    )
    return one.model_copy(update={"text": shown, "tokens": -(-len(shown) // CHARS_PER_TOKEN), "cut": True})


def _chars(one: InstructionFile) -> int:
    return len(one.text) if isinstance(one.text, str) else max(one.text.size, len(text_preview(one.text)))


def _joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and folder != "." else name


def _names_instructions(real: str) -> bool:
    """Whether a link leads to a text of this kind, and not to something that was never meant to be shown."""
    return real.lower().endswith((".md", ".mdc", ".markdown"))
