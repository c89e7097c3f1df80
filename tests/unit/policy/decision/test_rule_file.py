"""Files of rules: read whole or refused whole, and written one rule at a time."""

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stubs.rows import rows
from tui_agent.errors import ConfigError
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.policy.decision.rule_file import all_rules, append_rule, load_rules, read_rules, remove_rule
from tui_agent.policy.rules.grammar import parse_rule
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import WriteEffect

GOOD = """
# what I trust
[[rule]]
allow = "run pytest *"
why = "tests are safe here"
matches = ["pytest -q", "pytest"]
differs = ["pytest-watch", "pip install pytest", "pytest && curl x"]

[[rule]]
deny = "run git push *"
matches = ["ls; git push origin"]

[[rule]]
ask = "edit docs/**"
matches = ["docs/a.md"]
differs = ["/docs/a.md", "src/a"]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_of_rules_is_read_with_its_examples_tried(tmp_path: Path) -> None:
    rules = load_rules(write(tmp_path, GOOD))
    assert [rule.text for rule in rules] == ["allow run pytest *", "deny run git push *", "ask edit docs/**"]
    assert rules[0].source.endswith("policy.toml, rule 1")


def test_no_file_means_no_rules(tmp_path: Path) -> None:
    assert load_rules(tmp_path / "policy.toml") == ()


def test_an_unknown_key_of_a_rule_is_answered_with_the_known_keys(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="rule 1 has unknown keys: permit") as caught:
        read_rules("[[rule]]\npermit = 'edit a'", tmp_path / "policy.toml")
    assert (
        caught.value.hint
        == "Remove or correct them (known: allow, ask, deny, why, matches, differs, workspace)."
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[rule]", "is not valid TOML"),
        ("#" * 10_000_000, "is larger than 1 MB"),
        ("#" * 250_000, "it is longer than 200,000 characters"),
        ("a." * 90_000 + "b = 1", "a key has too many parts"),
        ("x = " + "[" * 90_000, "recursion depth"),
        ("x = " + "1" * 90_000, "limit"),
        ("x = '\0'", "invalid character|Illegal character"),
        ("x = 1", "unknown keys: x"),
        ("rule = 3", r"\[\[rule\]\]"),
        ("[[rule]]\nallow = 'run *'", "any program"),
        ("[[rule]]\nallow = 'fly x'", "is not a rule"),
        ("[[rule]]\nwhy = 'x'", "exactly one of"),
        ("[[rule]]\nallow = 'edit a'\ndeny = 'edit b'", "exactly one of"),
        ("[[rule]]\nallow = 'edit a'\nmatch = []", "unknown keys: match"),
        ("[[rule]]\nallow = 'edit a'\nmatches = 'a'", "must be a list"),
        ("[[rule]]\nallow = 'edit a'\nmatches = ['b']", "does not match its example 'b'"),
        ("[[rule]]\nallow = 'run ls *'\ndiffers = ['ls -l']", "matches its example"),
        (
            "[[rule]]\nallow = 'edit a'\nworkspace = 'src'",
            "rule 1: workspace must be the absolute path of a folder",
        ),
        (
            "[[rule]]\nallow = 'edit a'\nworkspace = '~/src'",
            "rule 1: workspace must be the absolute path of a folder",
        ),
        (
            "[[rule]]\nallow = 'edit a'\nworkspace = ''",
            "rule 1: workspace must be the absolute path of a folder",
        ),
        (
            "[[rule]]\nallow = 'edit a'\nworkspace = true",
            "rule 1: workspace must be the absolute path of a folder",
        ),
        (
            "[[rule]]\nallow = 'edit a'\n[[rule]]\ndeny = 'edit a'\nworkspace = ['/a']",
            "rule 2: workspace must be the absolute path of a folder",
        ),
        (
            "[[rule]]\nallow = 'edit a'\nworkspace = \"/a\\u0000\"",
            "rule 1: workspace must be the absolute path",
        ),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        load_rules(write(tmp_path, text))
    assert "policy.toml" in str(caught.value)


def test_only_the_trusted_text_of_a_projects_rules_counts(tmp_path: Path) -> None:
    project = write(tmp_path, "[[rule]]\nallow = 'run rm *'\n")
    user = tmp_path / "none.toml"
    assert all_rules(user, project, None) == ()
    rules = all_rules(user, project, "[[rule]]\nallow = 'run make *'\n")
    assert [rule.text for rule in rules] == ["allow run make *"]


def test_a_rule_is_added_behind_what_stands_there(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    append_rule(path, "allow edit src/**")
    append_rule(path, "allow edit src/**")
    text = path.read_text(encoding="utf-8")
    assert text.startswith(GOOD)
    assert [rule.text for rule in load_rules(path)][3:] == ["allow edit src/**"]


def verdict(path: Path, workspace: Path, file: str = "a.py") -> str:
    """The decision about an edit in a workspace, by the rules of a file."""
    effects = (WriteEffect(path=file),)
    return RulePolicy(load_rules(path)).decide("edit", effects, PolicyFacts(str(workspace), "ask")).verdict


def test_a_rule_with_a_workspace_applies_only_there(tmp_path: Path) -> None:
    path, here, there = tmp_path / "policy.toml", tmp_path / "here", tmp_path / "there"
    append_rule(path, "allow edit a.py", workspace=str(here))
    assert (verdict(path, here), verdict(path, there), verdict(path, here / "sub")) == ("allow", "ask", "ask")
    append_rule(path, "allow edit a.py")
    assert (verdict(path, here), verdict(path, there)) == ("allow", "allow")


def test_a_rule_that_denies_in_one_workspace_denies_nowhere_else(tmp_path: Path) -> None:
    path = write(tmp_path, f"[[rule]]\ndeny = 'edit a.py'\nworkspace = '{tmp_path}/here'\n")
    assert [verdict(path, tmp_path / name) for name in ("here", "there", "here")] == ["deny", "ask", "deny"]


def test_a_rule_without_a_workspace_applies_everywhere_as_before(tmp_path: Path) -> None:
    path = write(tmp_path, "[[rule]]\nallow = 'edit a.py'\n")
    assert [verdict(path, tmp_path / name) for name in ("here", "there")] == ["allow", "allow"]
    assert [rule.scope for rule in load_rules(path)] == ["in every project"]


def test_the_workspace_of_a_rule_may_be_written_with_links_and_dots(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    path = write(tmp_path, f"[[rule]]\nallow = 'edit a.py'\nworkspace = '{tmp_path}/x/../link/'\n")
    assert verdict(path, tmp_path / "real") == "allow"
    assert [rule.scope for rule in load_rules(path)] == ["in this project"]


def test_a_rule_that_applies_already_is_not_added_again(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    for workspace in ("/here", "/here", "/there", "", "/here", "/elsewhere"):
        append_rule(path, "allow edit a.py", workspace=workspace)
    assert [rule.workspace for rule in load_rules(path)] == ["/here", "/there", ""]
    assert path.read_text(encoding="utf-8").startswith(
        '[[rule]]\nallow = "edit a.py"\nworkspace = "/here"\n\n[[rule]]\n'
    )


MIXED = """# mine

[[rule]]  # tests
allow = "run pytest *"
matches = [
  "pytest -q",
]
# about the next rule
[[rule]]
allow = 'edit a.py'
workspace = "/here"

[[rule]]
allow = 'edit a.py'
# end
"""


@rows(
    "rule, workspace, rest",
    [
        ("allow run pytest *", "", MIXED[:8] + MIXED[MIXED.index("# about") :]),
        (
            "allow edit a.py",
            "/here",
            MIXED.replace("[[rule]]\nallow = 'edit a.py'\nworkspace = \"/here\"\n\n", ""),
        ),
        ("allow edit a.py", "", MIXED.replace("[[rule]]\nallow = 'edit a.py'\n# end", "# end")),
    ],
)
def test_a_removed_rule_leaves_comments_and_other_rules_as_they_are(
    tmp_path: Path, rule: str, workspace: str, rest: str
) -> None:
    path = write(tmp_path, MIXED)
    remove_rule(path, rule, workspace)
    assert path.read_text(encoding="utf-8") == rest


@rows(
    "text, fault",
    [
        (MIXED, "has no rule `allow edit b.py` for this project"),
        ("", "has no rule `allow edit b.py` for this project"),
        ("rule = [{ allow = 'edit b.py', workspace = '/here' }]", "cannot be removed automatically"),
        (
            '[[rule]]\nallow = \'edit b.py\'\nworkspace = \'/here\'\nwhy = """\n[[rule]]\n"""',
            "cannot be removed automatically",
        ),
        ("[[rule]", "cannot be used"),
    ],
)
def test_a_rule_that_cannot_be_removed_leaves_the_file_as_it_is(
    tmp_path: Path, text: str, fault: str
) -> None:
    path = write(tmp_path, text)
    with pytest.raises(ConfigError, match=fault):
        remove_rule(path, "allow edit b.py", "/here")
    assert path.read_text(encoding="utf-8") == text


@given(st.text(min_size=1, max_size=40).filter(lambda name: "\0" not in name))
def test_any_folder_name_is_read_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    folder = "/w/" + name.encode("utf-8", "replace").decode().replace("/", "-")
    if folder.endswith(("/.", "/..")):
        return
    path = tmp_path_factory.mktemp("rules") / "policy.toml"
    append_rule(path, "allow edit a.py", workspace=folder)
    assert [rule.workspace for rule in load_rules(path)] == [folder]


def test_a_rule_for_a_folder_whose_name_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    with pytest.raises(ConfigError, match="is not UTF-8 text, so the rule cannot be saved"):
        append_rule(path, "allow edit a.py", workspace="/w/\udcff")
    assert not path.exists()


def test_the_first_rule_makes_the_file_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "new" / "policy.toml"
    append_rule(path, "allow connect example.org")
    assert [rule.text for rule in load_rules(path)] == ["allow connect example.org"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [child.name for child in path.parent.iterdir()] == ["policy.toml"]


def test_a_broken_file_is_not_written_to(tmp_path: Path) -> None:
    path = write(tmp_path, "[[rule]")
    with pytest.raises(ConfigError):
        append_rule(path, "allow edit a")
    assert path.read_text(encoding="utf-8") == "[[rule]"


@given(st.text(min_size=1, max_size=60))
def test_any_rule_is_read_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    line = text.encode("utf-8", "replace").decode().strip()
    if not line:
        return
    rule = parse_rule(f"allow exact {line}")
    path = tmp_path_factory.mktemp("rules") / "policy.toml"
    append_rule(path, rule.text)
    assert [found.text for found in load_rules(path)] == [rule.text]


@pytest.mark.parametrize(
    "example",
    ["priv/a", "priv*/a", "cat priv*/a", "cat priv/a | head", "git show HEAD:priv/a", "grep -r x ."],
)
def test_an_example_of_a_rule_against_files_may_be_a_pattern_or_a_command(
    tmp_path: Path, example: str
) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(f"[[rule]]\ndeny = 'read priv/**'\nmatches = [{example!r}]\n")
    assert load_rules(path)
    path.write_text(f"[[rule]]\ndeny = 'read priv/**'\ndiffers = [{example!r}]\n")
    with pytest.raises(ConfigError, match="matches its example"):
        load_rules(path)


@pytest.mark.parametrize("example", ["src/a", "src*/a", "cat src/*.py", "git status"])
def test_an_example_that_a_rule_against_files_does_not_mean(tmp_path: Path, example: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(f"[[rule]]\ndeny = 'read priv/**'\ndiffers = [{example!r}]\n")
    assert load_rules(path)
