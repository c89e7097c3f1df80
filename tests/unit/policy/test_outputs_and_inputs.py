"""Files count wherever a command names them: as its output, in a script, in an address, or through a link."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE, decide
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import SecretFile
from tui_agent.ports.policy import Decision, PolicyFacts
from tui_agent.protocol.effects import Runs

GUARDED = """
sed 'w .git/config' x
sed 'w /etc/passwd' x
sed -n 's/a/b/gw .git/config' x
sed -n '/a/,$ { p; w .git/config
}' x
awk '{print > "/etc/passwd"}' x
awk '{print >> ".git/config"}' x
find . -fprint .git/config
find . -name a -fprintf .git/hooks/pre-commit x
split x .git/hooks/
csplit -f .git/hooks/ x 1
tar xf x -C .git
cd .git && tar xf ../x
wget -P .git/hooks x
curl --output-dir .git/hooks -O x
ed .git/config
vim .git/config
ln -s .git/config c; echo x > c
ln -s ../.git sub/c && cp x sub/c/config
ln -s /etc e && tee e/passwd < x
echo x > "$XDG_CONFIG_HOME/tui-agent/policy.toml"
cp x ${XDG_CONFIG_HOME}/tui-agent/policy.toml
echo x > "$D/.git/config"
sed 'r .env' x
sed -n '1{R .env
}' x
awk '{while((getline l<".env")>0)print l}' x
awk 'BEGIN{ARGV[1]=".env";ARGC=2}1' x
curl --netrc-file .env x
curl file://$PWD/.env
curl file:///home/ada/timesheet/.%65nv
wc -l --files0-from=.env
find . -name '.env' | xargs cat
find . -name '.env*' -print0 | xargs -0 head -1
cat /proc/$$/environ
cat /proc/$PPID/environ
cat "$D/.env"
""".strip()
LINES = GUARDED.replace("\n}", "\0}").splitlines()


@rows("line", [line.replace("\0", "\n") for line in LINES])
def test_no_profile_lifts_a_guard_by_a_place_where_a_file_is_named(line: str) -> None:
    found = decide(line, "bypass")
    assert found.verdict == "deny", found
    assert found.rule_id.startswith("guard."), found


@pytest.mark.parametrize(
    "line",
    [
        "ln -s /usr/bin/python3 tools/python && echo x > log.txt",
        "sed 's/foo.*/bar/w out.txt' x",
        "sed 's/for the rest/w/' x",
        """awk '$1 > "b" {print}' x""",
        "find . -name '*.py' | xargs cat",
        "cat $X",
        'cat "$D/a.py"',
        'echo x > "$D/out.txt"',
        "tar xf a.tar -C build",
        "split a parts/x",
        "curl -o a.html example.org",
    ],
)
def test_bypass_lets_other_files_be(line: str) -> None:
    assert decide(line, "bypass").verdict == "allow"


def _by(rule: str, line: str, *, secrets: tuple[SecretFile, ...] = ()) -> Decision:
    facts = PolicyFacts(
        WORKSPACE, "accept-edits" if rule else "bypass", sandboxed=bool(rule), secrets=secrets
    )
    return RulePolicy([rule] if rule else []).decide("run_command", (Runs(script=line),), facts)


@pytest.mark.parametrize(
    "line",
    [
        "gcc -o src/k x.c",
        "go build -o src/k .",
        "tsc --outDir src",
        "tar xf a.tar -C src",
        "split a src/x",
        "find . -fprint src/a.py",
        "ed src/a.py",
        "cmake -E touch src/a.py",
        "ln -s src s && echo x > s/a.py",
    ],
)
def test_a_rule_against_editing_means_what_a_command_names_as_its_output(line: str) -> None:
    assert _by("deny edit src/**", line).verdict == "deny"
    assert _by("deny edit other/**", line).verdict != "deny"


@pytest.mark.parametrize(
    "line", ["foo src/a.py", "foo --output=src/a.py", "foo out:src/a.py", "./foo src/a.py"]
)
def test_a_rule_against_editing_may_mean_what_an_unknown_program_is_told(line: str) -> None:
    assert _by("deny edit src/**", line).verdict == "ask"
    assert _by("deny edit other/**", line).verdict == "allow"


@pytest.mark.parametrize("line", ["python src/a.py", "pytest src", "gcc src/a.c", ".venv/bin/pytest src"])
def test_a_rule_against_editing_lets_known_programs_read(line: str) -> None:
    assert _by("deny edit src/**", line).verdict == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "sed 'r private/a' README.md",
        "curl file://$PWD/private/a",
        "make -f private/a",
        "make -C private",
        "wc -l --files0-from=private/a",
        "du --files0-from=private/a",
        "foo x:private/a",
        "foo private/a",
    ],
)
def test_a_rule_against_reading_means_every_place_where_a_file_is_named(line: str) -> None:
    assert _by("deny read private/**", line).verdict == "deny"


@pytest.mark.parametrize("line", ["cat $(ls -a | grep env)", "ls -A | xargs cat", "cat $(find . -type f)"])
def test_names_that_may_be_those_of_secrets_are_asked_about_where_there_is_one(line: str) -> None:
    secret = SecretFile(".env", f"{WORKSPACE}/.env", ignored=True)
    assert _by("", line, secrets=(secret,)).rule_id == "guard.below"
    assert _by("", line).verdict == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "sort --files0-from=list",
        "sort --files0-from list",
        "wc -c --files0-from=list",
        "du --files0-from=list",
        "wc --files0-from=-",
        "cat list | sort --files0-from=-",
        "wc --files0-from=- < list",
        "find / -print0 | wc --files0-from=-",
        "echo /etc/passwd | wc --files0-from=-",
    ],
)
def test_files_that_another_lists_are_not_read_unasked(line: str) -> None:
    assert decide(line).verdict == "ask"


@pytest.mark.parametrize(
    "line", ["find . -name '*.py' -print0 | wc -l --files0-from=-", "git ls-files -z | du -c --files0-from=-"]
)
def test_those_that_a_lister_names_in_the_workspace_are(line: str) -> None:
    assert decide(line).verdict == "allow"
