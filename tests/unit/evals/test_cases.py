"""Cases, suites and task folders: what they say, and how a broken one is rejected."""

import json
import os
import py_compile
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stubs.rows import rows
from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import Case
from tui_agent.evals.cases.suites import load_suite
from tui_agent.evals.cases.task_folder import load_task_folder
from tui_agent.evals.checks.case_workspace import create_check_copy, create_workspace
from tui_agent.evals.checks.tests_and_verifier import count_tests, read_reward
from tui_agent.protocol.settings import Budgets

GOOD = {"prompt": "Do it.", "test_command": "true"}


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def fault(tmp_path: Path, tree: object) -> str:
    path = written(tmp_path, "bad.json", json.dumps(tree))
    with pytest.raises(ConfigError) as caught:
        load_suite(str(path), tmp_path)
    return caught.value.message.replace(str(tmp_path), "")


@rows(
    "tree, message",
    [
        ({"prompt": "x"}, "/bad.json: give at least one of test_command, verifier and expected."),
        ({**GOOD, "promt": "x"}, "/bad.json: unknown key 'promt'. Did you mean 'prompt'?"),
        (
            {**GOOD, "prompt": ""},
            "/bad.json: 'prompt' is '': string should have at least 1 character. Correct the value.",
        ),
        ({**GOOD, "prompt": " \n"}, "/bad.json: 'prompt' is ' \\n': the text is blank. Correct the value."),
        (
            {**GOOD, "files": {"../a": ""}},
            "/bad.json: 'files.\"../a\"': the path is outside the workspace. Correct the value.",
        ),
        (
            {**GOOD, "files": {"/a": ""}},
            "/bad.json: 'files.\"/a\"': the path is outside the workspace. Correct the value.",
        ),
        ({**GOOD, "fixture": "gone"}, "/bad.json, at fixture: the folder /gone was not found."),
        (
            {**GOOD, "budgets": {"max_parts": 0}},
            "/bad.json: 'budgets.max_parts' is 0: input should be greater than 0. Correct the value.",
        ),
        (
            {**GOOD, "verifier": {}},
            "/bad.json: 'verifier': give exactly one of command, plugin and environment. Correct the value.",
        ),
        (
            {**GOOD, "verifier": "python3 check.py"},
            "/bad.json: 'verifier' is 'python3 check.py': expected a table with command, environment, plugin, timeout_seconds. "
            "Correct the value.",
        ),
        (
            {**GOOD, "test_comand": "x", "step_budget": "many", "verifier": {"comand": "x"}},
            "/bad.json: unknown key 'verifier.comand'. Did you mean 'command'? 'budgets.max_iterations' is 'many': input "
            "should be a valid integer, unable to parse string as an integer. Correct the value. unknown key "
            "'test_comand'. Did you mean 'test_command'?",
        ),
        (
            {"cases": [GOOD, {**GOOD, "id": "b", "policy": "yolo"}]},
            "/bad.json: 'cases.1.policy' is 'yolo': input should be 'plan', 'ask', 'accept-edits', 'bypass' or "
            "'read-only-delegate'. Correct the value.",
        ),
        (
            {"files": {}, "test_command": "true"},
            "/bad.json: 'prompt' is missing. Add it.",
        ),
        (
            {**GOOD, "files": {".": ""}},
            "/bad.json: 'files.\".\"': the path has no file name. Correct the value.",
        ),
        ({**GOOD, "files": {"a": "", "a/b": ""}}, "/bad.json: files has 'a' as a file and as a folder."),
        ({**GOOD, "recording": "gone"}, "/bad.json, at recording: the folder /gone was not found."),
        (
            {**GOOD, "expected": {"files": {"a": "gone.txt"}}},
            "/bad.json, at expected.files.a: the file /gone.txt was not found.",
        ),
        (
            {"cases": [{"prompt": "x", "verifier": {"environment": "gone.py"}}]},
            "/bad.json, at cases.0.verifier.environment: the file /gone.py was not found.",
        ),
        (
            {**GOOD, "step_budget": 3, "budgets": 4},
            "/bad.json: 'budgets' is 4: expected a table with max_cost_usd, max_iterations, max_parts, max_turns, "
            "timeout_seconds. Correct the value.",
        ),
        ({"name": "x", "extends": "gone"}, "/bad.json, field `extends`: there is no suite 'gone'."),
        ({"cases": [GOOD, GOOD]}, "/bad.json: two cases have the id 'bad'."),
        ({"cases": []}, "/bad.json has no cases."),
        ({"cases": 3}, "/bad.json, at cases: it is not a list."),
        (3, "/bad.json is neither a suite nor a list of cases."),
    ],
)
def test_a_broken_case_names_file_field_and_reason(tmp_path: Path, tree: object, message: str) -> None:
    assert fault(tmp_path, tree) == message


@rows(
    "name, text, message",
    [
        ("case.toml", "", "/t/case.toml: 'prompt' is missing. Add it."),
        ("case.json", "[" * 100_000, "/t/case.json is not valid JSON: "),
        ("task.toml", "agent = 3", "/t/task.toml, at agent: it is not a table."),
        (
            "task.toml",
            '[verifier]\ntimeout_sec = "soon"',
            "/t/task.toml, at verifier.timeout_sec: 'soon' is not a number above 0.",
        ),
        (
            "environment/Dockerfile",
            'COPY "a b',
            '/t/environment/Dockerfile, at COPY "a b: No closing quotation.',
        ),
        (
            "environment/Dockerfile",
            "FROM ubuntu\nCOPY ../../secret /app/",
            "/t/environment/Dockerfile, at COPY ../../secret /app/: the source ../../secret points outside ",
        ),
        (
            "task.toml",
            "",
            "/t/instruction.md was not found.",
        ),
        (
            "task.py",
            "def generate(): return 'x', 3",
            "/t/task.py: generate() failed: TypeError: 'int' object is not iterable.",
        ),
    ],
)
def test_a_broken_folder_of_a_case_or_task_names_file_field_and_reason(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    shutil.rmtree(tmp_path / "t", ignore_errors=True)
    if not name.startswith("case"):
        written(tmp_path, "t/tests/test.sh", "true")
    if name.startswith(("task.toml", "environment")):
        if text:
            written(tmp_path, "t/instruction.md", "Do it.")
        written(tmp_path, "t/task.toml", "")
    written(tmp_path, f"t/{name}", text)
    with pytest.raises(ConfigError) as caught:
        load_suite("t", tmp_path)
    assert caught.value.message.replace(str(tmp_path), "").startswith(message)


def test_hidden_tests_replace_what_the_agent_made_in_their_places(tmp_path: Path) -> None:
    case = Case.model_validate({**GOOD, "test_files": {"tests/a.py": "a", "b.py": "b", "c/d.py": "d"}})
    workspace = tmp_path / "workspace"
    (workspace / "b.py").mkdir(parents=True)
    (workspace / "tests").symlink_to(tmp_path)
    (workspace / "c").write_text("a file")
    create_check_copy(case, workspace, tmp_path / "copy")
    assert [(tmp_path / "copy" / name).read_text() for name in case.test_files] == ["a", "b", "d"]
    assert not (tmp_path / "a.py").exists() and (workspace / "tests").is_symlink()


def test_pipes_and_sockets_that_the_agent_left_do_not_keep_the_workspace_from_being_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "run").mkdir(parents=True)
    (workspace / "run" / "a").write_text("a")
    (workspace / "dangling").symlink_to("nowhere")
    monkeypatch.chdir(workspace)  # a socket's path must be short
    os.mkfifo("run/pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("run/server.sock")
    create_check_copy(Case.model_validate(GOOD), workspace, tmp_path / "copy")
    copied = sorted(str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*"))
    assert copied == ["dangling", "run", "run/a"]


def test_a_suite_is_a_file_or_a_folder_and_may_extend_another(tmp_path: Path) -> None:
    written(tmp_path, "base/one.toml", 'prompt = "1"\ntest_command = "true"\nstep_budget = 7\n')
    written(tmp_path, "more/suite.toml", 'extends = "../base"\n')
    written(tmp_path, "more/two/case.json", json.dumps({**GOOD, "category": "c", "fixture": "repo"}))
    written(tmp_path, "more/two/repo/a.txt", "a")
    suite = load_suite("more", tmp_path)
    assert [(case.id, case.category) for case in suite.cases] == [("one", "general"), ("two", "c")]
    assert suite.cases[0].budgets == Budgets(max_iterations=7)
    with pytest.raises(ConfigError, match="There is no suite 'none'"):
        load_suite("none", tmp_path)
    written(tmp_path, "more/file.json", json.dumps({"extends": "../base", "cases": [GOOD]}))
    assert [case.id for case in load_suite("more/file.json", tmp_path).cases] == ["one", "file"]


@rows(
    "base, circle",
    [("../more", "base → more → base"), (".", "base → base"), ("bench-40", "")],
)
def test_suites_that_extend_each_other_are_named(tmp_path: Path, base: str, circle: str) -> None:
    written(tmp_path, "base/suite.toml", f'extends = "{base}"\n')
    written(tmp_path, "more/suite.toml", 'extends = "../base"\n')
    if not circle:
        assert len(load_suite("base", tmp_path).cases) == 40
        return
    with pytest.raises(ConfigError) as caught:
        load_suite("base", tmp_path)
    assert caught.value.message == f"Suites extend each other: {circle}."


def test_a_fixture_is_copied_afresh_and_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    written(tmp_path, "two/repo/a.txt", "a")
    (tmp_path / "two" / "repo" / "out").symlink_to(tmp_path)
    case = Case.model_validate({**GOOD, "fixture": "repo", "files": {"b/c.txt": "c"}})
    case = case.model_copy(update={"folder": tmp_path / "two"})
    for name in ("x", "y"):
        create_workspace(case, tmp_path / name)
        (tmp_path / name / "a.txt").write_text("changed")
    assert (tmp_path / "two" / "repo" / "a.txt").read_text() == "a"
    assert (tmp_path / "y" / "b" / "c.txt").read_text() == "c"
    through = case.model_copy(update={"files": {"out/d.txt": "d"}})
    with pytest.raises(ConfigError, match="outside the workspace"):
        create_workspace(through, tmp_path / "z")
    assert not (tmp_path / "d.txt").exists()
    long = case.model_copy(update={"files": {"x" * 300: ""}})
    with pytest.raises(
        ConfigError, match=r"two, at files: '(x{300})' cannot be written: File name too long\."
    ):
        create_workspace(long, tmp_path / "long")


def test_an_edit_right_after_the_first_test_run_has_an_effect(tmp_path: Path) -> None:
    case = Case.model_validate({**GOOD, "files": {"sums.py": "print(2)"}})
    create_workspace(case, tmp_path / "workspace")
    file = tmp_path / "workspace" / "sums.py"
    py_compile.compile(str(file), doraise=True)
    file.write_text("print(1)")
    argv = (sys.executable, "-c", "import sums")
    assert subprocess.run(argv, cwd=file.parent, capture_output=True, text=True, check=True).stdout == "1\n"


def test_the_highest_tier_of_a_task_folder_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "my-task"
    written(folder, "environment/tests/test.sh", "exit 1\n")
    written(folder, "task/en.md", "Write {name} {count} times.\n\n{ not a name }")
    written(folder, "task/params.py", 'name = "x"\ncount = 1 + 1\ncategory = "c"\n')
    case = load_task_folder(folder)
    assert (case.id, case.prompt, case.category) == (
        "my-task",
        "Write x 2 times.\n\n{ not a name }",
        "c",
    )
    written(folder, "task/task.py", 'def generate():\n    return "From the program.", {"split": "heldout"}\n')
    assert (load_task_folder(folder).prompt, load_task_folder(folder).split) == (
        "From the program.",
        "heldout",
    )
    (folder / "task" / "task.py").unlink()
    (folder / "task" / "params.py").write_text("name = 1\n")
    with pytest.raises(ConfigError, match=r"the parameter 'count' is not in params\.py"):
        load_task_folder(folder)
    (folder / "task" / "params.py").write_text("1 / 0\n")
    with pytest.raises(ConfigError, match=r"params.py failed: ZeroDivisionError"):
        load_task_folder(folder)
    (folder / "task" / "params.py").unlink()
    assert load_task_folder(folder).prompt.startswith("Write {name} {count} times.")
    (folder / "environment/tests/test.sh").unlink()
    with pytest.raises(ConfigError, match=r"my-task has no test\."):
        load_task_folder(folder)


@rows(
    "program, name",
    [
        ("import time\ntime.sleep(1000)\n", "task.py"),
        ("import time\ndef generate():\n    time.sleep(1000)\n", "task.py: generate()"),
    ],
)
def test_a_program_of_a_task_folder_that_hangs_is_stopped_and_named(
    tmp_path: Path, program: str, name: str
) -> None:
    written(tmp_path, "task.py", program)
    with pytest.raises(ConfigError) as caught:
        load_task_folder(tmp_path, timeout_s=0.1)
    assert caught.value.message == f"{tmp_path}/{name} was stopped after 0.1 s, its time limit."


HARBOR = """\
version = "1.0"
[metadata]
category = "software-engineering"
[verifier]
timeout_sec = 240.0
[agent]
timeout_sec = 900.0
[environment]
memory = "2G"
"""


def test_a_harbor_task_folder_is_taken_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "sum-up"
    written(folder, "task.toml", HARBOR)
    written(folder, "instruction.md", "<!-- canary GUID 1 -->\n\nSum up /app/data.\n")
    written(folder, "tests/test.sh", "exit 0\n")
    written(
        folder,
        "environment/Dockerfile",
        "FROM ubuntu\nRUN apt-get update && \\\n  apt-get install -y gcc\nWORKDIR /app\nCOPY data /app/data\nCOPY --from=build ../x y\nCOPY --from=build tool /app/\n",
    )
    written(folder, "environment/data/a.csv", "1\n")
    written(folder, "environment/tool", "this is not the tool of the other image\n")
    case = load_task_folder(folder)
    assert (case.prompt, case.category, case.test_timeout_seconds) == (
        "Sum up /app/data.\n\nYour workspace is the folder /app of this task. Use paths relative to it, not /app/….",
        "software-engineering",
        240,
    )
    assert case.budgets.timeout_seconds == 900
    assert case.harbor is not None and case.harbor.skipped == (
        "RUN apt-get update &&    apt-get install -y gcc",
        "COPY --from=build ../x y",
        "COPY --from=build tool /app/",
    )
    create_workspace(case, tmp_path / "ws")
    assert [str(path.relative_to(tmp_path / "ws")) for path in sorted((tmp_path / "ws").rglob("*"))] == [
        "data",
        "data/a.csv",
    ]
    (folder / "environment" / "elsewhere").symlink_to(tmp_path)
    written(folder, "environment/Dockerfile", "FROM ubuntu\nCOPY data elsewhere/x /app/\n")
    with pytest.raises(ConfigError, match=r"/app/: the source elsewhere/x is a link that points outside"):
        load_task_folder(folder)
    (folder / "environment" / "elsewhere").unlink()
    written(folder, "task.toml", HARBOR + "[[steps]]\nname = 'one'\n")
    with pytest.raises(ConfigError, match=r"task.toml, at steps: tasks in several parts are not supported"):
        load_task_folder(folder)


@rows(
    "output, counts",
    [
        ("Ran 3 tests in 0.1s\n\nOK", (3, 0)),
        ("Ran 4 tests in 0.1s\n\nFAILED (failures=1, errors=2)", (1, 3)),
        ("=== 2 failed, 5 passed in 1.0s ===", (5, 2)),
        ("2 failed", (0, 2)),
        ("all good", (-1, -1)),
    ],
)
def test_the_counts_of_pytest_and_unittest_are_read(output: str, counts: tuple[int, int]) -> None:
    assert count_tests(output) == counts


@rows(
    "name, text, reward",
    [
        ("reward.txt", "1.0\n", (1.0, "")),
        ("reward.txt", "0.25", (0.25, "")),
        ("reward.txt", "yes", (0.0, "wrote 'yes' as its reward, which is not a decimal number")),
        *(
            ("reward.txt", odd, (0.0, f"wrote {odd!r} as its reward, which is not a decimal number"))
            for odd in ("nan", "inf", "1_0", "1e", "0x1", "1 0", "\u0661", ".")
        ),
        ("reward.txt", "1e999", (0.0, "gave the reward inf, which is not a finite number")),
        ("reward.txt", " +1e-3\n", (0.001, "")),
        ("reward.json", '{"reward": true}', (0.0, "wrote a reward.json without finite numbers")),
        ("reward.json", '{"a": 1, "b": 0.5}', (0.5, "")),
        ("reward.json", '{"reward": 1, "style": 0}', (1.0, "")),
        ("reward.json", '{"a": "x"}', (0.0, "wrote a reward.json without finite numbers")),
        ("reward.json", "{", (0.0, "wrote a reward.json that is not valid JSON")),
        ("reward.json", "1" + "0" * 400, (0.0, "wrote a reward.json without finite numbers")),
        ("reward.json", "[" * 60_000, (0.0, "wrote a reward.json that is not valid JSON")),
        ("reward.json", "1" + " " * 70_000, (0.0, "wrote a reward.json of more than 66 KB")),
        ("reward.txt", "1" * 70_000, (0.0, "wrote a reward.txt of more than 66 KB")),
        ("other", "1", (0.0, "wrote no reward file")),
    ],
)
def test_an_odd_reward_file_is_a_fault_of_the_verifier(
    tmp_path: Path, name: str, text: str, reward: tuple[float, str]
) -> None:
    for file in tmp_path.iterdir():
        file.unlink()
    (tmp_path / name).write_text(text)
    assert read_reward(tmp_path) == reward


def test_a_reward_file_that_is_a_pipe_or_a_link_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "reward.txt")
    assert read_reward(tmp_path) == (0.0, "wrote a reward.txt that is not a regular file")
    (tmp_path / "reward.json").symlink_to("/etc/passwd")
    assert read_reward(tmp_path)[1].startswith("wrote a reward.json that cannot be read: ")
