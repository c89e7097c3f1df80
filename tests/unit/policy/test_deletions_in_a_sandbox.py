"""Commands that delete or discard something: which of them a sandbox does not let run unasked, and why."""

from dataclasses import replace

from tests.corpora.lines import read_corpus
from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, confined, decide
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import SecretFile
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

DELETED_BY_OTHERS = [line.text for line in read_corpus("attacks") if line.class_name == "taking-by-others"]


@rows("script", DELETED_BY_OTHERS)
def test_nothing_that_another_program_deletes_goes_unasked(script: str) -> None:
    assert confined(script).verdict != "allow"


OUTSIDE = "The command runs outside the sandbox."


@rows(
    "script, leaves",
    [
        ("rm /home/ada/notes.txt", True),
        ("rm -r ../other/build", True),
        ("mv /home/ada/notes.txt notes.txt", True),
        ("ls; rm ../a.txt", True),
        ("mkdir ../new", True),
        ("mkdir -p ../new/deep && cp a.txt ../new/deep/", True),
        ("ln -s src ../link", True),
        ("cp -r src ../copy", True),
        ("mkdir /tmp/out", False),
        ("mkdir /opt/scratch/new", False),
        ("mkdir ../new; make", False),
        ("mkdir new", False),
        ("mkdir new > ../log", False),
        ("ln -s src link 2> ../log", False),
        ("cp -r src copy > ../log", False),
        ("mkdir ../new > ../log", True),
        ("grep -r x src > ../out.txt", False),
        ("zip -r ../x.zip src", False),
        ("git diff > ../d.patch", False),
        ("cp a.txt ../b.txt", False),
        ("mv a.txt ../b.txt", False),
        ("rm /tmp/out", False),
        ("rm /opt/scratch/a.txt", False),
        ("rm ../a.txt; make", False),
        ("rm ../a.txt && foo", False),
        ("rm ../a.txt && git commit -am x", False),  # its hooks would run outside, too
        ("rm ../a.txt; git checkout other", False),
        ("rm ../*.txt", False),
        ("rm a.txt", False),
    ],
)
def test_what_only_works_outside_is_asked_about_once_and_then_runs_outside(script: str, leaves: bool) -> None:
    facts = PolicyFacts(
        WORKSPACE,
        "ask",
        sandboxed=True,
        private_temp_paths=frozenset({"/tmp/out"}),
        writable_folders=("/opt/scratch",),
    )
    judged = RulePolicy().decide("run_command", (RunEffect(script=script),), facts)
    assert judged.leaves_sandbox == leaves == judged.risk.endswith(OUTSIDE), judged
    without = replace(facts, sandboxed=False)
    assert not RulePolicy().decide("run_command", (RunEffect(script=script),), without).leaves_sandbox


@rows("script", ["timeout 5 rm x", "xargs rm < list", "find src -exec rm {} +", "env rm x", "bash -c 'rm x'",
                 "sudo rm x", "nice rm x", "if true; then rm x; fi", "rm x", "git clean -fdx", "git reset --hard", "find src -delete",
                 "git checkout -- .", "git branch -D x", "git stash drop", "uv run rm -rf src"])  # fmt: skip
def test_deletions_by_known_commands_are_known_as_such(script: str) -> None:
    found = confined(script)
    assert found.verdict == "ask"
    assert "destructive" in found.classes


@rows("script", ["git branch -D x", "git tag -d v1", "git stash drop", "rm -r build"])
def test_a_known_deletion_is_the_reason_in_a_sandbox_too(script: str) -> None:
    assert confined(script).reason == "policy accept-edits requires approval for deletions"


@rows("script", ["git stash", "git stash -u", "git stash push -- a.py", "git stash save x", "git -C src stash", "bash -c 'git stash'",
                 "git stash branch x", "git merge --autostash x"])  # fmt: skip
def test_moving_uncommitted_work_away_is_asked_about(script: str) -> None:
    found = confined(script)
    assert (found.verdict, found.classes[-1]) == ("ask", "destructive")
    assert found.risk == "It moves uncommitted changes away, including yours."


@rows("script", ["git stash pop", "git stash drop", "git stash clear", "git restore a.py", "git checkout -- x", "git checkout x",
                 "git clean -fd", "git switch -f main", "git reset --merge"])  # fmt: skip
def test_git_commands_that_discard_work_are_asked_about(script: str) -> None:
    assert (confined(script).verdict, confined(script).classes[-1]) == ("ask", "destructive")


def test_roots_are_guarded_behind_unknown_programs_too() -> None:
    for script in ("foo rm -rf /", "foo 'rm -rf ~'", "entr sh -c 'rm -rf ~'", "foo mkfs.ext4 /dev/sda1"):
        assert (confined(script).rule_id, decide(script, "bypass").rule_id) == ("guard.ruin", "guard.ruin")
    assert confined("sh <<< 'cat .env'").rule_id == "guard.secret"
    assert decide("echo 'rm -rf /' | sh", "bypass").rule_id == "guard.ruin"


def test_a_machine_elsewhere_has_other_roots() -> None:
    assert decide("ssh h rm -rf /", "bypass").verdict == "allow"
    assert decide("ssh h sudo reboot", "bypass").verdict == "allow"


def test_a_removal_outside_is_no_reason_to_read_secrets_outside_the_sandbox() -> None:
    facts = PolicyFacts(
        WORKSPACE, "ask", sandboxed=True, secrets=(SecretFile(".env", f"{WORKSPACE}/.env", ignored=True),)
    )
    for script in ("rm ../a.txt; grep -r KEY .", "rm ../a.txt; tar cf x.tar ."):
        judged = RulePolicy().decide("run_command", (RunEffect(script=script),), facts)
        assert judged.verdict == "ask" and not judged.leaves_sandbox, judged
    assert RulePolicy().decide("run_command", (RunEffect(script="rm ../a.txt"),), facts).leaves_sandbox
