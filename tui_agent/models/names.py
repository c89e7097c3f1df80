"""Validation of model names, so that a key pasted by mistake is neither looked up nor repeated.

Invariant: the error for a rejected name never contains the name, because errors are logged.
"""

import re

from tui_agent.errors import ConfigError
from tui_agent.store.redaction.redactor import Redactor

LONGEST = 200

_KEY = re.compile(
    r"(?i)(?:(?:sk|pk|xai|nvapi|csk|glpat|xoxb|key)-|(?:sk|rk|gsk|fw|hf|r8|gho|ghp|github_pat)_)"
    r"(?=[a-z_+=/.-]*[0-9])[a-z0-9_+=/.-]{8,}|(?:aiza|akia|ya29\.|eyj|bearer)[a-z0-9_+=/.-]{8,}|pplx-[a-z0-9]{24,}"
)
"""Beginnings of vendors' keys, followed by a digit, which words do not have."""

_RANDOM = re.compile(r"(?=[^/:.\-@]*[0-9])(?=[^/:.\-@]*[A-Za-z])[A-Za-z0-9_+=]{28,}")
"""A long run of letters and digits: names have a separator earlier."""

_REDACTOR = Redactor()


def require_name(name: str) -> None:
    """Raise a `ConfigError` that does not repeat the text, if it cannot be a model name."""
    if not name.isprintable() or any(char.isspace() for char in name) or len(name) > LONGEST:
        raise ConfigError(
            "That is not a valid model name: it has spaces or is too long. It was not stored.",
            hint="A name is a profile, or vendor/model.",
        )
    if looks_secret(name):
        raise ConfigError(
            "That looks like a key, not a model name. It was not stored.",
            hint="Enter a key with /provider, or export it in its variable.",
        )


def looks_secret(name: str) -> bool:
    """Return True if a text given as a model name looks like a key."""
    last = name.rpartition("/")[2]
    return (
        _KEY.match(name) is not None
        or _KEY.match(last) is not None
        or _RANDOM.fullmatch(last) is not None
        or _REDACTOR.text(name) != name
    )
