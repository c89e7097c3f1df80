"""Words of questions and of code meet in one form."""

import pytest

from tests.stubs.rows import rows
from tui_agent.context.repomap.question_words import MAX_TERMS, Query
from tui_agent.folds.text.word_forms import split_identifier, split_text, stem


@rows(
    "word, wanted",
    [
        ("parseConfigFile", ("pars", "config", "fil")),
        ("parse_config_file", ("pars", "config", "fil")),
        ("HTTPServer2", ("http", "server", "server2")),
        ("__init__", ("init",)),
        ("MAX_SIZE", ("max", "siz")),
        ("x", ()),
        ("i18n", ("i18n",)),
        ("i18n_key", ("i18n", "key")),
        ("useI18nKeys", ("i18n", "key")),
        ("K8sClient", ("k8s", "client")),
        ("sha256sum", ("sha", "sha256", "sum")),
        ("getURLs", ("url",)),
        ("userIDs", ("user", "id")),
        ("IPv4Address", ("ipv", "ipv4", "address")),
        ("is_ipv4", ("ipv", "ipv4")),
        ("SHA1", ("sha", "sha1")),
        ("utf8mb4", ("utf", "utf8", "mb", "mb4")),
        ("x509Store", ("x509", "stor")),
        ("enable_2fa", ("enabl", "2fa")),
        ("phase_2", ("phas", "phase2")),
        ("fun_777", ("fun", "777")),
        ("test20240131", ("test", "20240131")),
        ("3f2a1b", ()),
        ("the", ()),
        ("a" * 65, ()),
    ],
)
def test_identifiers_are_split_where_case_or_sign_changes(word: str, wanted: tuple[str, ...]) -> None:
    assert tuple(piece for part in word.strip("_").split("__") for piece in split_identifier(part)) == wanted


@pytest.mark.parametrize(
    "words",
    [
        ("cache", "caches", "cached", "caching"),
        ("fix", "fixes", "fixed", "fixing"),
        ("add", "adds", "added", "adding"),
        ("size", "sizes", "sized", "sizing"),
        ("parse", "parsed", "parsing", "parses"),
        ("query", "queries"),
        ("plan", "planned", "planning"),
    ],
)
def test_forms_of_one_word_are_one(words: tuple[str, ...]) -> None:
    assert len({stem(word) for word in words}) == 1


def test_words_without_spaces_between_them_are_pairs_of_letters() -> None:
    assert split_text("設定ファイル") == ["設定", "定フ", "ファ", "ァイ", "イル"]


def test_names_of_code_weigh_more() -> None:
    query = Query(
        "The `required_plugins` option is ignored by PluginManager when consider_env() runs on CI_HOST"
    )
    assert {word for word, weight in query.weights.items() if weight > 1.5} >= {
        "requir",
        "plugin",
        "manager",
        "env",
        "host",
    }
    assert query.weights["ignor"] < 1


def test_a_long_question_keeps_its_names() -> None:
    filler = " ".join(f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300))
    query = Query(f"{filler} `the_name`")
    assert len(query.weights) == MAX_TERMS
    assert query.weights["nam"] > 1


@pytest.mark.parametrize("text", ["", "   ", "?!", "the of and", "a b"])
def test_a_question_without_words_is_none(text: str) -> None:
    assert not Query(text)


def test_hashes_and_numbers_are_no_words_of_a_question() -> None:
    words = Query("gone since 597e418cb02883418f2cebb41400e8e61413f651 in 0.112.4").weights
    assert not any(char.isdigit() for word in words for char in word)
    assert "gon" in words


@pytest.mark.parametrize(
    ("question", "wanted", "unwanted"),
    [
        ("sha512 is slow", {"sha", "sha512"}, {"sha1", "512"}),
        ("SHA-512 is slow, HTTP/2 is not", {"sha512", "http2"}, set()),
        ("why is fun_777 called", {"fun", "777"}, set()),
        ("UTF-8 in version 3.12", {"utf", "utf8"}, {"12"}),
    ],
)
def test_names_with_numbers_are_told_apart(question: str, wanted: set[str], unwanted: set[str]) -> None:
    weights = Query(question).weights
    assert wanted <= weights.keys()
    assert not unwanted & weights.keys()


def test_what_is_said_first_weighs_more_and_the_last_word_still_half() -> None:
    weights = Query("cookies leak " + " ".join(f"later{chr(97 + n)}" for n in range(26)) + " cookies").weights
    assert list(weights.values()) == sorted(weights.values(), reverse=True)
    assert weights["cooky"] == 1
    assert 0.5 < weights["laterz"] < 0.7


@rows(
    "title, scopes, words",
    [
        ("feat(openapi): add server urls", ("openapi",), ("openapi", "add", "server", "url")),
        ("fix(`client`, core-flows)!: retry", ("client", "core-flows"), ("client", "cor", "flow", "retry")),
        ("Refactor: retry", (), ("retry",)),
        ("fix retries", (), ("fix", "retry")),
        ("fix: ", (), ("fix",)),
        ("docs(client): retry", (), ("doc", "client", "retry")),
        ("tsdb/index: retry", ("tsdb", "index"), ("tsdb", "index", "retry")),
        ("retry http://localhost", (), ("retry", "http", "localhost")),
    ],
)
def test_of_a_commits_title_the_scopes_count_and_the_type_does_not(
    title: str, scopes: tuple[str, ...], words: tuple[str, ...]
) -> None:
    query = Query(title)
    assert (query.scopes, tuple(query.weights)) == (scopes, words)
