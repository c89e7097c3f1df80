"""What each language's files are seen to define."""

import time

import pytest

from tui_agent.context.repomap.languages import KNOWN, Languages, builtin_table
from tui_agent.context.repomap.symbols import MAX_SYMBOLS, symbols_of
from tui_agent.ports.repomap import MapLanguage

WITH_GRAMMAR = {name for name, language in builtin_table().languages.items() if language.grammar}
OPTIONAL = {"csharp", "php", "kotlin", "swift", "scala", "lua"}
"""Their grammars are an extra; patterns stand in for them."""
CASES: dict[str, tuple[str, set[tuple[str, str, int, str]]]] = {
    "a.py": (
        "X = 1\nclass A(B):\n    def f(self, a,\n          b):\n        return 1\nasync def g(): ...\n",
        {
            ("variable", "X", 1, ""),
            ("class", "A", 2, ""),
            ("function", "f", 3, "A"),
            ("function", "g", 6, ""),
        },
    ),
    "a.js": (
        "function f(a) {}\nclass A extends B {\n  m(x) {}\n  p = () => 1;\n}\nconst h = async (x) => {};\nmodule.exports.z = function () {};\n",
        {
            ("function", "f", 1, ""),
            ("class", "A", 2, ""),
            ("method", "m", 3, "A"),
            ("method", "p", 4, "A"),
            ("function", "h", 6, ""),
            ("function", "z", 7, ""),
        },
    ),
    "a.ts": (
        "export interface I {\n  m(x: number): void\n}\nexport type T = string;\nenum E { A }\nabstract class C {\n  abstract n(): void;\n}\n",
        {
            ("interface", "I", 1, ""),
            ("method", "m", 2, "I"),
            ("type", "T", 4, ""),
            ("enum", "E", 5, ""),
            ("class", "C", 6, ""),
            ("method", "n", 7, "C"),
        },
    ),
    "a.tsx": ("export function View(props: Props) {\n  return <div/>;\n}\n", {("function", "View", 1, "")}),
    "a.go": (
        "package a\nconst Pi = 3\ntype S struct{}\ntype I interface {\n\tDo() error\n}\nfunc F(a int) error { return nil }\nfunc (s *S) M() {}\n",
        {
            ("constant", "Pi", 2, ""),
            ("type", "S", 3, ""),
            ("type", "I", 4, ""),
            ("method", "Do", 5, ""),
            ("function", "F", 7, ""),
            ("method", "M", 8, ""),
        },
    ),
    "a.rs": (
        "pub struct S;\ntrait T { fn t(&self); }\nimpl T for S {\n    fn u(&self) {}\n}\nmacro_rules! mm { () => {} }\n",
        {
            ("struct", "S", 1, ""),
            ("trait", "T", 2, ""),
            ("function", "t", 2, "T"),
            ("impl", "S", 3, ""),
            ("function", "u", 4, "S"),
            ("macro", "mm", 6, ""),
        },
    ),
    "A.java": (
        "public class A<T> {\n  A() {}\n  @Override\n  public int m(int x) {\n    return 1;\n  }\n  record R(int a) {}\n}\n",
        {
            ("class", "A", 1, ""),
            ("constructor", "A", 2, "A"),
            ("method", "m", 4, "A"),
            ("class", "R", 7, "A"),
        },
    ),
    "a.c": (
        "#define MAX 3\n#define SQ(x) ((x)*(x))\ntypedef struct node { int a; } node_t;\nint add(int a, int b);\nstatic char *name(void)\n{\n  return 0;\n}\nint table[] = {1};\n",
        {
            ("define", "MAX", 1, ""),
            ("macro", "SQ", 2, ""),
            ("struct", "node", 3, ""),
            ("type", "node_t", 3, ""),
            ("prototype", "add", 4, ""),
            ("function", "name", 5, ""),
            ("variable", "table", 9, ""),
        },
    ),
    "a.cpp": (
        "namespace n {\nclass A {\n  void f();\n  int g() { return 1; }\n};\n}\nvoid n::A::f() {}\nusing V = int;\n",
        {
            ("module", "n", 1, ""),
            ("class", "A", 2, "n"),
            ("method", "f", 3, "A"),
            ("method", "g", 4, "A"),
            ("method", "n::A::f", 7, ""),
            ("type", "V", 8, ""),
        },
    ),
    "a.rb": (
        "module M\n  class A < B\n    LIMIT = 1\n    def m(x)\n    end\n    def self.s; end\n  end\nend\n",
        {
            ("module", "M", 1, ""),
            ("class", "A", 2, "M"),
            ("constant", "LIMIT", 3, "A"),
            ("method", "m", 4, "A"),
            ("method", "s", 6, "A"),
        },
    ),
    "a.sh": (
        "X=1\nf() { echo é; }\nfunction g { :; }\n",
        {("variable", "X", 1, ""), ("function", "f", 2, ""), ("function", "g", 3, "")},
    ),
    "a.md": (
        "# Title\ntext\n\n## Sub\nmore\n",
        {("heading", "Title", 1, ""), ("heading", "Sub", 4, "Title")},
    ),
    "a.sql": (
        "CREATE TABLE IF NOT EXISTS users (id int);\ncreate or replace function f() returns int;\n",
        {("table", "users", 1, ""), ("function", "f", 2, "")},
    ),
    "a.html": ('<div id="top">\n<h1>Hello</h1>\n', {("id", "top", 1, ""), ("heading", "Hello", 2, "")}),
    "a.css": (
        ".card > a { }\n:root {\n  --accent: 1;\n}\n",
        {("rule", ".card > a", 1, ""), ("variable", "--accent", 3, "")},
    ),
    "a.toml": (
        '[tool.x]\nkey = "s"\n[[list]]\n',
        {("section", "tool.x", 1, ""), ("key", "key", 2, ""), ("section", "list", 3, "")},
    ),
    "a.yml": ("jobs:\n  build:\n    deep: 1\n", {("key", "jobs", 1, ""), ("key", "build", 2, "")}),
    "Makefile": ("all: x\n\techo\nVAR := 1\n", {("target", "all", 1, ""), ("variable", "VAR", 3, "")}),
    "a.tcl": ("proc run {a} {\n}\n", {("function", "run", 1, "")}),
    "a.cs": (
        "namespace A.B {\n  public class C {\n    public async Task<int> Run(int x) { }\n  }\n}\n",
        {("class", "A.B", 1, ""), ("class", "C", 2, "A.B"), ("method", "Run", 3, "C")},
    ),
    "a.kt": (
        "class A {\n  suspend fun go(x: Int) {}\n}\n",
        {("class", "A", 1, ""), ("function", "go", 2, "A")},
    ),
    "a.swift": ("final class A {\n  func go() {}\n}\n", {("class", "A", 1, ""), ("function", "go", 2, "A")}),
    "a.php": (
        "<?php\nclass A {\n  public function go($x) {}\n}\n",
        {("class", "A", 2, ""), ("function", "go", 3, "A")},
    ),
    "a.scala": (
        "case class A(x: Int) {\n  def go = 1\n}\n",
        {("class", "A", 1, ""), ("function", "go", 2, "A")},
    ),
    "a.lua": (
        "local function f(a)\nend\nM.h = function() end\n",
        {("function", "f", 1, ""), ("function", "M.h", 3, "")},
    ),
    "a.rst": ("Title\n=====\n\ntext\n", {("heading", "Title", 1, "")}),
    "run": ("#!/usr/bin/env python3\ndef f():\n    pass\n", {("function", "f", 2, "")}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_file_defines(name: str) -> None:
    text, wanted = CASES[name]
    _, symbols = symbols_of(name, text.encode())
    language = KNOWN.language_of(name, text.encode())
    if (
        language in OPTIONAL or KNOWN.load_language(language) is None
    ):  # patterns know neither parents nor all kinds
        assert {(one.name, one.line) for one in symbols} == {(each, line) for _, each, line, _ in wanted}
    else:
        assert {(one.kind, one.name, one.line, one.parent) for one in symbols} == wanted


@pytest.mark.parametrize("name", sorted(WITH_GRAMMAR - OPTIONAL))
def test_every_grammar_that_comes_along_is_ready(name: str) -> None:
    assert KNOWN.load_language(name) is not None


def test_signatures_are_one_line_without_bodies_and_without_values() -> None:
    _, python = symbols_of(
        "a.py", b"TOKEN = 'abc'\ndef f(self, a,\r\n      b=1,\r\n) -> int:\r\n    return 1\r\n"
    )
    assert [one.signature for one in python] == ["TOKEN", "def f(self, a, b=1) -> int"]
    assert [(one.line, one.end) for one in python] == [(1, 1), (2, 5)]
    _, c = symbols_of("a.c", b'#define API_KEY "abc"\nint main(void)\n{\n}\n')
    assert [one.signature for one in c] == ["API_KEY", "int main(void)"]
    _, toml = symbols_of("a.toml", b'password = "abc"\n')
    assert [one.signature for one in toml] == ["password"]


def test_a_long_signature_is_cut() -> None:
    _, found = symbols_of("a.py", b"def f(" + b"argument, " * 200 + b"): ...\n")
    assert len(found[0].signature) == 140
    assert found[0].signature.endswith("…")


def test_a_file_of_very_many_symbols_keeps_the_first() -> None:
    _, found = symbols_of("a.py", b"".join(b"def f%d(): ...\n" % n for n in range(MAX_SYMBOLS + 50)))
    assert len(found) == MAX_SYMBOLS


@pytest.mark.slow_variants
@pytest.mark.parametrize("name", ["a.py", "a.js", "a.c", "a.rs", "a.sh", "a.md", "a.toml"])
def test_two_hundred_thousand_parentheses_are_no_trouble(name: str) -> None:
    symbols_of(name, b"(" * 200_000 + b")" * 200_000)
    symbols_of(name, b"f(" * 100_000)


@pytest.mark.slow_variants
@pytest.mark.parametrize("language", ["python", "java"])
@pytest.mark.parametrize("part", ['("(" ', '"""" (', "){/*", '){"){" ', "()", '("\\', "'", ") \n"])
def test_what_is_left_out_of_parsing_is_found_in_linear_time(language: str, part: str) -> None:
    ready = KNOWN.load_language(language)
    assert ready is not None
    assert ready.idle is not None
    for before in ("", "(", ") {"):
        assert list(ready.idle.finditer((before + part * 50_000).encode())) is not None


def test_a_text_with_errors_is_parsed_whole() -> None:
    _, found = symbols_of("a.py", b"def f(a, b):\n    return (1, 2)\nclass A(B):\n    x = (1 2)\n)\n")
    assert [(one.name, one.line, one.end) for one in found[:2]] == [("f", 1, 2), ("A", 3, 4)]


def test_a_language_that_is_added_wins_for_its_suffixes_and_is_a_part_of_the_key() -> None:
    added = Languages([MapLanguage("wren", ("wren", "SQL"), (("function", r"^fun (?P<name>\w+)"),))])
    assert [one.name for one in symbols_of("a.wren", b"x\nfun go()\n", added)[1]] == ["go"]
    assert [one.name for one in symbols_of("a.sql", b"fun go()\n", added)[1]] == ["go"]
    assert added.language_of("a.py") == "python"
    assert KNOWN.digest() != added.digest() != Languages([MapLanguage("wren", ("wren",))]).digest()
    assert symbols_of("a.wren", b"fun go()\n") == ("", ())


@pytest.mark.parametrize(
    ("grammar", "query"),
    [
        ("tree_sitter_python:language", "(no_such_node) @x"),
        ("tree_sitter_python:language", "((("),
        ("tree_sitter_python:nothing", "(module) @x"),
        ("json:dumps", "(module) @x"),
        ("os:getpid", "(module) @x"),
    ],
)
def test_patterns_stand_in_for_a_grammar_that_does_not_work(grammar: str, query: str) -> None:
    added = Languages([MapLanguage("x", ("x",), (("function", r"^def (?P<name>\w+)"),), grammar, query)])
    assert [one.name for one in symbols_of("a.x", b"def go(): ...\n", added)[1]] == ["go"]


BASH = """#!/bin/bash
größe="${1:-$(pwd)}"
export SIZE_OF=größe
cat <<END
written() {
END
function build_all {
  local inner=1
  make
}
déploy() { :; }
"""


def test_a_shell_script_is_read_by_its_grammar_whatever_letters_it_has() -> None:
    found = [(one.name, one.line, one.end) for one in symbols_of("a.sh", BASH.encode())[1]]
    assert found == [("größe", 2, 2), ("SIZE_OF", 3, 3), ("build_all", 7, 10), ("déploy", 11, 11)]


def test_a_long_shell_script_is_read_by_patterns() -> None:
    heredocs = "cat <<A <<B\nx\nA\ny\nB\n" * 4_000
    began = time.process_time()
    found = [one.name for one in symbols_of("a.sh", f"{heredocs}build_all() {{\n:\n}}\n".encode())[1]]
    assert found == ["build_all"]
    assert time.process_time() - began < 5
