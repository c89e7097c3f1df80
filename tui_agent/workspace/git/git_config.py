"""Strict reader of a repository's git configuration.

Invariant: a file is accepted only if every line has a simple form and every setting is known to be harmless. Included
files and paths are not followed.
"""

import re

from tui_agent.fast_dataclass import dataclass
from tui_agent.workspace.git.harmless_settings import (
    COMMANDS,
    KEYS,
    OPEN_SECTIONS,
    SECTIONS,
    VALUES,
    VALUES_OF_SECTIONS,
)
from tui_agent.workspace.git.stat_cache import SteeredError, read_small

MAX_BYTES = 256_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff]")
_BLANK_OR_COMMENT = re.compile(r"(?:[#;].*)?")
_SECTION = re.compile(r'\[([A-Za-z0-9-]+)(?:[ \t]++"([^"\\]*)")?\]')
_SETTING = re.compile(
    r"([A-Za-z][A-Za-z0-9-]*)[ \t]*+"
    r'(?:=[ \t]*+(?:"((?:[^"\\]|\\["\\ntb])*+)"|((?:[^"\\;#]|\\["\\ntb])*+)))?'
)
"""Regular expression for a key and its value, quoted or not. Possessive quantifiers prevent slow matching on any line.
"""
_TOOL_SECTIONS = frozenset({"branch", "remote"})
"""Sections in which other tools store keys with a hyphen. Git's own keys have no hyphen."""


@dataclass(frozen=True, slots=True)
class GitConfig:
    """The settings of a harmless git configuration that refer to other folders."""

    hooks: tuple[str, ...] = ()
    """Values of `core.hooksPath`."""
    work_trees: tuple[str, ...] = ()
    """Values of `core.worktree`."""


def read_config(path: str) -> GitConfig:
    """Read a git configuration file.

    Raises `SteeredError` if a line does not have a simple form, or a setting is not known to be harmless.
    """
    try:
        text = read_small(path, MAX_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise SteeredError(f"{path} is not UTF-8") from error
    if _CONTROL.search(text):
        raise SteeredError(f"{path} has control characters")
    settings = list(_parse(text, path))
    return GitConfig(
        hooks=tuple(value for key, value in settings if key == "core.hookspath"),
        work_trees=tuple(value for key, value in settings if key == "core.worktree"),
    )


def _parse(text: str, path: str) -> list[tuple[str, str]]:
    """Return the settings that refer to other folders, as pairs of key and value.

    Raises `SteeredError` for any setting that may be harmful.
    """
    redirects: list[tuple[str, str]] = []
    section = subsection = None
    for raw_line in text.split("\n"):
        line = raw_line.strip(" \t")
        if _BLANK_OR_COMMENT.fullmatch(line):
            if raw_line.endswith("\\"):
                raise SteeredError(f"a comment in {path} ends with a backslash")
        elif header := _SECTION.fullmatch(line):
            section, subsection = header[1].lower(), header[2]
        elif section is not None and (setting := _SETTING.fullmatch(line)):
            name, value = setting[1].lower(), setting[2] or setting[3] or ""
            if subsection is None and (section, name) in {("core", "hookspath"), ("core", "worktree")}:
                redirects.append((f"{section}.{name}", _plain_path(value, path)))
            elif not _is_harmless(section, subsection, name, value):
                raise SteeredError(f"{path} sets {section}.{name}")
        else:
            raise SteeredError(f"a line of {path} is too unusual to be read with certainty")
    return redirects


def _plain_path(value: str, path: str) -> str:
    if not value or "\\" in value or value[0] in "%:":
        raise SteeredError(f"a path in {path} is too unusual to be read with certainty")
    return value


def _is_harmless(section: str, subsection: str | None, name: str, value: str) -> bool:
    if section not in SECTIONS or section in OPEN_SECTIONS:
        return True
    if section == "alias":  # git's own commands take precedence over aliases
        return subsection is None and name not in COMMANDS
    if pattern := VALUES_OF_SECTIONS.get(section):
        return subsection is None and pattern.fullmatch(value) is not None
    key = f"{section}.{name}" if subsection is None else f"{section}.*.{name}"
    if key in KEYS or (section in _TOOL_SECTIONS and subsection is not None and "-" in name):
        return True
    allowed = VALUES.get(key) or VALUES.get(f"{section}.{subsection}.{name}")
    return allowed is not None and allowed.fullmatch(value) is not None
