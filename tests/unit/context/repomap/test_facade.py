"""A map of a folder: what it shows, what it never shows, and that nothing costs the map."""

import random
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tui_agent.context.repomap import index_worker, repository_map
from tui_agent.context.repomap.commit_search import BEST
from tui_agent.context.repomap.file_list import list_files
from tui_agent.context.repomap.index_db import index_path, remove
from tui_agent.context.repomap.languages import Languages
from tui_agent.context.repomap.map_query import Ask, ClosedFlag, rank_by_scan
from tui_agent.context.repomap.map_results import MapView
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.redacted_text import Cleaner
from tui_agent.context.repomap.repository_map import RepoMap, Visibility
from tui_agent.errors import EnvironmentFault
from tui_agent.ports.repomap import MapLanguage

MANY = 200
FILES = {
    "shop/basket.py": "class Basket:\n    def add(self, item): ...\n    def remove_coupon(self, coupon): ...\n",
    "shop/coupon.py": "from shop.basket import Basket\n\ndef apply_coupon(basket):\n    return Basket()\n",
    "shop/mail.py": "def send_receipt(address): ...\n",
    "tests/test_coupon.py": "def test_apply_coupon():\n    apply_coupon()\n    coupon = 1\n",
    "README.md": "# Shop\n\nSells things.\n",
    ".env": "COUPON=secret\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / "repo" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "repo" / name).write_text(text)
    return tmp_path / "repo"


class Maps:
    """Maps of one folder, closed in the end."""

    def __init__(self) -> None:
        self._open: list[RepoMap] = []

    def __call__(
        self,
        root: Path,
        cache: str = "cache",
        hides: str = ".env",
        rules: str = "",
        patience: float = 1.0,
    ) -> RepoMap:
        made = RepoMap(
            root,
            root.parent / cache,
            showing=Visibility(lambda path: hides not in path, rules),
            patience=patience,
        )
        self._open.append(made)
        return made

    def close(self) -> None:
        for each in self._open:
            each.close()


@pytest.fixture
def repo_map() -> Iterator[Maps]:
    maps = Maps()
    yield maps
    maps.close()


def run_git(root: Path, *words: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@t")
    subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True)


def paths(view: MapView) -> list[str]:
    return [one.path for one in view.files]


def test_what_fits_the_question_comes_first_with_the_symbols_that_fit(root: Path, repo_map: Maps) -> None:
    view = repo_map(root).map("apply a coupon to the basket", refresh=True)
    assert set(paths(view)[:2]) == {"shop/coupon.py", "shop/basket.py"}
    assert "def apply_coupon(basket)" in view.text
    assert "Basket: def remove_coupon(self, coupon)" in view.text
    assert not view.partial
    assert view.total == 5


def test_tests_come_first_where_the_question_is_about_them(root: Path, repo_map: Maps) -> None:
    assert paths(repo_map(root).map("test of apply_coupon", refresh=True))[0] == "tests/test_coupon.py"


def test_without_a_question_what_others_lean_on_comes_first(root: Path, repo_map: Maps) -> None:
    view = repo_map(root).map(refresh=True)
    assert paths(view)[0] == "shop/basket.py"
    assert "README.md" in paths(view)[-2:]


def test_secret_files_are_neither_listed_nor_indexed_nor_shown(root: Path, repo_map: Maps) -> None:
    mapped = repo_map(root)
    view = mapped.map("coupon secret env", refresh=True)
    assert ".env" not in paths(view)
    assert ".env" not in view.text
    assert view.skipped["secret"] == 1
    kept = b"".join(path.read_bytes() for path in mapped.index.parent.iterdir())
    assert b".env" not in kept


@pytest.mark.slow
def test_the_same_files_and_question_give_the_same_bytes(root: Path, repo_map: Maps) -> None:
    first, again, other = repo_map(root), repo_map(root), repo_map(root, "other")
    for query in (None, "coupon", "nothing of this kind"):
        views = [first.map(query, refresh=True), again.map(query), other.map(query, refresh=True)]
        assert views == [views[0]] * 3, query


@pytest.mark.slow
def test_the_map_after_a_few_changed_files_is_complete(root: Path, repo_map: Maps) -> None:
    grown = repo_map(root, patience=0.0)
    grown.map("coupon", refresh=True)
    for name in ("a", "b", "c"):
        (root / f"{name}.py").write_text("from shop.coupon import apply_coupon\n")
        early = grown.map("coupon")
        assert not early.partial and "partial" not in early.text
        assert early == repo_map(root, f"cache {name}").map("coupon", refresh=True)


@pytest.mark.slow
def test_the_map_after_a_commit_is_complete(root: Path, repo_map: Maps) -> None:
    run_git(root, "init")
    run_git(root, "commit", "--allow-empty", "-m", "first")
    grown = repo_map(root, patience=60.0)
    grown.map("zeppelin", refresh=True)
    for number in range(2):
        (root / "shop/mail.py").write_text(f"def send_receipt(address): return {number}\n")
        run_git(root, "add", "shop/mail.py")
        run_git(root, "commit", "-m", f"Stop teardown {number} of the zeppelin")
        view = grown.map("zeppelin")
        assert not view.partial
        assert "history" in view.files[0].reasons


@pytest.mark.slow
def test_a_graph_that_only_a_worker_may_update_is_awaited(
    root: Path, repo_map: Maps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository_map, "MAX_GRAPH_FILES", 0)
    grown, hasty = repo_map(root, patience=60.0), repo_map(root, "other", patience=0.0)
    for mapped in (grown, hasty):
        mapped.map("coupon", refresh=True)
    for name in ("a", "b"):
        (root / f"{name}.py").write_text("from shop.coupon import apply_coupon\n")
        assert not grown.map("coupon").partial
    assert hasty.map("coupon").partial
    assert hasty.wait(60)
    assert hasty.map("coupon") == grown.map("coupon")


def test_a_map_after_very_many_changed_files_says_that_it_is_partial(root: Path, repo_map: Maps) -> None:
    mapped = repo_map(root, patience=0.0)
    mapped.map("coupon", refresh=True)
    for number in range(MANY):
        (root / f"new{number}.py").write_text("from shop.coupon import apply_coupon\n")
    assert mapped.map("coupon").partial
    assert mapped.wait(60)
    assert not mapped.map("coupon").partial


@pytest.mark.slow
def test_an_index_that_grew_says_what_a_new_one_says(root: Path, repo_map: Maps) -> None:
    grown = repo_map(root)
    grown.map("coupon", refresh=True)
    (root / "shop/coupon.py").write_text("def expire_coupon(): ...\n")
    (root / "shop/tax.py").write_text("def coupon_tax(): ...\n")
    (root / "shop/mail.py").unlink()
    view = grown.map("coupon", refresh=True)
    new = repo_map(root, "other")
    assert view == new.map("coupon", refresh=True)
    assert "expire_coupon" in view.text
    assert "coupon_tax" in view.text


def test_pinned_hidden_and_recent_files(root: Path, repo_map: Maps) -> None:
    mapped = repo_map(root)
    mapped.map(refresh=True)
    assert paths(mapped.map("coupon", pinned=["README.md"]))[0] == "README.md"
    hidden = mapped.map("coupon", hidden=["shop/coupon.py"])
    assert "shop/coupon.py" not in hidden.text
    assert paths(mapped.map(recent=["shop/mail.py"]))[0] == "shop/mail.py"


def test_the_first_answer_needs_no_index(root: Path, repo_map: Maps) -> None:
    (root / "big.txt").write_text("filler words here\n" * 50_000)
    (root / "large.txt").write_text("filler words here\n" * 50_000)
    mapped = repo_map(root, patience=0.0)
    view = mapped.map("apply a coupon")
    assert view.partial
    assert paths(view)[0] == "shop/coupon.py"
    assert "def apply_coupon(basket)" in view.text
    assert "this map is partial" in view.text, "the finished index also knows neighbours and past commits"
    assert mapped.wait(60)
    final = mapped.map("apply a coupon")
    assert not final.partial and "partial" not in final.text
    assert mapped.map("apply a coupon", refresh=True).text == final.text


def test_where_nothing_can_be_kept_the_map_is_scanned(root: Path, repo_map: Maps) -> None:
    (root.parent / "cache").write_text("a file in the folder's place")
    view = repo_map(root).map("apply a coupon")
    assert paths(view)[0] == "shop/coupon.py"
    assert not view.partial, "there is no index to wait for"


@pytest.mark.slow
@pytest.mark.parametrize("damage", [b"", b"not a database" * 400, None])
def test_a_broken_index_is_built_anew(root: Path, repo_map: Maps, damage: bytes | None) -> None:
    before = repo_map(root).map("coupon", refresh=True)
    repo_map.close()
    index = index_path(root.parent / "cache", root)
    if damage is None:
        raw = bytearray(index.read_bytes())
        raw[4096:] = random.Random(1).randbytes(len(raw) - 4096)
        index.write_bytes(raw)
    else:
        index.write_bytes(damage)
    repo_map(root).map("coupon", refresh=True)
    assert repo_map(root).map("coupon", refresh=True) == before


@pytest.mark.slow
def test_an_index_with_a_broken_page_is_built_anew_at_a_refresh(root: Path, repo_map: Maps) -> None:
    before = repo_map(root).map("coupon", refresh=True)
    repo_map.close()
    index = index_path(root.parent / "cache", root)
    whole, healed = index.read_bytes(), 0
    for page in range(1, len(whole) // 4096, 5):
        index.write_bytes(whole[: page * 4096] + b"\xff" * 4096 + whole[(page + 1) * 4096 :])
        assert repo_map(root).map("coupon", refresh=True) == before, page
        repo_map.close()
        healed += index.read_bytes()[page * 4096 : (page + 1) * 4096] != b"\xff" * 4096
    assert healed > 3


@pytest.mark.slow
def test_an_index_that_is_deleted_under_a_map_is_built_anew(root: Path, repo_map: Maps) -> None:
    mapped = repo_map(root)
    before = mapped.map("coupon", refresh=True)
    remove(mapped.index)
    assert mapped.map("coupon", refresh=True) == before


@pytest.mark.slow
def test_rows_that_make_no_sense_are_built_anew(root: Path, repo_map: Maps) -> None:
    before = repo_map(root).map("coupon", refresh=True)
    with sqlite3.connect(index_path(root.parent / "cache", root)) as db:
        db.execute("UPDATE details SET symbols=x'00'")
    db.close()
    mapped = repo_map(root)
    mapped.map("coupon")
    assert mapped.map("coupon", refresh=True) == before


@pytest.mark.slow
def test_another_rule_of_what_is_secret_makes_the_index_anew(root: Path, repo_map: Maps) -> None:
    repo_map(root, hides="no such", rules="1").map("coupon", refresh=True)
    stricter = repo_map(root, hides="coupon", rules="2")
    assert "shop/coupon.py" not in stricter.map("coupon", refresh=True).text


def test_a_file_at_which_a_worker_died_keeps_its_words(root: Path, repo_map: Maps) -> None:
    index = index_path(root.parent / "cache", root)
    index.parent.mkdir()
    Path(f"{index}.now0").write_text("shop/coupon.py")
    view = repo_map(root).map("apply_coupon", refresh=True)
    assert "shop/coupon.py" in paths(view)
    assert "def apply_coupon" not in view.text
    assert index_worker.crashed_files(index) == frozenset()


@pytest.mark.slow
def test_what_cannot_be_parsed_costs_nothing(root: Path, repo_map: Maps) -> None:
    noise = random.Random(7)
    (root / "deep.py").write_bytes(b"(" * 200_000 + b")" * 200_000)
    (root / "deep.js").write_bytes(b"f(" * 100_000)
    (root / "noise.py").write_bytes(noise.randbytes(200_000).replace(b"\0", b""))
    (root / "noise.c").write_bytes(noise.randbytes(200_000).replace(b"\0", b""))
    (root / "min.js").write_bytes(b"var coupon=1;" * 100_000)
    (root / "wide.py").write_bytes("\ufeffdef wide_coupon(): ...\n".encode("utf-16-le"))
    (root / "crlf.py").write_bytes(b"def crlf_coupon(a,\r\n    b):\r\n    return a\r\n")
    view = repo_map(root).map("coupon", max_tokens=3_000, refresh=True)
    assert {"shop/coupon.py", "wide.py", "crlf.py"} <= set(paths(view))
    assert "def crlf_coupon(a, b)" in view.text
    assert "def wide_coupon()" in view.text
    assert "min.js" not in view.text
    assert not view.partial


def test_names_that_are_not_utf_8_are_shown_escaped(root: Path, repo_map: Maps) -> None:
    (root / "shop/b\udcffd_coupon.py").write_text("def coupon(): ...\n")
    view = repo_map(root).map("coupon", refresh=True)
    assert r"shop/b\udcffd_coupon.py" in view.text
    view.text.encode()


def test_past_commits_speak_for_the_files_that_they_touched(root: Path, repo_map: Maps) -> None:
    run_git(root, "init")
    run_git(root, "add", "shop", "tests", "README.md")
    run_git(root, "commit", "-m", "first")
    (root / "shop/mail.py").write_text("def send_receipt(address): return 1\n")
    run_git(root, "commit", "-am", "Stop the flaky teardown of the zeppelin")
    first = repo_map(root, patience=0.0).map("zeppelin teardown is flaky")
    settled = repo_map(root, "other").map("zeppelin teardown is flaky", refresh=True)
    assert (first.partial, settled.partial) == (True, False)
    for view in (first, settled):
        assert paths(view)[0] == "shop/mail.py"
        assert "history" in view.files[0].reasons


@pytest.mark.slow
def test_commits_that_match_equally_count_the_same_whenever_they_were_indexed(
    root: Path, repo_map: Maps
) -> None:
    run_git(root, "init")
    grown = repo_map(root, "grown", patience=60.0)
    for numbers in (range(BEST), range(BEST, BEST + 10)):
        for number in numbers:
            (root / f"part{number}.txt").write_text("text\n")
            run_git(root, "add", f"part{number}.txt")
            run_git(root, "commit", "-m", "Stop the flaky teardown")
        grown.map("flaky teardown", refresh=True)
    assert grown.map("flaky teardown") == repo_map(root, "new").map("flaky teardown", refresh=True)


@pytest.mark.slow
def test_five_thousand_files_are_mapped_at_once(tmp_path: Path, repo_map: Maps) -> None:
    for folder in range(50):
        (tmp_path / f"repo/f{folder}").mkdir(parents=True)
        for number in range(100):
            (tmp_path / f"repo/f{folder}/m{number}.py").write_text(f"def work_{folder}_{number}(): ...\n")
    mapped = repo_map(tmp_path / "repo", patience=0.0)
    begun = time.process_time()
    view = mapped.map("work 7 where is work_31_7")
    assert time.process_time() - begun < 4.0
    assert view.total == 5_000
    assert len(view.text) <= 1_200 * 3.3
    assert mapped.wait(100)
    begun = time.process_time()
    mapped.map("work 7 where is work_31_7")
    assert time.process_time() - begun < 2.0


def test_an_empty_folder_and_one_that_is_gone(tmp_path: Path, repo_map: Maps) -> None:
    (tmp_path / "repo").mkdir()
    view = repo_map(tmp_path / "repo").map("x", refresh=True)
    assert view.files == ()
    with pytest.raises(EnvironmentFault):
        repo_map(tmp_path / "gone").map()


@pytest.mark.slow
def test_what_is_secret_is_asked_once_and_kept_without_its_name(root: Path, repo_map: Maps) -> None:
    asked: list[str] = []

    def may_show(path: str) -> bool:
        asked.append(path)
        return path != ".env"

    for _ in range(2):
        mapped = RepoMap(root, root.parent / "cache", showing=Visibility(may_show))
        assert ".env" not in mapped.map("coupon", refresh=True).text
        mapped.close()
    assert sorted(asked) == sorted(FILES)


@pytest.mark.slow
def test_what_a_plugin_teaches_is_found_by_the_worker_and_by_a_scan(root: Path) -> None:
    (root / "shop/till.wren").write_text("fun openTill()\nfun closeTill()\n")
    (root / "shop/till.till").write_text("def open_till():\n    pass\n")
    wren = MapLanguage("wren", ("wren",), (("function", r"^fun +(?P<name>\w+)"),))
    till = MapLanguage(
        "till",
        ("till",),
        (("function", "^(?P<name>never)"),),
        "tree_sitter_python:language",
        "(function_definition name: (identifier) @name) @function",
    )
    gone = MapLanguage(
        "gone", ("gone",), (("function", "^(?P<name>here)"),), "no_such_module:language", "(x)"
    )
    (root / "shop/a.gone").write_text("here till\n")
    plain = RepoMap(root, root.parent / "cache")
    assert "openTill" not in plain.map("till", refresh=True).text
    taught = RepoMap(root, root.parent / "cache", languages=(wren, till, gone))
    assert taught.index != plain.index
    for mapped in (
        taught,
        RepoMap(root, root.parent / "cache" / "no" / "folder", languages=(wren, till, gone)),
    ):
        text = mapped.map("till", refresh=mapped is taught).text
        assert "fun openTill" in text
        assert "def open_till()" in text
        assert "1 here" in text
        mapped.close()
    assert "openTill" not in plain.map("till").text
    plain.close()


def test_closing_ends_a_look_at_many_files_that_is_under_way(root: Path) -> None:
    for number in range(MANY):
        (root / f"file{number}.txt").touch()
    asked: list[str] = []
    begun, never = threading.Event(), threading.Event()

    def may_show(path: str) -> bool:
        asked.append(path)
        begun.set()
        never.wait(0.01)
        return True

    mapped = RepoMap(root, root.parent / "cache", showing=Visibility(may_show))

    def ask() -> None:
        with suppress(EnvironmentFault):
            mapped.map("coupon")

    asking = threading.Thread(target=ask)
    asking.start()
    assert begun.wait(30)
    mapped.close()
    asking.join()
    assert len(asked) < MANY


def test_a_scan_of_many_files_ends_with_its_map(root: Path) -> None:
    ending = ClosedFlag()
    ending.close()
    listing = list_files(root, bool)
    asked = Ask(Query("coupon"), 1000, None, (), frozenset(), frozenset())
    with pytest.raises(EnvironmentFault, match="closed"):
        rank_by_scan(listing, str(root), asked, Languages(()), Cleaner(), ending)
