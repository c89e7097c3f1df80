"""What lists names, or lets them through, names files for another command; what may print anything else does not."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import verdict


@pytest.mark.parametrize(
    "script",
    [
        'git log --format=%H -n 5 | while read -r h; do git show --stat "$h"; done',
        'show() { sed -n "$2,$3p" "$1"; }; show src/a.py 1 10',
        'mapfile -t L < README.md; echo "${#L[@]} ${L[0]}"',
        "dot -V",
        "rg --files | rg '\\.py$' | xargs wc -l | sort -nr | head",
        'git grep -l TODO | while read -r f; do echo "$f: $(grep -c TODO "$f")"; done',
        "git grep -l TODO | xargs grep -c TODO",
        "printf '%s\\0' src/*.py | xargs -0 wc -l",
        "printf '%s\\n' a.py b.py | xargs -I{} wc -l {}",
    ],
)
def test_what_only_reads_them_is_allowed(script: str) -> None:
    assert verdict(script) == "allow"


@rows(
    "script",
    [
        "printf '%s\\n' .env | xargs cat",
        "printf '%s\\0' ../x | xargs -0 cat",
        "printf '%s\\n' /etc/passwd | xargs cat",
        "printf '%s\\n' -rf src | xargs rm",
        "printf '%s\\n' * | xargs cat",
        "printf '%s\\0' * | xargs -0 cat",
        "printf '%s/../x\\n' a | xargs cat",
        "printf '%b\\n' a | xargs cat",
        "printf '%s\\n' $X | xargs cat",
        "printf '%s\\n' --pre=./x | xargs rg foo",
        "printf -v X '%s\\n' a | xargs cat",
        "printf '%s\\n' 'a b' | xargs cat",
        "printf '%s\\n' a | xargs rm",
        "printf '%s\\n' a | xargs sh",
        "git grep -l TODO | xargs cat",
        "git grep -l TODO | xargs rm",
        "git grep -l -O./x TODO | xargs wc -l",
        "git grep -l x | xargs rg y",
        "rg --files | rg --pre ./x a | xargs wc -l",
        "rg --files | rg -o x | xargs wc -l",
        "rg --files | rg -r y x | xargs wc -l",
        "rg --files | rg x ../y | xargs wc -l",
        "rg --files | rg x | xargs cat",
        "git log --format=%D -n 5 | while read -r h; do git show $h; done",
        'git log --format=%H -n 5 --output=x | while read -r h; do git show "$h"; done',
        'f() { sed -n "$2w" "$1"; }; f a 1',
        'f() { sed -n "$2e" "$1"; }; f a 1',
        'f() { rm "$1x"; }; f a',
        'f() { cat "$1env"; }; f .',
        "f() { cat $1env; }; f .",
        'f() { cat "$1ssh"; }; f ~/.',
        'f() { cat "$1sr/x"; }; f /u',
        "dot -Tpng x -o y",
        "dot -V x",
        "L='rm -rf src'; $L",
        'H=$X; rg "$H" src',
        'f() { cat "$1x"; }; f $(ls)',
        'f() { rg "$1x" src; }; f "$(cat a)"',
        'f() { sed -n "$2p" "$1"; }; f a "$(cat b)"',
        'f() { cat "$1x"; }; f "$(git rev-parse --show-toplevel)"',
        "mapfile -C ./x -c 1 L < a",
        "mapfile -t PATH < a",
    ],
)
def test_what_may_print_or_do_more_is_not(script: str) -> None:
    assert verdict(script) != "allow"


@pytest.mark.parametrize(
    "script", ["<<-? ?'?(EOF2|X)'?(?:\\s|$)", "echo $", 'echo "$"', "f() { echo $; }; f a"]
)
def test_a_dollar_without_a_name_is_read(script: str) -> None:
    assert verdict(script) in ("allow", "ask")
