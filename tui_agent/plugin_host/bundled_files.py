"""Locations of the bundled plugins, themes, demos, suites and examples.

Invariant: these files are inside the package in an installed copy, and beside the package in a source checkout.
"""

from pathlib import Path
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["plugins", "themes", "demos", "suites", "examples"]

_PACKAGE = Path(__file__).resolve().parent.parent


def golden_log() -> Path:
    """Return the path of a log that has every kind of event, so that a plugin can be tried with each of them."""
    name = "golden/every_kind.jsonl"
    shipped = _PACKAGE / "_bundled" / name
    return shipped if shipped.is_file() else _PACKAGE.parent / "tests" / name


def bundled_folder(kind: Kind) -> Path | None:
    """Return the folder with the bundled files of one kind, e.g. `themes`; None if this copy of tui-agent has none."""
    for folder in (_PACKAGE / "_bundled" / kind, _PACKAGE.parent / kind):
        if folder.is_dir():
            return folder
    return None
