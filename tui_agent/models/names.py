"""What can be the name of a model, so that a secret that was pasted by mistake is neither looked up nor repeated.

Invariant: the error of a refused name never holds the name, for errors of names are written to the log.
"""

import re

from tui_agent.errors import ConfigError
from tui_agent.store.redaction.redactor import Redactor

LONGEST = 200

_KEY = re.compile(
    r"(?i)(?:(?:sk|pk|xai|nvapi|csk|glpat|xoxb|key)-|(?:sk|rk|gsk|fw|hf|r8|gho|ghp|github_pat)_)"
    r"(?=[a-z_+=/.-]*[0-9])[a-z0-9_+=/.-]{8,}|(?:aiza|akia|ya29\.|eyj|bearer)[a-z0-9_+=/.-]{8,}|pplx-[a-z0-9]{24,}"
)
"""How the keys of vendors begin; with a digit in what follows, for words do not have one."""

_RANDOM = re.compile(r"(?=[^/:.\-@]*[0-9])(?=[^/:.\-@]*[A-Za-z])[A-Za-z0-9_+=]{28,}")
"""One long run of letters and digits: names have separators long before that."""

_REDACTOR = Redactor()


def require_name(name: str) -> None:
    """Raises `ConfigError`, which does not repeat the text, for what has not the shape of a model's name."""
    if not name.isprintable() or any(char.isspace() for char in name) or len(name) > LONGEST:
        raise ConfigError(
            "That is no model's name: it has spaces or is too long, and was not kept.",
            hint="A name is a profile, or vendor/model.",
        )
    if looks_secret(name):
        raise ConfigError(
            "That looks like a key and not like a model's name; it was not kept.",
            hint="A key is typed with /provider, or exported in its variable.",
        )


def looks_secret(name: str) -> bool:
    """Whether a text that was given as a name is rather a key."""
    last = name.rpartition("/")[2]
    return (
        _KEY.match(name) is not None
        or _KEY.match(last) is not None
        or _RANDOM.fullmatch(last) is not None
        or _REDACTOR.text(name) != name
    )
