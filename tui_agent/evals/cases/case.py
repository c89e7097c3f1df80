"""Cases and suites of evaluations: their format, functions that read them from TOML or JSON, and a digest of a case.

Invariant: the error for a broken case names its file, the field and the reason.
"""

import hashlib
import os
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, Field, model_validator

from tui_agent.config.settings.validation_errors import Place, validate
from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError
from tui_agent.json_text import parse_json
from tui_agent.models.script_format import ScriptedAnswer
from tui_agent.protocol.frozen_model import FrozenModel
from tui_agent.protocol.settings import Budgets, PolicyName

FORMAT_HINT = "The format is described in docs/evaluations.md."
CASE_FILES = ("case.toml", "case.json")
SUITE_FILES = ("suite.toml", "suite.json")
Name: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


def _check_relative(path: str) -> str:
    pure = PurePosixPath(path)
    if not pure.name:
        raise ValueError("the path has no file name")
    if pure.is_absolute() or ".." in pure.parts or "\0" in path:
        raise ValueError("the path is outside the workspace")
    return path


def _check_not_blank(text: str) -> str:
    if text.isspace():
        raise ValueError("the text is blank")
    return text


RelativePath: TypeAlias = Annotated[str, AfterValidator(_check_relative)]
"""A path inside the workspace."""


class VerifierSpec(FrozenModel):
    """A program that judges the agent's work with a number, the reward. Exactly one of the first three fields is set.

    - `command`: a shell command.
    - `plugin`: name of a plugin's verifier.
    - `environment`: path of a Python file with tests (see `tui_agent.evalenv`), relative to the case's file. The reward
      is the share of the tests that pass.

    A command runs after the agent has ended, in a copy of the workspace, with these variables:
    - `EVAL_LOG`: the session's events
    - `EVAL_FIXTURE`: the files at the start
    - `EVAL_REWARD`: path of a file to which the command can write the reward

    Without a reward file, exit status 0 gives the reward 1, and every other status gives 0.

    """

    command: str = ""
    plugin: str = ""
    environment: str = ""
    timeout_seconds: float = Field(120.0, gt=0)

    @model_validator(mode="after")
    def _check_one(self) -> "VerifierSpec":
        if sum(map(bool, (self.command, self.plugin, self.environment))) != 1:
            raise ValueError("give exactly one of command, plugin and environment")
        return self


class Expectations(FrozenModel):
    """Assertions about file contents and successful tools, checked after the agent has ended.

    - `files`: maps a path in the workspace to a file with the expected content, in the case's folder.
      An empty text means that the path must not exist.
    - `tools`: each of these tools must have succeeded at least once.
    """

    files: dict[RelativePath, str] = Field(default_factory=dict)
    tools: tuple[str, ...] = ()


class CaseEnvironment(FrozenModel):
    """A case's own image, given as a Dockerfile, for the environments `docker`, `e2b` and `modal`."""

    dockerfile: RelativePath


class Case(FrozenModel):
    """One task: the agent gets `prompt` in a new copy of the fixture; then the tests and the verifier run.

    - `fixture`: folder that is copied for each run, relative to the case's file. `files` are added to the copy.
    - `test_files`: files that are added only after the agent has ended.
    - `oracle`: scripted answers that solve the case in place of a model.
    - `oracle_plugin`: a plugin's function that solves the case.
    - `recording`: folder with a recorded session that solves the case; its answers are replayed.
    - `follow_ups`: messages, each sent after the previous turn has ended. An empty text lets the agent continue without
      a message.
    """

    id: Name = ""
    prompt: Annotated[str, AfterValidator(_check_not_blank)] = Field(min_length=1)
    fixture: str = ""
    files: dict[RelativePath, str] = Field(default_factory=dict)
    test_files: dict[RelativePath, str] = Field(default_factory=dict)
    test_command: str = ""
    test_paths: tuple[str, ...] = ()
    """Values for `{path}` in `test_command`. The command runs once for each value."""
    test_timeout_seconds: float = Field(120.0, gt=0)
    environment: CaseEnvironment | None = None
    verifier: VerifierSpec | None = None
    allowed_tools: tuple[str, ...] | None = None
    policy: PolicyName = "accept-edits"
    budgets: Budgets = Budgets()
    category: str = "general"
    split: str = "dev"
    source: str = ""
    oracle: tuple[ScriptedAnswer, ...] = ()
    oracle_plugin: str = ""
    recording: str = ""
    follow_ups: tuple[str, ...] = ()
    expected: Expectations | None = None
    folder: Path = Field(Path(), exclude=True)
    """Folder of the case's file, set when the file is read."""
    harbor: "HarborTask | None" = None
    """Instructions for the container of a Harbor or Terminal-Bench task; None for other cases."""

    @model_validator(mode="before")
    @classmethod
    def _map_iteration_budget(cls, tree: Any) -> Any:
        """Accept `step_budget` as another name for the limit of iterations."""
        if isinstance(tree, dict) and "step_budget" in tree:
            budgets = tree.get("budgets", {})
            if isinstance(budgets, dict):
                budgets = {"max_iterations": tree["step_budget"], **budgets}
            return {**{name: tree[name] for name in tree if name != "step_budget"}, "budgets": budgets}
        return tree

    @model_validator(mode="after")
    def _check_result(self) -> "Case":
        if not (self.test_command or self.verifier or self.harbor or self.expected):
            raise ValueError("give at least one of test_command, verifier and expected")
        for field, files in (("files", self.files), ("test_files", self.test_files)):
            folders = {str(parent) for name in files for parent in PurePosixPath(name).parents}
            if (
                both := next((name for name in files if str(PurePosixPath(name)) in folders), None)
            ) is not None:
                raise ValueError(f"{field} has {both!r} as a file and as a folder")
        if bool(self.test_paths) != ("{path}" in self.test_command):
            raise ValueError("test_paths need a test_command that contains {path}")
        return self

    def with_time_limit(self, seconds: float) -> "Case":
        """Return the case with this time limit, in seconds, for its tests and its verifier."""
        verifier = self.verifier
        if verifier is not None:
            verifier = verifier.model_copy(update={"timeout_seconds": seconds})
        return self.model_copy(update={"test_timeout_seconds": seconds, "verifier": verifier})

    @property
    def has_oracle(self) -> bool:
        """True if the case has answers, a plugin's function or a recording that solves it."""
        return bool(self.oracle or self.oracle_plugin or self.recording)

    @property
    def test_commands(self) -> tuple[str, ...]:
        """The test command with each test path filled in; the plain command if there are no paths."""
        if not self.test_paths:
            return (self.test_command,) if self.test_command else ()
        return tuple(self.test_command.replace("{path}", shlex.quote(path)) for path in self.test_paths)

    @property
    def dockerfile(self) -> Path | None:
        """The Dockerfile of the case's image; None if the case has no image of its own."""
        return self.folder / self.environment.dockerfile if self.environment is not None else None

    @property
    def fixture_folder(self) -> Path | None:
        """The folder that is copied for each run; None if the case has only `files`."""
        return self.folder / self.fixture if self.fixture else None


class HarborTask(FrozenModel):
    """The container of a Harbor task folder: working directory, copied files and tests."""

    work_dir: str = "/app"
    copies: tuple[tuple[str, str], ...] = ()
    """Pairs of (path in `environment/`, path of its copy relative to the working directory)."""
    tests: str = "tests"
    skipped: tuple[str, ...] = ()
    """Lines of the Dockerfile that have no effect in the local environment."""


class Suite(FrozenModel):
    """A named list of cases.

    `extends`: name or relative path of another suite, whose cases come first.
    """

    name: Name = ""
    description: str = ""
    extends: str = ""
    split: Literal["", "dev", "heldout", "train"] = ""
    cases: tuple[Case, ...] = ()


def parse_case(tree: object, path: Path, place: Place = ()) -> Case:
    """Convert the plain data of a file to a case. Raise `ConfigError` if the data is not valid."""
    case = validate(tree, Case, path, FORMAT_HINT, place=place)
    case = case.model_copy(update={"folder": path.parent, "id": case.id or _name_of(path)})
    for field, problem in _missing_files(case):
        name = ".".join(str(part) for part in (*place, field))
        raise ConfigError(f"{path}, at {name}: {problem}", hint=FORMAT_HINT)
    return case


def _missing_files(case: Case) -> Iterator[tuple[str, str]]:
    """Yield the field's name and the problem for each missing file or folder of the case."""
    folders = {"fixture": case.fixture, "recording": case.recording}
    files = {"environment.dockerfile": case.environment.dockerfile if case.environment is not None else ""}
    # An environment can also be a folder with `environment.py`, which is checked when the environment is loaded.
    if case.verifier is not None and not (case.folder / case.verifier.environment).is_dir():
        files["verifier.environment"] = case.verifier.environment
    for name, file in case.expected.files.items() if case.expected is not None else ():
        files[f"expected.files.{name}"] = file
    for field, name in folders.items():
        if name and not (case.folder / name).is_dir():
            yield field, f"the folder {case.folder / name} was not found."
    for field, name in files.items():
        if name and not (case.folder / name).is_file():
            yield field, f"the file {case.folder / name} was not found."


def parse_suite(tree: object, path: Path) -> Suite:
    """Convert the plain data of the file `path` to a suite. Raise `ConfigError` if the data is not valid."""
    tree = {"cases": tree} if isinstance(tree, list) else tree
    if not isinstance(tree, dict):
        raise ConfigError(f"{path} is neither a suite nor a list of cases.", hint=FORMAT_HINT)
    items = tree.get("cases", [])
    if not isinstance(items, list):
        raise ConfigError(f"{path}, at cases: it is not a list.", hint=FORMAT_HINT)
    cases = tuple(parse_case(item, path, ("cases", index)) for index, item in enumerate(items))
    suite = validate({**tree, "cases": []}, Suite, path, FORMAT_HINT)
    return suite.model_copy(update={"cases": cases, "name": suite.name or _name_of(path)})


def read_tree(path: Path) -> Any:
    """Return the content of a TOML or JSON file. Raise `ConfigError` if the file cannot be read."""
    text = read_small(path)
    if text is None:
        raise ConfigError(f"{path} was not found.", hint="List the suites with: tui-agent eval list")
    try:
        return parse_json(text) if path.suffix == ".json" else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise ConfigError(f"{path} is not valid {kind}: {error}.", hint=FORMAT_HINT) from error


def _name_of(path: Path) -> str:
    return path.parent.name if path.name in CASE_FILES + SUITE_FILES else path.stem


def named_paths(case: Case) -> list[Path]:
    """Return the absolute paths of the files and folders that a case names."""
    names = [case.fixture, case.recording]
    names += case.expected.files.values() if case.expected is not None else ()
    names += (case.harbor.tests,) if case.harbor is not None else ()
    names += (case.verifier.environment,) if case.verifier is not None else ()
    # The whole folder of the Dockerfile is the build context: COPY can name any file in it.
    names += (os.path.dirname(case.environment.dockerfile) or ".",) if case.environment is not None else ()  # noqa: PTH120
    return [Path(os.path.normpath(case.folder.resolve() / name)) for name in names if name]


def case_digest(case: Case) -> str:
    """Return a digest of the case and its files. Raise `OSError` if a file cannot be read."""
    home = case.folder.resolve()
    digest = hashlib.sha256(case.model_dump_json().encode())
    for path in sorted({file for named in named_paths(case) for file in _files_below(named)}):
        content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        for part in (os.fsencode(os.path.relpath(path, home)), content):
            # With its length before each part, no two lists of parts give the same bytes.
            digest.update(b"%d " % len(part) + part)
    return digest.hexdigest()[:32]


def _files_below(path: Path) -> Iterator[Path]:
    if path.is_symlink() or path.is_file():
        yield path
    for folder, folders, names in os.walk(path):
        links = [name for name in folders if Path(folder, name).is_symlink()]
        yield from (
            file for name in (*names, *links) if (file := Path(folder, name)).is_symlink() or file.is_file()
        )
