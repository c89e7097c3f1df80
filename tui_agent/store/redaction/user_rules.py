"""L1: the user's own rules, allow list and disabled rules, from `[redaction]` of the configuration.

Invariant: they pass the same model as the bundled rules, and their examples are run before any of them counts.
"""

import difflib
from collections.abc import Mapping, Sequence

import re2
from pydantic import ValidationError

from tui_agent.errors import ConfigError
from tui_agent.store.redaction.allow import Allowed
from tui_agent.store.redaction.library import bundled_rules
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.redaction.rule import Rule

MAX_RULES = 200


def configured_redactor(
    secrets: Mapping[str, str],
    rules: Sequence[Mapping[str, object]],
    allow: Sequence[str],
    disable: Sequence[str],
    place: str,
) -> Redactor:
    """Return a redactor with the user's rules. `place` names the file in errors. Raises `ConfigError`."""
    if not (rules or allow or disable):
        return Redactor(secrets)
    if len(rules) > MAX_RULES:
        raise ConfigError(
            f"{place}: [redaction] has {len(rules)} rules; {MAX_RULES} are possible.", hint="Join some."
        )
    checked = [
        _checked_rule(rule, f"{place}: [[redaction.rules]] {number}") for number, rule in enumerate(rules, 1)
    ]
    known = [rule.id for rule in (*bundled_rules(), *checked)]
    for rule in checked:
        if known.count(rule.id) > 1:
            raise ConfigError(
                f"{place}: two rules of redaction have the id {rule.id!r}.", hint="Rename yours."
            )
    for name in disable:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]!r}?" if near else "`tui-agent redact --explain` shows the ids."
            raise ConfigError(f"{place}: redaction.disable: no rule has the id {name!r}.", hint=hint)
    try:
        allowed = Allowed(allow)
    except re2.error as error:
        raise ConfigError(
            f"{place}: redaction.allow: {_reason(error)}.", hint="Correct the pattern."
        ) from error
    return Redactor(secrets, rules=checked, disabled=disable, allowed=allowed)


def _checked_rule(table: Mapping[str, object], place: str) -> Rule:
    try:
        rule = Rule.model_validate(table)
    except ValidationError as error:
        fault = error.errors()[0]
        field = ".".join(map(str, fault["loc"]))
        raise ConfigError(
            f"{place}: '{field}': {fault['msg']}.", hint="docs/redaction.md explains the fields."
        ) from error
    place = f"{place} ({rule.id})"
    if not rule.examples:
        raise ConfigError(
            f"{place}: 'examples' is missing.", hint="Add a text with the secret between [[ and ]]."
        )
    try:
        failed = rule.failed_example()
    except re2.error as error:
        raise ConfigError(
            f"{place}: 'pattern': {_reason(error)}.",
            hint="Patterns are RE2's: without lookaround and backreferences.",
        ) from error
    if failed is not None:
        raise ConfigError(
            f"{place}: this example fails: {failed!r}", hint="Correct the pattern or the example."
        )
    return rule


def _reason(error: re2.error) -> str:
    reason = error.args[0] if error.args else error
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
