"""Detection of a command's or a project's test framework."""

import re
import tomllib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from tui_agent.plugin_api import Environment, EnvironmentFault, FileInfo, ToolError, parse_json, suggest_paths

from .command_words import path_word, plain_words

MAX_PROJECT_FILE = 1_000_000
MAX_TEST_FILES = 20
_PYTHON = re.compile(r"(.*/)?python(3(\.\d+)?)?")
_PYTHON_PROJECT = frozenset({"pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini"})
_OTHER_PROJECT = frozenset({"package.json", "Cargo.toml", "go.mod"})
_PYTHON_FRAMEWORKS = frozenset({"pytest", "unittest"})
_NODE_RUNNERS = frozenset({"jest", "vitest", "mocha", "ava", "tap"})
_LOCK_FILES = {"pnpm-lock.yaml": "pnpm", "yarn.lock": "yarn", "bun.lock": "bun"}
_PACKAGE_MANAGERS = frozenset({"npm", *_LOCK_FILES.values()})
RUNNABLE_PROGRAMS = "pytest, unittest, npm test and similar, cargo test, go test"
OTHER_PROGRAMS_HINT = "Use run_command for all other commands, such as ctest or make check."
_ONE_TEST_HINT = "To run one test without pytest, give the whole `command`."
_ONE_FOLDER_HINT = "Give one folder, or the whole `command`."
_ALL_PACKAGES = "./..."
_TEST_FILE = re.compile(r"(test_.*|.*_test|tests?)\.py")
_PYTEST_SIGNS = re.compile(
    rb"^[ \t]*+(?:import|from) pytest|^def test_|^class Test\w*(\(\s*\))?:", re.MULTILINE
)
_SCRIPT_COMMAND = re.compile(r"""(?:>&|\\.|'[^']*+'|"(?:[^"\\]|\\.)*+"|[^;&|\n\\'"])++""")
"""Matches each command of a script such as `node --test && npm run lint`."""
_NODE_FLAGS = frozenset({"--test", "--bail", "--ci", "--coverage", "--exit", "--recursive", "--verbose"})
"""Options of Node's test programs that take no value, so that the next word is a file."""


@dataclass(frozen=True, slots=True)
class TestCommand:
    """A test command, its working folder, and its test framework."""

    __test__ = False  # not a test class, although its name looks like one to test collectors

    argv: tuple[str, ...]
    framework: str
    cwd: str = ""


def detect_framework(words: tuple[str, ...]) -> str:
    """Return the test framework of a command, such as `pytest`; empty if it runs no tests."""
    if not words:
        return ""
    rest = _without_runner(words)
    first = PurePosixPath(rest[0]).name if rest else ""
    second = rest[1] if len(rest) > 1 else ""
    if _PYTHON.fullmatch(rest[0] if rest else ""):
        module = rest[2] if second == "-m" and rest[2:] else ""
        return module if module in _PYTHON_FRAMEWORKS else ""
    if first in ("pytest", "py.test"):
        return "pytest"
    if first in _PACKAGE_MANAGERS:
        return "npm" if _is_test_script(rest[1:]) else ""
    if first in _NODE_RUNNERS:
        return "npm"
    if first == "node" and "--test" in rest:
        return "npm"
    if first == "cargo" and (second == "test" or rest[1:3] == ("nextest", "run")):
        return "cargo"
    return "go" if first == "go" and second == "test" else ""


def _without_runner(words: tuple[str, ...]) -> tuple[str, ...]:
    if words[0] in ("uv", "poetry", "pipenv", "hatch", "pdm", "rye") and words[1:2] == ("run",):
        return words[2:]
    return words[1:] if words[0] in ("npx", "bunx") else words


def _is_test_script(words: tuple[str, ...]) -> bool:
    if words[:1] == ("run",):
        words = words[1:]
    return bool(words) and (words[0] in ("test", "t") or words[0].startswith("test:"))


async def find_test_command(env: Environment, paths: Sequence[str]) -> TestCommand:
    """Return the command for the tests in `paths`. An empty path means all tests of the project.

    Raise `ToolError` if there are no tests, or if no single command can run all of them.
    """
    commands = [await _find_single_command(env, path) for path in paths]
    if len(commands) > 1 and not _can_join(commands, paths):
        raise ToolError(f"One command cannot run the tests in all {len(paths)} paths.", hint=_ONE_FOLDER_HINT)
    # pytest also runs tests that are written for unittest.
    first = next((index for index, command in enumerate(commands) if command.framework != "unittest"), 0)
    command = commands[first]
    for path in (*paths[:first], *paths[first + 1 :]):
        command = await add_path(env, command, path.removeprefix(f"{command.cwd}/"))
    return command


def _can_join(commands: Sequence[TestCommand], paths: Sequence[str]) -> bool:
    """Return True if one command can run the tests in all `paths`. `commands`: the command for each path by itself."""
    frameworks = {command.framework for command in commands}
    if len({command.cwd for command in commands}) > 1:
        return False
    if frameworks == {"unittest"}:  # it takes several files but only one folder
        return all(path.endswith(".py") for path in paths)
    return len(frameworks) == 1 or frameworks == _PYTHON_FRAMEWORKS


async def _find_single_command(env: Environment, path: str) -> TestCommand:
    """Return the command for the project's tests, or only for the tests in `path`.

    The project is `path` or the nearest parent folder with tests and a project file, such as `pyproject.toml`.
    """
    file, _, test = path.partition("::")
    info = await env.stat(file) if file else None
    if path and info is None:
        hint = await suggest_paths(file, env) or _ONE_TEST_HINT
        raise ToolError(f"File or folder not found: {file or path}.", hint=hint)
    command = await _command_for(env, info)
    if not command.argv:
        raise _no_path_error(command.framework, file)
    if not test:
        return command
    if command.framework != "pytest" or info is None or info.kind == "directory":
        raise ToolError(
            f"`path` must be a file, a folder or the id of a pytest test, not {path}.", hint=_ONE_TEST_HINT
        )
    return replace(command, argv=(*command.argv[:-1], f"{command.argv[-1]}::{test}"))


async def _command_for(env: Environment, info: FileInfo | None) -> TestCommand:
    """Return the command for the tests in a file or folder, or for all tests if `info` is None."""
    command = await _nearest_project_command(env, "" if info is None else info.path)
    if command is not None and command.framework in _PYTHON_FRAMEWORKS:
        return command
    if info is not None and info.kind == "directory":
        # Python tests in a folder of another language's project.
        command = await _folder_command(env, info.path, "") or command
    elif info is not None and info.path.endswith(".py"):
        python = await _python_command(env, "", {}, info.path)
        command = None if python is None else TestCommand(*python)
    if command is None:
        raise ToolError(
            "No tests found: no Python tests, package.json with a test script, Cargo.toml or go.mod. run_tests runs "
            f"only {RUNNABLE_PROGRAMS}.",
            hint=OTHER_PROGRAMS_HINT,
        )
    return command


async def add_path(env: Environment, command: TestCommand, path: str) -> TestCommand:
    """Return the command that runs only the tests in `path`, relative to the command's folder.

    Raise `ToolError` if the test program cannot run the tests in `path` alone. Examples are a module of a Rust crate,
    and a script of several commands without a known test program.
    """
    words = (*command.argv, path_word(path))
    if _script_name(words):
        scripts = await _read_scripts(env, str(PurePosixPath(command.cwd, "package.json")))
        words = _narrow_script(scripts, words)
    elif command.framework == "cargo":
        words = _narrow_cargo(command.argv, path)
    elif command.framework == "go":
        packages = _go_packages(path)
        words = (*(word for word in command.argv if word not in (_ALL_PACKAGES, packages)), packages)
    if not words:
        raise _no_path_error(command.framework, path)
    return replace(command, argv=words)


def _no_path_error(framework: str, path: str) -> ToolError:
    if framework == "cargo":
        module = f"/{path}/".partition("/src/")[2].rstrip("/").removesuffix(".rs").removesuffix("/mod")
        words = "--lib" if module in ("", "lib", "main") else f"{module.replace('/', '::')}::"
        return ToolError(
            "With cargo, `path` must be a crate's folder, its folder `tests`, or a test file such as tests/a.rs.",
            hint=f"For the tests of a module, give the whole `command`, for example `cargo test {words}`.",
        )
    return ToolError(
        "The test script in package.json runs several commands, so `path` cannot be used with it.",
        hint=f"Give the test program as `command`, for example `npx mocha {path}`, or use run_command.",
    )


def _narrow_cargo(words: tuple[str, ...], path: str) -> tuple[str, ...]:
    """Return the command for the integration tests in `path` alone. Return an empty command for any other path."""
    *folders, name = path.removesuffix("/main.rs").removesuffix(".rs").split("/")
    # Cargo has one test target for each file or folder in `tests`; `*` means all of them.
    target = "*" if name == "tests" else name if folders[-1:] == ["tests"] else ""
    end = words.index("--") if "--" in words else len(words)
    return (*words[:end], "--test", target, *words[end:]) if target else ()


def _go_packages(path: str) -> str:
    """Return the package of a Go file, or all packages of a folder, in the form of `go test`."""
    if path.endswith(".go"):
        folder = str(PurePosixPath(path).parent)
        return "." if folder == "." else f"./{folder}"
    return _ALL_PACKAGES if path in ("", ".") else f"./{path}/..."


async def _nearest_project_command(env: Environment, path: str) -> TestCommand | None:
    for folder in (path, *(str(parent) for parent in PurePosixPath(path).parents)):
        if folder in ("", "."):
            break
        if await _is_project(env, folder):
            command = await _folder_command(env, folder, path.removeprefix(folder).strip("/"))
            if command is not None:
                return command
    return await _folder_command(env, "", "" if path == "." else path)


async def _is_project(env: Environment, folder: str) -> bool:
    info = await env.stat(folder)
    if info is None or info.kind != "directory":
        return False
    names = {_base_name(item) for item in await env.listdir(folder)}
    return bool((_PYTHON_PROJECT | _OTHER_PROJECT) & names)


async def _folder_command(env: Environment, folder: str, narrow: str) -> TestCommand | None:
    names = {_base_name(item): item for item in await env.listdir(folder or ".")}
    cwd = "" if folder == "." else folder
    if _PYTHON_PROJECT & set(names) or not _OTHER_PROJECT & set(names):
        python = await _python_command(env, folder, names, narrow)
        if python is not None:
            return TestCommand(*python, cwd)
    if "Cargo.toml" in names:
        words = ("cargo", "test")
        return TestCommand(_narrow_cargo(words, narrow) if narrow else words, "cargo", cwd)
    if "go.mod" in names:
        # Without -v, go does not name the tests that passed.
        return TestCommand(("go", "test", "-v", _go_packages(narrow)), "go", cwd)
    scripts = await _read_scripts(env, names["package.json"].path) if "package.json" in names else {}
    # `npm init` writes a test script that only prints `Error: no test specified`.
    if "test" in scripts and "no test specified" not in scripts["test"]:
        manager = next((name for lock, name in _LOCK_FILES.items() if lock in names), "npm")
        words = (manager, "test")
        return TestCommand(
            _narrow_script(scripts, (*words, "--", path_word(narrow))) if narrow else words, "npm", cwd
        )
    return None


def _narrow_script(scripts: dict[str, str], words: tuple[str, ...]) -> tuple[str, ...]:
    """Change a command such as `npm test -- a.test.js` so that its arguments reach the test program.

    If the script runs several commands, return only the command of its test program, with the arguments. Return an
    empty command if no test program is known.
    """
    name = _script_name(words)
    commands = _script_commands(scripts, name)
    if len(commands) < 2:
        return words
    programs = [program for program in map(_without_files, commands) if detect_framework(program) == "npm"]
    if not programs:
        return ()
    runner = ("npx",) if programs[0][0] in _NODE_RUNNERS else ()
    arguments = (word for word in words[words.index(name) + 1 :] if word != "--")
    return (*runner, *programs[0], *arguments)


def _script_commands(scripts: dict[str, str], name: str) -> list[str]:
    """Return the commands of a script. A command that calls another script is replaced by that script's commands."""
    # Each script is replaced only once, so scripts that call each other end.
    scripts, commands = dict(scripts), list[str]()
    pending = deque(_SCRIPT_COMMAND.findall(scripts.pop(name, "")))
    while pending:
        command = pending.popleft()
        inner = _script_name(plain_words(command) or ())
        if inner in scripts:
            pending.extendleft(reversed(_SCRIPT_COMMAND.findall(scripts.pop(inner))))
        elif command.strip():
            commands.append(command)
    return commands


def _script_name(words: tuple[str, ...]) -> str:
    """Return the script that a package manager's command such as `npm run lint` runs; empty for other commands."""
    if not words or words[0] not in _PACKAGE_MANAGERS:
        return ""
    names = [word for word in words[1:] if not word.startswith("-")]
    return "".join(names[1:2] if names[:1] == ["run"] else names[:1])


def _without_files(command: str) -> tuple[str, ...]:
    """Return the words of a test program's command without the test files. Return no words if a shell is needed."""
    words = command.split()
    program = len(words) - len(_without_runner(tuple(words)))
    needed = words[: program + 1]
    for before, word in zip(words[program:], words[program + 1 :], strict=False):
        is_value = before.startswith("-") and "=" not in before and before not in _NODE_FLAGS
        if word.startswith("-") or is_value or (word == "run" and before == words[program]):
            needed.append(word)
    return plain_words(" ".join(needed)) or ()


async def _python_command(
    env: Environment, folder: str, names: dict[str, FileInfo], narrow: str
) -> tuple[tuple[str, ...], str] | None:
    prefix = f"{folder}/" if folder not in ("", ".") else ""
    tests, pattern = await _find_test_files(env, prefix + narrow or folder, named=bool(narrow))
    configured = bool({"pytest.ini", "conftest.py"} & set(names)) or await _pytest_in_pyproject(env, names)
    if not tests and not configured:
        return None
    python = await _find_interpreter(env, names)
    if configured or await _look_like_pytest(env, tests):
        files = (
            # By default, pytest ignores files with unusual names.
            ("-o", f"python_files={pattern}") if pattern and not await _sets_file_names(env, names) else ()
        )
        return (python, "-m", "pytest", "-q", *files, *((path_word(narrow),) if narrow else ())), "pytest"
    if narrow.endswith(".py"):
        return (python, "-m", "unittest", "-v", path_word(narrow)), "unittest"
    start = narrow or _start_folder(folder, tests)
    options: tuple[str, ...] = ("-s", path_word(start)) if start else ()
    if start and await env.stat(f"{prefix}{start}/__init__.py") is not None:
        # A package: its tests are imported from the project's folder.
        options = ("-s", path_word(start), "-t", ".") if narrow else ()
    files = ("-p", pattern) if pattern else ()
    return (python, "-m", "unittest", "discover", "-v", *options, *files), "unittest"


def _start_folder(folder: str, tests: list[str]) -> str:
    """Return the subfolder of `folder` with all tests, or an empty text if there is none."""
    prefix = f"{folder}/" if folder not in ("", ".") else ""
    tops = {
        path.removeprefix(prefix).partition("/")[0] if "/" in path.removeprefix(prefix) else ""
        for path in tests
    }
    return tops.pop() if len(tops) == 1 else ""


async def _find_interpreter(env: Environment, names: dict[str, FileInfo]) -> str:
    for name in (".venv", "venv"):
        if name in names and await env.stat(f"{names[name].path}/bin/python") is not None:
            return f"{name}/bin/python"
    return "python"


async def _find_test_files(env: Environment, path: str, *, named: bool) -> tuple[list[str], str]:
    """Return the test files below a folder, and, if the files have unusual names, the pattern of the names.

    - `path`: a folder, or the only file to return
    - `named`: True if the model named the path, so that files with unusual names are accepted
    """
    if path.endswith(".py"):
        return [path], ""
    usual, odd, other = list[str](), list[str](), list[str]()
    async for item in env.walk(path):
        name = _base_name(item)
        if item.kind != "file" or not name.endswith(".py"):
            continue
        files = usual if _TEST_FILE.fullmatch(name) else odd if "test" in name.lower() else other
        files.append(item.path)
        if len(usual) == MAX_TEST_FILES:
            break
    if usual or not named:
        return usual, ""
    return (
        (odd[:MAX_TEST_FILES], "*[Tt]est*.py") if odd else (other[:MAX_TEST_FILES], "*.py" if other else "")
    )


async def _look_like_pytest(env: Environment, tests: list[str]) -> bool:
    for path in tests:
        if _PYTEST_SIGNS.search(await _read_bytes(env, path)):
            return True
    return False


async def _pytest_in_pyproject(env: Environment, names: dict[str, FileInfo]) -> bool:
    for name, section in (("setup.cfg", b"[tool:pytest]"), ("tox.ini", b"[pytest]")):
        if name in names and section in await _read_bytes(env, names[name].path):
            return True
    if "pyproject.toml" not in names:
        return False
    try:
        project = tomllib.loads(
            (await _read_bytes(env, names["pyproject.toml"].path)).decode("utf-8", "replace")
        )
    except tomllib.TOMLDecodeError:
        return False
    tools = project.get("tool")
    return isinstance(tools, dict) and "pytest" in tools


async def _sets_file_names(env: Environment, names: dict[str, FileInfo]) -> bool:
    """Return True if the project's pytest configuration sets the names of test files."""
    for name in ("pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"):
        if name in names and b"python_files" in await _read_bytes(env, names[name].path):
            return True
    return False


async def _read_scripts(env: Environment, path: str) -> dict[str, str]:
    try:
        manifest = parse_json(await _read_bytes(env, path))
    except ValueError:
        return {}
    scripts = manifest.get("scripts") if isinstance(manifest, dict) else None
    items = scripts.items() if isinstance(scripts, dict) else ()
    return {name: script for name, script in items if isinstance(script, str)}


async def _read_bytes(env: Environment, path: str) -> bytes:
    try:
        return (await env.read(path, MAX_PROJECT_FILE)).data
    except EnvironmentFault:
        return b""


def _base_name(item: FileInfo) -> str:
    return item.path.rsplit("/", 1)[-1]
