"""Loading of task folders: folders of Harbor and Terminal-Bench, and folders with a prompt and parameters.

A folder with a prompt and parameters gets its prompt from the first of these sources that exists:

- `task.py` with `generate()`, which returns a prompt and parameters
- a prompt file with `params.py`: its variables replace `{name}` in the prompt
- a prompt file alone

The sources are in the folder or in its subfolder `task`; the prompt file is `prompt.md` or `en.md`. The folder can also
have `environment` (the fixture), and tests in `tests` or `environment/tests`.

Invariant: only the folder's own `task.py` and `params.py` are run, and no file outside the folder is read.
"""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import Case, HarborTask, parse_case, read_tree
from tui_agent.evals.environments.environment_file import LOAD_TIMEOUT_S, run_python_file
from tui_agent.evals.environments.timed_call import call_with_limit
from tui_agent.json_text import parse_json

PROMPT_FILES = ("prompt.md", "en.md")
HARBOR_FILES = ("task.toml", "instruction.md")
TEST_SCRIPT = "test.sh"
LOCAL_NOTE = "Your workspace is the folder {folder} of this task. Use paths relative to it, not {folder}/…."
"""Text added to a task's prompt for an agent that does not see the container's paths."""
# Benchmarks put such a line at the top of their files, to find the files in training data. It is no part of the task.
_CANARY = re.compile(r"(#|<!--).*canary", re.IGNORECASE)
_NOT_SUPPORTED = {"steps": "tasks in several parts", "mcp_servers": "tasks with MCP servers"}
_TABLES = ("agent", "environment", "metadata", "task", "verifier")
"""The tables of `task.toml` that are read."""
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9._-]+")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")


def is_task_folder(folder: Path) -> bool:
    """Return True if the folder has the files of a task."""
    if (folder / HARBOR_FILES[0]).is_file() or (folder / "task.py").is_file():
        return True
    return _prompt_file(folder) is not None or (folder / "task" / "task.py").is_file()


def load_task_folder(folder: Path, timeout_s: float = LOAD_TIMEOUT_S) -> Case:
    """Return the case of a task folder. Raise `ConfigError` if the folder is broken or needs an unsupported feature.

    `timeout_s`: time limit for each Python file of the folder, in seconds.
    """
    folder = folder.resolve()
    if (folder / HARBOR_FILES[0]).is_file():
        return _load_harbor(folder)
    prompt, params = _load_prompt(folder, timeout_s)
    environment = "environment" if (folder / "environment").is_dir() else ""
    tests = next(
        (name for name in ("environment/tests", "tests") if (folder / name / TEST_SCRIPT).is_file()), ""
    )
    if not (tests or "test_command" in params or "verifier" in params):
        raise ConfigError(
            f"{folder} has no test.", hint=f"Add tests/{TEST_SCRIPT}, or the parameter test_command."
        )
    fields = {key: params[key] for key in ("test_command", "verifier", "category", "split") if key in params}
    tree: dict[str, Any] = {
        "id": folder.name,
        "prompt": prompt,
        "fixture": environment,
        "source": str(folder),
        **fields,
    }
    if tests:
        task = _read_dockerfile(folder / "environment" / "Dockerfile")
        tree["harbor"] = task.model_dump() | {"tests": tests}
        tree |= _image_of(folder)
    return parse_case(tree, folder / "task")


def _load_prompt(folder: Path, timeout_s: float) -> tuple[str, Mapping[str, Any]]:
    program = next(
        (path for path in (folder / "task.py", folder / "task" / "task.py") if path.is_file()), None
    )
    if program is not None:
        names = run_python_file(program, timeout_s)
        generate = names.get("generate")
        if not callable(generate):
            raise ConfigError(
                f"{program} has no function generate().", hint="Define it: it must return (prompt, params)."
            )

        def generate_task() -> tuple[object, dict[str, Any]]:
            prompt, params = generate()
            return prompt, dict(params)

        prompt, params = call_with_limit(f"{program}: generate()", generate_task, timeout_s)
        return _require_prompt(str(prompt), program), params
    path = _prompt_file(folder)
    if path is None:
        raise ConfigError(f"{folder} has no prompt.", hint=f"Write {PROMPT_FILES[0]} or task.py.")
    text = _require_prompt(read_small(path) or "", path)
    params_file = path.parent / "params.py"
    if not params_file.is_file():
        return text, {}
    params = {
        key: value
        for key, value in run_python_file(params_file, timeout_s).items()
        if not key.startswith("_")
    }

    def replace(match: re.Match[str]) -> str:
        if match[1] not in params:
            raise ConfigError(f"{path}: the parameter {match[1]!r} is not in {params_file.name}.")
        return str(params[match[1]])

    return _PLACEHOLDER.sub(replace, text), params


def _prompt_file(folder: Path) -> Path | None:
    places = (folder / place / name for place in ("", "task") for name in PROMPT_FILES)
    return next((path for path in places if path.is_file()), None)


def _require_prompt(text: str, path: Path) -> str:
    if not text.strip():
        raise ConfigError(f"{path} has no text.", hint="Write the task's prompt into it.")
    return text.strip()


def _load_harbor(folder: Path) -> Case:
    config_file, prompt_file = (folder / name for name in HARBOR_FILES)
    config = read_tree(config_file)
    tables = {name: _table(config, name, config_file) for name in _TABLES}
    environment = tables["environment"]
    for name, kind in _NOT_SUPPORTED.items():
        if config.get(name) or environment.get(name):
            raise ConfigError(f"{config_file}, at {name}: {kind} are not supported.")
    if not (folder / "tests" / TEST_SCRIPT).is_file():
        raise ConfigError(
            f"{folder / 'tests' / TEST_SCRIPT} was not found.", hint="Add the script that tests the result."
        )
    prompt = read_small(prompt_file)
    if prompt is None:
        raise ConfigError(f"{prompt_file} was not found.", hint="Write the task's prompt into this file.")
    lines = _require_prompt(prompt, prompt_file).splitlines()
    while lines and (_CANARY.match(lines[0]) or not lines[0].strip()):
        del lines[0]
    task = _read_dockerfile(folder / "environment" / "Dockerfile")
    tree = {
        "id": _NOT_IN_ID.sub("-", folder.name),
        "prompt": "\n".join([*lines, "", LOCAL_NOTE.format(folder=task.work_dir)]),
        "fixture": "environment" if (folder / "environment").is_dir() else "",
        "test_timeout_seconds": _seconds(tables, "verifier", config_file) or 600.0,
        "budgets": {"timeout_seconds": _seconds(tables, "agent", config_file)},
        "category": str(tables["metadata"].get("category", "harbor")),
        "source": str(tables["task"].get("name", folder.name)),
        "harbor": task.model_dump(),
        **_image_of(folder),
    }
    return parse_case(tree, config_file)


def _table(config: Mapping[str, Any], name: str, file: Path) -> Mapping[str, Any]:
    table = config.get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{file}, at {name}: it is not a table.")
    return table


def _seconds(tables: Mapping[str, Mapping[str, Any]], name: str, file: Path) -> float | None:
    seconds = tables[name].get("timeout_sec")
    if seconds is not None and not (isinstance(seconds, int | float) and seconds > 0):
        raise ConfigError(f"{file}, at {name}.timeout_sec: {seconds!r} is not a number above 0.")
    return seconds


def _image_of(folder: Path) -> dict[str, Any]:
    """Return the case field with the path of the folder's Dockerfile, or an empty dict without a Dockerfile."""
    dockerfile = Path("environment", "Dockerfile")
    return {"environment": {"dockerfile": str(dockerfile)}} if (folder / dockerfile).is_file() else {}


def _read_dockerfile(file: Path) -> HarborTask:
    """Read a Dockerfile: its working directory, copied files and ignored lines. The file may be missing."""
    work_dir, copies, skipped = "/app", list[tuple[str, str]](), []
    for instruction, rest in _docker_lines(read_small(file) or ""):
        match instruction:
            case "WORKDIR":
                work_dir = str(Path("/", work_dir, rest.strip()))
            case "COPY" | "ADD":
                options = _copy_words(rest, file)
                # With `--from`, the sources are in another image, so they are not paths of this machine.
                if any(word.startswith("--from=") for word in options):
                    skipped.append(f"{instruction} {rest}"[:200])
                    continue
                words = [word for word in options if not word.startswith("--")]
                target = str(Path("/", work_dir, words[-1])) if words else ""
                copies += [(source, target) for source in words[:-1]]
                _refuse_sources_outside(file, f"{instruction} {rest}", words[:-1])
            case "FROM" | "CMD" | "ENTRYPOINT" | "LABEL" | "EXPOSE":
                pass
            case _:
                skipped.append(f"{instruction} {rest}"[:200])
    skipped += [
        f"COPY {source} {target}"
        for source, target in copies
        if ".." in Path(source).parts
        or ".." in Path(target).parts
        or not Path(target).is_relative_to(work_dir)
    ]
    return HarborTask(work_dir=work_dir, copies=tuple(copies), skipped=tuple(skipped))


def _refuse_sources_outside(file: Path, line: str, sources: Sequence[str]) -> None:
    """Raise `ConfigError` if a source of a COPY instruction is outside the Dockerfile's folder, directly or through a
    link."""
    root = file.parent.resolve()
    for source in sources:
        written = Path(os.path.normpath(root / source.lstrip("/")))
        # `written` finds a `..` that leads outside, `path` also a link that does.
        path = (root / source.lstrip("/")).resolve()
        if not (written.is_relative_to(root) and path.is_relative_to(root)):
            verb = "is a link that points" if written.is_relative_to(root) else "points"
            raise ConfigError(
                f"{file}, at {line}: the source {source} {verb} outside {file.parent}, to {path}.",
                hint="Put the file itself into the folder.",
            )


def _copy_words(rest: str, file: Path) -> list[str]:
    """Split a COPY instruction into words. The words can also be a JSON list: `["SOURCE", "TARGET"]`."""
    try:
        return (
            [str(word) for word in parse_json(rest)] if rest.lstrip().startswith("[") else shlex.split(rest)
        )
    except ValueError as error:
        raise ConfigError(f"{file}, at COPY {rest}: {error}.") from error


def _docker_lines(text: str) -> Iterator[tuple[str, str]]:
    # A backslash at the end of a line continues the instruction in the next line.
    joined = re.sub(r"\\\s*\n", " ", text)
    for line in joined.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word and not word.startswith("#"):
            yield word.upper(), rest
