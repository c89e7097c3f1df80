"""Words that are filled into a command are literal text for the shell, whatever quotes stand around the place."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui_agent.config.extensions.command_files import fill_template
from tui_agent.errors import ConfigError

HOSTILE = (
    "$(touch bad)",
    '"; touch bad; "',
    "'; touch bad; '",
    "`touch bad`",
    "2 days ago",
    "a\\",
    '\\"$x',
    "\n#",
    "",
)
TEMPLATES = {
    "plain": "printf %s $1",
    "double": 'printf %s "$1"',
    "single": "printf %s '$1'",
    "in a substitution": 'printf %s "$(printf %s "$1")"',
    "in a plain substitution": 'printf %s "$(printf %s $1)"',
    "after quotes": 'true \'it\' "is" \\" "a $(echo \')\') b"; printf %s $1',
    "after a variable": 'printf %s "${UNSET}$1"',
    "in a subshell": '(printf %s "$1")',
}


def printed(command: str) -> str:
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_shell_gets_the_word_as_it_is(name: str) -> None:
    for word in HOSTILE:
        expected = word.rstrip("\n") if "substitution" in name else word
        assert printed(fill_template(TEMPLATES[name], [word])) == expected, (name, word)


@settings(max_examples=40)
@given(
    st.text(st.characters(min_codepoint=1, max_codepoint=255), max_size=12),
    st.sampled_from(sorted(TEMPLATES)),
)
def test_any_word_is_literal(word: str, name: str) -> None:
    word = word.replace("\r", "").rstrip("\n")
    assert printed(fill_template(TEMPLATES[name], [word])) == word


def test_all_words_stay_separate_only_outside_quotes() -> None:
    words = ["a b", "c"]
    assert printed(fill_template("printf '[%s]' $ARGUMENTS", words)) == "[a b][c]"
    assert printed(fill_template("printf '[%s]' \"$ARGUMENTS\"", words)) == "[a b c]"
    assert fill_template("ls $2 $3", ["x", "y"]) == "ls y "


@pytest.mark.parametrize(
    "template",
    [
        "echo ${x:-$1}",
        "echo $'$1'",
        "echo $$1",
        'echo "$$1"',
        "echo $(( $1 ))",
        '"$(($1))"',
        "ls # $1",
        "case a in a) echo $1;; esac",
    ],
)
def test_a_place_that_cannot_be_quoted_is_an_error(template: str) -> None:
    with pytest.raises(ConfigError, match="cannot be quoted"):
        fill_template(template, ["x"])


def test_such_text_without_a_place_stays() -> None:
    template = 'echo "$1" ${x:-y} # note'
    assert fill_template(template, ["x"]) == 'echo "x" ${x:-y} # note'
