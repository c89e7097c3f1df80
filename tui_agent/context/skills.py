"""Skills: folders with a SKILL.md, of the user and of a trusted project.

Invariant: a project's skills are those that were trusted, as they were read then; of the user's, only files below the
skill's own folder are read. A broken one is listed with its fault and never stops anything.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from tui_agent.config.files import read_regular
from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.config.project_files import ProjectFiles
from tui_agent.errors import ToolError
from tui_agent.ports.knowledge import SkillText
from tui_agent.protocol.events.instructions import SkillRecord

GUIDE: Final = "SKILL.md"
FOLDER: Final = "skills"
MAX_BYTES: Final = 200_000
MAX_SKILLS: Final = 100
MAX_FILES: Final = 200
MAX_DESCRIPTION: Final = 1_024
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_QUOTED: Final = re.compile(r"""(["'])(.*)\1[ \t]*(?:\#.*)?""")
_KEY: Final = re.compile(r"([A-Za-z][\w-]*)[ \t]*:[ \t]*(.*)")


@dataclass(frozen=True, slots=True)
class _Skill:
    record: SkillRecord
    body: str = ""
    folder: Path | None = None
    """The user's; None for a project's, whose files are `held`."""
    held: Mapping[str, bytes] = field(default_factory=dict)


class SkillShelf:
    """The skills of one start. `user` is the folder that holds the user's."""

    def __init__(self, user: Path, project: ProjectFiles | None = None) -> None:
        self._user = user
        self._project = project
        self._skills: dict[str, _Skill] = {}
        self._records: tuple[SkillRecord, ...] = ()
        self.refresh()

    @property
    def records(self) -> tuple[SkillRecord, ...]:
        """All that were found, by name; of two with one name the project's is used."""
        return self._records

    def refresh(self) -> tuple[SkillRecord, ...]:
        """Look again. Blocking."""
        found = [*self._of_project(), *self._of_user()]
        skills: dict[str, _Skill] = {}
        records = []
        for one in found[:MAX_SKILLS]:
            record = one.record
            if not record.fault and record.name in skills:
                first = skills[record.name].record
                fault = f"{first.path} has the name {record.name} too, and is used in its place"
                if first.origin != record.origin:
                    fault = f"the project has a skill {record.name} too, which is used in its place"
                record = record.model_copy(update={"fault": fault})
            elif not record.fault:
                skills[record.name] = one
            records.append(record)
        self._skills, self._records = skills, tuple(sorted(records, key=lambda one: (one.name, one.origin)))
        return self._records

    def read(self, name: str, file: str = "") -> SkillText:
        """The body of a skill, or one of its files. Blocking. Raises `ToolError`."""
        skill = self._skills.get(name)
        if skill is None:
            raise ToolError(
                f"There is no skill {name!r}.", hint=f"There are: {', '.join(self._skills) or 'none'}."
            )
        files = tuple(self._files(skill))
        if file in ("", GUIDE):
            return SkillText(name, GUIDE, skill.body, files)
        wanted = PurePosixPath(file)
        if wanted.is_absolute() or ".." in wanted.parts or "\0" in file:
            raise ToolError(f"{file} is not below the skill's folder.", hint=f"It has: {_listed(files)}.")
        content = self._content(skill, str(wanted), files)
        try:
            return SkillText(name, str(wanted), content.decode("utf-8-sig"), files)
        except UnicodeDecodeError as error:
            raise ToolError(f"{file} of {name} is no UTF-8 text.") from error

    def _content(self, skill: _Skill, file: str, files: tuple[str, ...]) -> bytes:
        if skill.folder is None:
            held = skill.held.get(file)
            if held is None:
                raise ToolError(f"{skill.record.name} has no file {file}.", hint=f"It has: {_listed(files)}.")
            content = held
        else:
            path = skill.folder / file
            if not path.resolve().is_relative_to(skill.folder.resolve()):
                raise ToolError(f"{file} is not below the skill's folder.")
            try:
                read = read_regular(path, MAX_BYTES + 1, os.O_NOFOLLOW)
            except OSError as error:
                hint = f"It has: {_listed(files)}."
                raise ToolError(f"{file} cannot be read: {error.strerror}.", hint=hint) from error
            if read is None:
                raise ToolError(f"{file} is no plain file.")
            content = read
        if len(content) > MAX_BYTES:
            raise ToolError(f"{file} is larger than {MAX_BYTES // 1000} KB.")
        return content

    def _files(self, skill: _Skill) -> Iterator[str]:
        """Its files but for SKILL.md, sorted."""
        if skill.folder is None:
            yield from sorted(name for name in skill.held if name != GUIDE)
            return
        found: list[str] = []
        for folder, folders, names in os.walk(skill.folder, followlinks=False):
            folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
            below = Path(folder).relative_to(skill.folder)
            found += [(below / name).as_posix() for name in names if name != GUIDE or below.parts]
            if len(found) > MAX_FILES:
                break
        yield from sorted(found)[:MAX_FILES]

    def _of_user(self) -> Iterator[_Skill]:
        try:
            folders = sorted(one for one in self._user.iterdir() if _is_folder(one) and one.name[0] != ".")
        except OSError:
            return  # there is no such folder: there are none
        for folder in folders[: MAX_SKILLS + 1]:
            try:
                content = read_regular(folder / GUIDE, MAX_BYTES + 1)
            except FileNotFoundError:
                yield _broken(folder.name, "user", str(folder), f"it has no {GUIDE}")
                continue
            except OSError as error:
                yield _broken(folder.name, "user", str(folder), f"{GUIDE} cannot be read: {error.strerror}")
                continue
            fault = f"{GUIDE} is no plain file" if content is None else ""
            yield _made(folder.name, "user", str(folder), content or b"", fault, folder=folder)

    def _of_project(self) -> Iterator[_Skill]:
        if self._project is None:
            return
        held: dict[str, dict[str, bytes]] = {}
        start = f"{PROJECT_FOLDER}/{FOLDER}/"
        for one in self._project.files:
            name, slash, below = one.name.removeprefix(start).partition("/")
            if one.name.startswith(start) and slash and not one.fault:
                held.setdefault(name, {})[below] = one.content
        for name, files in sorted(held.items()):
            content = files.get(GUIDE)
            fault = f"it has no {GUIDE}" if content is None else ""
            yield _made(name, "project", start + name, content or b"", fault, held=files)


def _made(
    folder_name: str,
    origin: str,
    path: str,
    content: bytes,
    fault: str,
    *,
    folder: Path | None = None,
    held: Mapping[str, bytes] | None = None,
) -> _Skill:
    """The skill that a SKILL.md describes."""
    if fault:
        return _broken(folder_name, origin, path, fault)
    if len(content) > MAX_BYTES:
        return _broken(folder_name, origin, path, f"{GUIDE} is larger than {MAX_BYTES // 1000} KB")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _broken(folder_name, origin, path, f"{GUIDE} is not UTF-8 text")
    head, body = parted(text)
    name = head.get("name", folder_name)
    if not head:
        begun = text.lstrip().startswith("---")
        fault = "the description at its beginning does not end: a line --- is missing"
        fault = fault if begun else f"{GUIDE} does not begin with --- and the skill's description"
        return _broken(folder_name, origin, path, fault)
    if _NAME.fullmatch(name) is None:
        return _broken(
            folder_name, origin, path, f"its name {name[:40]!r} may have letters, digits, _ and - only"
        )
    description = _seen(" ".join(head.get("description", "").split()))
    if not description:
        return _broken(
            name, origin, path, "it has no description, by which the model would know when to use it"
        )
    record = SkillRecord(
        name=name,
        description=description[:MAX_DESCRIPTION],
        origin="project" if origin == "project" else "user",
        path=_seen(path),
    )
    return _Skill(record, body, folder, dict(held or {}))


def _is_folder(path: Path) -> bool:
    """False too where nobody can look."""
    return os.path.isdir(path)  # noqa: PTH112 - it raises nothing


def _seen(text: str) -> str:
    """Without signs that nobody sees; a name that is no UTF-8 as far as it is one."""
    return "".join(
        filter(str.isprintable, text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    )


def _broken(name: str, origin: str, path: str, fault: str) -> _Skill:
    kind = "project" if origin == "project" else "user"
    return _Skill(SkillRecord(name=_seen(name), description="", origin=kind, path=_seen(path), fault=fault))


def parted(text: str) -> tuple[dict[str, str], str]:
    """The front matter's keys and the text behind it: `key: value` lines, the value going on in indented lines."""
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        return {}, text
    end = next((at for at, line in enumerate(lines[1:], start=1) if line.strip() in ("---", "...")), 0)
    if not end:
        return {}, text
    found: dict[str, str] = {}
    key = ""
    for line in lines[1:end]:
        hit = _KEY.fullmatch(line)
        if hit is not None:
            key = hit[1].lower()
            found[key] = _plain(hit[2])
        elif key and line[:1] in (" ", "\t"):
            found[key] = f"{found[key]} {line.strip()}".strip()
    return found, "\n".join(lines[end + 1 :]).strip()


def _plain(value: str) -> str:
    value = value.strip()
    if value in (">", "|", ">-", "|-", ">+", "|+"):
        return ""
    quoted = _QUOTED.fullmatch(value)
    return quoted[2] if quoted is not None else value


def _listed(files: tuple[str, ...]) -> str:
    return ", ".join(files[:20]) or f"{GUIDE} only"
