"""The real bash against our parser: what it runs of a line inside the subset, and what it sets and writes, is in our tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties.policy.bash_lines import ATTACKS, TOKENS, LineSource, seeds
from tests.properties.policy.bash_runs import BASH, BWRAP, compare, differences, run_lines
from tests.stubs.left_out import only_where
from tui_agent.policy.bash.loose_reading import PossibleCommands, loose_commands
from tui_agent.policy.bash.parser import parse_script
from tui_agent.policy.bash.syntax import Refusal, Script

LINES = 2_000
LEAST_ACCEPTED = 0.15
ANY_CHARACTER = st.characters(exclude_categories=())

needs_bash = only_where(bool(BASH and BWRAP), "bash and bubblewrap are not installed")


@given(st.one_of(st.text(ANY_CHARACTER), st.lists(st.sampled_from([*TOKENS, "a"])).map("".join)))
def test_any_text_is_read_or_refused(text: str) -> None:
    assert isinstance(parse_script(text), Script | Refusal)
    assert isinstance(loose_commands(text), PossibleCommands)


@needs_bash
def test_bash_runs_no_command_that_was_not_read() -> None:
    source = LineSource(seed=1)
    accepted, found = differences([source.line() for _ in range(LINES)])
    assert not found
    assert accepted > LEAST_ACCEPTED * LINES


@pytest.mark.slow
@needs_bash
def test_bash_runs_the_lines_of_corpora_and_tests_as_they_were_read() -> None:
    accepted, found = differences([*ATTACKS, *seeds()[::25]])
    assert not found
    assert accepted > LEAST_ACCEPTED * len(seeds()) / 25


@needs_bash
@pytest.mark.parametrize(
    ("line", "misread", "difference"),
    [
        ("ls\nrm x", "ls", "bash ran ('rm', 'x')"),
        ("ls 'a b'", "ls a b", "bash ran ('ls', 'a b')"),
        ("cat <<'E'\na\nE", "cat <<'E'\nb\nE", "bash ran ('cat',) with the input 'a\\n'"),
        ("x=1; ls", "ls", "bash set x to '1'"),
        ("ls > f", "ls", "bash made the file 'f'"),
        ("ls; fi", "ls", "bash -n says"),
        ("ls $(rm x)", "ls", "bash ran ('rm', 'x')"),
        ("f() { rm x; }; f", "ls", "bash ran ('rm', 'x')"),
    ],
)
def test_the_comparison_finds_what_was_misread(line: str, misread: str, difference: str) -> None:
    script = parse_script(misread)
    assert isinstance(script, Script)
    (run,) = run_lines([line])
    assert difference in "\n".join(compare(line, script, run))
