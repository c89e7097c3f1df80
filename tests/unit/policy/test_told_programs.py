"""What a program takes away for another counts, also in a sandbox where commands of an unknown program run unasked."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import confined
from tests.unit.policy.taking import TAKING


def test_nothing_that_another_program_takes_away_goes_unasked_in_a_sandbox() -> None:
    assert [line for line in TAKING if confined(line).verdict == "allow"] == []


@pytest.mark.parametrize(
    "script",
    [
        "foo rm -rf src",
        "setsid rm -rf src",
        "taskset -c 0 rm -rf src",
        "uv run rm -rf src",
        "watch -n 1 'rm -rf src'",
        "alias x='rm -rf src'",
        "git -c alias.x='!rm -rf src' x",
        "expect -c 'spawn rm -rf src'",
        "python -c \"import shutil; shutil.rmtree('src')\"",
        "python <<EOF\nimport os\nos.remove('a')\nEOF",
        "lua -e 'os.execute(\"rm -rf src\")'",
        "vim -c ':!rm -rf src' -c q",
    ],
)
def test_its_class_says_so(script: str) -> None:
    assert "destructive" in confined(script).classes


def test_roots_are_guarded_behind_unknown_programs_too() -> None:
    assert confined("foo rm -rf /").verdict == "deny"
    assert confined("entr sh -c 'rm -rf ~'", "bypass").verdict == "deny"
    assert confined("foo mkfs.ext4 /dev/sda1", "bypass").verdict == "deny"


@rows(
    "script",
    [
        "python -c 'print(1)'",
        "python3 -c \"import json; print(json.load(open('a.json'))['x'])\"",
        "python3 <<EOF\nprint('hello')\nEOF",
        "echo 'print(1)' | python3",
        "python -c \"import base64; print(base64.b64decode('aGk='))\"",
        "node -p process.version",
        "perl -pe 's/a/b/' f",
        "python -m mypkg run",
        "cat a.json | python tools/check.py",
        "uv run pytest -q tests",
        "poetry run pytest",
        "foo commit -m 'at least one service'",
        "./manage.py init --batch 3",
        "ionice make",
        "watch -n1 ls",
        "strace -f ./x",
        "make -f other.mk -j4",
        "awk '{print $1}' f > out",
        "exec make",
        "git commit -m 'rm -rf is gone'",
    ],
)
def test_what_only_works_in_the_workspace_runs_in_a_sandbox(script: str) -> None:
    assert confined(script).verdict == "allow"


@pytest.mark.parametrize(
    "script", ["python -c 'print(1)'", "foo x", "setsid ls", "uv run pytest", "watch ls", "taskset 1 make"]
)
def test_without_a_sandbox_it_is_asked_about(script: str) -> None:
    assert confined(script, "ask").verdict == "ask"


@pytest.mark.parametrize("script", ["ionice -c3 grep -rn x src", "taskset -c 0 ls", "env -u X ls"])
def test_a_wrapper_is_as_harmless_as_what_it_runs(script: str) -> None:
    assert confined(script, "plan").verdict == "allow"


@pytest.mark.parametrize(
    "script",
    [
        "docker exec x sh",
        "docker compose run web ls",
        "tmux send-keys x Enter",
        "screen -X stuff x",
        "dotnet add package x",
    ],
)
def test_what_acts_where_no_sandbox_reaches_is_asked_about(script: str) -> None:
    assert confined(script).verdict == "ask"
    assert confined("tmux ls", "ask").verdict == "allow"
