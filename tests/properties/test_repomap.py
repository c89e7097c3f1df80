"""Any bytes in any file: the map is there, within its budget, and the same twice."""

import tempfile
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.stubs.examples import example_count
from tui_agent.context.repomap import indexer
from tui_agent.context.repomap.file_list import list_files
from tui_agent.context.repomap.graph import write_graph
from tui_agent.context.repomap.index_db import open_index
from tui_agent.context.repomap.indexer import count_words, hashes_and_parts
from tui_agent.context.repomap.languages import KNOWN, Languages, LoadedLanguage
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.repository_map import RepoMap, show_all
from tui_agent.context.repomap.symbols import symbols_of
from tui_agent.folds.text.word_forms import find_words, split_identifier

SUFFIXES = [
    "py",
    "js",
    "ts",
    "tsx",
    "go",
    "rs",
    "java",
    "c",
    "cpp",
    "rb",
    "sh",
    "md",
    "sql",
    "html",
    "css",
    "toml",
    "yml",
    "kt",
    "x",
]
CODE = st.lists(
    st.sampled_from(
        [
            b"def f(",
            b"class A",
            b"{",
            b"}",
            b"(",
            b")",
            b"\n",
            b"\r\n",
            b" ",
            b"=>",
            b"function ",
            b"# ",
            b"'",
            b'"',
            b"fn ",
            b"\xff",
            b"\xc3",
            b"=",
            b";",
            b":",
            b"name",
        ]
    ),
    max_size=60,
).map(b"".join)
CONTENT = st.one_of(st.binary(max_size=400), CODE)


@pytest.mark.slow
@given(st.sampled_from(SUFFIXES), CONTENT)
@settings(max_examples=example_count(300))
def test_any_bytes_have_symbols_within_the_file(suffix: str, data: bytes) -> None:
    _, symbols = symbols_of(f"a.{suffix}", data)
    last = data.count(b"\n") + 1
    assert all(1 <= one.line <= one.end <= last for one in symbols)
    assert all(one.name and "\n" not in one.signature for one in symbols)


class Whole(Languages):
    """Nothing is left out of what is parsed."""

    def load_language(self, name: str) -> LoadedLanguage | None:
        found = super().load_language(name)
        return found and found._replace(idle=None)


WHOLE = Whole()
PYTHON = [
    "def f(a, b=(1, 2)):\n    return g(a,\n        b)\n",
    "X = (1,\n    # note (this\n    )\n",
    '"""Doc (bar\n    baz\n"""\n',
    "# see (this\n",
    "class A(B, metaclass=C):\n    y = 'it (s'\n    def m(self, x: int = (3)) -> (int): pass\n",
    "from x import (a, b)\n",
    'Z = "a (" + f(1) + "b)"\n',
    "Q = '''(\n'''\n",
    "R = '''')'''\n",
    "with (a as b, c as d):\n    E = 1\n",
    "match (x):\n    case (1, 2):\n        K = 1\n",
    'T = "don\'t ("\n',
    "W = 1 # )\n",
]
JAVA = [
    'int g() { if (a) { b("x) {"); } }\n',
    "record R(int a) { int b() { return 1; } }\n",
    "interface I { void m(); int C = 1; }\n",
    "enum E { A(1) { void z() { } }; E(int i) { } }\n",
    "Object o = new T(1) { void run() { go(); } };\n",
    'void s() { String t = "() { \\" }"; }\n',
    "void c() { char d = '\"'; }\n",
    "void m() { class L { void n() { } } }\n",
    '/* f() { " */\n// g() { "x\n/** {@code h() { x } } */\n',
    'String w = """\n  f() { a }\n  """;\n',
    "@interface N { int v() default 1; }\n",
]


@given(
    code=st.one_of(
        st.tuples(st.just("python"), st.lists(st.sampled_from(PYTHON), max_size=8).map("".join)),
        st.tuples(
            st.just("java"),
            st.lists(st.sampled_from(JAVA), max_size=8).map(
                lambda parts: f"class M {{\n{''.join(parts)}}}\n"
            ),
        ),
    )
)
@settings(max_examples=example_count(300))
def test_what_is_left_out_of_parsing_defines_nothing(code: tuple[str, str]) -> None:
    language, text = code
    name, data, ready = (
        f"a.{language[:4].replace('pyth', 'py')}",
        text.encode(),
        KNOWN.load_language(language),
    )
    assert ready is not None
    assert ready.parser.parse(data).root_node.has_error or symbols_of(name, data) == symbols_of(
        name, data, WHOLE
    )


@given(
    st.dictionaries(
        st.sampled_from([f"d/f{n}.{suffix}" for n, suffix in enumerate(SUFFIXES)]),
        CONTENT,
        min_size=1,
        max_size=6,
    ),
    st.one_of(st.none(), st.text(max_size=40), st.sampled_from(["def class name", "`f` A name"])),
    st.integers(min_value=61, max_value=3_000),
)
@settings(max_examples=example_count(25))
def test_any_files_have_a_map_within_its_budget(
    files: dict[str, bytes], query: str | None, tokens: int
) -> None:
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "repo")
        (root / "d").mkdir(parents=True)
        for name, data in files.items():
            (root / name).write_bytes(data)
        no_folder = Path(place, "file")
        no_folder.touch()
        scanned = RepoMap(root, no_folder)
        first = scanned.map(query, tokens)
        assert scanned.map(query, tokens) == first
        indexed = RepoMap(root, Path(place, "cache"), patience=60.0)
        view = indexed.map(query, tokens)
        assert view == indexed.map(query, tokens)
        for each in (first, view):
            assert len(each.text) <= tokens * 3.3 * 1.15
            each.text.encode()
        assert not view.partial
        indexed.close()
        scanned.close()


NAMES = [
    f"{verb}_{noun}"
    for verb in ("load", "send")
    for noun in ("basket", "coupon", "parcel", "receipt", "refund")
]
PATHS = [*(f"part{number}.py" for number in range(8)), "notes.md"]
LINES = [f(name) for name in NAMES for f in ("def {}(): ...\n".format, "{}()\n".format)]
TEXT = st.lists(st.sampled_from([*LINES, "# a remark\n", "\n", "\0"]), max_size=5).map("".join)
EDITS = st.lists(st.tuples(st.sampled_from(PATHS), st.none() | TEXT, st.booleans()), min_size=1, max_size=3)
"""Each edit is (path, new text or None for a deletion, True to append the text)."""


def map_of_new_index(root: Path, cache: Path) -> RepoMap:
    """Return a map with an index that was just built from all files."""
    repo_map = RepoMap(root, cache)
    index_file = open_index(repo_map.index, repo_map.key)
    indexer.update(index_file, str(repo_map.root), list_files(repo_map.root, show_all).entries)
    write_graph(index_file)
    index_file.close()
    return repo_map


def answers(repo_map: RepoMap) -> list[object]:
    """Return maps, found definitions and the users of each file."""
    maps = [repo_map.map(query, 3_000) for query in (None, "load the basket", "send_parcel", "absent")]
    assert not any(view.partial for view in maps)
    definitions = [repo_map.find_definitions(name, 50) for name in ("load", *NAMES)]
    return [*maps, *definitions, *(repo_map.find_users(path, 50) for path in PATHS)]


@pytest.mark.slow
@given(st.lists(TEXT, min_size=len(PATHS), max_size=len(PATHS)), st.lists(EDITS, min_size=1, max_size=5))
@settings(max_examples=example_count(40))
def test_after_any_edits_the_answers_are_those_of_a_new_index(
    texts: list[str], steps: list[list[tuple[str, str | None, bool]]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "repo")
        root.mkdir()
        (root / "README.md").write_text("# Shop\n")
        for path, text in zip(PATHS, texts, strict=True):
            (root / path).write_text(text)
        with closing(map_of_new_index(root, Path(folder, "cache"))) as edited:
            answers(edited)
            for number, edits in enumerate(steps):
                for path, text, is_appended in edits:
                    if text is None:
                        (root / path).unlink(missing_ok=True)
                    else:
                        with (root / path).open("a" if is_appended else "w") as file:
                            file.write(text)
                with closing(map_of_new_index(root, Path(folder, f"cache{number}"))) as fresh:
                    assert answers(edited) == answers(fresh)


@given(st.text(max_size=300))
@settings(max_examples=example_count(300))
def test_any_text_is_a_question(text: str) -> None:
    assert all(word and '"' not in word for word in Query(text).weights)


@given(
    data=st.one_of(
        st.binary(max_size=200),
        st.text(alphabet="aZ9_-é設\n\x1c\u2028 ", max_size=60).map(str.encode),
    )
)
def test_the_words_of_any_bytes_are_counted_as_they_stand(data: bytes) -> None:
    assert count_words(data) == Counter(find_words(data.decode("utf-8", "replace")))


@given(words=st.lists(st.text(alphabet="abcXYZ_19", min_size=1, max_size=12), max_size=30))
def test_pieces_of_words_are_counted_as_often_as_they_are_said(words: list[str]) -> None:
    said = sorted(piece for word in words for piece in split_identifier(word))
    assert hashes_and_parts(Counter(words))[1].split() == said
