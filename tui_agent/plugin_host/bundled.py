"""Where the plugins, themes and demos that come with the product lie.

Invariant: an installed copy has them inside the package, a source checkout beside it; no third place is looked at.
"""

from pathlib import Path
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["plugins", "themes", "demos"]

_PACKAGE = Path(__file__).resolve().parent.parent


def bundled(kind: Kind) -> Path | None:
    """The folder of that kind, None where this copy of the product lacks it."""
    for folder in (_PACKAGE / "_bundled" / kind, _PACKAGE.parent / kind):
        if folder.is_dir():
            return folder
    return None
