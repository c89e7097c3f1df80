"""A program is the same one however its name is written, and whatever starts it."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, classes, decide
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.shell.ansi_c import ansi_c
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs

RUINS = r"""
/usr/bin/../bin/rm -rf /
/bin/./rm -rf ~
//bin//rm -rf ~
/usr/bin//rm -rf ~
/../bin/rm -rf ~
../../../../../bin/rm -rf ~
vendor/rm -rf /
$'\x72\x6d' -rf /
$'rm' -rf ~
env $'rm' -rf /
eval $'rm\x20-rf /'
rm -rf $'\057'
su -c 'rm -rf /'
su - root -c 'rm -rf ~'
sg root -c 'rm -rf /'
runuser -u x -- rm -rf /
unshare -r rm -rf /
chroot / rm -rf /
nsenter -t 1 -m rm -rf /
rm -rf /???
rm -rf /u*
rm -rf /[b]in
""".strip().splitlines()


@rows("line", RUINS)
def test_ruin_is_seen_however_the_program_is_named(line: str) -> None:
    found = decide(line, "bypass")
    assert (found.verdict, found.rule_id) == ("deny", "guard.ruin"), found


@pytest.mark.parametrize(
    "line",
    ["/usr/bin/../bin/rm -r src", "/bin/./rm -r src", "../../../bin/rm -r src", r"eval $'rm\x20-r src'"],
)
def test_what_takes_away_is_destructive_however_it_is_named(line: str) -> None:
    assert classes(line)[-1] == "destructive"


@pytest.mark.parametrize("line", ["../bin/ls", "/tmp/link/../../bin/ls", "sub/ls", "./git status"])
def test_a_path_that_may_lead_to_another_program_is_not_taken_for_one_that_reads(line: str) -> None:
    assert decide(line).verdict == "ask"


@pytest.mark.parametrize("line", ["/bin/./ls", "/usr//bin/ls", "/usr/bin/../bin/ls", r"ls $'a\tb'"])
def test_a_detour_that_is_certain_asks_nothing(line: str) -> None:
    assert decide(line).verdict == "allow"


@pytest.mark.parametrize("line", ["rm -rf /tmp/x*", "su -c 'ls'", "chroot x ls", "unshare -r true"])
def test_bypass_lets_others_be(line: str) -> None:
    assert decide(line, "bypass").verdict == "allow"


def test_a_secret_is_one_with_its_letters_written_as_numbers() -> None:
    assert decide(r"cat $'\x2eenv'", "bypass").rule_id == "guard.secret"
    assert decide(r"cat $'\56\u0065nv'", "bypass").rule_id == "guard.secret"


def test_a_rule_means_a_program_with_a_detour_in_its_path() -> None:
    policy = RulePolicy(["deny run git push *"])
    facts = PolicyFacts(WORKSPACE, "bypass")
    for line in ("/usr/bin/../bin/git push", "/usr//bin/./git push", r"$'\x67it' push"):
        assert policy.decide("run_command", (Runs(script=line),), facts).verdict == "deny"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("rm", "rm"),
        (r"a\x41\101\u00e9\U0001F600", "aAAé😀"),
        (r"\xc3\xa9", "é"),
        (r"\n\t\\\'\"", "\n\t\\'\""),
        (r"\x", None),
        (r"\q", None),
        (r"a\0b", None),
        (r"\cA", None),
        (r"\xff", None),
        (r"\U99999999", None),
        ("a\\", None),
    ],
)
def test_an_escaped_text_is_what_bash_makes_of_it(body: str, text: str | None) -> None:
    assert ansi_c(body) == text
