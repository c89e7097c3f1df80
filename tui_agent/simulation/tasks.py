"""Loading of a simulation's task: a task folder, a prompt with a separate environment, or a bundled example."""

from collections.abc import Iterator
from pathlib import Path

from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError, UsageError
from tui_agent.evals.cases.case import Case, parse_case
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.cases.task_folder import load_task_folder
from tui_agent.plugin_host.bundled_files import bundled_folder


def load_example(name: str) -> Case:
    """Return a bundled example. Raise `UsageError` if no example has this name."""
    folder = bundled_folder("examples")
    if folder is None or name not in example_names():
        raise UsageError(f"There is no example {name!r}.", hint=f"Examples: {', '.join(example_names())}.")
    return load_task_folder(folder / name)


def example_names() -> tuple[str, ...]:
    """Return the names of the bundled examples."""
    folder = bundled_folder("examples")
    return tuple(sorted(path.name for path in _folders(folder))) if folder is not None else ()


def _folders(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.is_dir() and not path.name.startswith((".", "_")))


def load_task(task: Path, environment: Path | None, test_command: str) -> Case:
    """Load the `Case` that a task folder describes. `task` can also be one case file, or a file with only a prompt.

    A file with only a prompt needs `environment` (the folder that is copied for the run) and `test_command`. Raise
    `ConfigError` if the task is not valid. Raise `UsageError` if an argument is missing or `task` does not describe
    exactly one case.
    """
    if environment is not None and not environment.is_dir():
        raise ConfigError(
            f"{environment} is not a folder.", hint="Give the folder of the task's files with --env."
        )
    if task.suffix in (".md", ".txt"):
        text = read_small(task)
        if not text or not text.strip():
            raise ConfigError(f"{task} was not found, or is empty.", hint="Write the task's prompt into it.")
        if environment is None or not test_command:
            raise UsageError(
                f"{task} has no environment or no tests.", hint="Give --env DIR and --test COMMAND."
            )
        tree = {"id": task.stem, "prompt": text.strip(), "test_command": test_command, "fixture": "."}
        case = parse_case(tree, environment.resolve() / "case")
        return case.model_copy(update={"id": task.stem})
    cases = load_suite(str(task), Path.cwd()).cases
    if len(cases) != 1:
        raise UsageError(f"{task} has {len(cases)} cases.", hint="Give a task with exactly one case.")
    changes: dict[str, object] = {"test_command": test_command} if test_command else {}
    if environment is not None:
        changes |= {"folder": environment.resolve().parent, "fixture": environment.name}
    return cases[0].model_copy(update=changes)
