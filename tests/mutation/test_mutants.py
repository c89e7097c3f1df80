"""Every mutant is another program than the one it was made of, and a fault that tests can see is seen."""

import ast
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.mutation.__main__ import main
from tests.mutation.covering import places
from tests.mutation.equivalent import EQUIVALENT, equivalents
from tests.mutation.mutants import Mutant, mutants, mutated
from tests.mutation.targets import TARGETS, Target
from tests.mutation.trial import Spoiled, cover, try_out
from tests.mutation.watching import ROOT

SOURCE = '''
def fits(found: list[int], most: int = 3) -> bool:
    """A text stays as it is."""
    for one in found:
        if not one or one > most and one in (1, 2):
            continue
        print(one + 1)
    return len([each for each in found if each]) == 2
'''


def test_every_mutant_is_another_program_that_compiles() -> None:
    plain = ast.unparse(ast.parse(SOURCE))
    found = [ast.unparse(mutated(SOURCE, one)) for one in mutants(SOURCE)]
    assert plain not in found
    assert len(set(found)) == len(found) >= 15
    for source in found:
        compile(source, "mutant", "exec")
        assert "A text stays as it is." in source


def test_what_is_to_be_broken_and_who_is_to_notice_is_there() -> None:
    for target in TARGETS:
        assert all((ROOT / path).exists() for path in (*target.modules, *target.tests)), target
        assert all(mutants((ROOT / path).read_text("utf-8")) for path in target.modules)


@pytest.mark.slow
def test_what_is_left_out_is_there_and_little() -> None:
    paths = [path for target in TARGETS for path in target.modules]
    found = [why for path in paths for why in equivalents(path, (ROOT / path).read_text("utf-8")).values()]
    assert len(found) == len(EQUIVALENT) <= 40
    assert all(found)


PATH = "tui_agent/policy/decision/judgement.py"
LOOKS = """
from tui_agent.policy.decision.judgement import strongest_judgement
def test_none_is_asked():
    assert strongest_judgement([]).verdict == "ask"
"""
LOOKS_AWAY = """
import tui_agent.policy.decision.judgement
def test_nothing():
    pass
"""


@pytest.fixture(name="folder")
def _folder() -> Iterator[Path]:
    """For tests of a test: below the project's folder, as all are."""
    with TemporaryDirectory(dir=ROOT / "tests/mutation", prefix="tried") as made:
        yield Path(made)


def _written(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return f"{(folder / name).relative_to(ROOT)}"


def _fault(what: str = "if x -> if not x") -> Mutant:
    return next(one for one in mutants((ROOT / PATH).read_text("utf-8")) if one.what == what)


@pytest.mark.slow
def test_a_fault_is_noticed_by_a_test_that_looks_and_by_no_other(folder: Path) -> None:
    looks = f"{_written(folder, 'test_looks.py', LOOKS)}::test_none_is_asked"
    away = f"{_written(folder, 'test_looks_away.py', LOOKS_AWAY)}::test_nothing"
    assert try_out(PATH, None, {looks: 60.0}).how == "unnoticed"
    noticed = try_out(PATH, _fault(), {away: 60.0, looks: 60.0})
    assert (noticed.how, noticed.test) == ("failed", looks)
    assert try_out(PATH, _fault(), {away: 60.0}).how == "unnoticed"
    assert try_out(PATH, _fault(), {}).how == "unnoticed"


SMALL = "def more(number: int) -> int:\n    return number + 1\n"


@pytest.mark.slow
def test_one_target_with_too_few_faults_noticed_ends_the_count_with_a_failure(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = _written(folder, "small.py", SMALL)
    asks = f"from {folder.relative_to(ROOT)}.small import more\n".replace("/", ".")
    looks = _written(folder, "test_looks.py", f"{asks}def test_it():\n    assert more(4) == 5\n")
    away = _written(folder, "test_looks_away.py", f"{asks}def test_it():\n    more(4)\n")
    good, bad = Target("good", (small,), (looks,)), Target("bad", (small,), (away,))
    one = ["--sample", "1"]
    assert main([*one, "good"], (bad, good)) == 0
    assert main(one, (bad, good)) == 1
    assert "bad: 0 of 1 mutants noticed (0%)" in capsys.readouterr().out
    assert main(["none"], (good,)) == 1


@pytest.mark.slow
def test_only_tests_that_run_a_line_are_asked_about_it(folder: Path) -> None:
    looks, away = (
        _written(folder, "test_looks.py", LOOKS),
        _written(folder, "test_looks_away.py", LOOKS_AWAY),
    )
    covered = cover([PATH], [looks, away])
    asked = covered.tests_of(PATH, (ROOT / PATH).read_text("utf-8"), _fault())
    assert asked == [f"{looks}::test_none_is_asked"]
    assert set(covered.seconds) == {f"{looks}::test_none_is_asked", f"{away}::test_nothing"}


@pytest.mark.slow
def test_a_limit_of_time_is_told_apart_and_so_is_what_is_no_program(folder: Path) -> None:
    waits = _written(
        folder, "test_waits.py", "import threading\ndef test_it():\n    threading.Event().wait()\n"
    )
    assert try_out(PATH, _fault(), {f"{waits}::test_it": 1.0}).how == "hung"
    looks = f"{_written(folder, 'test_looks.py', LOOKS)}::test_none_is_asked"
    nothing = Mutant(0, 0, 1, "no such node")
    with pytest.raises(Spoiled):
        try_out(PATH, nothing, {looks: 60.0})


def test_what_cannot_even_be_imported_is_noticed_by_none(folder: Path) -> None:
    path = "tui_agent/protocol/effects.py"
    types = next(one for one in mutants((ROOT / path).read_text("utf-8")) if one.what == "BitOr -> BitAnd")
    looks = f"{_written(folder, 'test_looks.py', LOOKS)}::test_none_is_asked"
    outcome = try_out(path, types, {looks: 60.0})
    assert (outcome.how, outcome.noticed) == ("no program", False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "import no_such_module\ndef test_it():\n    pass\n",
        "def test_another():\n    pass\n",
        "def test_it(no_such_fixture):\n    pass\n",
    ],
)
def test_what_fails_without_any_fault_spoils_the_count(folder: Path, text: str) -> None:
    path = _written(folder, "test_broken.py", text)
    with pytest.raises(Spoiled):
        cover([PATH], [f"{path}::test_it"])


def test_the_lines_of_a_mutant_are_those_of_its_statement() -> None:
    lines = {one.what: places(SOURCE, one) for one in mutants(SOURCE) if one.line}
    assert lines["not x -> x"] == {5}
    assert lines["3 -> 4"] == {2}
    assert lines["continue -> break"] == {6}


def test_what_is_kept_of_a_first_call_is_asked_of_every_test() -> None:
    source = "from functools import cache\n\n@cache\ndef table() -> int:\n    return 1 + 1\n"
    assert all(1 in places(source, one) for one in mutants(source))
