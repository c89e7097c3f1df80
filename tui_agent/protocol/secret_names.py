"""Patterns for the names of secrets, used for redaction and for hiding variables from commands.

Invariant: all functions are pure, and the module imports nothing of this project.
"""

import re

# One lookbehind for each word, because Python's lookbehinds need a fixed length.
COMPOUND_PREFIX_PATTERN = (
    r"(?:(?<=db)|(?<=ftp)|(?<=smtp)|(?<=imap)|(?<=mail)|(?<=user)|(?<=root)|(?<=admin)|(?<=sql)|(?<=ldap)|(?<=redis)|(?<=bind)"
    r"|(?<=postgres)|(?<=pg)|(?<=mongo)|(?<=wifi)|(?<=wlan)|(?<=vnc)|(?<=ssh)|(?<=sudo)|(?<=login)|(?<=host)|(?<=guest)|(?<=svc)"
    r"|(?<=service)|(?<=oracle)|(?<=rabbit))"
)
"""Matches the position after a word that can precede `pass` or `pw`, such as `DB` in `DBPASS`."""
# The first letters are checked before the words, which quickly rules out most positions of a long text.
SECRET_WORD_PATTERN = (
    r"(?:(?=[acehlmprst])(?:api[_-]?key|apikey|access[_-]?key|secret[_-]?key|private[_-]?key|auth[_-]?key|account[_-]?key|app[_-]?key"
    r"|signing[_-]?key|encryption[_-]?key|master[_-]?key|shared[_-]?key|service[_-]?key|license[_-]?key|storage[_-]?key"
    r"|admin[_-]?key|hash[_-]?key|secret|token|passwd|password|pass[_-]?phrase|passcode|passwort|pwd|credentials?"
    r"|connection[_-]?string|psk|(?<![a-z0-9])pass|(?-i:(?<=[a-z])Pass)"
    rf"|{COMPOUND_PREFIX_PATTERN}pass(?![a-z])|(?<![a-z0-9])pat|mnemonic|rediscli[_-]auth|{COMPOUND_PREFIX_PATTERN}pw(?![a-z])|(?<![a-z0-9])pw(?![a-z])))"
)
SECRET_NAME = re.compile(rf"(?i)[a-z0-9_.-]{{0,60}}{SECRET_WORD_PATTERN}")
"""Matches the name of a variable or key that has a secret value, such as `API_TOKEN`."""

_SECRET_NAME = re.compile(
    r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|WEBHOOK)(_|$)", re.IGNORECASE
)
_POSSIBLE_SECRET_NAME = re.compile(
    r"(^|_)(COOKIES?|SESSION|SALT|AUTH|PIN|OTP|SEED|JWT|DSN)$|KEY$", re.IGNORECASE
)
# In the name of any other variable, `pwd` means a password.
_FOLDER_VARIABLES = frozenset({"PWD", "OLDPWD"})
_MIN_GENERATED_CHARS = 16


def is_secret_variable(name: str, value: str) -> bool:
    """Return True if the value of an environment variable is a secret.

    An ambiguous name (`BW_SESSION`, `DESKTOP_SESSION`) is a secret only if the value looks generated.
    """
    if name in _FOLDER_VARIABLES:
        return False
    if _SECRET_NAME.search(name) or SECRET_NAME.fullmatch(name):
        return True
    return _POSSIBLE_SECRET_NAME.search(name) is not None and _looks_generated(value)


def _looks_generated(value: str) -> bool:
    digits, letters = sum(char.isdigit() for char in value), sum(char.isalpha() for char in value)
    is_path = value.startswith(("/", "~", "./"))
    return len(value) >= _MIN_GENERATED_CHARS and digits >= 2 and letters >= 2 and not is_path
