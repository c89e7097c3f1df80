"""The user's choices that the app remembers between starts: theme, model, side panes, and the policy of each project.

Invariant: they are in one file of the data folder, never in config.toml, and apply only to settings that no
configuration sets. A damaged file means no choices. `bypass` is neither saved nor used.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

FILE_NAME: Final = "choices.json"
MAX_BYTES: Final = 1 << 18
MAX_PROJECTS: Final = 300
"""Maximum number of projects with a remembered policy. The most recent choices are kept."""
NEVER_REMEMBERED: Final = "bypass"


class UserChoices(NamedTuple):
    """The remembered choices; an empty text means that nothing was chosen."""

    theme: str = ""
    model: str = ""
    base_url: str = ""
    sidebar: bool = True
    policies: Mapping[str, str] = MappingProxyType({})
    """Maps a project's folder to its policy; the newest choice comes last."""

    def with_policy(self, project: Path, policy: str) -> "dict[str, str]":
        """Return the remembered policies with the project's policy added.

        Above `MAX_PROJECTS`, drop the oldest policy.
        """
        others = {folder: name for folder, name in self.policies.items() if folder != str(project)}
        return dict([*others.items(), (str(project), policy)][-MAX_PROJECTS:])

    def to_json(self) -> str:
        """Return the choices as the text of their file."""
        return json.dumps(self._asdict() | {"policies": dict(self.policies)}, indent=1)


def load_choices(data_dir: Path) -> tuple[UserChoices, str]:
    """Return the remembered choices and "". If the file cannot be used, return empty choices and the reason."""
    path = data_dir / FILE_NAME
    try:
        if not path.exists():
            return UserChoices(), ""
        if not path.is_file():
            return UserChoices(), f"{path} is not a file, so your last choices are not used."
        with path.open("rb") as file:
            return _parse(json.loads(file.read(MAX_BYTES))), ""
    except OSError as error:
        return UserChoices(), f"{path} cannot be read ({error.strerror}), so your last choices are not used."
    except (ValueError, TypeError, AttributeError, RecursionError):
        return (
            UserChoices(),
            f"{path} is damaged, so your last choices are not used. Your next choice replaces the file.",
        )


def _parse(plain: Mapping[str, object]) -> UserChoices:
    texts = {name: plain.get(name, "") for name in ("theme", "model", "base_url")}
    policies, sidebar = plain.get("policies", {}), plain.get("sidebar", True)
    if not isinstance(policies, dict) or not isinstance(sidebar, bool):
        raise TypeError
    if not all(isinstance(text, str) for text in (*texts.values(), *policies.values())):
        raise TypeError
    usable = {folder: name for folder, name in policies.items() if name != NEVER_REMEMBERED}
    return UserChoices(**texts, sidebar=sidebar, policies=usable)  # type: ignore[arg-type]
