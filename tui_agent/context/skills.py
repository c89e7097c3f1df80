"""Skills: folders with a SKILL.md, from the user and from a trusted project.

Invariant: a project's skills are used exactly as they were when the user trusted the project.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Final, Literal, TypeAlias

from tui_agent.config.front_matter import split_front_matter
from tui_agent.config.paths import PROJECT_FOLDER
from tui_agent.config.project.other_agents_files import PROJECT_LAYOUTS
from tui_agent.config.project.project_files import ProjectFiles
from tui_agent.config.small_files import read_regular
from tui_agent.errors import ToolError
from tui_agent.fast_dataclass import dataclass
from tui_agent.ports.symbols_and_skills import SkillText
from tui_agent.protocol.events.instructions import SkillRecord
from tui_agent.units import format_bytes

GUIDE: Final = "SKILL.md"
FOLDER: Final = "skills"
MAX_BYTES: Final = 200_000
MAX_SKILLS: Final = 100
MAX_FILES: Final = 200
MAX_DESCRIPTION_CHARS: Final = 1_024
SkillOrigin: TypeAlias = Literal["user", "project"]
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class _Skill:
    record: SkillRecord
    body: str = ""
    folder: Path | None = None
    """Folder of a user's skill; None for a project's skill."""
    contents: Mapping[str, bytes] = field(default_factory=dict)


class SkillStore:
    """The skills of the user and the project.

    `user`: folder of the user's skills.
    `neighbours`: skill folders of other programs in the user's home folder.
    `leaves_out`: function that gets a skill's name and returns True if the skill is ignored.
    """

    def __init__(
        self,
        user: Path,
        project: ProjectFiles | None = None,
        leaves_out: Callable[[str], bool] = lambda name: False,
        neighbours: Sequence[Path] = (),
    ) -> None:
        self._leaves_out = leaves_out
        self._folders = (user, *neighbours)
        self._project = project
        self._skills: dict[str, _Skill] = {}
        self.records: tuple[SkillRecord, ...] = ()
        """All skills, sorted by name. A project's skill replaces a user's skill of the same name."""
        self.refresh()

    def refresh(self) -> tuple[SkillRecord, ...]:
        """Load all skills again and return their records. Blocks while files are read."""
        skills_found = [
            skill
            for skill in (*self._project_skills(), *chain.from_iterable(map(_user_skills, self._folders)))
            if not self._leaves_out(skill.record.name)
        ]
        skills: dict[str, _Skill] = {}
        records = []
        for skill in skills_found[:MAX_SKILLS]:
            record = skill.record
            if not record.fault and record.name in skills:
                first = skills[record.name].record
                fault = f"{first.path} is used instead: it has the same name, {record.name}"
                if first.origin != record.origin:
                    fault = f"the project's skill of the same name, {record.name}, is used instead"
                record = record.model_copy(update={"fault": fault})
            elif not record.fault:
                skills[record.name] = skill
            records.append(record)
        self._skills = skills
        self.records = tuple(sorted(records, key=lambda record: (record.name, record.origin)))
        return self.records

    def read(self, name: str, file: str = "") -> SkillText:
        """Return the text of a skill's SKILL.md, or of the skill's file `file`. Blocks while the file is read.

        Raise `ToolError` if there is no such skill or file.
        """
        skill = self._skills.get(name)
        if skill is None:
            raise ToolError(
                f"Unknown skill {name!r}.", hint=f"Available: {', '.join(self._skills) or 'none'}."
            )
        files = tuple(self._files(skill))
        if file in ("", GUIDE):
            return SkillText(name, GUIDE, skill.body, files)
        path = PurePosixPath(file)
        if path.is_absolute() or ".." in path.parts or "\0" in file:
            raise ToolError(
                f"{file} is not inside the skill's folder.", hint=f"The skill's files: {_join_files(files)}."
            )
        content = self._read_content(skill, str(path), files)
        try:
            return SkillText(name, str(path), content.decode("utf-8-sig"), files)
        except UnicodeDecodeError as error:
            raise ToolError(f"{file} of {name} is not UTF-8 text.") from error

    def _read_content(self, skill: _Skill, file: str, files: tuple[str, ...]) -> bytes:
        hint = f"The skill's files: {_join_files(files)}."
        if skill.folder is None:
            content = skill.contents.get(file)
            if content is None:
                raise ToolError(f"{skill.record.name} has no file {file}.", hint=hint)
        else:
            path = skill.folder / file
            # A folder in between can be a link that leads outside.
            if not path.resolve().is_relative_to(skill.folder.resolve()):
                raise ToolError(f"{file} is not inside the skill's folder.")
            try:
                content = read_regular(path, MAX_BYTES + 1, os.O_NOFOLLOW)
            except OSError as error:
                raise ToolError(f"{file} cannot be read: {error.strerror}.", hint=hint) from error
            if content is None:
                raise ToolError(f"{file} is not a regular file.")
        if len(content) > MAX_BYTES:
            raise ToolError(f"{file} is larger than {format_bytes(MAX_BYTES)}.")
        return content

    def _files(self, skill: _Skill) -> Iterator[str]:
        """Yield the names of a skill's files except SKILL.md, sorted."""
        if skill.folder is None:
            yield from sorted(name for name in skill.contents if name != GUIDE)
            return
        paths: list[str] = []
        for folder, folders, names in os.walk(skill.folder, followlinks=False):
            folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
            relative = Path(folder).relative_to(skill.folder)
            paths += [(relative / name).as_posix() for name in names if name != GUIDE or relative.parts]
            if len(paths) > MAX_FILES:
                break
        yield from sorted(paths)[:MAX_FILES]

    def _project_skills(self) -> Iterator[_Skill]:
        if self._project is None:
            return
        for folder in (f"{PROJECT_FOLDER}/{FOLDER}", *PROJECT_LAYOUTS["skills"]):
            yield from _skills_in_project(self._project, f"{folder}/")


def _user_skills(user: Path) -> Iterator[_Skill]:
    try:
        folders = sorted(path for path in user.iterdir() if _is_folder(path) and path.name[0] != ".")
    except OSError:
        return  # without the folder there are no skills
    for folder in folders[: MAX_SKILLS + 1]:
        try:
            content = read_regular(folder / GUIDE, MAX_BYTES + 1)
        except FileNotFoundError:
            yield _broken_skill(folder.name, "user", str(folder), f"it has no {GUIDE}")
            continue
        except OSError as error:
            yield _broken_skill(folder.name, "user", str(folder), f"{GUIDE} cannot be read: {error.strerror}")
            continue
        fault = f"{GUIDE} is not a regular file" if content is None else ""
        yield _parse_skill(folder.name, "user", str(folder), content or b"", fault, folder=folder)


def _skills_in_project(project: ProjectFiles, start: str) -> Iterator[_Skill]:
    """Yield the skills in the project's folder `start`, such as `skills/`."""
    files_by_skill: dict[str, dict[str, bytes]] = {}
    for file in project.files:
        name, slash, path = file.name.removeprefix(start).partition("/")
        if file.name.startswith(start) and slash and not file.fault:
            files_by_skill.setdefault(name, {})[path] = file.content
    for name, files in sorted(files_by_skill.items()):
        content = files.get(GUIDE)
        fault = f"it has no {GUIDE}" if content is None else ""
        yield _parse_skill(name, "project", start + name, content or b"", fault, contents=files)


def _parse_skill(
    folder_name: str,
    origin: SkillOrigin,
    path: str,
    content: bytes,
    fault: str,
    *,
    folder: Path | None = None,
    contents: Mapping[str, bytes] | None = None,
) -> _Skill:
    if fault:
        return _broken_skill(folder_name, origin, path, fault)
    if len(content) > MAX_BYTES:
        return _broken_skill(folder_name, origin, path, f"{GUIDE} is larger than {format_bytes(MAX_BYTES)}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return _broken_skill(folder_name, origin, path, f"{GUIDE} is not UTF-8 text")
    head, body, _ = split_front_matter(text)
    name = head.get("name", folder_name)
    if not head:
        has_start = text.lstrip().startswith("---")
        fault = "its front matter has no end: the line --- is missing"
        fault = fault if has_start else f"{GUIDE} must begin with ---, a description and another ---"
        return _broken_skill(folder_name, origin, path, fault)
    if _NAME.fullmatch(name) is None:
        return _broken_skill(
            folder_name,
            origin,
            path,
            f"its name {name[:40]!r} is not valid: use only letters, digits, _ and -",
        )
    description = _strip_invisible(" ".join(head.get("description", "").split()))
    if not description:
        return _broken_skill(
            name, origin, path, "it has no description, so the model cannot know when to use it"
        )
    record = SkillRecord(
        name=name,
        description=description[:MAX_DESCRIPTION_CHARS],
        origin=origin,
        path=_strip_invisible(path),
    )
    return _Skill(record, body, folder, contents or {})


def _is_folder(path: Path) -> bool:
    """Return True for a folder that can be examined."""
    return os.path.isdir(path)  # noqa: PTH112 - it raises nothing


def _strip_invisible(text: str) -> str:
    """Remove invisible characters, and replace bytes that are not UTF-8."""
    return "".join(
        filter(str.isprintable, text.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
    )


def _broken_skill(name: str, origin: SkillOrigin, path: str, fault: str) -> _Skill:
    return _Skill(
        SkillRecord(
            name=_strip_invisible(name),
            description="",
            origin=origin,
            path=_strip_invisible(path),
            fault=fault,
        )
    )


def _join_files(files: tuple[str, ...]) -> str:
    return ", ".join(files[:20]) or f"{GUIDE} only"
