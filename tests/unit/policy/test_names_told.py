"""A pattern that the shell makes names of lists the folder that it looks in, whatever program is given the names."""

import pytest

from tests.unit.policy.judging import verdict


@pytest.mark.parametrize(
    "script",
    [
        r"printf '%s\n' /home/*",
        "echo /home/*",
        "echo ~/*",
        "echo ../*",
        "cd /srv && echo *",
        "for f in /home/*; do echo $f; done",
        'for f in /home/*; do echo "$f"; done',
        "echo a > /dev/null /root/?",
    ],
)
def test_names_outside_the_workspace_are_asked_about(script: str) -> None:
    assert verdict(script) == "ask"


@pytest.mark.parametrize(
    "script", ["echo ~/.ssh/*", r"printf '%s\n' ~/.aws/*", "for f in ~/.ssh/*; do echo $f; done"]
)
def test_names_in_folders_of_secrets_are_not_listed(script: str) -> None:
    assert verdict(script) == "deny"


@pytest.mark.parametrize(
    "script",
    [
        "echo *",
        "echo src/*.py .env*",
        "echo '/home/*'",
        'echo "~/.ssh/*"',
        "echo /usr/include/*.h",
        "for f in src/*; do echo $f; done",
        "echo [done] what?",
        "expr 3 \\* 4",
    ],
)
def test_names_of_the_workspace_and_texts_are_not_asked_about(script: str) -> None:
    assert verdict(script) == "allow"
