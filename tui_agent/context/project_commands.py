"""Commands to build, test and check a repository, found in the repository's files.

Invariant: a file that cannot be parsed is ignored.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Literal, TypeAlias

from tui_agent.fast_dataclass import dataclass
from tui_agent.json_text import parse_json

Kind: TypeAlias = Literal["install", "build", "test", "lint", "check", "format", "run"]
KINDS: Final[tuple[Kind, ...]] = ("install", "build", "test", "lint", "check", "format", "run")
FILES: Final = tuple(
    """Makefile justfile pyproject.toml setup.py tox.ini requirements.txt package.json Cargo.toml go.mod pom.xml
    build.gradle build.gradle.kts CMakeLists.txt Gemfile composer.json mix.exs""".split()  # noqa: SIM905 - read as a list of words
)
_WORDS_BY_KIND: Final[Mapping[Kind, str]] = {
    "install": "install setup deps",
    "build": "build compile",
    "test": "test tests",
    "lint": "lint",
    "check": "check typecheck type-check types",
    "format": "fmt format",
    "run": "run start dev serve",
}
_WORDS: Final = {word: kind for kind, words in _WORDS_BY_KIND.items() for word in words.split()}
# `NAME := value` and `NAME ::= value` are assignments, and `NAME::` is a rule that other rules extend.
_TARGET: Final = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:(?![:=])", re.MULTILINE)
_RECIPE: Final = re.compile(r"^@?([A-Za-z][\w-]*)(?:[ \t][^:=\n]*)?:(?!=)", re.MULTILINE)
_LOCKS: Final = (
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lockb", "bun"),
    ("bun.lock", "bun"),
)
_PLAIN: Final[Mapping[str, tuple[tuple[Kind, str], ...]]] = {
    "Cargo.toml": (("build", "cargo build"), ("test", "cargo test")),
    "go.mod": (("build", "go build ./..."), ("test", "go test ./...")),
    "pom.xml": (("build", "mvn package"), ("test", "mvn test")),
    "build.gradle": (("build", "./gradlew build"), ("test", "./gradlew test")),
    "build.gradle.kts": (("build", "./gradlew build"), ("test", "./gradlew test")),
    "CMakeLists.txt": (
        ("build", "cmake -B build && cmake --build build"),
        ("test", "ctest --test-dir build"),
    ),
    "mix.exs": (("install", "mix deps.get"), ("test", "mix test"), ("format", "mix format")),
    "tox.ini": (("test", "tox"),),
}


_COMMANDS_WITH_EVIDENCE: Final[tuple[tuple[str, Kind, str, str, tuple[str, ...]], ...]] = (
    ("Cargo.toml", "lint", "cargo clippy", "clippy", ("clippy.toml", ".clippy.toml")),
    ("Cargo.toml", "format", "cargo fmt", "cargo fmt", ("rustfmt.toml", ".rustfmt.toml")),
    ("go.mod", "lint", "go vet ./...", "go vet", ()),
)
"""Commands that are reported only with evidence of their use in the repository.

Each entry is (main file of the language, kind of command, command, words, other files). The main file must exist. In
addition, a CI file must contain the words, or one of the other files must exist.
"""
_SCRIPT: Final = re.compile(r"(?:scripts?|dev)/([a-z-]+)(\.sh)?")
_PACKAGE_FILES: Final = frozenset(
    ("pyproject.toml", "setup.py", "requirements.txt", "package.json", "Gemfile", "composer.json", "mix.exs")
)
"""Names of package files, which show that `make install` installs dependencies."""


@dataclass(frozen=True, slots=True)
class ProjectCommand:
    """A command, its purpose, and the file that names it."""

    kind: Kind
    command: str
    source: str


def find_commands(texts: Mapping[str, str], paths: Collection[str]) -> list[ProjectCommand]:
    """Return the project's commands, one for each kind (such as `test`) and language.

    - `texts`: maps the paths of some project files, such as `Makefile`, to their texts.
    - `paths`: the paths of all files.
    """
    # The project's own targets come first: they call the tools with the right options.
    commands = _first_of_kind(_targets("Makefile", "make", _TARGET, texts))
    commands += _first_of_kind(_targets("justfile", "just", _RECIPE, texts))
    for more in (
        _first_of_kind(_scripts(paths)),
        [*_python(texts, paths), *_first_of_kind(_node(texts, paths)), *_other_commands(texts, paths)],
    ):
        known_kinds = {command.kind for command in commands}
        commands += [command for command in more if command.kind not in known_kinds]
    return commands


def _first_of_kind(commands: Iterable[ProjectCommand]) -> list[ProjectCommand]:
    firsts: dict[Kind, ProjectCommand] = {}
    for command in commands:
        firsts.setdefault(command.kind, command)
    return list(firsts.values())


def _scripts(paths: Collection[str]) -> Iterator[ProjectCommand]:
    for path in sorted(paths):
        match = _SCRIPT.fullmatch(path)
        if match is not None and match[1] in _WORDS:
            yield ProjectCommand(_WORDS[match[1]], f"bash {path}" if match[2] else path, path)


def _targets(
    file: str, program: str, pattern: re.Pattern[str], texts: Mapping[str, str]
) -> Iterator[ProjectCommand]:
    names = pattern.findall(texts.get(file, ""))
    for name in names:
        kind = _WORDS.get(name.lower())
        if kind is not None and (kind != "install" or _PACKAGE_FILES & texts.keys()):
            yield ProjectCommand(kind, f"{program} {name}", file)
    if program == "make" and {"all", "default"} & {*names}:
        yield ProjectCommand("build", program, file)


def _python(texts: Mapping[str, str], paths: Collection[str]) -> Iterator[ProjectCommand]:
    text = texts.get("pyproject.toml", "")
    try:
        tree = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        tree, text = {}, ""
    source, runner = "pyproject.toml", ""
    if "uv.lock" in paths:
        runner = "uv run "
        yield ProjectCommand("install", "uv sync", "uv.lock")
    elif "poetry.lock" in paths:
        runner = "poetry run "
        yield ProjectCommand("install", "poetry install", "poetry.lock")
    elif "project" in tree or "build-system" in tree:
        yield ProjectCommand("install", "pip install -e .", source)
    elif "setup.py" in texts:
        yield ProjectCommand("install", "pip install -e .", "setup.py")
    elif "requirements.txt" in texts:
        yield ProjectCommand("install", "pip install -r requirements.txt", "requirements.txt")
    tools = tree.get("tool", {})
    tools = tools if isinstance(tools, dict) else {}
    pytest_file = next(
        (path for path in ("pytest.ini", "conftest.py", "tests/conftest.py") if path in paths), ""
    )
    runner_script = next((path for path in ("tests/runtests.py", "runtests.py") if path in paths), "")
    if runner_script:
        yield ProjectCommand("test", f"python {runner_script}", runner_script)
    elif "pytest" in tools or re.search(r"[\"']pytest", text):
        yield ProjectCommand("test", f"{runner}pytest" if runner else "python -m pytest", source)
    elif pytest_file:
        yield ProjectCommand("test", f"{runner}pytest" if runner else "python -m pytest", pytest_file)
    elif "manage.py" in paths:
        yield ProjectCommand("test", "python manage.py test", "manage.py")
    if "manage.py" in paths:
        yield ProjectCommand("run", "python manage.py runserver", "manage.py")
    if "ruff" in tools or re.search(r"[\"']ruff", text):
        yield ProjectCommand("lint", f"{runner}ruff check .", source)
        yield ProjectCommand("format", f"{runner}ruff format .", source)
    elif "black" in tools:
        yield ProjectCommand("format", f"{runner}black .", source)
    if "mypy" in tools:
        yield ProjectCommand("check", f"{runner}mypy .", source)


def _node(texts: Mapping[str, str], paths: Collection[str]) -> Iterator[ProjectCommand]:
    scripts = _json_scripts(texts.get("package.json", ""))
    if scripts is None:
        return
    program = next((name for lock, name in _LOCKS if lock in paths), "npm")
    yield ProjectCommand("install", f"{program} install", "package.json")
    for name, script in scripts.items():
        kind = _WORDS.get(name.lower())
        # `npm init` writes a test script that only prints "no test specified".
        is_command = re.fullmatch(r"[\w:.-]+", name) and "no test specified" not in str(script)
        if kind is not None and kind != "install" and is_command:
            run = program if name == "test" else f"{program} run"
            yield ProjectCommand(kind, f"{run} {name}", "package.json")


def _json_scripts(text: str) -> Mapping[str, object] | None:
    try:
        tree = parse_json(text)
    except ValueError:
        return None
    scripts = tree.get("scripts") if isinstance(tree, dict) else None
    return scripts if isinstance(scripts, dict) else {}


def _other_commands(texts: Mapping[str, str], paths: Collection[str]) -> Iterator[ProjectCommand]:
    for file, commands in _PLAIN.items():
        if file in texts:
            for kind, command in commands:
                yield ProjectCommand(kind, command, file)
    if "Gemfile" in texts:
        yield ProjectCommand("install", "bundle install", "Gemfile")
        if any(path.startswith("spec/") for path in paths):
            yield ProjectCommand("test", "bundle exec rspec", "Gemfile")
    if "composer.json" in texts:
        yield ProjectCommand("install", "composer install", "composer.json")
        yield from _composer(texts["composer.json"])
    # All texts that are not project files are CI files.
    checks = "\n".join(text for path, text in texts.items() if path not in FILES)
    for file, kind, command, words, config_files in _COMMANDS_WITH_EVIDENCE:
        if file in texts and (words in checks or any(path in paths for path in config_files)):
            yield ProjectCommand(kind, command, file)


def _composer(text: str) -> Iterator[ProjectCommand]:
    for name in _json_scripts(text) or ():
        if name in ("test", "tests", "lint", "check", "format"):
            yield ProjectCommand(_WORDS[name], f"composer {name}", "composer.json")
