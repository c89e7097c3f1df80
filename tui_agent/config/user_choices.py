"""The user's choices that the app remembers between starts: theme, model, side panes, and the policy of each project.

Invariant: the choices are stored in one file of the data folder, never in config.toml.

A configured setting wins over a choice.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

FILE_NAME: Final = "choices.json"
MAX_BYTES: Final = 1 << 18
MAX_PROJECTS: Final = 300
"""Maximum number of projects with a remembered policy; the most recent are kept."""
MAX_ADDRESSES: Final = 20
"""Maximum number of models with a remembered address; the most recent are kept."""
APP_CHOICES: Final = ("theme", "policy")
"""Settings with remembered choices that the app uses, but a headless run does not."""
NEVER_REMEMBERED: Final = frozenset(("plan", "bypass"))
"""Policies that the app never remembers for new sessions."""


class UserChoices(NamedTuple):
    """The remembered choices; an empty text means that nothing was chosen."""

    theme: str = ""
    model: str = ""
    base_url: str = ""
    sidebar: bool = True
    policies: Mapping[str, str] = MappingProxyType({})
    """Maps a project's folder to its policy; the newest choice comes last."""
    addresses: Mapping[str, str] = MappingProxyType({})
    """Maps a model's name to the address given by the user, newest choice last."""

    def with_policy(self, project: Path, policy: str) -> "dict[str, str]":
        """Return the remembered policies, with the policy of `project` set to `policy`."""
        return _with_newest(self.policies, str(project), policy, MAX_PROJECTS)

    def with_address(self, model: str, base_url: str) -> "dict[str, str]":
        """Return the remembered addresses, with the address of `model` set to `base_url`."""
        return _with_newest(self.addresses, model, base_url, MAX_ADDRESSES)

    def to_json(self) -> str:
        """Return the choices as the text of their file."""
        return json.dumps(self._asdict() | {name: dict(getattr(self, name)) for name in _MAPPINGS}, indent=1)


_MAPPINGS: Final = ("policies", "addresses")


def _with_newest(values: Mapping[str, str], name: str, value: str, limit: int) -> dict[str, str]:
    others = {other: known for other, known in values.items() if other != name}
    return dict([*others.items(), (name, value)][-limit:])


def load_choices(data_dir: Path) -> tuple[UserChoices, str]:
    """Return (choices, ""), or (empty choices, reason) if the file cannot be used."""
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
    policies, addresses = (plain.get(name, {}) for name in _MAPPINGS)
    sidebar = plain.get("sidebar", True)
    if not (isinstance(policies, dict) and isinstance(addresses, dict) and isinstance(sidebar, bool)):
        raise TypeError
    if not all(isinstance(text, str) for text in (*texts.values(), *policies.values(), *addresses.values())):
        raise TypeError
    usable = {folder: name for folder, name in policies.items() if name not in NEVER_REMEMBERED}
    return UserChoices(**texts, sidebar=sidebar, policies=usable, addresses=addresses)  # type: ignore[arg-type]
