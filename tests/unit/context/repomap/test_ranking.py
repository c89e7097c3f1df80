"""Which files come first for a question, and what makes them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tui_agent.context.repomap import graph, indexer
from tui_agent.context.repomap.definition_search import MAX_FILES, Definition, search_symbols
from tui_agent.context.repomap.file_list import list_files
from tui_agent.context.repomap.index_db import IndexFile, open_index
from tui_agent.context.repomap.index_snapshot import Snapshot
from tui_agent.context.repomap.map_query import Ask, rank_with_index
from tui_agent.context.repomap.path_kinds import kind_of
from tui_agent.context.repomap.question_words import Query
from tui_agent.context.repomap.ranking import FileScore, expression, score_by_commits, values_of
from tui_agent.context.repomap.repository_map import show_all
from tui_agent.context.repomap.text_cache import TextCache
from tui_agent.folds.text.word_forms import split_text

Files = dict[str, str]


class Repository:
    """Files on disk with an index of them, and questions to it."""

    def __init__(self, root: Path, kept: IndexFile, files: Files) -> None:
        self.root, self.kept = root, kept
        self.add(files)
        graph.write_graph(kept)
        self.index = Snapshot(kept, kept.files())

    def add(self, files: Files) -> None:
        """Write files, and have their words in the index."""
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        self.listing = list_files(self.root, show_all)
        known = self.kept.files()
        new = [one for one in self.listing.entries if one.path not in known]
        indexer.update(self.kept, str(self.root), new)
        self.index = Snapshot(self.kept, self.kept.files())

    def ranked(self, question: str) -> list[FileScore]:
        """The files, best first."""
        ask = Ask(Query(question), 1_000, None, (), frozenset(), frozenset())
        return rank_with_index(self.index, self.listing, TextCache(str(self.root)), ask).order

    def order(self, question: str) -> list[str]:
        """Their paths."""
        return [one.path for one in self.ranked(question)]


Make = Callable[[Files], Repository]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    opens: list[IndexFile] = []

    def made(files: Files) -> Repository:
        opens.append(open_index(tmp_path / f"index{len(opens)}.sqlite3", "key"))
        return Repository(tmp_path / f"repo{len(opens)}", opens[-1], files)

    yield made
    for kept in opens:
        kept.close()


def test_a_word_of_most_files_is_worth_something_but_less_than_a_rare_one(make: Make) -> None:
    files = {f"part{n}.py": "shared = 1\n" for n in range(5)} | {"odd.py": "rare = 1\n", "none.py": "x = 1\n"}
    index = make(files).index
    query = Query("shared rare")
    values = values_of(query, index.counts(list(query.weights)), len(files))
    found = index.matches(values, 100)
    assert 0.1 < found["part0.py"] < found["odd.py"] / 2


def test_the_worth_of_a_word_does_not_jump_where_half_of_the_files_have_it(make: Make) -> None:
    worth = []
    for having in (4, 5, 6):
        files = {f"has{n}.py": "shared = 1\n" for n in range(having)}
        files |= {f"lacks{n}.py": "other = 1\n" for n in range(10 - having)}
        index = make(files).index
        values = values_of(Query("shared"), index.counts(["shar"]), len(files))
        worth.append(index.matches(values, 100)["has0.py"])
    assert worth[0] > worth[1] > worth[2] > worth[0] / 3


@pytest.mark.parametrize("number", [1, 77, 777, 7770])
def test_names_that_differ_in_their_number_are_told_apart(make: Make, number: int) -> None:
    numbers = (1, 7, 77, 177, 777, 7770, 8)
    files = {f"lib/part{chr(97 + at)}.py": f"def fun_{n}(): ...\n" for at, n in enumerate(numbers)}
    wanted = f"lib/part{chr(97 + numbers.index(number))}.py"
    assert make(files).order(f"fun_{number} fails")[0] == wanted
    files = {path: text.replace("fun_", "sha") for path, text in files.items()}
    assert make(files).order(f"sha{number} fails")[0] == wanted


NUMBERED = {f"d{a}/f{b}.py": f"def func_{b}_{a}(): ...\n" for a in range(10, 34) for b in range(10, 34)}


def test_the_files_that_define_the_words_of_a_name_come_first_whatever_their_order(make: Make) -> None:
    repository = make(
        {path: NUMBERED[path] for path in ("d12/f33.py", "d33/f12.py", "d12/f12.py", "d33/f33.py")}
    )
    for words in ("func_12_33", "why does func_12_33 fail?", "func_33_12"):
        assert set(repository.order(words)[:2]) == {"d33/f12.py", "d12/f33.py"}, words


@pytest.mark.slow
def test_a_name_with_numbers_is_completed_among_more_files_than_are_looked_into(make: Make) -> None:
    kept = make(NUMBERED).kept
    assert len(NUMBERED) > MAX_FILES
    assert search_symbols(kept, "func_12_33", 9) == [Definition("func_12_33", "d33/f12.py", 1)]
    assert {one.name for one in search_symbols(kept, "func_33", 99)} >= {
        f"func_33_{n}" for n in range(10, 34)
    }
    assert search_symbols(kept, "func_3", 9)
    assert search_symbols(kept, "33_1", 99)[0].name == "func_33_10"


OTHERS = {f"lib/other{n}.py": f"def thing{n}(): ...\n" for n in range(6)}


def test_what_the_first_files_speak_of_comes_before_files_with_a_stray_word(make: Make) -> None:
    strays = {f"lib/stray{n}.py": "# discount\n" + "filler = 1\n" * 40 for n in range(12)}
    files = {
        "shop/discount.py": "from shop.money import RoundedMoney\n\ndef discount_of(price):\n"
        "    return RoundedMoney(price)\n",
        "shop/money.py": "class RoundedMoney:\n    def __init__(self, price): ...\n",
    }
    order = make(files | strays | OTHERS).order("discount is not rounded")
    assert order[0] == "shop/discount.py"
    assert order.index("shop/money.py") < 10


def test_the_first_files_are_those_of_the_words_and_scores_never_rise(make: Make) -> None:
    files = {f"lib/part{n}.py": f"from lib.hub import HubOfAll\nsale = {n}\n" for n in range(9)}
    files["lib/hub.py"] = "class HubOfAll: ...\n"
    found = make(files).ranked("a sale")
    order = [one.path for one in found]
    assert order.index("lib/hub.py") == 4
    scores = [one.score for one in found]
    assert scores == sorted(scores, reverse=True)


def test_a_name_that_many_files_bear_makes_no_kin(make: Make) -> None:
    files = {f"part{n}/model.py": f"filler{n} = 1\n" for n in range(30)}
    files["shop/model.py"] = "def price_of_coupon(): ...\n"
    order = make(files).order("the price of a coupon")
    assert order[0] == "shop/model.py"
    assert all(one.score == 0 for one in make(files).ranked("the price of a coupon")[1:])


def test_a_file_that_several_wider_commits_touched_counts_more_than_one_that_a_narrow_one_did(
    make: Make,
) -> None:
    repository = make({f"lib/f{n}.py": f"filler{n} = 1\n" for n in range(6)})
    said = " ".join(split_text("Round the discount"))
    with repository.kept.transaction():
        repository.kept.commits.add("narrow", said, ["lib/f0.py"])
        for n in range(3):
            repository.kept.commits.add(
                f"wide{n}", said, ["lib/f1.py", "lib/f2.py", "lib/f3.py", f"lib/g{n}.py"]
            )
    query = Query("round discount")
    commits = repository.index.similar_commits(expression(query), 10)
    past = score_by_commits(commits, query, repository.index.text.keys())
    assert past["lib/f1.py"] > past["lib/f0.py"] > 0
    assert "lib/g0.py" not in past


def test_past_messages_are_asked_for_late_names_as_for_early_ones() -> None:
    asked = expression(Query("first_name " + " ".join(f"w{chr(97 + n)}x" for n in range(30)) + " last_name"))
    assert asked.count('"first"') == asked.count('"last"') == 3
    assert asked.count('"wax"') == 1


def test_words_beside_one_another_in_a_question_count_more_on_one_line(make: Make) -> None:
    apart = "def retry_of_all(): ...\n\ndef limit_of_all(): ...\n"
    together = "def retry_limit(): ...\n\ndef of_all_all(): ...\n"
    order = make({"a.py": apart, "b.py": together} | OTHERS).order("the retry limit is wrong")
    assert order[:2] == ["b.py", "a.py"]
    assert Query("the Retry limit; limit retry, sha512 retry").pairs[0] == ("limit", "retry")
    assert make({"a.py": apart, "b.py": together} | OTHERS).order("limit it, and retry")[0] == "b.py"


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("playground/glob/src/index.js", "doc"),
        ("examples/a.py", "doc"),
        ("src/player/ground.py", ""),
        ("tests/test_a.py", "test"),
        ("vendor/a.go", "foreign"),
        ("tests/unity/auto/parse_output.rb", "foreign"),
        ("lib/third_party/x/test/a.c", "foreign"),
        ("tests/vendor/a.c", "foreign"),
        ("unity/scene.c", ""),
        ("tests/community/a.c", "test"),
        ("build/a.js", "foreign"),
        ("web/out/a.js", "foreign"),
        ("src/build/arg.rs", ""),
        ("packages/core/src/node/build/index.ts", ""),
        ("CHANGELOG.old", "doc"),
        ("HISTORY", "doc"),
        ("src/commands/history.rs", ""),
        ("lib/release_notes.py", ""),
        ("langs/i18n/translation.go", ""),
        ("locales/de.ts", "doc"),
    ],
)
def test_what_only_shows_how_it_is_used_is_known_by_its_place(path: str, kind: str) -> None:
    assert kind_of(path) == kind


RUNNER = "# Handle test failures and generate output of the test runner.\n" * 5


@pytest.mark.parametrize("folder", ["vendor/ceedling", "tests/unity/auto", "third_party/rspec/lib"])
def test_vendored_code_ranks_behind_own_files_unless_the_question_names_it(make: Make, folder: str) -> None:
    files = {f"{folder}/report_{n}.rb": f"{RUNNER}def handle_failure_{n}\nend\n" for n in range(6)}
    own = {
        "src/output.c": "int write_output(void) { return 0; }\n",
        "include/output.h": "int write_output(void);\n",
        "src/fail.c": "int fail(void);\n",
        "tests/test_output.c": "int test_output(void);\n",
    }
    repository = make(files | own)
    question = "handle test failures and generate output"
    for order in (repository.order(question), repository.order("")):
        vendored = [place for place, path in enumerate(order) if path.startswith(folder)]
        matching = ("src/output.c", "include/output.h", "tests/test_output.c")
        assert max(order.index(path) for path in matching) < min(vendored)
    package = folder.split("/")[1]
    assert repository.order(f"{question} in {package}")[0].startswith(folder)
    assert repository.order(f"{question} of report_2.rb")[0] == f"{folder}/report_2.rb"


NOTES = "The coupon of a basket is rounded twice. The rounding of a coupon was fixed.\n" * 3


def test_a_document_that_says_the_same_as_the_question_stands_behind_the_code(make: Make) -> None:
    files = {
        "CHANGELOG.md": NOTES,
        "shop/coupon.py": "def rounded_coupon(basket):\n    return round(basket.coupon)\n",
    }
    order = make(files | OTHERS).order(
        "A coupon of a basket is rounded twice: mend the rounding, write the docs"
    )
    assert order[:2] == ["shop/coupon.py", "CHANGELOG.md"]


def test_a_question_speaks_of_documents_where_it_begins_with_them(make: Make) -> None:
    files = {"guide/coupon.md": NOTES, "shop/coupon.py": "def coupon_of(basket): ...\n"}
    assert make(files | OTHERS).order("the guide lacks how a coupon is rounded")[0] == "guide/coupon.md"
    late = "the coupon of the customer's second basket of this week is rounded twice; write a guide"
    assert Query("guide of the coupon").about == {"doc"}
    assert Query(late).about == frozenset()


COUPON = "def coupon_of(basket):\n    return basket.coupon\n"


def test_what_is_no_program_stands_behind_one_that_has_the_same_words(make: Make) -> None:
    files = {"shop/a.schemas": COUPON, "shop/coupon.py": COUPON}
    assert make(files | OTHERS).order("the coupon of a basket")[0] == "shop/coupon.py"


@pytest.mark.parametrize("stub", ["shop/coupon.pyi", "shop/coupon.d.ts"])
def test_a_type_stub_comes_after_the_code(make: Make, stub: str) -> None:
    files = {stub: COUPON, "shop/voucher.py": COUPON}
    assert make(files | OTHERS).order("the coupon of a basket")[:2] == ["shop/voucher.py", stub]


@pytest.mark.parametrize("path", ["shop/types.py", "shop/errors.py"])
def test_a_file_of_types_or_errors_counts_like_other_code(make: Make, path: str) -> None:
    files = {path: COUPON, "shop/voucher.py": COUPON}
    assert make(files | OTHERS).order("the coupon of a basket")[:2] == [path, "shop/voucher.py"]


def test_files_in_the_folder_that_a_commits_title_names_come_first(make: Make) -> None:
    text = "export function retry() {}\n"
    found = make({f"packages/{name}/src/retry.ts": text for name in ("a", "http-client", "server")})
    assert found.order("fix(client): retry")[0] == "packages/http-client/src/retry.ts"
    assert found.order("server: retry")[0] == "packages/server/src/retry.ts"
    assert found.order("fix: retry")[0] == "packages/a/src/retry.ts"


def test_the_folder_of_a_scope_outweighs_more_matches_elsewhere(make: Make) -> None:
    elsewhere = "packages/server/src/retry.ts"
    sending = "packages/client/src/send.ts"
    repository = make(
        {elsewhere: "retry(client)\n" * 4, sending: "export function send() {\n  retry()\n}\n"} | OTHERS
    )
    assert repository.order("fix: retry")[0] == elsewhere
    assert repository.order("fix(client): retry")[0] == sending


@pytest.mark.parametrize(
    "question", ["Fix the landing of zeppelins", "Improve and extend landing, fix zeppelins"]
)
def test_words_that_only_ask_for_a_change_do_not_lead_to_files_that_mention_a_change(
    make: Make, question: str
) -> None:
    files = {f"land{n}.py": "def land(): zeppelin(landing)\n" for n in range(5)}
    files |= {"other.py": "# fix, improve and extend the rest\nx = 1\n", "more.py": "x = 2\n"}
    assert make(files).order(question).index("other.py") == 5
