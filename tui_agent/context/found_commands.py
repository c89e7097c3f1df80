"""L3: the commands by which a repository is built, tested and checked, as its own files name them.

Invariant: pure; a file that cannot be understood tells nothing.
"""

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["install", "build", "test", "lint", "check", "format", "run"]
KINDS: Final[tuple[Kind, ...]] = ("install", "build", "test", "lint", "check", "format", "run")
FILES: Final = (
    "Makefile",
    "justfile",
    "pyproject.toml",
    "setup.py",
    "tox.ini",
    "requirements.txt",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "CMakeLists.txt",
    "Gemfile",
    "composer.json",
    "mix.exs",
)
_WORDS: Final[Mapping[str, Kind]] = {
    "install": "install",
    "setup": "install",
    "deps": "install",
    "build": "build",
    "compile": "build",
    "test": "test",
    "tests": "test",
    "lint": "lint",
    "check": "check",
    "typecheck": "check",
    "type-check": "check",
    "types": "check",
    "fmt": "format",
    "format": "format",
    "run": "run",
    "start": "run",
    "dev": "run",
    "serve": "run",
}
_TARGET: Final = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:(?![:=])", re.MULTILINE)
_RECIPE: Final = re.compile(r"^@?([A-Za-z][\w-]*)(?:[ \t][^:=\n]*)?:(?!=)", re.MULTILINE)
_LOCKS: Final = (
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lockb", "bun"),
    ("bun.lock", "bun"),
)
_PLAIN: Final[Mapping[str, tuple[tuple[Kind, str], ...]]] = {
    "Cargo.toml": (
        ("build", "cargo build"),
        ("test", "cargo test"),
        ("lint", "cargo clippy"),
        ("format", "cargo fmt"),
    ),
    "go.mod": (("build", "go build ./..."), ("test", "go test ./..."), ("lint", "go vet ./...")),
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


@dataclass(frozen=True, slots=True)
class Found:
    """A command, what it is for, and the file that says so."""

    kind: Kind
    command: str
    source: str


def commands_of(texts: Mapping[str, str], paths: Collection[str]) -> list[Found]:
    """The commands that these files name, one a kind and language: what a Makefile offers counts before the rest."""
    makers = [*_targets("Makefile", "make", _TARGET, texts), *_targets("justfile", "just", _RECIPE, texts)]
    offered = {one.kind for one in makers}
    rest = [*_python(texts, paths), *_node(texts, paths), *_others(texts, paths)]
    return [*makers, *(one for one in rest if one.kind not in offered)]


def _targets(file: str, program: str, pattern: re.Pattern[str], texts: Mapping[str, str]) -> Iterator[Found]:
    seen: set[Kind] = set()
    for name in pattern.findall(texts.get(file, "")):
        kind = _WORDS.get(name.lower())
        if kind is not None and kind not in seen:
            seen.add(kind)
            yield Found(kind, f"{program} {name}", file)


def _python(texts: Mapping[str, str], paths: Collection[str]) -> Iterator[Found]:
    text = texts.get("pyproject.toml", "")
    try:
        tree = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        tree, text = {}, ""
    source = "pyproject.toml"
    if "uv.lock" in paths:
        yield Found("install", "uv sync", "uv.lock")
    elif "poetry.lock" in paths:
        yield Found("install", "poetry install", "poetry.lock")
    elif "project" in tree or "build-system" in tree:
        yield Found("install", "pip install -e .", source)
    elif "setup.py" in texts:
        yield Found("install", "pip install -e .", "setup.py")
    elif "requirements.txt" in texts:
        yield Found("install", "pip install -r requirements.txt", "requirements.txt")
    tools = tree.get("tool", {})
    tools = tools if isinstance(tools, dict) else {}
    tested = any(path.startswith(("tests/test_", "test/test_")) for path in paths)
    if "pytest" in tools or re.search(r"[\"']pytest", text) or (text and tested):
        yield Found("test", "python -m pytest", source)
    if "ruff" in tools or re.search(r"[\"']ruff", text):
        yield Found("lint", "ruff check .", source)
        yield Found("format", "ruff format .", source)
    elif "black" in tools:
        yield Found("format", "black .", source)
    if "mypy" in tools:
        yield Found("check", "mypy .", source)


def _node(texts: Mapping[str, str], paths: Collection[str]) -> Iterator[Found]:
    if "package.json" not in texts:
        return
    try:
        tree = json.loads(texts["package.json"])
    except (ValueError, RecursionError):
        return
    program = next((name for lock, name in _LOCKS if lock in paths), "npm")
    yield Found("install", f"{program} install", "package.json")
    scripts = tree.get("scripts") if isinstance(tree, dict) else None
    seen: set[Kind] = set()
    for name in scripts if isinstance(scripts, dict) else ():
        kind = _WORDS.get(str(name).lower())
        if (
            kind is not None
            and kind != "install"
            and kind not in seen
            and re.fullmatch(r"[\w:.-]+", str(name))
        ):
            seen.add(kind)
            yield Found(
                kind, f"{program} test" if name == "test" else f"{program} run {name}", "package.json"
            )


def _others(texts: Mapping[str, str], paths: Collection[str]) -> Iterator[Found]:
    for file, commands in _PLAIN.items():
        if file in texts:
            for kind, command in commands:
                yield Found(kind, command, file)
    if "Gemfile" in texts:
        yield Found("install", "bundle install", "Gemfile")
        if any(path.startswith("spec/") for path in paths):
            yield Found("test", "bundle exec rspec", "Gemfile")
    if "composer.json" in texts:
        yield Found("install", "composer install", "composer.json")
