"""Locations of the bundled plugins, themes, demos, suites and examples, and of a log to try plugins on.

Invariant: these files are inside the package in an installed copy, and beside it in a source checkout.
"""

from pathlib import Path
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["plugins", "themes", "demos", "suites", "examples"]

_PACKAGE = Path(__file__).resolve().parent.parent


def golden_log() -> Path:
    """Return the path of a sample log on which plugins can be tried. It has every kind of event."""
    name = "golden/every_kind.jsonl"
    shipped = _PACKAGE / "_bundled" / name
    return shipped if shipped.is_file() else _PACKAGE.parent / "tests" / name


def bundled_folder(kind: Kind) -> Path | None:
    """Return the folder of the bundled files of a kind; None if this copy of tui-agent does not have such a folder."""
    for folder in (_PACKAGE / "_bundled" / kind, _PACKAGE.parent / kind):
        if folder.is_dir():
            return folder
    return None
