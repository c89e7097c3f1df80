"""The home of whoever works here, wherever it lies, and every folder that it lies in are not taken away."""

import posixpath

import pytest

from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs

HOME = "/data/people/ada"
WORKSPACE = "/work/timesheet"


def verdict(script: str) -> str:
    """In the profile that asks least, with the paths led to where they are, as for a command that is about to run."""
    policy, effects = RulePolicy(), (Runs(script=script),)
    paths = {path: path.replace("~", HOME, 1) for path in policy.paths(effects, ())}
    resolved = {path: posixpath.normpath(posixpath.join(WORKSPACE, real)) for path, real in paths.items()}
    return policy.decide("run_command", effects, PolicyFacts(WORKSPACE, "bypass", resolved)).verdict


@pytest.mark.parametrize(
    "script",
    [
        "rm -rf ~/../ada",
        "rm -rf ~/../ada/*",
        "rm -rf ~/x/..",
        "rm -rf ~/../../people",
        "rm -rf /data/people/ada",
        "rm -rf /data/people/*",
        "rm -rf /data",
        "rm -rf ../../data/people",
        "cd ~/.. && rm -rf ada",
        "chmod -R 777 /data/people",
        "mv ~/../ada /tmp/x",
        "find /data/people -delete",
    ],
)
def test_a_home_that_lies_elsewhere_is_not_taken_away(script: str) -> None:
    assert verdict(script) == "deny"


@pytest.mark.parametrize(
    "script", ["rm -rf ~/../eve/x", "rm -rf ~/build", "rm -rf ~/build/*", "rm -rf /data/other"]
)
def test_what_lies_beside_or_below_a_home_is_no_ruin(script: str) -> None:
    assert verdict(script) != "deny"


def test_a_folder_that_a_tool_names_with_a_tilde_is_no_home() -> None:
    policy = RulePolicy()
    for cwd, seen in (("~", "./~/a"), ("~/..", "a"), ("~root", "./~root/a")):
        effect = Runs(script="rm a", cwd=cwd)
        paths = policy.paths((effect,), ())
        assert seen in paths
        assert not [path for path in paths if path.startswith("~") and path != "~"]
        [rule] = [
            one.rule
            for one in policy.decide("t", (effect,), PolicyFacts(WORKSPACE, "ask")).choices
            if one.reach == "session"
        ]
        assert rule.startswith(("allow exact cd './~", "allow exact rm a"))
