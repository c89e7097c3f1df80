"""Static checks of the Python files that an agent changed: the findings of pytest, ruff, mypy and bandit, counted."""

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tui_agent.evals.cases.case import Case
from tui_agent.evals.checks.case_workspace import create_workspace
from tui_agent.evals.checks.workspace_checks import Checker
from tui_agent.evals.runs.arms_and_cells import CheckProgram
from tui_agent.evals.runs.run_folder import Findings
from tui_agent.ports.environment import ExecSpec

MAX_OUTPUT_BYTES: Final = 2_000_000
COMMANDS: Final[dict[CheckProgram, tuple[tuple[str, ...], re.Pattern[str]]]] = {
    "pytest": (
        ("pytest", "-q", "--tb=no", "-rfE", "-p", "no:cacheprovider"),
        re.compile(r"^(?:FAILED|ERROR) ", re.MULTILINE),
    ),
    "ruff": (
        ("ruff", "check", "--quiet", "--no-cache", "--output-format=concise"),
        re.compile(r"^\S.*:\d+:\d+: ", re.MULTILINE),
    ),
    "mypy": (
        ("mypy", f"--cache-dir={os.devnull}", "--no-error-summary"),
        re.compile(r"^\S.*: error: ", re.MULTILINE),
    ),
    "bandit": (("bandit", "--quiet", "--format", "json"), re.compile(r'^ *+"test_id": ', re.MULTILINE)),
}
"""Maps a program to its command and the pattern of one finding in its output."""
# pytest exits with 2 for errors during collection, and with 5 if it finds no tests.
EXPECTED_CODES: Final = {"pytest": (0, 1, 2, 5)}
"""Maps a program to the exit codes of a complete run (all other programs: 0 and 1)."""


async def run_static_checks(
    programs: Sequence[CheckProgram], case: Case, checker: Checker, folder: Path
) -> tuple[dict[str, Findings], tuple[str, ...]]:
    """Return each program's number of findings in the changed Python files, and notes about failed programs.

    `folder`: the cell's folder. Raise `ConfigError` if the fixture cannot be copied.
    """
    fixture, workspace = folder / "fixture", folder / "repo"
    create_workspace(case, fixture)
    try:
        files = sorted(_changed_files(fixture, workspace))
        # Files that the agent created do not exist in the fixture, and a checker fails for a missing file.
        older = [name for name in files if (fixture / name).is_file()]
        before, _ = await _count_findings(programs, case, checker, fixture, older)
        after, notes = await _count_findings(programs, case, checker, workspace, files)
    except OSError as error:
        return {}, (f"The static checks could not run: {error}",)
    finally:
        shutil.rmtree(fixture, ignore_errors=True)
    return {name: Findings(before=before.get(name), after=count) for name, count in after.items()}, tuple(
        notes
    )


def _changed_files(fixture: Path, workspace: Path) -> Iterator[str]:
    for place, folders, names in os.walk(workspace):
        folders[:] = [name for name in folders if not name.startswith(".") and name != "node_modules"]
        for path in (Path(place, name) for name in names if name.endswith(".py")):
            name = path.relative_to(workspace)
            if path.is_file() and not path.is_symlink() and not _has_same_content(path, fixture / name):
                yield f"./{name}"


def _has_same_content(path: Path, other: Path) -> bool:
    return other.is_file() and path.read_bytes() == other.read_bytes()


async def _count_findings(
    programs: Sequence[CheckProgram], case: Case, checker: Checker, folder: Path, files: Sequence[str]
) -> tuple[dict[str, int], list[str]]:
    """Return each program's number of findings in a folder, and notes about failed programs."""
    counts, notes = dict[str, int](), list[str]()
    async with checker.copy(folder, "static") as env:
        for program in programs:
            words, pattern = COMMANDS[program]
            # pytest finds its tests itself: a change in one file can break the tests of another file.
            chosen = () if program == "pytest" else files
            if program != "pytest" and not files:
                counts[program] = 0
                continue
            spec = ExecSpec(
                argv=(*words, *chosen), timeout=case.test_timeout_seconds, max_output=MAX_OUTPUT_BYTES
            )
            result = await env.exec(spec, lambda data: None)
            text = result.output.decode("utf-8", "replace")
            count = len(pattern.findall(text))
            # Findings count even if the exit status is unusual: mypy can report some, and then stop at a fatal error.
            if count or result.exit_code in EXPECTED_CODES.get(program, (0, 1)):
                counts[program] = count
            elif result.outcome != "not_found":
                notes.append(f"{program} could not check the files: {result.message or text.strip()[-200:]}")
    shutil.rmtree(Path(env.root).parent, ignore_errors=True)
    return counts, notes
