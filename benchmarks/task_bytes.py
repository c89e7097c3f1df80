"""`python -m benchmarks.task_bytes --pi FOLDER`: bytes and calls of whole tasks, ours beside pi.

    npm install --prefix FOLDER @earendil-works/pi-coding-agent@0.74.2

Six small tasks (`tasks.yaml`, three of them a real fix that is reversed in a source from PyPI) are played with the same
recorded answers in both programs, each under the names of its own tools. Printed are the requests and their bytes. A
task counts only if the last test passes afterwards. Without --pi, only ours is played.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from benchmarks.report import Row, print_table

ROOT = Path(__file__).resolve().parents[1]
PI_VERSION = "0.74.2"
MAX_RATIO = 1.1
SCENARIO = "task"
"""The stand-in model chooses its answers by this word in the prompt."""
TIMEOUT_S = 120


def tool_calls(call: dict[str, Any]) -> list[list[Any]]:
    """Return a neutral call as a call of our tool and one of pi's. The stand-in model makes the one that is offered."""
    place = {key: call[key] for key in ("offset", "limit") if key in call}
    match next(iter(call)):
        case "read":
            return [["read_file", {"path": call["read"], **place}], ["read", {"path": call["read"], **place}]]
        case "find":
            pattern, path = call["find"], call["path"]
            line = f"grep -rnE {shlex.quote(pattern)} {path}"
            return [["grep", {"pattern": pattern, "path": path}], ["bash", {"command": line}]]
        case "edit":
            path, old, new = call["edit"], call["old"], call["new"]
            ours = {"path": path, "old_text": old, "new_text": new}
            return [
                ["edit_file", ours],
                ["edit", {"path": path, "edits": [{"oldText": old, "newText": new}]}],
            ]
        case "write":
            arguments = {"path": call["write"], "content": call["content"]}
            return [["write_file", arguments], ["write", arguments]]
        case "shell":
            return [[name, {"command": call["shell"]}] for name in ("run_command", "bash")]
        case "test":
            return [[name, {"command": call["test"]}] for name in ("run_tests", "bash")]
        case unknown:
            raise ValueError(f"unknown call: {unknown}")


def script_of(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps of the stand-in model, which chooses one by the number of results so far."""
    steps: list[dict[str, Any]] = []
    for answer in answers:
        calls = answer.get("calls", [])
        step = {
            "text": answer["text"],
            "tools": [tool for call in calls for tool in tool_calls(call)],
            "all": True,
        }
        steps += [step, *[{"text": "skipped"}] * (len(calls) - 1)]
    return steps


def prepare(task: dict[str, Any], workspace: Path, cache: Path) -> None:
    """Write the task's files, with the package's fix reversed."""
    workspace.mkdir(parents=True)
    if "package" in task:
        unpack(task["package"], workspace, cache)
    for change in task.get("bug", ()):
        path = workspace / change["path"]
        text = path.read_text()
        assert text.count(change["fixed"]) == 1, change["path"]
        path.write_text(text.replace(change["fixed"], change["before"]))
    for name, content in task["files"].items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(content)
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    subprocess.run(["git", "add", "-A"], cwd=workspace, check=True)


def unpack(package: str, workspace: Path, cache: Path) -> None:
    """Download a package, if it is not in the cache, and unpack it."""
    folder = cache / package.replace("==", "-")
    if not folder.exists():
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder), package]
        subprocess.run(command, check=True)
    [archive] = folder.iterdir()
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(workspace)
        return
    with tarfile.open(archive) as source:
        source.extractall(workspace, filter="data")
    [top] = [path for path in workspace.iterdir() if path.is_dir()]
    for path in top.iterdir():
        path.rename(workspace / path.name)
    top.rmdir()


@contextmanager
def model(steps: list[dict[str, Any]], folder: Path) -> Iterator[tuple[str, Path]]:
    """Serve the recorded answers; yield the address and the log of requests."""
    script, log = folder / "script.json", folder / "requests.jsonl"
    script.write_text(json.dumps({SCENARIO: steps}))
    command = [sys.executable, "-m", "benchmarks.mock_llm", "--port", "0"]
    command += ["--script", str(script), "--log", str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as served:
        try:
            assert served.stdout is not None
            yield served.stdout.readline().split()[-1], log
        finally:
            served.terminate()


def headless_run(prompt: str, url: str, home: Path, pi: Path | None) -> tuple[list[str], dict[str, str]]:
    """Return the command and environment of one headless run of ours, or of pi, with the stand-in model."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "OPENAI_API_KEY": "none", "LANG": "C.UTF-8"}
    if pi is None:
        command = [sys.executable, "-m", "tui_agent", "run", prompt, "--model", "openai-chat/mock"]
        command += ["--base-url", url, "--policy", "bypass"]
        return command, {**environment, "PYTHONPATH": str(ROOT)}
    settings = home / ".pi" / "agent" / "models.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    provider = {"baseUrl": url, "api": "openai-completions", "apiKey": "none", "models": [{"id": "mock"}]}
    settings.write_text(json.dumps({"providers": {"mock": provider}}))
    command = [str(pi / "node_modules" / ".bin" / "pi"), "-p", "--offline", "--model", "mock/mock", prompt]
    return command, environment


def require_pi(parser: argparse.ArgumentParser, folder: Path) -> None:
    """End the program if the folder does not hold the version of pi that the answers were recorded for."""
    manifest = folder / "node_modules" / "@earendil-works" / "pi-coding-agent" / "package.json"
    version = json.loads(manifest.read_text())["version"]
    if version != PI_VERSION:
        parser.error(f"pi is {version}; the recorded answers are for {PI_VERSION}")


def play(task: dict[str, Any], folder: Path, cache: Path, pi: Path | None) -> tuple[int, int]:
    """Play a task in our program, or in pi; return the number of requests and their bytes."""
    workspace, home = folder / "work", folder / "home"
    prompt = f"{task['prompt']} (scenario-{SCENARIO})"
    prepare(task, workspace, cache)
    home.mkdir()
    with model(script_of(task["answers"]), folder) as (url, log):
        command, environment = headless_run(prompt, url, home, pi)
        done = subprocess.run(
            command, cwd=workspace, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S
        )
    requests = [json.loads(line) for line in log.read_text().splitlines()]
    tests = [call["test"] for answer in task["answers"] for call in answer.get("calls", ()) if "test" in call]
    check = subprocess.run(shlex.split(tests[-1]), cwd=workspace, capture_output=True, text=True)
    if done.returncode or check.returncode:
        raise SystemExit(f"A task was not solved in {workspace}: {done.stdout}{done.stderr}{check.stderr}")
    return len(requests), sum(request["size"] for request in requests)


def main() -> None:
    """Play all tasks and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pi", type=Path, help=f"the folder in which pi {PI_VERSION} is installed")
    parser.add_argument("--cache", type=Path, default=ROOT / "benchmarks" / "results" / "packages")
    parser.add_argument("--only", nargs="*", help="the tasks to play")
    args = parser.parse_args()
    if args.pi is not None:
        require_pi(parser, args.pi)
    tasks = yaml.safe_load((ROOT / "benchmarks" / "tasks.yaml").read_text())
    rows, ours_total, pi_total = [], 0, 0
    with tempfile.TemporaryDirectory(prefix="task-bytes-") as folder:
        for name in args.only or tasks:
            task = tasks[name]
            calls, size = play(task, Path(folder) / name / "ours", args.cache, None)
            pi_calls, pi_size = calls, float("nan")
            if args.pi is not None:
                pi_calls, pi_size = play(task, Path(folder) / name / "pi", args.cache, args.pi.resolve())
                pi_total += pi_size
            ours_total += size
            rows.append(Row(f"{name}: requests", "", calls, floor=pi_calls, at_most_ratio=1.0))
            rows.append(Row(f"{name}: bytes", "KB", size / 1000, floor=pi_size / 1000))
    rows.append(
        Row(
            "all: bytes",
            "KB",
            ours_total / 1000,
            floor=pi_total / 1000 or float("nan"),
            at_most_ratio=MAX_RATIO,
        )
    )
    print_table(rows, "")


if __name__ == "__main__":
    main()
