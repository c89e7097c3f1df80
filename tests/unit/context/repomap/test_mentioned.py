"""Files that a question names come first, however they are written."""

from pathlib import Path

import pytest

from tui_agent.context.repomap.named_files import MAX_NAMED_FILES, Alike, find_named_files
from tui_agent.context.repomap.path_kinds import group_by_first_name
from tui_agent.context.repomap.repository_map import RepoMap

PATHS = """setup.py src/_pytest/config/__init__.py src/_pytest/config/findpaths.py src/_pytest/assertion/rewrite.py
testing/test_config.py Makefile src/main/java/org/foo/Bar.java lib/node.js tokio/src/sync/mpsc/mod.rs app/[id]/page.tsx
src/and/or.py a/utils.py b/utils.py .github/workflows/ci.yml docs/README.md pkg/server.go src/json/decoder.py
src/use-query.ts src/use_query.rs src/useQuery.test.ts src/URLBuilder.java""".split()  # noqa: SIM905
FIND = "src/_pytest/config/findpaths.py"
PYTHON = """Traceback (most recent call last):
  File "/home/x/venv/lib/python3.11/site-packages/_pytest/config/__init__.py", line 12, in main
  File "/home/x/venv/lib/python3.11/site-packages/_pytest/assertion/rewrite.py", line 77, in load
  File "/usr/lib/python3.11/threading.py", line 9, in run
ValueError: nothing"""
JAVA = (
    "java.lang.Error: x\n\tat org.foo.Bar$Inner.run(Bar.java:17)\n\tat java.lang.Thread.run(Thread.java:748)"
)


def alike(paths: list[str] = PATHS) -> Alike:
    names = group_by_first_name(paths)
    return lambda first: names.get(first, ())


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("fix src/_pytest/config/findpaths.py please", [(FIND, 0)]),
        ("findpaths.py:120 raises", [(FIND, 120)]),
        ("see @src/_pytest/config/findpaths.py: it", [(FIND, 0)]),
        ("./config/findpaths.py, line", [(FIND, 0)]),
        ("C:\\work\\src\\_pytest\\config\\findpaths.py", [(FIND, 0)]),
        ("https://github.com/o/r/blob/main/src/_pytest/config/findpaths.py#L12-L20", [(FIND, 12)]),
        ("`_pytest/assertion/rewrite`", [("src/_pytest/assertion/rewrite.py", 0)]),
        ("_pytest.assertion.rewrite.Hook.load", [("src/_pytest/assertion/rewrite.py", 0)]),
        ("the module _pytest.config", [("src/_pytest/config/__init__.py", 0)]),
        ("tokio::sync::mpsc::channel", [("tokio/src/sync/mpsc/mod.rs", 0)]),
        ("testing/test_config.py::TestIt::test_this fails", [("testing/test_config.py", 0)]),
        ("app/[id]/page.tsx:3:5 - error", [("app/[id]/page.tsx", 3)]),
        ("/proj/pkg/server.go:123 +0x1b", [("pkg/server.go", 123)]),
        ("utils.py", [("a/utils.py", 0), ("b/utils.py", 0)]),
        ("`useQuery()` fails", [("src/use-query.ts", 0), ("src/use_query.rs", 0)]),
        ("pass `use_query` on", [("src/use-query.ts", 0), ("src/use_query.rs", 0)]),
        ("URLBuilder#build and use query", [("src/URLBuilder.java", 0)]),
        ("the Makefile and readme.md", [("Makefile", 0), ("docs/README.md", 0)]),
        (JAVA, [("src/main/java/org/foo/Bar.java", 17)]),
        (PYTHON, [("src/_pytest/assertion/rewrite.py", 77), ("src/_pytest/config/__init__.py", 12)]),
        (f"setup.py: {PYTHON}", [("setup.py", 0), ("src/_pytest/assertion/rewrite.py", 77)]),
    ],
)
def test_a_file_is_known_by_how_it_is_written(question: str, wanted: list[tuple[str, int]]) -> None:
    found = [(one.path, one.line) for one in find_named_files(question, alike())]
    assert found[: len(wanted)] == wanted
    assert len(found) == len(wanted) or question.startswith("setup.py:")


@pytest.mark.parametrize(
    "question",
    [
        "Node.js fails, e.g. in v1.2.3",
        "read/write and/or more",
        "/usr/lib/python3.11/email/decoder.py",
        "other/decoder.py",
        "self.config.option and os.path",
        "http://localhost:8000/",
        "",
    ],
)
def test_what_is_no_file_names_none(question: str) -> None:
    assert find_named_files(question, alike()) == []


@pytest.mark.parametrize("path", ["lib/promql.go", "web/promql.ts"])
def test_a_product_name_does_not_name_a_file_of_one_word(path: str) -> None:
    assert find_named_files("PromQL: faster queries", alike([path])) == []
    assert len(find_named_files("`PromQLParser` fails", alike(["lib/promQLParser.ts"]))) == 1


def test_a_bare_word_in_quotes_names_a_file_only_when_it_is_all_that_is_quoted() -> None:
    programs = alike(["bin/console", "bin/composer"])
    for question in ("```console\n$ run it\n```", "run `composer config it`", "'console of it'"):
        assert find_named_files(question, programs) == []
    for question in ("`console`", "see 'composer', it", "@composer it"):
        assert len(find_named_files(question, programs)) == 1


def test_a_name_that_many_files_bear_names_none_and_a_list_of_files_ends() -> None:
    paths = [f"part{n}/model.py" for n in range(30)]
    assert find_named_files("model.py", alike(paths)) == []
    assert find_named_files("OrderModel", alike([f"part{n}/OrderModel.java" for n in range(30)])) == []
    assert [one.path for one in find_named_files(" ".join(paths), alike(paths))] == paths[:MAX_NAMED_FILES]


@pytest.mark.slow_variants
@pytest.mark.parametrize("patience", [0.0, 5.0])
def test_a_named_file_is_the_first_with_the_symbol_at_its_line(tmp_path: Path, patience: float) -> None:
    root = tmp_path / "repo"
    (root / "lib").mkdir(parents=True)
    for n in range(12):
        (root / f"lib/coupon{n}.py").write_text("def coupon(): ...\n" * 9)
    body = "".join(f"def part{n}():\n    return {n}\n" for n in range(30))
    (root / "lib/plain.py").write_text(body)
    (root / "lib/made.py").write_text("# @generated\nmade = 1\n")
    repo_map = RepoMap(root, tmp_path / "cache", patience=patience)
    try:
        (first, *_) = repo_map.map("a coupon fails in lib/plain.py:42", max_tokens=600).files
        assert first.path == "lib/plain.py"
        assert first.reasons[0] == "named"
        assert "part20" in [one.name for one in first.symbols]
        assert repo_map.map("coupons of plain.py").files[0].path == "lib/plain.py"
        assert repo_map.map("coupon in made.py").files[0].path == "lib/made.py"
        assert repo_map.map("coupon in plain.py", hidden=["lib/plain.py"]).files[0].path != "lib/plain.py"
        assert repo_map.map("plain.py", pinned=["lib/coupon3.py"]).files[0].path == "lib/coupon3.py"
    finally:
        repo_map.close()
