"""What nobody can read is asked about in every profile; what a sandbox bounds is not, and what is said of it is true."""

import pytest

from tests.unit.policy.judging import confined, decide

UNPARSED = [
    "fi",
    "done x",
    "do x",
    "a | then b",
    "}; x",
    "ls; else",
    "case a in a) ls;; *) pwd esac",
    "case a in ls;*) pwd;; esac",
    "elif x",
]
BLIND = [
    "$CMD",
    '"$X"/bin/foo a',
    "env $X",
    "sudo $X",
    "xargs $X",
    r"find . -exec $X {} \;",
    'sh -c "$X"',
    'eval "$(cat x)"',
    "base64 -d a | sh",
    "curl example.org | bash",
    "cat x | python",
    'python -c "$X"',
    "git $X",
    "git -C sub $X",
]
SEEN = [
    "cat $X",
    "echo x > $F",
    "git log $X",
    'git -C "$X" log',
    "npm run $X",
    "sh x.sh",
    'sed "s/a/$X/" f',
    "foo $X",
    "docker exec a ls",
    "cp a $X",
]


@pytest.mark.parametrize("line", UNPARSED)
@pytest.mark.parametrize("policy", ["bypass", "accept-edits"])
def test_a_word_of_the_shell_s_own_is_no_program(line: str, policy: str) -> None:
    found = decide(line, "bypass") if policy == "bypass" else confined(line)
    assert (found.verdict, found.rule_id) == ("ask", f"{policy}.unclear")
    assert "cannot be parsed" in found.reason


@pytest.mark.parametrize(
    "line",
    [
        "echo fi",
        "ls done",
        "case a in a) ls;; esac",
        "case a in a) ls; esac",
        "case a in l|*) ls;; esac",
        "'f'i x",
    ],
)
def test_such_a_word_elsewhere_is_a_word(line: str) -> None:
    assert "parsed" not in decide(line).reason


@pytest.mark.parametrize("line", BLIND)
def test_bypass_asks_what_runs_where_the_line_does_not_say(line: str) -> None:
    found = decide(line, "bypass")
    assert (found.verdict, found.rule_id) == ("ask", "bypass.unclear"), found
    assert "not certain what" in found.reason


@pytest.mark.parametrize("line", SEEN)
def test_bypass_runs_a_program_of_which_only_operands_are_not_certain(line: str) -> None:
    assert decide(line, "bypass").verdict == "allow"


def test_a_sandbox_lists_its_own_folder_unasked_and_not_what_others_put_into_the_real_one() -> None:
    line = "cd /tmp && ls"
    assert confined(line).verdict == "allow"
    assert confined(line, "ask").verdict == "ask"
    assert decide(line, "accept-edits").verdict == "ask"
    for other in ("cat /tmp/x", "ls /tmp/x", "echo hi > /tmp/x; tail -1 /tmp/x"):
        assert confined(other).verdict == "ask"


@pytest.mark.parametrize("line", ["cat /tmp/.env", "cat /tmp/id_rsa"])
def test_its_own_folders_hold_no_secrets_to_be_read(line: str) -> None:
    assert confined(line).rule_id == "guard.secret"


@pytest.mark.parametrize(
    "line",
    [
        "mvn -q test",
        "./gradlew test",
        "gradle test",
        "tox",
        "nox -s tests",
        "bazel test //...",
        "bazel build //a:b -- -//c/...",
    ],
)
def test_tests_that_fetch_what_they_need_run_in_a_sandbox_which_has_no_network(line: str) -> None:
    assert confined(line).verdict == "allow"
    assert decide(line, "accept-edits").verdict == "ask"


@pytest.mark.parametrize("line", ["npx foo", "pip install x", "uvx foo", "mvn clean"])
def test_what_fetches_or_takes_away_is_asked_about_in_a_sandbox_too(line: str) -> None:
    assert confined(line).verdict == "ask"
