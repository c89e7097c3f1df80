"""Instruction files of the user, the repository and its subfolders: search, reading, and shortening of long files.

Invariant: only regular files of limited size are read, and a link must lead to a file in the workspace. The
instructions of the outermost folder are cut first.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from pathlib import Path, PurePosixPath
from typing import Final

from anyio import to_thread

from tui_agent.config.small_files import read_regular
from tui_agent.context.budgets import divide_evenly
from tui_agent.context.compaction.summary_text import CutText
from tui_agent.context.truncation import artifact_id, head_and_tail
from tui_agent.errors import EnvironmentFault
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.environment import Environment
from tui_agent.protocol.events.instructions import InstructionFile, InstructionScope
from tui_agent.protocol.stored_text import text_preview
from tui_agent.units import format_bytes, format_number

NAMES = ("AGENTS.md", "CLAUDE.md")
"""Names of instruction files, in order of preference; each folder has at most one."""
MAX_FILE_CHARS = 32_000
MAX_ALL_CHARS = 96_000
"""Maximum total length of all instruction files, in characters."""
MIN_CHARS = 2_000
"""Minimum length of a cut instruction file, in characters. If there is less room, the file is left out."""
JOINING_FRACTION = 0.10
"""Maximum size of an instruction file that is added during a session, as a fraction of the window."""
MAX_READ_BYTES = 1_000_000
CHARS_PER_TOKEN = 4
MAX_PLACES = 50
"""Maximum number of paths of one call for which instruction files are searched."""
_PATTERN = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class LoadedInstructions:
    """Instruction files, starting with the outer folders, and notes about the files that were left out."""

    files: tuple[InstructionFile, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _InstructionCollector:
    """Instruction files collected so far, and notes about files that are left out."""

    files: list[InstructionFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add_text(self, path: str, scope: InstructionScope, data: bytes) -> None:
        """Add a file's text, or a note with the reason why the text cannot be used."""
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
                f"{path} is too long: {format_number(len(shown))} of its {format_number(len(text))} characters are used. Shorten it."
            )
        self.files.append(
            InstructionFile(
                path=path,
                scope=scope,
                sha256=hashlib.sha256(data).hexdigest(),
                size=len(data),
                tokens=-(-len(shown) // CHARS_PER_TOKEN),
                text=shown,
                truncated=len(shown) < len(text),
            )
        )


class InstructionFiles:
    """Reader of the instruction files of one workspace.

    `user`: folder of the user's own file.
    `may_read(path, real_path)`: returns the reason why reading is forbidden, or an empty string.
    """

    def __init__(
        self,
        env: Environment,
        user: Path,
        *,
        may_read: Callable[[str, str], str] = lambda path, real: "",
    ) -> None:
        self._env = env
        self._may_read = may_read
        self._user = user

    async def load(self, known: Sequence[InstructionFile] = ()) -> LoadedInstructions:
        """Return the instruction files for the start of a session.

        `known`: files that were loaded earlier. Files in subfolders are read again only if they are known. For an
        unchanged file, the known object is returned.
        """
        collector = _InstructionCollector()
        await to_thread.run_sync(self._read_user, collector)
        root = Path(self._env.root)
        await to_thread.run_sync(self._read_parents, collector, root)
        await self._read_folder(collector, "", "project")
        for file in known:
            if file.scope == "nested":
                await self._read_folder(collector, str(PurePosixPath(file.path).parent), "nested")
        previous = {(file.path, file.sha256): file for file in known}
        files = [previous.get((file.path, file.sha256), file) for file in collector.files]
        return _limit_total(files, collector.notes, previous)

    async def workspace_paths(self, paths: Sequence[str]) -> list[str]:
        """Return the paths in the workspace as relative paths. The paths of folders end with `/`."""
        places, root = list[str](), self._env.root.rstrip("/") + "/"
        for path in paths[:MAX_PLACES]:
            relative = path.removeprefix(root)
            if relative.startswith(("/", "~")) or _PATTERN.intersection(
                PurePosixPath(relative).parent.as_posix()
            ):
                continue
            try:
                info = await self._env.stat(relative)
            except EnvironmentFault:
                continue
            places.append(f"{relative}/" if info is not None and info.kind == "directory" else relative)
        return places

    async def load_nested(
        self, folders: Sequence[str], known: Sequence[InstructionFile], room: int
    ) -> LoadedInstructions:
        """Return the new instruction files in `folders`, outer folders first.

        `known`: files that are left out.
        `room`: maximum characters of each file.
        """
        collector = _InstructionCollector()
        joined = {str(PurePosixPath(file.path).parent) for file in known if file.scope == "nested"}
        for folder in folders:
            if folder not in joined:
                await self._read_folder(collector, folder, "nested")
        remaining, files = MAX_ALL_CHARS - sum(map(_chars, known)), list[InstructionFile]()
        for file in collector.files:
            files.append(_cut_file(file, max(MIN_CHARS, min(room, remaining)), collector.notes))
            remaining -= _chars(files[-1])
        return LoadedInstructions(tuple(files), tuple(collector.notes))

    def _read_user(self, collector: _InstructionCollector) -> None:
        for name in NAMES:
            path = self._user / name
            # The user's own file can be a link, for example into a folder of dot files.
            if _read_plain(path, str(path), "user", collector, links=True):
                return

    def _read_parents(self, collector: _InstructionCollector, root: Path) -> None:
        home = Path(os.path.expanduser("~"))  # noqa: PTH111 - does not raise if there is no home
        parents: list[Path] = []
        for folder in (root, *root.parents):
            # Parents count only inside a repository. Files in the home folder, or above it, are not the project's.
            if folder == home or folder.parent == folder:
                return
            parents.append(folder)
            try:
                if (folder / ".git").exists():
                    break
            except OSError:
                return  # a folder that cannot be read has no instructions
        else:
            return
        for folder in reversed(parents[1:]):
            for name in NAMES:
                shown = os.path.relpath(folder / name, root)
                if _read_plain(folder / name, shown, "project", collector):
                    break

    async def _read_folder(
        self, collector: _InstructionCollector, folder: str, scope: InstructionScope
    ) -> None:
        for name in NAMES:
            path = _join_path(folder, name)
            try:
                info = await self._env.stat(path)
                if info is None:
                    continue
                real = self._env.resolve(path)
                if reason := self._may_read(path, real):
                    collector.notes.append(f"{path} is left out: {reason}.")
                    continue
                if info.kind == "link" and not _names_instructions(real):
                    collector.notes.append(
                        f"{path} is left out: it is a link to a file that is not Markdown."
                    )
                    continue
                content = await self._env.read(path, MAX_READ_BYTES)
            except EnvironmentFault as fault:
                collector.notes.append(f"{path} is left out: {fault.message}")
                continue
            collector.add_text(path, scope, content.data)
            return


def room_of(window: int) -> int:
    """Return the maximum number of characters in an instruction file that is added during a session.

    `window`: the model's window in tokens (0: unknown).
    """
    # An added file is sent with every later request, so it gets only a small part of the window.
    return round(window * JOINING_FRACTION * CHARS_PER_TOKEN) if window else MAX_FILE_CHARS


def insert_files(known: Sequence[InstructionFile], fresh: Sequence[InstructionFile]) -> list[InstructionFile]:
    """Return all files in order, each fresh file after the files of its parent folders."""
    order = list(known)
    for file in fresh:
        folder = PurePosixPath(file.path).parent
        nested = (index for index, other in enumerate(order) if _lies_below(other, folder))
        order.insert(next(nested, len(order)), file)
    return order


def _lies_below(file: InstructionFile, folder: PurePosixPath) -> bool:
    return file.scope == "nested" and folder in PurePosixPath(file.path).parent.parents


def folders_of(paths: Sequence[str]) -> list[str]:
    """Return the folders that contain these paths, parents first.

    A path that ends in `/` is itself a folder. The workspace and folders outside it are left out.
    """
    folders: dict[str, None] = {}
    for path in paths:
        parts = PurePosixPath(path).parts[: None if path.endswith("/") else -1]
        if path.startswith("/") or ".." in parts:
            continue
        for depth in range(1, len(parts) + 1):
            folders["/".join(parts[:depth])] = None
    return sorted(folders, key=lambda folder: (folder.count("/"), folder))


def _read_plain(
    path: Path, shown: str, scope: InstructionScope, collector: _InstructionCollector, *, links: bool = False
) -> bool:
    """Read an instruction file outside the workspace; return False if the file does not exist."""
    try:
        data = read_regular(path, MAX_READ_BYTES + 1, 0 if links else os.O_NOFOLLOW) or b""
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        collector.notes.append(f"{shown} is left out: {error.strerror}.")
        return True
    if len(data) > MAX_READ_BYTES:
        collector.notes.append(f"{shown} is left out: it is larger than {format_bytes(MAX_READ_BYTES)}.")
    else:
        collector.add_text(shown, scope, data)
    return True


def _limit_total(
    files: Sequence[InstructionFile], notes: list[str], known: Collection[tuple[str, str]]
) -> LoadedInstructions:
    """Return as many instruction files as fit into `MAX_ALL_CHARS` characters, the most important files first."""
    # Order: known files, the user's own file, files of inner folders, files of outer folders.
    ranks = [
        ((file.path, file.sha256) not in known, file.scope != "user", -index)
        for index, file in enumerate(files)
    ]
    room, selected = MAX_ALL_CHARS, dict[int, InstructionFile]()
    for rank, index in sorted((rank, index) for index, rank in enumerate(ranks)):
        file = files[index]
        if _chars(file) > room and rank[0]:
            if room < MIN_CHARS:
                notes.append(f"{file.path} is left out: all instructions together are too long.")
                continue
            file = _cut_file(file, room, notes)
        selected[index], room = file, room - _chars(file)
    return LoadedInstructions(tuple(selected[index] for index in sorted(selected)), tuple(notes))


def _cut_file(file: InstructionFile, room: int, notes: list[str]) -> InstructionFile:
    text = text_preview(file.text)
    if len(text) <= room:
        return file
    shown = text[:room]
    shown = shown[: shown.rfind("\n") + 1] or shown
    notes.append(
        f"{file.path} is cut: {format_number(len(shown))} of its {format_number(len(text))} characters are used; there is no room for the rest."
    )
    return file.model_copy(
        update={"text": shown, "tokens": -(-len(shown) // CHARS_PER_TOKEN), "truncated": True}
    )


def _chars(file: InstructionFile) -> int:
    return len(file.text) if isinstance(file.text, str) else max(file.text.size, len(text_preview(file.text)))


def _join_path(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder and folder != "." else name


def _names_instructions(real: str) -> bool:
    """Return True if the target of a link looks like an instruction file."""
    return real.lower().endswith((".md", ".mdc", ".markdown"))


RULES_LABEL: Final = "the instructions of "
"""Start of a label that tells the user which instructions were cut."""
MAX_UNCUT_CHARS: Final = 400
"""Texts up to this number of characters are never cut."""
_MIN_CUT_CHARS: Final = 60


def cut_rules(ids: Sequence[str], texts: Sequence[str], room: int) -> list[tuple[str, CutText | None]]:
    """Cut the texts to `room` characters in total. Return each text with a record of how it was cut (None: not cut).

    `ids`, `texts`: ordered from the outermost folder to the innermost. The user's own file has an absolute path as id.
    """
    sizes = [len(text) for text in texts]
    results = list[tuple[str, CutText | None]]()
    for name, text, limit in zip(ids, texts, _allot_room(ids, sizes, room), strict=True):
        shown = text
        if limit < len(text):
            size = round(len(text.encode("utf-8", "replace")) * max(limit, _MIN_CUT_CHARS) / len(text))
            shown = head_and_tail(
                text, max_bytes=size, max_lines=len(text) + 1, artifact=artifact_id(text)
            ).text
        cut = len(shown) < len(text)
        results.append((shown, CutText(f"{RULES_LABEL}{name}", text, len(shown))) if cut else (text, None))
    return results


def _allot_room(ids: Sequence[str], sizes: Sequence[int], room: int) -> list[int]:
    """Return the number of characters for each text.

    Texts that are shorter than their share stay whole. The user's own text and the innermost text share the remaining
    room equally. The other texts get the room that these two leave, the inner texts first.
    """
    rooms = [size if size <= MAX_UNCUT_CHARS else 0 for size in sizes]
    room -= sum(rooms)
    long = [index for index, size in enumerate(sizes) if size > MAX_UNCUT_CHARS]
    last = [index for index in long if ids[index].startswith("/") or index == long[-1]]
    for group in (last, *([index] for index in reversed(long) if index not in last)):
        for index, limit in zip(group, divide_evenly([sizes[index] for index in group], room), strict=True):
            rooms[index] = limit
            room -= limit
    return rooms
