"""Kinds of files, determined by the path alone: tests, documents, vendored code, entry points.

Invariant: letter case does not matter.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from tui_agent.config.path_kind import is_test
from tui_agent.context.repomap.question_words import Query

DEMOTED = {"doc": 0.3, "test": 0.4, "settings": 0.4, "foreign": 0.5}
"""Maps a kind of file to the weight of a match in such a file (`foreign`: vendored code or build output)."""
# Documents have the lowest weight: their words match almost every question.
REQUESTED_KIND_WEIGHT = 0.7
"""Weight of a match in a test or another special file, if the question is about this kind of file."""
STUB = 0.85
"""Weight of a match in a type stub, which repeats the names of another file."""
_DOC = re.compile(
    r"(?:^|/)(?:docs?|documentation|examples?|samples?|demos?|playgrounds?|changelogs?)/"
    r"|\.(?:md|mdx|rst|txt|adoc|po|pot|svg|csv|tsv|ipynb)$"
)
_TRANSLATED = re.compile(r"(?:^|/)(?:changes|news|i18n|locales?)/")
"""Matches paths in folders of change notes and translations, except compiled code."""
_DOC_NAME = re.compile(
    r"(?:^|/)(?:readme|changelog|changes|history|news|authors|contributing|licen[cs]e|release)[^/]*$"
)
"""Matches names of documentation and change notes, except code such as history.rs."""
_COMPILED = re.compile(r"\.(?:c|cc|cpp|cs|go|h|hpp|java|kt|rs|scala|swift)$")
_CODE = re.compile(
    r"\.(?:c|cc|clj|cpp|cs|cxx|dart|exs?|go|hh?|hpp|hs|java|jl|[cm]?js|jsx|kts?|lua|mm?|ml|nim|php|p[lmy]|py[ix]|rb|rs|scala|sh|svelte|swift"
    r"|[cm]?ts|tsx|vue|zig)$"
)
_FOREIGN_FOLDER = re.compile(
    r"(?:^|/)(?:vendor|vendored|_vendor|third[_-]?party|node_modules|deps|external|extern|dist)/|\.min\."
    r"|^(?:(?!(?:src|source|lib|pkg|internal|app|cmd)/)[^/]+/)?(?:build|out)/"
)
"""Matches folders of vendored code and build output. Some of these names are ambiguous: `deps` can be own code."""
_VENDOR_FOLDERS = frozenset(
    ["3rdparty", "_vendor", "node_modules", "third-party", "third_party", "thirdparty", "vendor", "vendored"]
)
"""Names of folders that certainly hold vendored code."""
_TEST_FRAMEWORKS = frozenset(
    """acutest bats bats-core catch2 ceedling cmock cmocka cpputest cxxtest doctest gmock google-mock google-test googlemock
    googletest gtest munit shunit2 unittest-cpp unity""".split()  # noqa: SIM905 - read as prose
)
"""Names of test frameworks. A folder of this name holds vendored code if it is below one of `_FRAMEWORK_PLACES`."""
_FRAMEWORK_PLACES = frozenset(
    ["lib", "libs", "spec", "specs", "test", "testing", "tests", "unittest", "unittests"]
)
_VENDORED_WORDS = _VENDOR_FOLDERS - {"node_modules"}
"""Words of a question about vendored code in general."""
_SETTINGS = re.compile(
    r"\.(?:json|ya?ml|toml|cfg|ini|xml|conf|properties|snap|html|css)$|\.config\.[cm]?[jt]s$|(?:^|/)\.[^/]+(?:/|$)"
)
_STUB = re.compile(r"\.d\.[cm]?ts$|\.pyi$")
_ENTRY = re.compile(
    r"(?:^|/)(?:__main__|main|app|cli|cmd|server|index|lib|mod|manage|wsgi|asgi|setup|application|program)\.[a-z]+$|(?:^|/)cmd/[^/]+/main\.go$"
)

_PACKAGING = re.compile(r"\.(?:dist|egg)-info/|(?:^|/)_?version\.[a-z]+$")


@lru_cache(maxsize=65_536)
def kind_of(path: str) -> str:
    """Return `test`, `doc`, `foreign` or `settings`; empty for the repository's own code."""
    lowered = path.lower()
    if vendored_names(path):
        return "foreign"
    if is_test(path):
        return "test"
    if _FOREIGN_FOLDER.search(lowered):
        return "foreign"
    if _is_doc(lowered):
        return "doc"
    return "settings" if _SETTINGS.search(lowered) else ""


@lru_cache(maxsize=65_536)
def vendored_names(path: str) -> frozenset[str]:
    """Return the words by which a question names a vendored file's package. Empty for the repository's own files."""
    has_framework_place = False
    for folder, inner in pairwise(path.lower().split("/")):
        if folder in _VENDOR_FOLDERS:
            return frozenset([folder, inner])
        if has_framework_place and folder in _TEST_FRAMEWORKS:
            return frozenset([folder])
        has_framework_place = has_framework_place or folder in _FRAMEWORK_PLACES
    return frozenset()


def is_unnamed_vendored(path: str, query: Query) -> bool:
    """Return True for vendored code that the question does not name."""
    return bool(vendored_names(path)) and not _names_vendored(path, query)


def _names_vendored(path: str, query: Query) -> bool:
    names = vendored_names(path)
    return bool(names) and not query.plain_words.isdisjoint(names | _VENDORED_WORDS)


def _is_doc(lowered: str) -> bool:
    return (
        _DOC.search(lowered) is not None
        or (_TRANSLATED.search(lowered) is not None and not _COMPILED.search(lowered))
        or (_DOC_NAME.search(lowered) is not None and not _CODE.search(lowered))
    )


def weight_of(path: str, query: Query) -> float:
    """Return the weight of a match in this file for this question."""
    kind = kind_of(path)
    factor = query.scope_weight if query.scopes and is_in_scope(path, query.scopes) else 1.0
    if not kind:
        return factor * (STUB if _STUB.search(path) else 1.0)
    is_requested = kind in query.about or (kind == "foreign" and _names_vendored(path, query))
    return factor * (REQUESTED_KIND_WEIGHT if is_requested else DEMOTED[kind])


@lru_cache(maxsize=65_536)
def is_in_scope(path: str, scopes: tuple[str, ...]) -> bool:
    """Return True if the file is in a folder named after a scope: for `client`, in `client/` or `http-client/`."""
    folders = path.lower().split("/")[:-1]
    return any(folder == scope or folder.endswith(f"-{scope}") for folder in folders for scope in scopes)


@lru_cache(maxsize=65_536)
def is_entry(path: str) -> bool:
    """Return True if a program probably starts in this file."""
    return _ENTRY.search(path.lower()) is not None and not kind_of(path)


def is_packaging(path: str) -> bool:
    """Return True for metadata written by a packaging tool, and for a file that contains only the version."""
    return _PACKAGING.search(path.lower()) is not None


@lru_cache(maxsize=65_536)
def first_name(path: str) -> str:
    """Return the first word of a file's name, such as `page` for `lib/page__meta.go`."""
    name = path.rpartition("/")[2].partition(".")[0]
    return name.partition("_")[0].partition("-")[0].lower()


def group_by_first_name(paths: Iterable[str]) -> dict[str, list[str]]:
    """Return the paths, grouped by the first word of the file's name."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(first_name(path), []).append(path)
    return groups
