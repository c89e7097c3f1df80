"""Tests and verifiers of a case, run on a copy of the workspace after the agent has ended.

Invariant: a command that reaches its time limit is stopped with all its processes.
"""

import math
import os
import re
import shlex
import shutil
import signal
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from tui_agent.config.small_files import read_regular
from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import Case
from tui_agent.fast_dataclass import dataclass
from tui_agent.json_text import parse_json
from tui_agent.ports.environment import Environment, ExecResult, ExecSpec
from tui_agent.protocol.events.env import LOCAL_ENVIRONMENT
from tui_agent.protocol.events.eval import TestFinished, VerifierFinished
from tui_agent.units import format_bytes, format_time_limit

MAX_OUTPUT_BYTES = 200_000
MAX_FAULT_CHARS = 300
MAX_REWARD_BYTES = 65_536
MAX_REWARD_CHARS = 40
HARBOR_COMMAND = "bash /tests/test.sh"
STOPPED = "was stopped after"
"""Beginning of the error text for a command that reached its time limit."""
HANG_STATUS = 124
"""Exit status for a test command that hangs after the agent's work, but did not hang before it."""
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""Matches a decimal number, but not the other spellings that `float` accepts, such as `1_0`."""
# At most nine digits: the agent's code can print anything here.
_PASSED = re.compile(r"(?<!\d)(\d{1,9}) passed|\bRan (\d{1,9}) test")
_FAILED = re.compile(r"(?<!\d)(\d{1,9}) failed|(?:failures|errors)=(\d{1,9})")
_NOT_STARTED = re.compile(r"(?:/\S+/)?(?:ba)?sh: ((?:line )?\d+: )?([^\s:]+): .+")
"""Matches the message of a shell that could not start a program."""
_OUTSIDE_SIGNALS = (signal.SIGKILL, signal.SIGTERM)
"""Signals that end a program from outside. The exit status of such a program says nothing about the workspace."""
OWN_PLACES = ("/dev", "/proc", "/tmp", "/tests", "/logs")


@dataclass(frozen=True, slots=True)
class CheckInput:
    """Input of a verifier's command: the workspace after the agent's work, the fixture, and the session's log."""

    workspace: Path
    fixture: Path
    log: Path


def count_tests(output: str) -> tuple[int, int]:
    """Return the numbers of passed and failed tests from the output of pytest or unittest; -1 for both if unknown."""
    matches = list(_PASSED.finditer(output))
    failed = sum(int(match[1] or match[2]) for match in _FAILED.finditer(output))
    if not matches:
        return (-1, -1) if not failed else (0, failed)
    # Tools that wrap pytest can print several summaries; the last one counts.
    last = matches[-1]
    # unittest's "Ran N tests" includes the failed tests, pytest's "N passed" does not.
    return (int(last[1]) if last[1] else int(last[2]) - failed), failed


async def run_tests(
    case: Case, env: Environment, ended_commands: Collection[str] = ()
) -> tuple[TestFinished, ...]:
    """Run the case's test command in the environment's folder, once for each test path of the case.

    `ended_commands`: test commands that ended before the agent acted. If one of them reaches its time limit now, this is
    the agent's fault: the tests count as failed. For any other command, the time limit means that there is no result.
    """
    return tuple([await _run_test(command, case, env, ended_commands) for command in case.test_commands])


async def _run_test(
    command: str, case: Case, env: Environment, ended_commands: Collection[str]
) -> TestFinished:
    result = await _run(env, command, case.test_timeout_seconds, {}, unsandboxed=False)
    output = _text(result)
    fault = _describe_failure(result, case.test_timeout_seconds)
    fault = fault or _describe_lost_verdict(result, Path(env.root), case, of_verifier=False)
    failures = () if result.exit_code == 0 else (fault or output[-2_000:],)
    status = (
        HANG_STATUS if _hangs_now(result, command, ended_commands) else None if fault else result.exit_code
    )
    passed, failed = count_tests(output)
    return TestFinished(
        framework="",
        command=command,
        passed=passed,
        failed=failed,
        skipped=-1,
        exit_code=status,
        failures=failures,
    )


def _hangs_now(result: ExecResult, command: str, ended_commands: Collection[str]) -> bool:
    return result.outcome == "timeout" and command in ended_commands


def describe_hang(test: TestFinished) -> str:
    """Return a sentence without a full stop if the test command reached its time limit, otherwise an empty text."""
    fault = test.failures[0].partition("\n")[0] if test.failures else ""
    return f"the test command {fault}" if test.exit_code == HANG_STATUS and fault.startswith(STOPPED) else ""


async def run_harbor_tests(
    case: Case, env: Environment, tests: Path, logs: Path, ended_commands: Collection[str] = ()
) -> tuple[TestFinished, VerifierFinished]:
    """Run a task's `bash /tests/test.sh` in its working directory, and read the reward file in `logs`.

    - `tests`: a copy of the task's tests. The script can change the copy.
    - `ended_commands`: see `run_tests`.
    """
    assert case.harbor is not None
    rewards = logs / "verifier"
    rewards.mkdir(parents=True, exist_ok=True)
    script = f"cd {shlex.quote(case.harbor.work_dir)} && {HARBOR_COMMAND}"
    if env.name == LOCAL_ENVIRONMENT:
        script = container_command(Path(env.root), tests, logs, case.harbor.work_dir)
    result = await _run(env, script, case.test_timeout_seconds, {"VERIFIER_LOGS_DIR": "/logs/verifier"})
    fault = _describe_failure(result, case.test_timeout_seconds)
    reward, reason = (0.0, fault) if fault else read_reward(rewards)
    hangs_now = _hangs_now(result, HARBOR_COMMAND, ended_commands)
    test = TestFinished(
        framework="",
        command=HARBOR_COMMAND,
        passed=-1,
        failed=-1,
        skipped=-1,
        exit_code=HANG_STATUS if hangs_now else result.exit_code,
        failures=() if reward >= 1 else (f"{fault}\n{_text(result)[-2_000:]}".lstrip(),),
    )
    return test, VerifierFinished(
        verifier="/tests/test.sh", reward=reward, output=_text(result), fault="" if hangs_now else reason
    )


async def run_verifier(case: Case, checked: CheckInput, env: Environment) -> VerifierFinished:
    """Run the command of the case's verifier on a copy of the workspace."""
    spec = case.verifier
    assert spec is not None
    reward_file = checked.workspace.parent / "reward.txt"
    reward_file.unlink(missing_ok=True)
    variables = {
        "EVAL_LOG": str(checked.log),
        "EVAL_FIXTURE": str(checked.fixture),
        "EVAL_REWARD": str(reward_file),
        "EVAL_CASE": str(case.folder),
    }
    result = await _run(env, spec.command, spec.timeout_seconds, variables)
    fault = _describe_failure(result, spec.timeout_seconds)
    reward = float(result.exit_code == 0)
    if not fault:
        lost = _describe_lost_verdict(result, checked.workspace, case, of_verifier=True)
        reward, fault = _parse_reward(reward_file) or (reward, lost)
    return VerifierFinished(
        verifier=spec.command,
        reward=reward,
        output=_text(result),
        fault=f"the verifier {fault}" if fault else "",
    )


def read_reward(folder: Path) -> tuple[float, str]:
    """Return the reward and an empty text, or 0 and the reason why the reward cannot be used.

    The reward is in `reward.json` (the number `reward`, or the lowest number) or in `reward.txt`.
    """
    text, fault = _read_reward_file(folder / "reward.json")
    if text is None:
        return _parse_reward(folder / "reward.txt") or (0.0, "wrote no reward file")
    if fault:
        return 0.0, fault
    try:
        values = parse_json(text)
    except ValueError:
        return 0.0, "wrote a reward.json that is not valid JSON"
    numbers = list(values.values()) if isinstance(values, dict) else [values]
    if not numbers or any(isinstance(value, bool) or check_reward(value) for value in numbers):
        return 0.0, "wrote a reward.json without finite numbers"
    return float(values["reward"] if isinstance(values, dict) and "reward" in values else min(numbers)), ""


def _parse_reward(file: Path) -> tuple[float, str] | None:
    """Return (reward, ""), or (0, reason) if the reward cannot be used, or None if the file does not exist."""
    text, fault = _read_reward_file(file)
    if text is None:
        return None
    if fault:
        return 0.0, fault
    if _NUMBER.fullmatch(text.strip()) is None:
        return 0.0, f"wrote {text.strip()[:MAX_REWARD_CHARS]!r} as its reward, which is not a decimal number"
    reward = float(text)
    return (0.0, check_reward(reward)) if check_reward(reward) else (reward, "")


def _read_reward_file(file: Path) -> tuple[str | None, str]:
    """Return (text, ""), or (None, "") if the file does not exist, or ("", reason) if the file cannot be used."""
    try:
        data = read_regular(file, MAX_REWARD_BYTES + 1, os.O_NOFOLLOW)
    except FileNotFoundError:
        return None, ""
    except OSError as error:
        return "", f"wrote a {file.name} that cannot be read: {error.strerror}"
    if data is None:
        return "", f"wrote a {file.name} that is not a regular file"
    if len(data) > MAX_REWARD_BYTES:
        return "", f"wrote a {file.name} of more than {format_bytes(MAX_REWARD_BYTES)}"
    return data.decode("utf-8-sig", "replace"), ""


def check_reward(reward: object) -> str:
    """Return why a reward is not valid; empty if it is valid."""
    if not isinstance(reward, int | float):
        return f"gave a reward of the type {type(reward).__name__}, which is not a number"
    try:
        is_finite = math.isfinite(reward)
    except OverflowError:
        return "gave a reward that is too large"
    return "" if is_finite else f"gave the reward {reward}, which is not a finite number"


async def _run(
    env: Environment,
    script: str,
    timeout: float,
    variables: Mapping[str, str],
    *,
    unsandboxed: bool = True,
) -> ExecResult:
    spec = ExecSpec(
        script=script, timeout=timeout, env=variables, max_output=MAX_OUTPUT_BYTES, unsandboxed=unsandboxed
    )
    return await env.exec(spec, lambda piece: None)


def _describe_failure(result: ExecResult, timeout: float) -> str:
    """Return why the command gave no result; empty if the command ended by itself."""
    if result.outcome == "exited":
        return ""
    if result.outcome == "timeout":
        return f"{STOPPED} {format_time_limit(timeout)}, its time limit"
    return f"did not run: {result.message}"[:MAX_FAULT_CHARS]


def _describe_lost_verdict(result: ExecResult, workspace: Path, case: Case, *, of_verifier: bool) -> str:
    """Return the reason why a command's exit status says nothing about the workspace.

    Return an empty text if the exit status is meaningful.
    """
    # If a program in the workspace cannot be started, the status usually counts: writing the program can be the agent's
    # task.
    code = result.exit_code or 0
    if code - 128 in _OUTSIDE_SIGNALS:
        return f"was ended by {signal.Signals(code - 128).name}"
    if code not in (126, 127):
        return ""
    match = _NOT_STARTED.fullmatch((_text(result).strip().splitlines() or [""])[-1])
    if match is None:
        return ""
    is_path = "/" in match[2] or match[1] is None
    path = Path(os.path.normpath(workspace / match[2])) if is_path else Path("/")
    if path.is_relative_to(workspace):
        hidden = (workspace / os.path.normpath(name) for name in case.test_files)
        is_missing = of_verifier and not os.path.lexists(path)
        if not is_missing and path not in hidden:
            return ""
    return f"could not run: {match[0][match.start(2) :]}"[:MAX_FAULT_CHARS]


def _text(result: ExecResult) -> str:
    return result.output.decode("utf-8", "replace")


def container_command(workspace: Path, tests: Path, logs: Path, work_dir: str) -> str:
    """Return the shell command that runs `bash /tests/test.sh` in `work_dir`.

    The command sees `workspace`, `tests` and `logs` as `work_dir`, `/tests` and `/logs`. All other files are read-only.

    Raise `ConfigError` if bubblewrap is not installed.
    """
    require_own_folder(work_dir)
    if shutil.which("bwrap") is None:
        raise ConfigError(
            "Running Harbor tests on this machine needs bubblewrap.",
            hint="Install it, e.g. apt-get install bubblewrap.",
        )
    # bubblewrap mounts in the order of its options, so the folders below come after the read-only ones that contain
    # them.
    words = ["bwrap", "--die-with-parent", "--unshare-pid"]
    words += _mounts(entry for entry in Path("/").iterdir() if not _is_covered(entry, work_dir))
    words += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    words += [
        "--bind",
        str(workspace),
        work_dir,
        "--bind",
        str(tests),
        "/tests",
        "--bind",
        str(logs),
        "/logs",
    ]
    words += ["--chdir", work_dir, "--setenv", "VERIFIER_LOGS_DIR", "/logs/verifier"]
    return shlex.join([*words, "bash", "/tests/test.sh"])


def require_own_folder(work_dir: str) -> None:
    """Raise `ConfigError` if the working directory of a task is a folder of the system."""
    if work_dir == "/" or any(Path(work_dir).is_relative_to(place) for place in OWN_PLACES):
        raise ConfigError(
            f"The sandbox cannot use {work_dir} as the working directory of a task.",
            hint="Use --environment docker, which builds the task's image.",
        )


def _is_covered(entry: Path, work_dir: str) -> bool:
    return str(entry) in OWN_PLACES or Path(work_dir).parts[1:2] == entry.parts[1:2]


def _mounts(entries: Iterable[Path]) -> list[str]:
    words: list[str] = []
    for entry in sorted(entries):
        if entry.is_symlink():
            words += ["--symlink", str(entry.readlink()), str(entry)]
        elif entry.exists():
            words += ["--ro-bind", str(entry), str(entry)]
    return words
