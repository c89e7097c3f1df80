"""L3: what a path alone says about a file: a test, a document, foreign code, a beginning.

Invariant: pure; the same for every spelling of letter case.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from tui_agent.config.places import is_test
from tui_agent.context.repomap.words import Query

DEMOTED, SPOKEN_OF = 0.5, 0.7
"""What a match counts in a test, a document, foreign code or configuration, and where the question speaks of such."""
_DOC = re.compile(
    r"(?:^|/)(?:docs?|documentation|examples?|samples?|demos?|playgrounds?|changelogs?|changes|news|i18n|locales?)/"
    r"|(?:^|/)(?:readme|changelog|changes|history|news|authors|contributing|licen[cs]e|release)[^/]*$|\.(?:md|mdx|rst|txt|adoc|po|pot|svg|csv|tsv|ipynb)$"
)
_FOREIGN = re.compile(
    r"(?:^|/)(?:vendor|vendored|_vendor|third[_-]?party|node_modules|deps|external|extern|dist|build|out)/|\.min\."
)
_SETTINGS = re.compile(
    r"\.(?:json|ya?ml|toml|cfg|ini|xml|conf|properties|snap|html|css)$|(?:^|/)\.[^/]+(?:/|$)"
)
_ENTRY = re.compile(
    r"(?:^|/)(?:__main__|main|app|cli|cmd|server|index|lib|mod|manage|wsgi|asgi|setup|application|program)\.[a-z]+$|(?:^|/)cmd/[^/]+/main\.go$"
)


@lru_cache(maxsize=65_536)
def kind_of(path: str) -> str:
    """`test`, `doc`, `foreign`, `settings`, or empty for what the repository is about."""
    small = path.lower()
    if is_test(path):
        return "test"
    if _FOREIGN.search(small):
        return "foreign"
    if _DOC.search(small):
        return "doc"
    return "settings" if _SETTINGS.search(small) else ""


def weight_of(path: str, query: Query) -> float:
    """What a match in this file counts, for this question."""
    kind = kind_of(path)
    if not kind:
        return 1.0
    return SPOKEN_OF if kind in query.about else DEMOTED


@lru_cache(maxsize=65_536)
def is_entry(path: str) -> bool:
    """Whether a program is likely to begin here."""
    return _ENTRY.search(path.lower()) is not None and not kind_of(path)


@lru_cache(maxsize=65_536)
def first_name(path: str) -> str:
    """The first word of a file's name, which files of one matter share: `page` of `lib/page__meta.go`."""
    name = path.rpartition("/")[2].partition(".")[0]
    return name.partition("_")[0].partition("-")[0].lower()


def by_first_name(paths: Iterable[str]) -> dict[str, list[str]]:
    """Files by the first word of their names."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(first_name(path), []).append(path)
    return found
