"""Each bundled rule is proved by its own examples, and the user's rules pass the same checks."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from tests.stubs.rows import rows
from tui_agent.errors import ConfigError
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.store.redaction import rule as rule_module
from tui_agent.store.redaction.examples import example_text, failed_example
from tui_agent.store.redaction.fragments import expand, rules_table
from tui_agent.store.redaction.library import bundled_rules
from tui_agent.store.redaction.match_checks import CHECKS
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.redaction.rule import Rule
from tui_agent.store.redaction.shapes import has_shape
from tui_agent.store.redaction.user_rules import MAX_RULES, configured_redactor

RULES = bundled_rules(with_examples=True)
BY_ID = {rule.id: rule for rule in RULES}
NAMED_SHAPES = {
    word.value
    for path in Path(rule_module.__file__).parent.glob("*.py")
    for call in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "has_shape"
    for word in call.args[1:]
    if isinstance(word, ast.Constant)
} | {shape for rule in RULES for _, shape in rule.unless}
DOCUMENTATION = Path(rule_module.__file__).parents[3] / "docs" / "redaction.md"
FAMILIES, FRAGMENTS = rules_table("fragments")["families"], rules_table("fragments")["fragments"]
SHAPES = rules_table("shapes")
LAST_RULE = "openai-key"
"""The last of its family, because the keys of other issuers begin like it."""
ACME_EXAMPLES = ["key [[acme_{{a-z0-9 20}}]]"]
ACME: dict[str, object] = {
    "id": "acme-key",
    "what": "acme key",
    "pattern": "{{edge}}(?P<secret>acme_[a-z0-9]{20})",
    "keywords": ["^acme_"],
    "examples": ACME_EXAMPLES,
}


@rows("name", BY_ID)
def test_a_rule_covers_exactly_the_secret_of_its_examples(name: str) -> None:
    rule = BY_ID[name]
    assert (rule.examples and rule.not_examples) or name == "directory-password-hash"
    assert failed_example(rule) == ""


@rows("name", BY_ID)
def test_a_rule_s_keywords_find_its_examples_and_none_is_left_whole(name: str) -> None:
    redactor = Redactor()
    for example in BY_ID[name].examples:
        text = example_text(example, name).replace("[[", "").replace("]]", "")
        assert redactor.suspects(text.encode()), text
        assert "[redacted: " in redactor.redact_text(text), text


def test_ids_are_unique_and_sorted_and_every_file_is_loaded() -> None:
    assert len(BY_ID) == len(RULES)
    folder = Path(rule_module.__file__).parent / "rules"
    assert {path.stem for path in folder.glob("*.toml")} == {*FAMILIES, "fragments", "shapes"}
    for family in FAMILIES:
        ids = re.findall(r"(?m)^id = '(.*)'$", (folder / f"{family}.toml").read_text(encoding="utf-8"))
        assert [name for name in ids if name != LAST_RULE] == sorted({*ids} - {LAST_RULE})


def test_every_fragment_is_used_and_an_unknown_one_is_refused() -> None:
    used = "".join([*(rule.pattern for rule in RULES), *FRAGMENTS.values()])
    assert [name for name in FRAGMENTS if f"{{{{{name}}}}}" not in used] == []
    with pytest.raises(ValueError, match="unknown fragment"):
        expand("{{edges}}")


@rows("name", SHAPES)
def test_a_shape_has_its_examples_and_is_used_by_a_check(name: str) -> None:
    shape = SHAPES[name]
    assert [text for text in shape["examples"] if not has_shape(text, name)] == []
    assert [text for text in shape["not_examples"] if has_shape(text, name)] == []
    assert shape["what"] and shape["examples"] and shape["not_examples"]


def test_shapes_are_sorted_and_those_that_the_checks_name() -> None:
    assert list(SHAPES) == sorted(SHAPES)
    assert set(SHAPES) == NAMED_SHAPES


def configured(
    *rules: dict[str, object], allow: tuple[str, ...] = (), disable: tuple[str, ...] = ()
) -> Redactor:
    return configured_redactor(RedactionOptions({}, rules, allow, disable, "config.toml"))


def test_the_tables_and_the_checks_of_the_documentation_are_accepted() -> None:
    page = DOCUMENTATION.read_text(encoding="utf-8")
    tables = [tomllib.loads(text) for text in re.findall(r"(?s)```toml\n(.*?)```", page)]
    (rule,), words = tables[0]["redaction"]["rules"], tables[1]["redaction"]
    redactor = configured(rule, allow=tuple(words["allow"]), disable=tuple(words["disable"]))
    key = re.search(r'echo "(.*?)"', page)
    assert key and redactor.redact_text(key[1]) == "[redacted: acme key]"
    lists = (re.findall(r"(?m)^- `([a-z-]+)`", block) for block in page.split("\n\n"))
    (checks,) = (items for items in lists if "issued" in items)
    assert set(checks) <= set(CHECKS)


def test_a_rule_of_the_user_covers_and_names_its_secret() -> None:
    redactor = configured(ACME)
    assert redactor.redact_text("token=acme_abcdefghij0123456789") == "token=[redacted: acme key]"
    assert Redactor().redact_text("x acme_abcdefghij0123456789") == "x acme_abcdefghij0123456789"


@pytest.mark.parametrize("name", ["password", "db_password", "API_KEY"])
def test_the_group_name_takes_the_whole_name_of_a_secret(name: str) -> None:
    pattern = r"(?P<name>\w+) is (?P<secret>[a-z]{8})\."
    rule = {**ACME, "pattern": pattern, "keywords": [" is "], "examples": [f"{name} is [[{{{{a-z 8}}}}]]."]}
    assert configured(rule).redact_text(f"the {name} is aabbccdd.") == f"the {name} is [redacted: acme key]."
    assert configured(rule).redact_text("the country is zimbabwe.") == "the country is zimbabwe."


def test_allowed_texts_and_disabled_rules_cover_nothing() -> None:
    key = "gh" + "p_" + "a1B2" * 9
    assert configured(allow=(key,)).redact_text(f"use {key}") == f"use {key}"
    assert configured(allow=("/ghp_.*/",)).redact_text(f"use {key}") == f"use {key}"
    assert configured(allow=("/ghp_/",)).redact_text(f"use {key}") == "use [redacted: github token]"
    assert configured(disable=("github-token",)).redact_text(f"use {key}") == f"use {key}"


def test_a_value_of_a_variable_is_covered_though_a_pattern_allows_it() -> None:
    redactor = configured_redactor(RedactionOptions({"MY_KEY": "correct-horse"}, allow=("/.*/",)))
    assert redactor.redact_text("it is correct-horse") == "it is [redacted: MY_KEY]"


REFUSED: dict[str, tuple[dict[str, object], str]] = {
    "unknown field": ({**ACME, "regex": "x"}, "'regex': this key is not known"),
    "unknown field where another is missing": ({"id": "acme-key", "regex": "x"}, "'regex': this key is"),
    "id in capitals": ({**ACME, "id": "Acme_Token"}, "'id': use lower-case letters, digits and hyphens"),
    "unknown check": ({**ACME, "checks": ["looks-bad"]}, "'checks.0'"),
    "unknown shape": (
        {**ACME, "unless": [["value", "looks-bad"]]},
        "'unless.0.1': no shape in rules/shapes.toml is called 'looks-bad'",
    ),
    "unknown part": ({**ACME, "unless": [["text", "placeholder"]]}, "'unless.0.0'"),
    "a shape that refuses": (
        {
            **ACME,
            "unless": [["lead", "works-on"]],
            "pattern": "hash_(?P<secret>[a-z]{8})",
            "keywords": ["hash_"],
        }
        | {"examples": ["hash_[[abcdefgh]]"]},
        "examples 1: lead 'hash_' has the shape 'works-on'",
    ),
    "no keyword": ({**ACME, "keywords": []}, "'keywords': give at least one keyword that every"),
    "keyword in capitals": ({**ACME, "keywords": ["ACME_"]}, "'keywords.0': use at most 40"),
    "a keyword that is not in the example": (
        {**ACME, "keywords": ["amce_"]},
        "examples 1: it has none of the keywords",
    ),
    "a pattern that matches nothing at all": (
        {**ACME, "pattern": "a*", "keywords": ["a"]},
        "examples 1: the secret can be empty",
    ),
    "an empty secret": (
        {**ACME, "pattern": "acme_(?P<secret>[a-z0-9]*)", "examples": ["acme_[[{{a-z0-9 20}}]]"]},
        "examples 1: the secret can be empty",
    ),
    "a secret that may be missing": (
        {**ACME, "pattern": "acme_(?P<secret>[a-z0-9]+)?", "examples": ["acme_[[{{a-z0-9 20}}]]"]},
        "examples 1: the secret can be empty",
    ),
    "a group of another name": (
        {**ACME, "pattern": "acme_(?P<key>[0-9]+)"},
        "a group cannot be called 'key'",
    ),
    "unknown fragment": ({**ACME, "pattern": "{{egde}}x"}, "unknown fragment"),
    "lookaround": ({**ACME, "pattern": "(?=a)acme_[a-z0-9]{20}"}, "has no lookaround"),
    "backreference": ({**ACME, "pattern": r"(acme)\1"}, "(acme-key): 'pattern'"),
    "too many repeats": ({**ACME, "pattern": "(?:a{1000}){1000}"}, "(acme-key): 'pattern'"),
    "huge pattern": ({**ACME, "pattern": "a" * 10_000_000}, "'pattern'"),
    "no example": ({**ACME, "examples": []}, "'examples': give at least one text"),
    "an example that is no list": ({**ACME, "examples": "[[acme_]]"}, "'examples': write a list of texts"),
    "an example without a mark": (
        {**ACME, "examples": ["acme_{{a-z0-9 20}}"]},
        "not the text between [[ and ]]",
    ),
    "an example without a secret": (
        {**ACME, "examples": ["acme_development"]},
        "examples 1: the pattern does not match",
    ),
    "too little entropy": ({**ACME, "entropy": 7}, "examples 1: the entropy is 4.1; at least 7 is required"),
    "a check that refuses": (
        {**ACME, "checks": ["issued"], "examples": ["[[acme_xxxxxxxxxxxxxxxxxxxx]]"]},
        "examples 1: the check 'issued' rejects 'acme_xxxx",
    ),
    "a name that is not a secret's": (
        {**ACME, "pattern": "(?P<name>acme)_(?P<secret>[a-z]{8})", "examples": ["acme_[[{{a-z 8}}]]"]},
        "examples 1: 'acme' is not the name of a secret",
    ),
    "an example that does not match": (
        {**ACME, "examples": [*ACME_EXAMPLES, "[[acme_x]]"]},
        "(acme-key): examples 2: the pattern does not match",
    ),
    "an example with too much covered": (
        {**ACME, "examples": ["acme_[[aaaaabbbbb0000011111]]"]},
        "examples 1: it redacts 'acme_aaaaabbbbb0000011111', not the text between [[ and ]]",
    ),
    "a look-alike that matches": (
        {**ACME, "not_examples": ["acme_x", "acme_aaaaabbbbb0000011111"]},
        "not_examples 2: 'acme_aaaaabbbbb0000011111' is redacted, but must stay as it is",
    ),
    "id of a bundled rule": ({**ACME, "id": "github-token"}, "the id 'github-token'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_wrong_rule_is_refused_with_place_and_reason(name: str) -> None:
    rule, reason = REFUSED[name]
    with pytest.raises(ConfigError) as raised:
        configured(rule)
    assert "config.toml: " in str(raised.value) and reason in str(raised.value)
    assert len(str(raised.value)) < 600


def test_unknown_ids_wrong_patterns_and_too_many_rules_are_refused() -> None:
    with pytest.raises(ConfigError, match="no rule has the id 'github-tokn'"):
        configured(disable=("github-tokn",))
    with pytest.raises(ConfigError, match=r"redaction\.allow: '/\(/': RE2 rejects the pattern"):
        configured(allow=("/(/",))
    with pytest.raises(ConfigError, match=r"redaction\.allow: '/acme_\(\?=x\)/': .* no lookaround"):
        configured(allow=("/acme_(?=x)/",))
    with pytest.raises(ConfigError, match="rules"):
        configured(*[{**ACME, "id": f"acme-{number}"} for number in range(MAX_RULES + 1)])


@pytest.mark.parametrize("pattern", ["(?:a+)+b", "(?:a|aa)+b", r"(?:\w*)*!", "(?:.*.*.*)*acme!"])
def test_a_pattern_that_would_backtrack_without_end_takes_linear_time(pattern: str) -> None:
    rule = Rule(id="slow", what="slow", pattern=pattern, keywords=("a",))
    assert (
        list(rule.spans(b"a" * 100_000)) == []
    )  # a backtracking engine would run into the test's time limit


@pytest.mark.parametrize("pattern", ["a*", "b(?P<secret>[0-9]*)", "b(?P<secret>[0-9]+)?", "(?P<secret>)"])
def test_an_empty_place_is_never_covered(pattern: str) -> None:
    rule = Rule(id="empty", what="empty", pattern=pattern, keywords=("b",))
    assert list(rule.spans("bb é b".encode())) == []
