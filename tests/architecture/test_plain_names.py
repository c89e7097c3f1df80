"""Names and docstrings are plain: no bare participles, gerunds, prepositions or pronouns as names.

The rule finds places by their words; a reader is the judge.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source import Source, product

PREPOSITIONS_AND_PRONOUNS = frozenset(
    [
        "about",
        "across",
        "after",
        "again",
        "ahead",
        "all",
        "among",
        "anew",
        "apart",
        "at",
        "before",
        "behind",
        "below",
        "beside",
        "by",
        "each",
        "elders",
        "elsewhere",
        "few",
        "into",
        "like",
        "least",
        "less",
        "most",
        "of",
        "once",
        "one",
        "others",
        "out",
        "outside",
        "over",
        "some",
        "such",
        "there",
        "those",
        "towards",
        "under",
        "what",
        "whatever",
        "where",
        "who",
        "whole",
        "whose",
        "why",
        "within",
        "without",
        "yet",
    ]
)
PARTICIPLES = frozenset(
    [
        "asked",
        "begun",
        "brought",
        "cut",
        "decided",
        "done",
        "drawn",
        "driven",
        "fed",
        "felt",
        "forgotten",
        "found",
        "given",
        "gone",
        "grown",
        "heard",
        "held",
        "indexed",
        "instructed",
        "kept",
        "laid",
        "learnt",
        "left",
        "lost",
        "made",
        "meant",
        "mentioned",
        "named",
        "noted",
        "observed",
        "offered",
        "opened",
        "owed",
        "printed",
        "put",
        "ran",
        "recorded",
        "said",
        "searched",
        "seen",
        "sent",
        "shown",
        "sifted",
        "spoken",
        "spun",
        "stood",
        "taken",
        "thought",
        "told",
        "unanswered",
        "unasked",
        "unkept",
        "unseen",
        "untold",
        "veiled",
        "wanted",
        "weighed",
        "went",
        "won",
        "worn",
        "written",
    ]
)
NOUNS_IN_ING = frozenset(
    [
        "logging",
        "packaging",
        "pricing",
        "ranking",
        "rendering",
        "ring",
        "scheduling",
        "setting",
        "streaming",
        "string",
        "testing",
        "typing",
        "wiring",
    ]
)
NOUN_CLAUSE = re.compile(r"(What|Whether|Where|Whose|Whoever|Whatever|Those|By how|So many|With these|Of )\b")


def is_bare(name: str) -> bool:
    """Return True if the name is only a participle, a gerund, a preposition or a pronoun."""
    word = name.strip("_").lower()
    gerund = (
        word.endswith("ing")
        and "_" not in word
        and len(word) > 4
        and not word.endswith("keyring")
        and word not in NOUNS_IN_ING
    )
    return word in PREPOSITIONS_AND_PRONOUNS or word in PARTICIPLES or gerund


def findings(source: Source) -> Iterator[str]:
    """Yield one line for each place that breaks the rule."""
    if is_bare(source.path.stem):
        yield f"{source.name} module"
    for node in source.nodes:
        named = isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if named and not node.name.startswith("__") and is_bare(node.name):
            yield f"{source.name} name {node.name}"
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            docstring = ast.get_docstring(node) or ""
            if NOUN_CLAUSE.match(docstring):
                yield f"{source.name} docstring {getattr(node, 'name', 'of the module')}"
        if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            targets = [part.id for part in ast.walk(node.target) if isinstance(part, ast.Name)]
            if "one" in targets:
                yield f"{source.name} loop variable one"


def test_names_and_docstrings_are_plain() -> None:
    assert not sorted(place for source in product() for place in findings(source))


def test_the_rule_would_notice() -> None:
    text = '"""What it is."""\n\n\ndef told(ones: list[int]) -> None:\n    """Whether."""\n    for one in ones:\n        print(one)\n'
    source = Source(Path(__file__).resolve().with_name("whose.py"))
    source.__dict__["text"] = text
    assert [place.split(" ", 1)[1] for place in findings(source)] == [
        "module",
        "docstring of the module",
        "name told",
        "docstring told",
        "loop variable one",
    ]
