"""How a rule is written, and which paths, words and hosts its pattern fits."""

import pytest

from tui_agent.errors import ConfigError
from tui_agent.policy.rules.grammar import fits_host, fits_path, fits_words, parse_rule


@pytest.mark.parametrize(
    "text",
    [
        "allow edit src/timesheet/**",
        "allow run pytest *",
        "allow read /srv/data/**",
        "allow connect example.org",
        "deny run git push *",
        "ask tool mcp_*",
        "allow exact ls -la | wc -l",
    ],
)
def test_a_rule_reads_as_it_is_written(text: str) -> None:
    assert parse_rule(f"  {text} ").text == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "allow",
        "allow edit",
        "permit edit a",
        "allow fly a",
        "allow run *",
        "allow run 'x",
        "allow connect *",
    ],
)
def test_a_text_that_is_not_a_rule_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_rule(text)


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("src/**", "src/a.py", True),
        ("src/**", "src/deep/a.py", True),
        ("src/**", "src", True),
        ("src/**", "srcx/a.py", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/deep/a.py", False),
        ("**/test_*.py", "a/b/test_x.py", True),
        ("**", "anything/at/all", True),
        ("*", "a/b", False),
        ("README.md", "README.md", True),
        ("[ab].py", "a.py", True),
    ],
)
def test_paths(pattern: str, path: str, fits: bool) -> None:
    assert fits_path(pattern, path, f"/ws/{path}") is fits


def test_an_absolute_pattern_is_about_the_real_place() -> None:
    assert fits_path("/srv/data/**", None, "/srv/data/x")
    assert not fits_path("srv/data/**", None, "/srv/data/x")


@pytest.mark.parametrize(
    ("pattern", "words", "fits"),
    [
        ("pytest *", ("pytest",), True),
        ("pytest *", ("pytest", "-q", "x"), True),
        ("pytest", ("pytest", "-q"), False),
        ("git push *", ("git", "pull"), False),
        ("npm run test:* *", ("npm", "run", "test:unit"), True),
        ("echo 'a b'", ("echo", "a b"), True),
    ],
)
def test_words(pattern: str, words: tuple[str, ...], fits: bool) -> None:
    assert fits_words(pattern, words, certain=True) is fits


def test_a_word_that_is_not_certain_allows_nothing_and_denies_all() -> None:
    assert not fits_words("git push *", ("git", None), certain=True)
    assert fits_words("git push *", ("git", None), certain=False)


@pytest.mark.parametrize(
    ("pattern", "host", "fits"),
    [
        ("example.org", "example.org", True),
        ("example.org", "EXAMPLE.org.", True),
        ("example.org", "example.org.evil.net", False),
        ("example.org", "notexample.org", False),
        ("*.example.org", "a.example.org", True),
        ("*.example.org", "example.org", False),
        ("example.org", "example.org\0.evil.net", False),
        ("example.org", "user@example.org", False),
    ],
)
def test_hosts_by_whole_labels(pattern: str, host: str, fits: bool) -> None:
    assert fits_host(pattern, host) is fits
