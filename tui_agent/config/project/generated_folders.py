"""Folders of generated or installed files, such as `.venv`: their names, and the rule for ambiguous names.

A folder with an ambiguous name, such as `build`, counts as generated if a file that `PROOFS` lists for the name exists,
such as `../pyproject.toml`, and if no file in the folder is committed in the user's repository.

Invariant: only this module has a list of these names.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

REPOSITORY_FOLDERS: Final = frozenset({".git", ".hg", ".svn", ".jj"})
CACHE_FOLDERS: Final = frozenset(
    {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"}
)
INSTALLED_FOLDERS: Final = frozenset({"node_modules", ".venv", "venv", ".tox", ".nox", ".eggs"})
"""Folders of installed code."""
GENERATED_FOLDERS: Final = CACHE_FOLDERS | INSTALLED_FOLDERS | {
    ".cache", ".dart_tool", ".gradle", ".next", ".nuxt", ".nyc_output", ".parcel-cache", ".pytype", ".svelte-kit",
    ".terraform", ".turbo", ".vite", "htmlcov",
}  # fmt: skip
EGG_INFO: Final = ".egg-info"
VENV_FILE: Final = "pyvenv.cfg"
"""The file that each virtual environment of Python contains."""
_PROJECT_FILES: Final = ("package.json", "pyproject.toml", "setup.py")
PROOFS: Final = {
    "target": ("../Cargo.toml", "../pom.xml", "../build.sbt"),
    "dist": tuple(f"../{name}" for name in _PROJECT_FILES),
    "build": tuple(
        f"../{name}" for name in (*_PROJECT_FILES, "build.gradle", "build.gradle.kts", "CMakeLists.txt")
    ),
    "env": (VENV_FILE,),
}
"""Maps an ambiguous folder name, such as `target`, to files. Each of them shows that the folder is generated.

A path that begins with `../` is beside the folder. The other paths are inside.
"""


class GeneratedFolders:
    """Finds the generated folder that contains a path.

    `has_file`: returns True if there is a file at a path.
    `is_committed`: returns True if the user's repository contains files of a folder (a path that ends in `/`).
    """

    def __init__(
        self, has_file: Callable[[str], bool], is_committed: Callable[[str], bool] = lambda folder: False
    ) -> None:
        self._has_file, self._is_committed = has_file, is_committed
        self._proved: dict[str, bool] = {}

    def folder_of(self, path: str) -> str:
        """Return the outermost generated folder around a file, with `/` at its end; empty if no folder is generated."""
        start = 0
        while (end := path.find("/", start)) >= 0:
            name = path[start:end]
            if name in GENERATED_FOLDERS or name.endswith(EGG_INFO):
                return path[: end + 1]
            if name in PROOFS and self._is_proved(path[: end + 1], path[:start], name):
                return path[: end + 1]
            start = end + 1
        return ""

    def _is_proved(self, folder: str, parent: str, name: str) -> bool:
        if folder not in self._proved:
            files = (
                parent + proof.removeprefix("../") if proof.startswith("../") else folder + proof
                for proof in PROOFS[name]
            )
            self._proved[folder] = any(map(self._has_file, files)) and not self._is_committed(folder)
        return self._proved[folder]

    def count(self, paths: Iterable[str]) -> Counter[str]:
        """Count the paths in each generated folder."""
        return Counter(folder for path in paths if (folder := self.folder_of(path)))
