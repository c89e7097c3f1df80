"""Options that choose by name what is read below a folder name files as operands do."""

import pytest

from tests.unit.policy.judging import verdict


@pytest.mark.parametrize(
    "script",
    [
        "grep -rn KEY --include=.env .",
        "grep -rn KEY --include .env .",
        "grep -rn KEY --include='.env*' .",
        "grep -rn KEY --include=*.pem .",
        "grep -rn KEY --include=*.{py,pem} .",
        "egrep -r KEY --include=id_rsa",
        "rg KEY --glob .env --hidden",
        "rg KEY --glob=.env --hidden",
        "rg KEY --iglob .ENV",
        "rg -g '*.pem' -uuu X",
        "rg -g'**/.env' X",
        "rg -g '/.env' X",
        "rg -g '*.{py,env}' X",
        "rg -g '.ssh/**' X",
        "rg -l X -g .env",
        "git grep --no-index KEY -- .env",
    ],
)
def test_files_with_secrets_are_not_searched_by_their_names(script: str) -> None:
    assert verdict(script) == "deny"


@pytest.mark.parametrize(
    "script",
    [
        "grep -r '' .",
        "grep -rn KEY --include='*.py' --include=*.toml .",
        "grep -rn KEY --include='*config*' src",
        "grep -rn KEY --include='*.*' .",
        "grep -rn KEY --exclude=.env .",
        "git grep --no-index KEY",
        "rg KEY",
        "rg KEY --hidden -g '!.env' -g '!*.pem' -g '!.git'",
        "rg KEY -g '**/config.json' -g '/src/**' -g '*.{ts,tsx}'",
        "rg KEY -g .env.example",
        "rg --files --hidden -g '.env*'",
        "cat config*",
    ],
)
def test_a_search_without_such_names_is_not_asked_about(script: str) -> None:
    assert verdict(script) == "allow"


def test_a_pattern_that_is_not_certain_is_asked_about() -> None:
    assert verdict('rg KEY -g "$1"') == "ask"
    assert verdict("cat .docker/conf*") == "deny"
