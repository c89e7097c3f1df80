"""Approvals for `git config`, and what they say."""

import pytest

from tests.unit.policy.judging import confined, decide

RISK = "A setting can make git run a program."
RISK_OUTSIDE = f"{RISK} The command runs outside the sandbox."
"""In the sandbox, the change would fail, and the user would have to approve the command a second time."""


@pytest.mark.parametrize(
    "script",
    [
        "git config core.pager less",
        "git config --global core.pager less",
        "git config set core.pager less",
        "git config --add core.pager less",
        "git config --replace-all core.pager less",
        "git -C src config core.pager less",
    ],
)
def test_a_change_of_a_setting_is_named_and_prints_no_secrets(script: str) -> None:
    decision = decide(script, "accept-edits")
    assert (decision.verdict, decision.risk) == ("ask", RISK)
    assert decision.reason == "it sets git's core.pager, which can make git run a program"
    decision = confined(script)
    assert (decision.verdict, decision.risk) == ("ask", RISK_OUTSIDE)
    assert decision.reason == "policy accept-edits requires approval for changes of git's settings"


@pytest.mark.parametrize("script", ["git config unset a.b", "git config --unset a.b"])
def test_a_removed_setting_prints_no_secrets(script: str) -> None:
    assert (confined(script).verdict, confined(script).risk) == ("ask", RISK_OUTSIDE)


@pytest.mark.parametrize(
    "script",
    [
        "git config core.pager less && node x.js",
        "git config core.pager $X",
        "git config -e",
        "git config a.b",
        "git config core.pager less && git commit -m x",
        "git config core.pager less && make",
        "git config core.fsmonitor ./e && git status",
        "git config core.fsmonitor ./e; git add .",
        "git config core.fsmonitor ./e && git ls-files",
        "git config diff.external ./e && git diff",
        "git config core.pager ./e && git log",
        "git config core.fsmonitor ./e | git status",
        "git config core.fsmonitor ./e && git status && rm ../a.txt",
        "git config core.fsmonitor $(git status)",
    ],
)
def test_no_other_program_leaves_the_sandbox_for_a_change_of_a_setting(script: str) -> None:
    assert confined(script).verdict == "ask"
    assert "outside the sandbox" not in confined(script).risk


def test_several_changes_of_settings_leave_the_sandbox_together() -> None:
    assert confined("git config core.pager less && git config core.editor vi").risk == RISK_OUTSIDE


def test_an_author_for_one_commit_needs_no_approval_in_the_sandbox() -> None:
    decision = confined("git -c user.name=a -c user.email=b@c.d -c commit.gpgsign=false commit -m x")
    assert (decision.verdict, decision.repository_conflict) == ("allow", "")


def test_a_commit_with_an_option_that_may_run_a_program_is_told_to_leave_it_out() -> None:
    assert confined("git -c core.editor=x commit -m x").repository_conflict == (
        "git commit cannot change the repository with options that may run other programs. Leave them out."
    )


@pytest.mark.parametrize(
    "script",
    [
        "git config get a.b",
        "git config list",
        "git config --list",
        "git config a.b",
        "git config --show-origin a.b c",
        "git config --get-regexp a.b c",
        "git config --get-reg a.b c",
        "git config --get-urlmatch a.b c",
        "git config $A $B",
    ],
)
def test_a_shown_setting_may_hold_a_secret(script: str) -> None:
    assert decide(script, "accept-edits").risk == "Its output may hold secrets, and the model sees it."
    assert confined(script).verdict == "ask"


@pytest.mark.parametrize("name", ["user.name", "core.hooksPath", "pull.rebase", "remote.origin.url"])
def test_a_setting_that_may_be_shown_is_named_as_a_change_when_it_gets_a_value(name: str) -> None:
    assert confined(f"git config {name}").verdict == "allow"
    for words in ("x", "--global"):
        decision = confined(f"git config {name} {words}")
        assert decision.reason == "policy accept-edits requires approval for changes of git's settings", words
