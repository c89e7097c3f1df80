"""Checks a redaction rule with its examples: finds the first example that the rule gets wrong, and why.

Invariant: an example is processed like a real text.
"""

import random
import re

from tui_agent.store.redaction.library import KeywordIndex
from tui_agent.store.redaction.rule import Rule

_GENERATED = re.compile(r"\{\{(\S+) (\d{1,4})\}\}")
_MARKED = re.compile(r"\[\[(.*?)\]\]", re.DOTALL)


def failed_example(rule: Rule) -> str:
    """Test a rule with its examples. Return the first example that the rule gets wrong, with the reason.

    Return an empty string if the rule gets all examples right.
    """
    for number, example in enumerate(rule.examples, 1):
        if reason := _example_fault(rule, example_text(example, rule.id)):
            return f"examples {number}: {reason}"
    for number, example in enumerate(rule.not_examples, 1):
        if covered := _format_spans(rule, example_text(example, rule.id).encode()):
            return f"not_examples {number}: {covered} is redacted, but must stay as it is"
    return ""


def _example_fault(rule: Rule, text: str) -> str:
    raw = _MARKED.sub(r"\1", text).encode()
    if not KeywordIndex([rule]).candidates(raw):
        return "it has none of the keywords"
    without_secret = _MARKED.sub("", text).encode()
    if any(not candidate.value for candidate, _ in rule.judge_matches(without_secret)):
        return "the secret can be empty, because the pattern also matches without it"
    covered = _format_spans(rule, raw)
    if not covered:
        return next((refusal for _, refusal in rule.judge_matches(raw)), "the pattern does not match")
    marked = raw
    for start, end in reversed(list(rule.spans(raw))):
        marked = b"%b[[%b]]%b" % (marked[:start], marked[start:end], marked[end:])
    return "" if marked == text.encode() else f"it redacts {covered}, not the text between [[ and ]]"


def _format_spans(rule: Rule, raw: bytes) -> str:
    return ", ".join(repr(raw[start:end].decode()[:60]) for start, end in rule.spans(raw))[:200]


def example_text(example: str, seed: str) -> str:
    """Replace each placeholder in an example, such as `{{a-z0-9 20}}` by 20 characters from a-z and 0-9.

    The characters depend only on `seed`.
    """
    source = random.Random(seed)

    def draw(match: re.Match[str]) -> str:
        ranges = re.findall(r"(.)(?:-(.))?", match[1])
        bounds = [sorted((ord(first), ord(last or first))) for first, last in ranges]
        return "".join(chr(source.randint(*bounds[at % len(bounds)])) for at in range(int(match[2])))

    return _GENERATED.sub(draw, example)
