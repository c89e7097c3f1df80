"""What takes something away for good, or acts with other rights, is of no milder class; what only looks like it is."""

from tests.stubs.rows import rows
from tests.unit.policy.grave import MILD, OTHER_RIGHTS, TAKING
from tests.unit.policy.judging import classes, decide, verdict
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.programs.layers import ProgramLayer, merged
from tui_agent.policy.shell.script import CLASSES
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Runs


@rows("line", TAKING)
def test_what_takes_something_away_is_of_no_milder_class(line: str) -> None:
    assert CLASSES.index(classes(line)[-1]) >= CLASSES.index("destructive")
    assert verdict(line) != "allow"


@rows("line", OTHER_RIGHTS)
def test_what_acts_with_other_rights_is_of_no_milder_class(line: str) -> None:
    assert classes(line)[-1] == "privilege"
    assert verdict(line) != "allow"


@rows("name, line", [(name, line) for name in MILD for line in MILD[name]])
def test_what_only_looks_like_it_is_of_its_own_class(name: str, line: str) -> None:
    assert classes(line)[-1] == name


def test_what_a_machine_elsewhere_is_told_names_no_file_of_this_one() -> None:
    assert decide("ssh h rm -rf /", "bypass").verdict == "allow"
    assert decide("ssh h sudo reboot", "bypass").verdict == "allow"
    assert decide("rm -rf /", "bypass").verdict == "deny"


def test_what_a_machine_elsewhere_is_given_to_read_counts() -> None:
    assert classes("echo 'rm -rf x' | ssh h bash")[-1] == "destructive"
    assert classes("ssh h bash <<< 'rm -rf x'")[-1] == "destructive"
    assert classes("echo a | ssh h cat")[-1] == "network"


def test_words_that_make_more_of_a_command_can_be_told_of_any_program() -> None:
    text = '[programs.showlog]\ndoes = "network"\ngraver = { "^log drop|cut" = "destructive", "-u=root" = "privilege" }\n'
    policy = RulePolicy(programs=merged([ProgramLayer("user", "programs.toml", text)]))
    expected = {
        "showlog log drop x": "destructive",
        "showlog -v LOG cut": "destructive",
        "showlog log show drop": "network",
        "showlog x log drop": "network",
        "showlog -u root": "privilege",
        "showlog -uroot": "privilege",
        "showlog -itu root": "privilege",
        "showlog -ituroot": "privilege",
        "showlog -C x --where y log drop": "destructive",
        "showlog -u=root": "privilege",
        "showlog -u ada root": "network",
        "showlog -u": "network",
    }
    facts = PolicyFacts("/home/ada/timesheet", "ask")
    judged = {
        line: policy.decide("run_command", (Runs(script=line),), facts).classes[-1] for line in expected
    }
    assert judged == expected
