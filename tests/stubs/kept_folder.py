"""A folder that took long to make, put back for each test as it was when it was made.

Its path stays the same, since what was recorded in it names it.
"""

import shutil
import tempfile
from pathlib import Path


class KeptFolder:
    """`place` as it is now, kept in the folder `copy`, which is not there yet."""

    def __init__(self, place: Path, copy: Path) -> None:
        self._place = place
        self._copy = copy
        shutil.copytree(place, copy, symlinks=True)

    def again(self) -> Path:
        """The folder as it was kept, whatever has become of it since, or still works in it."""
        gone = Path(tempfile.mkdtemp(dir=self._copy.parent)) / "gone"
        self._place.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)
        shutil.copytree(self._copy, self._place, symlinks=True)
        return self._place
