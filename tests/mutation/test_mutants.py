"""Every mutant is another program than the one it was made of, and a fault that tests can see is seen."""

import ast
from pathlib import Path

from tests.mutation.equivalent import EQUIVALENT, equivalents
from tests.mutation.mutants import mutants, mutated
from tests.mutation.targets import TARGETS
from tests.mutation.trial import ROOT, try_out

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


def test_what_is_left_out_is_there_and_little() -> None:
    paths = [path for target in TARGETS for path in target.modules]
    found = [why for path in paths for why in equivalents(path, (ROOT / path).read_text("utf-8")).values()]
    assert len(found) == len(EQUIVALENT) <= 20
    assert all(found)


def test_a_fault_is_noticed_by_a_test_that_looks_and_by_no_other(tmp_path: Path) -> None:
    path = "tui_agent/policy/findings.py"
    fault = next(one for one in mutants((ROOT / path).read_text("utf-8")) if one.what == "if x -> if not x")
    looks, looks_away = tmp_path / "test_looks.py", tmp_path / "test_looks_away.py"
    looks.write_text(
        "from tui_agent.policy.findings import strongest\n"
        "def test_none_is_asked():\n    assert strongest([]).verdict == 'ask'\n"
    )
    looks_away.write_text("import tui_agent.policy.findings\ndef test_nothing():\n    pass\n")
    assert not try_out(path, None, [str(looks)], 60.0).noticed
    assert try_out(path, fault, [str(looks)], 60.0).noticed
    assert not try_out(path, fault, [str(looks_away)], 60.0).noticed
