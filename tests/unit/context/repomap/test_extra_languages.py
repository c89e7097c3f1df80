"""The languages of the extra: by their grammars where they are installed, as in our own checks, and by patterns without."""

import pytest

from tests.stubs.left_out import leave_out
from tui_agent.context.repomap.languages import KNOWN, Languages, builtin_table
from tui_agent.context.repomap.symbols import symbols_of
from tui_agent.ports.repomap import MapLanguage

Symbols = set[tuple[str, str, int, int, str]]
CASES: dict[str, tuple[str, Symbols]] = {
    "a.cs": (
        "namespace A.B {\n  public class C : D {\n    public C() {}\n    public async Task<int> Run(\n        int x)\n"
        "    { return 1; }\n    public int Size { get; set; }\n  }\n  interface I { void Go(); }\n  record R(int X);\n"
        "  enum E { One }\n  struct S {}\n}\n",
        {
            ("module", "A.B", 1, 13, ""),
            ("class", "C", 2, 8, "A.B"),
            ("constructor", "C", 3, 3, "C"),
            ("method", "Run", 4, 6, "C"),
            ("property", "Size", 7, 7, "C"),
            ("interface", "I", 9, 9, "A.B"),
            ("method", "Go", 9, 9, "I"),
            ("class", "R", 10, 10, "A.B"),
            ("enum", "E", 11, 11, "A.B"),
            ("struct", "S", 12, 12, "A.B"),
        },
    ),
    "a.php": (
        "<?php\nfunction f($a) {}\ninterface I { function g(); }\ntrait T {}\nenum E {}\n"
        "class A extends B {\n  public function go($x) {\n  }\n}\n",
        {
            ("function", "f", 2, 2, ""),
            ("interface", "I", 3, 3, ""),
            ("method", "g", 3, 3, "I"),
            ("trait", "T", 4, 4, ""),
            ("enum", "E", 5, 5, ""),
            ("class", "A", 6, 9, ""),
            ("method", "go", 7, 8, "A"),
        },
    ),
    "a.kt": (
        "class A(val x: Int) {\n  suspend fun go(x: Int): Int {\n    return x\n  }\n}\n"
        "object O {\n  fun of() = 1\n}\n\ninterface I {\n  fun g()\n}\n\nfun String.shout() = 1\n",
        {
            ("class", "A", 1, 5, ""),
            ("function", "go", 2, 4, "A"),
            ("object", "O", 6, 8, ""),
            ("function", "of", 7, 7, "O"),
            ("class", "I", 10, 12, ""),
            ("function", "g", 11, 11, "I"),
            ("function", "shout", 14, 14, ""),
        },
    ),
    "a.swift": (
        "final class A {\n  func go() {\n  }\n}\nprotocol P { func run() }\nstruct S {}\nfunc top(_ x: Int) -> Int { 1 }\n",
        {
            ("class", "A", 1, 4, ""),
            ("function", "go", 2, 3, "A"),
            ("interface", "P", 5, 5, ""),
            ("function", "run", 5, 5, "P"),
            ("class", "S", 6, 6, ""),
            ("function", "top", 7, 7, ""),
        },
    ),
    "a.scala": (
        "case class A(x: Int) {\n  def go = 1\n}\nobject O {\n  def main(args: Array[String]): Unit = {\n  }\n}\n"
        "trait T { def g: Int }\n",
        {
            ("class", "A", 1, 3, ""),
            ("function", "go", 2, 2, "A"),
            ("object", "O", 4, 7, ""),
            ("function", "main", 5, 6, "O"),
            ("trait", "T", 8, 8, ""),
            ("function", "g", 8, 8, "T"),
        },
    ),
    "a.lua": (
        "local function f(a)\nend\nfunction M.g()\nend\nM.h = function()\nend\nfunction M:k() end\n",
        {
            ("function", "f", 1, 2, ""),
            ("function", "M.g", 3, 4, ""),
            ("function", "M.h", 5, 6, ""),
            ("function", "M:k", 7, 7, ""),
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_by_its_grammar_a_file_defines(name: str) -> None:
    text, wanted = CASES[name]
    language = KNOWN.language_of(name)
    if KNOWN.load_language(language) is None:
        leave_out(f"the grammar of {language} is not installed: pip install tui-agent[languages]")
    _, symbols = symbols_of(name, text.encode())
    assert {(one.kind, one.name, one.line, one.end, one.parent) for one in symbols} == wanted


@pytest.mark.parametrize("name", CASES)
def test_without_its_grammar_its_types_and_functions_are_still_found(name: str) -> None:
    text, wanted = CASES[name]
    language = KNOWN.language_of(name)
    patterns = tuple((kind, each.pattern.decode()) for kind, each in KNOWN.patterns_of(language))
    bare = Languages([MapLanguage(language, (name.partition(".")[2],), patterns)])
    assert bare.load_language(language) is None
    _, symbols = symbols_of(name, text.encode(), bare)
    outer = {each for kind, each, *_, parent in wanted if not parent and kind != "module"}
    assert outer <= {one.name for one in symbols}


@pytest.mark.parametrize("name", CASES)
def test_no_input_of_an_extra_language_is_too_much(name: str) -> None:
    assert builtin_table().languages[KNOWN.language_of(name)].grammar
    for data in (
        b"(" * 200_000,
        b"{" * 50_000 + b"}" * 50_000,
        bytes(range(256)) * 400,
        b"class A { " * 5_000,
    ):
        symbols_of(name, data)
