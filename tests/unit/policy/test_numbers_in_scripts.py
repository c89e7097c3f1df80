"""Numbers that a line finds out itself may stand in scripts of sed and awk, in sums and in tests; any other text may not."""

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import verdict


@pytest.mark.parametrize(
    "script",
    [
        'l=$(grep -n "def main" src/a.py | cut -d: -f1); sed -n "${l},$((l+10))p" src/a.py',
        'l=$(grep -n main src/a.py | head -1 | cut -d: -f1); sed -n "$l,$((l + 10))p" src/a.py',
        "sed -n \"$(grep -n 'def main' src/a.py | cut -d: -f1),+20p\" src/a.py",
        "sed -n \"$(grep -n 'def main' src/a.py | awk -F: '{print $1}' | tail -n 1),+20p\" src/a.py",
        'sed -n "$(($(wc -l < a.md) - 5)),\\$p" a.md',
        'n=$(wc -l < a.md); sed -n "$((n-5)),${n}p" a.md',
        'n=3; for i in 1 2; do sed -n "$((n+i))p" a.md; done',
        'awk "NR>=$((1+2))" a.md',
    ],
)
def test_they_are_read_as_numbers(script: str) -> None:
    assert verdict(script) == "allow"


@rows(
    "found",
    [
        'grep -n "$X" a.py | cut -d: -f1',
        "grep -n '-A1 x' a.py | cut -d: -f1",
        "grep -A1 -n x a.py | cut -d: -f1",
        "grep -nA1 x a.py | cut -d: -f1",
        "grep -nr x a.py | cut -d: -f1",
        "grep -nH x a.py | cut -d: -f1",
        "grep -n x *.py | cut -d: -f1",
        "grep -n x a b | cut -d: -f1",
        "grep -n x 'a[$(id)]' | cut -d: -f1",
        "grep -n x a.py | cut -d: -f2",
        "grep -n x a.py | head -1",
        "grep x a.py | cut -d: -f1",
        "grep -n x a.py | sed s/a/b/ | cut -d: -f1",
        "grep -n x a.py | cut -d: -f1 | tee b",
        'grep -n "x$(id)" a.py | cut -d: -f1',
        "grep -n -f a.py x | cut -d: -f1",
        "grep -n x a.py | cut -d: -f1 --output-delimiter=x",
        "grep -n x | cut -d: -f1",
        "cat a.py",
        "grep -n x a.py | cut -d: -f1-2",
        "grep -n x $X | cut -d: -f1",
        "rg -n x a.py | cut -d: -f1",
        "grep -n x a.py | head -1 b | cut -d: -f1",
        "grep -n --label=x x a.py | cut -d: -f1",
    ],
)
def test_what_may_be_any_text_is_not(found: str) -> None:
    assert verdict(f"l=$({found}); echo $((l+10))") != "allow"
    assert verdict(f'sed -n "$({found}),+20p" a.py') != "allow"


@pytest.mark.parametrize(
    "script",
    [
        'sed "$(grep -n x a.py | cut -d: -f1)w out" a.py', 'sed "$((1+1))e id" a.py', 'sed "s/a/b/$((1))e" a.py',
        'sed -i "$((1))d" a.py', 'awk "{print > \\"$((1))\\"}" a.md', 'awk "BEGIN{system(\\"$((1))\\")}"', 'rm "$((1+1))"',
        'cat "$((1+1)).txt"', 'sed -n "$((1))p;$X" a.md', 'sed -n "$((1))$X" a.md', 'sed -n "${l}p" a.md', 'l=$X; sed -n "${l}p" a.md',
    ],
)  # fmt: skip
def test_what_a_script_does_with_them_counts(script: str) -> None:
    assert verdict(script) != "allow"
