"""What a path alone says about a file: a test, a document, foreign code, a beginning.

Invariant: pure; the same for every spelling of letter case.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from tui_agent.config.path_kind import is_test
from tui_agent.context.repomap.question_words import Query

DEMOTED = {"doc": 0.3, "test": 0.4, "settings": 0.4, "foreign": 0.5}
"""What a match counts in a document, a test, configuration or foreign code. Documents least: they say the same as a
question, in the same words, of everything."""
SPOKEN_OF = 0.7
"""The same where the question speaks of such."""
DECLARING = 0.85
"""What a match counts in a file that gives names and types to what other files do."""
_DOC = re.compile(
    r"(?:^|/)(?:docs?|documentation|examples?|samples?|demos?|playgrounds?|changelogs?)/"
    r"|\.(?:md|mdx|rst|txt|adoc|po|pot|svg|csv|tsv|ipynb)$"
)
_TRANSLATED = re.compile(r"(?:^|/)(?:changes|news|i18n|locales?)/")
"""What is told of changes, and in other languages: but for what is compiled, which does the telling."""
_TOLD = re.compile(
    r"(?:^|/)(?:readme|changelog|changes|history|news|authors|contributing|licen[cs]e|release)[^/]*$"
)
"""The same in a file of its own: but for what is code, as history.rs."""
_COMPILED = re.compile(r"\.(?:c|cc|cpp|cs|go|h|hpp|java|kt|rs|scala|swift)$")
_CODE = re.compile(
    r"\.(?:c|cc|clj|cpp|cs|cxx|dart|exs?|go|hh?|hpp|hs|java|jl|[cm]?js|jsx|kts?|lua|mm?|ml|nim|php|p[lmy]|py[ix]|rb|rs|scala|sh|svelte|swift"
    r"|[cm]?ts|tsx|vue|zig)$"
)
_FOREIGN = re.compile(
    r"(?:^|/)(?:vendor|vendored|_vendor|third[_-]?party|node_modules|deps|external|extern|dist)/|\.min\."
    r"|^(?:(?!(?:src|source|lib|pkg|internal|app|cmd)/)[^/]+/)?(?:build|out)/"
)
"""What was built lies at the top of a repository or of a part of it; a folder `build` among the sources builds."""
_SETTINGS = re.compile(
    r"\.(?:json|ya?ml|toml|cfg|ini|xml|conf|properties|snap|html|css)$|(?:^|/)\.[^/]+(?:/|$)"
)
_DECLARING = re.compile(
    r"(?:^|/)(?:types?|typings|interfaces?|constants?|consts|errors?|exceptions?|globals?)\.[a-z]+$|\.d\.[cm]?ts$|\.pyi$"
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
    if _is_doc(small):
        return "doc"
    return "settings" if _SETTINGS.search(small) else ""


def _is_doc(small: str) -> bool:
    return (
        _DOC.search(small) is not None
        or (_TRANSLATED.search(small) is not None and not _COMPILED.search(small))
        or (_TOLD.search(small) is not None and not _CODE.search(small))
    )


def weight_of(path: str, query: Query) -> float:
    """What a match in this file counts, for this question."""
    kind = kind_of(path)
    if not kind:
        return DECLARING if _is_declaring(path) else 1.0
    return SPOKEN_OF if kind in query.about else DEMOTED[kind]


@lru_cache(maxsize=65_536)
def _is_declaring(path: str) -> bool:
    return _DECLARING.search(path.lower()) is not None


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
