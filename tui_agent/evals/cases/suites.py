"""Loading of suites by name or path: a file, a folder of cases, one task folder, or a bundled suite."""

from collections.abc import Iterator
from pathlib import Path

from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import (
    CASE_FILES,
    FORMAT_HINT,
    SUITE_FILES,
    Case,
    Suite,
    parse_case,
    parse_suite,
    read_tree,
)
from tui_agent.evals.cases.task_folder import is_task_folder, load_task_folder
from tui_agent.plugin_host.bundled_files import bundled_folder

_ENDINGS = (".toml", ".json")
_CASE_KEYS = Case.model_fields.keys() - Suite.model_fields.keys()
"""Keys that only a case can have. A file with one of them is a case and not a suite, even without a prompt."""


def load_suite(name: str, here: Path) -> Suite:
    """Return the suite at a path relative to `here`, or the bundled suite of this name.

    Raise `ConfigError` if the suite is missing or broken, or if it extends itself.
    """
    return _load_suite(name, here, ())


def _load_suite(name: str, here: Path, extending: tuple[Path, ...]) -> Suite:
    """Return a suite.

    `extending`: paths of the suites that extend this suite, outermost first.
    """
    path = _find_suite(name, here)
    if path is None:
        known = ", ".join(suite.name for suite in bundled_suites())
        raise ConfigError(f"There is no suite {name!r}.", hint=f"Give a path, or one of: {known}.")
    resolved = path.resolve()
    if resolved in extending:
        circle = " → ".join(suite.name for suite in (*extending[extending.index(resolved) :], resolved))
        raise ConfigError(f"Suites extend each other: {circle}.", hint="Remove one `extends`.")
    suite = _load_folder(path) if path.is_dir() else _load_file(path)
    if suite.extends:
        folder = path if path.is_dir() else path.parent
        if _find_suite(suite.extends, folder) is None:
            raise ConfigError(
                f"{path}, field `extends`: there is no suite {suite.extends!r}.", hint=FORMAT_HINT
            )
        first = _load_suite(suite.extends, folder, (*extending, resolved)).cases
        suite = suite.model_copy(update={"cases": (*first, *suite.cases)})
    if not suite.cases:
        raise ConfigError(f"{path} has no cases.", hint="A case is a .toml or .json file, or a task folder.")
    seen: set[str] = set()
    for case in suite.cases:
        if case.id.lower() in seen:
            raise ConfigError(
                f"{path}: two cases have the id {case.id!r}.", hint="Give each case its own id."
            )
        seen.add(case.id.lower())
    return suite


def _find_suite(name: str, here: Path) -> Path | None:
    """Return the path of a suite's file or folder, or of a bundled suite, or None."""
    bundled = bundled_folder("suites")
    if not (here / name).exists() and bundled is not None and (bundled / name).is_dir():
        return bundled / name
    return here / name if (here / name).exists() else None


def bundled_suites() -> Iterator[Suite]:
    """Yield the suites that are installed with tui-agent."""
    folder = bundled_folder("suites")
    for path in sorted(folder.iterdir()) if folder is not None else ():
        if path.is_dir():
            yield load_suite(path.name, path.parent)


def _load_file(path: Path) -> Suite:
    tree = read_tree(path)
    if isinstance(tree, dict) and not tree.keys().isdisjoint(_CASE_KEYS) and "cases" not in tree:
        case = parse_case(tree, path)
        return Suite(name=case.id, cases=(case,))
    return parse_suite(tree, path)


def _load_folder(path: Path) -> Suite:
    if is_task_folder(path):
        case = load_task_folder(path)
        return Suite(name=case.id, cases=(case,))
    own = next((path / name for name in CASE_FILES if (path / name).is_file()), None)
    if own is not None:
        case = parse_case(read_tree(own), own)
        return Suite(name=case.id, cases=(case,))
    head = next((path / name for name in SUITE_FILES if (path / name).is_file()), None)
    suite = parse_suite(read_tree(head), head) if head is not None else Suite(name=path.name)
    return suite.model_copy(update={"cases": (*suite.cases, *_cases_below(path))})


def _cases_below(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.iterdir()):
        if path.is_dir() and is_task_folder(path):
            yield load_task_folder(path)
        elif path.is_dir():
            inner = next((path / name for name in CASE_FILES if (path / name).is_file()), None)
            if inner is not None:
                yield parse_case(read_tree(inner), inner)
        elif path.suffix in _ENDINGS and path.name not in SUITE_FILES:
            yield parse_case(read_tree(path), path)
