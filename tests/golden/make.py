"""Writes the golden logs: `python -m tests.golden.make`. Run it when a schema changes before the first release."""

import sys
from collections.abc import Callable
from pathlib import Path

from tests.golden.every_kind import every_kind
from tests.golden.night_shift import approval, night_shift, streaming
from tests.golden.scribe import Scribe

FOLDER = Path(__file__).parent
LOGS: dict[str, Callable[[], Scribe]] = {
    "night_shift": night_shift,
    "streaming": streaming,
    "approval": approval,
    "every_kind": every_kind,
}


def main(folder: Path = FOLDER) -> None:
    """Write every log to `folder`."""
    for name, write in LOGS.items():
        write().save(folder, name)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
