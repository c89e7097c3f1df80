"""The user's own redaction rules, allow list and disabled rules, from `[redaction]` in the configuration.

Invariant: user rules pass the same validation as bundled rules.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated

import re2
from pydantic import Field, ValidationError, field_validator

from tui_agent.errors import ConfigError
from tui_agent.ports.redaction import RedactionOptions
from tui_agent.store.redaction.examples import failed_example
from tui_agent.store.redaction.fragments import expand
from tui_agent.store.redaction.library import bundled_rules
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.redaction.rule import Rule, Text, compile_pattern

MAX_RULES = 200
_REASONS = {
    ("string_pattern_mismatch", "id"): "use lower-case letters, digits and hyphens",
    ("string_pattern_mismatch", "what"): "use at most 60 characters, and no brackets",
    ("string_pattern_mismatch", "keywords"): "use at most 40 lower-case letters",
    ("too_short", "keywords"): "give at least one keyword that every match contains",
    ("too_short", "examples"): "give at least one text, with the secret between [[ and ]]",
    ("extra_forbidden",): "this key is not known",
    ("tuple_type",): "write a list of texts, between [ and ]",
}
"""Maps a validation error of pydantic to a readable message."""


class UserRule(Rule):
    """A user's redaction rule. It has an example, and RE2 accepts its pattern."""

    examples: Annotated[tuple[Text, ...], Field(min_length=1, max_length=50)]

    @field_validator("pattern")
    @classmethod
    def _check_pattern(cls, pattern: str) -> str:
        for name in map(bytes.decode, compile_pattern(expand(pattern)).groupindex):
            if not re.fullmatch(
                "secret.*|name|rest|user", name
            ):  # fragments contain `rest`; a check uses `user`
                raise ValueError(f"a group cannot be called {name!r}; call the part to redact 'secret'")
        return pattern


def configured_redactor(
    options: RedactionOptions, is_secret_file: Callable[[str], bool] = lambda path: False
) -> Redactor:
    """Return the redactor for a user's options. Raise `ConfigError` for a fault in the table `[redaction]`."""
    if not (options.rules or options.allow or options.disable):
        return Redactor(options.secrets, is_secret_file=is_secret_file)
    try:
        rules = _checked_rules(options.rules)
        _check_disabled(options.disable, [rule.id for rule in (*bundled_rules(), *rules)])
        allowed = _allow_list(options.allow)
    except ValueError as error:
        raise ConfigError(
            f"{options.config_file}: {error}.", hint="docs/redaction.md explains the table."
        ) from error
    return Redactor(
        options.secrets,
        rules=rules,
        disabled=options.disable,
        allowed=allowed,
        is_secret_file=is_secret_file,
    )


def _checked_rules(tables: Sequence[Mapping[str, object]]) -> list[UserRule]:
    if len(tables) > MAX_RULES:
        raise ValueError(f"[redaction] has {len(tables)} rules; at most {MAX_RULES} are allowed")
    taken = {rule.id for rule in bundled_rules()}
    rules: list[UserRule] = []
    for number, table in enumerate(tables, 1):
        place = f"[[redaction.rules]] {number} ({str(table.get('id'))[:60]})"
        try:
            rule = UserRule.model_validate(table)
        except ValidationError as error:
            fault = min(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
            kind, field = fault["type"], ".".join(map(str, fault["loc"]))
            plain = _REASONS.get((kind, str(fault["loc"][0]))) or _REASONS.get((kind,), fault["msg"])
            raise ValueError(f"{place}: '{field}': {plain.removeprefix('Value error, ')}") from error
        if rule.id in taken:
            raise ValueError(f"{place}: another rule has the id {rule.id!r}")
        if failed := failed_example(rule):
            raise ValueError(f"{place}: {failed}")
        taken.add(rule.id)
        rules.append(rule)
    return rules


def _allow_list(entries: Iterable[str]) -> Callable[[bytes], bool]:
    """Return a function that tests if a secret is on the user's allow list. The list has plain texts and `/patterns/`."""
    patterns: list[re2._Regexp[bytes]] = []
    for entry in entries:
        is_pattern = len(entry) > 2 and entry.startswith("/") and entry.endswith("/")
        try:
            patterns.append(compile_pattern(entry[1:-1] if is_pattern else re2.escape(entry)))
        except ValueError as error:
            raise ValueError(f"redaction.allow: {entry[:60]!r}: {error}") from error
    return lambda secret: any(pattern.fullmatch(secret) for pattern in patterns)


def _check_disabled(disabled: Iterable[str], known: Sequence[str]) -> None:
    for name in disabled:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "`tui-agent redact --explain` shows the ids"
            raise ValueError(f"redaction.disable: no rule has the id {name!r}; {hint}")
