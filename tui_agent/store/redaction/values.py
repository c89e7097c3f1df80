"""L1: judge a value by what it is made of: a placeholder, an expression, something made by a generator or by a person.

Invariant: placeholders, expressions, identifiers, hashes, paths and sentences are no secrets.
"""

import re

_PLACEHOLDER = re.compile(
    r"(?i)[*x•.…-]+|<.*|@@?\w+@@?|__\w+__|:\w+|\$(?:[A-Z_]+$|[({]).*|%(?:[(]|\w+%).*|\{.*|\[.*"
    r"|(?:your|my|some|the|an?|test|example|dummy|fake|changeme|placeholder|todo|insert|enter|replace)"
    r"(?:[-_].*| (?:\S+ ){0,4}(?:pass\w*|pwd|secret|token|key|value|here|credentials?)(?: \S+){0,3})"
    r"|changeme|change[-_]?it|none|null|true|false|undefined|required|optional|string|redacted.*|sk-\.+|\w{2,6}[-_][x*.]{3,}.*"
    r"|(?:user|db|the|my|your|new|old)?[-_]?(?:password|passwd|passphrase|pass|pwd|pw|secret|token|credentials?)"
    r"|.*EXAMPLE(?:KEY)?|(?:required|nullable|sometimes|string)\|.*"
    # Encrypted where it stands, by sops, eyaml or Jasypt: such files are made to be published.
    r"|enc\[[a-z0-9_]{3,20}(?:,.*)?|enc\([a-z0-9+/=]{16,4000}\)?|\$ANSIBLE_VAULT;.*"
)
_TEMPLATE = re.compile(r"\$[({]|\{\{|%\(|^%\w+%$|^\$\w+$|<[^>]*>|^\{[\w.]*\}$|^#\{")
_DESCRIBES = re.compile(
    r"(?i)(?:field|name|type|count|id|url|uri|file|path|length|policy|expiry|expires|ttl|size|limit|hint|label|input|icon"
    r"|prefix|header|env|var|except|version|algorithm|mode|format|length|pattern|regexp?|timeout|days?|hours?|attempt|required"
    r"|enabled|delay|interval|backend|class|encoder|lifetime|strategy|scheme|manager|endpoint|issuer|audience|scope|strength"
    r"|rounds|minutes|seconds|i[sz]er|hasher|validator)s?$|_(?:at|on|by|since|until)$"
)
_HASH = re.compile(
    r"(?i)(?:[a-f0-9]{32}|[a-f0-9]{40}|[a-f0-9]{56}|[a-f0-9]{64}|[a-f0-9]{96}|[a-f0-9]{128})|(?:sha|md5)[-:0-9].*"
)
_HASH_PARTS = re.compile(
    r"(?:(?<![A-Za-z0-9])[-_:/]?[a-f0-9]{40}(?:[a-f0-9]{24})?|(?<=[A-Za-z0-9])[-_:/][a-f0-9]{32})(?![A-Za-z0-9])"
)
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LOCATION = re.compile(
    r"(?i)(?:[a-z][a-z0-9+.-]*:)?//|^[./~]|^[a-z]:\\\\|/[\w.-]+\.[a-z0-9]{2,5}$|\.(?:py|js|ts|json|pem|txt|html?|ya?ml|toml|md"
    r"|go|rs|com|org|net|io|zip|t?gz|tar|jar|whl|png|jpe?g|svg|css|xml|csv|log|pdf|parquet|lock|sh)$"
)
_PIECES = re.compile(r"[\w!@#%^*+=~-]{2,200}(?:\.[\w!@#%^*+=~-]{2,200}){2,9}")
_FIRST_PIECE_OF_NAME = re.compile(
    r"(?i)(?:os|env|self|cls|settings|config|conf|process|request|req|args|this|var|local|module|data|com|org|net|io|v?\d+)\."
)
_NUMBERED_NAME = re.compile(r"[a-z]{2,20}(?:-[a-z]{2,20})*-v?\d{1,2}")
_CALL_FILE_OR_HOST = re.compile(r"\(|^\.|\*$|^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?::\d{1,5})?$")
_NAME_OF_THING = re.compile(r"^[a-z]+-[a-z]+$|(?i:password|passwd|secret|token|key|user|project|name)")
_ALGORITHM = re.compile(
    r"(?i)(?:o?auth|sha|md|base|bcrypt|argon|utf|v|rfc|iso|http|tls|aes|rsa|hs|rs|es|ps|ed|x|p|pbkdf|oauth|totp|s3|ec2|k8s"
    r"|i18n)[-_]?\d[\w-]{0,16}"
)
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def is_placeholder(value: str) -> bool:
    """Return True if a value only marks the place of a secret: `<token>`, `$TOKEN`, `your-key-here`, `****`."""
    return _PLACEHOLDER.fullmatch(value.strip()) is not None


def is_template(value: str) -> bool:
    """Return True if a text is filled in later: `${name}`, `{{ name }}`, `%(name)s`."""
    return _TEMPLATE.search(value) is not None


def is_hash(value: str) -> bool:
    """Return True for a digest in hexadecimal, or one that names its algorithm."""
    return _HASH.fullmatch(value) is not None


def describes_secret(name: str) -> bool:
    """Return True if a name stands for a property of a secret, as `token_ttl` and `secret_name` do."""
    return _DESCRIBES.search(name) is not None


def is_algorithm(value: str) -> bool:
    """Return True for a name such as `sha256` or `HS512`."""
    return _ALGORITHM.fullmatch(value) is not None


def is_numbered_name(value: str) -> bool:
    """Return True for one of several things with the same name, as `app-config-v2`."""
    return _NUMBERED_NAME.fullmatch(value) is not None


def has_digit(value: str) -> bool:
    """Return True if a value holds a digit."""
    return any(char.isdigit() for char in value)


def has_both_cases(value: str) -> bool:
    """Return True if a value holds small and capital letters."""
    return value != value.lower() and value != value.upper()


def is_mixed(value: str) -> bool:
    """Return True if a value holds letters and digits: words joined by hyphens are no key."""
    return has_digit(value) and any(char.isalpha() for char in value)


def looks_random(value: str, least: int = 16) -> bool:
    """Return True if a generator made the value: at least `least` characters, mixed; no hash, id, path or address."""
    if len(value) < least or is_placeholder(value):
        return False
    padded = value.endswith("=") and len(value) % 4 == 0 and len(value) > 40
    if _LOCATION.search(value) and not padded:
        return False
    value = _HASH_PARTS.sub("", value)
    if len(value) < least or is_hash(value) or _UUID.fullmatch(value):
        return False
    if value.startswith(("pk_live_", "pk_test_")):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    words = len(re.findall(r"[A-Za-z]{5,}", value))
    return digits >= 2 and letters >= 2 and len(set(value)) >= 8 and words * 7 < len(value)


def looks_issued(value: str) -> bool:
    """Return True unless what follows the prefix of a key is one word, or a run of one character."""
    rest = value[4:]
    return (
        (has_digit(rest) or (any(c.islower() for c in rest) and any(c.isupper() for c in rest)))
        and len(set(rest)) >= 4
        and len(set(value[-10:])) >= 3
        and "EXAMPLE" not in value
    )


def looks_chosen(value: str) -> bool:
    """Return True for what people choose or generators make: no plain word, name, number or path."""
    if is_placeholder(value) or is_template(value):
        return False
    value = value.rstrip("])}>,;")
    if value.startswith(("-", "$", "/", "./", "~", "@", "(", "{", "!")):
        return False
    if not value or value[-1] in "-~/" or (value.isupper() and value.isidentifier()):
        return False
    odd = any(not char.isalnum() and char not in "_-./:,()" for char in value.rstrip(".,!?:;"))
    return any(char.isalpha() for char in value) and (has_digit(value) or odd or is_word_chain(value))


def is_word_chain(value: str) -> bool:
    """Return True for at least three words with hyphens between, as `correct-horse-battery`."""
    return value.count("-") > 1 and value.replace("-", "").isalpha()


def is_secret_text(value: str) -> bool:
    """Return True if a quoted text within an expression is a secret, and not the name of something."""
    return (
        looks_chosen(value)
        and " " not in value
        and not _NAME_OF_THING.search(value)
        and not _CALL_FILE_OR_HOST.search(value)
        and not is_algorithm(value)
    )


def is_random_letters(value: str) -> bool:
    """Return True if letters alone were made by a generator: capitals where no word begins (`zwreEwPcoB`)."""
    humps = _HUMPS.findall(value)
    return value.isalpha() and len(value) >= 8 and len(humps) >= 3 and len(value) <= 3 * len(humps)


def is_secret_in_pieces(value: str) -> bool:
    """Return True if pieces with dots between are one secret (`Xy7.kL9.pQ2w`).

    Several pieces hold digits, in front of letters or in both cases, as no module's name and no host has them.
    """
    if not _PIECES.fullmatch(value) or _FIRST_PIECE_OF_NAME.match(value) or _LOCATION.search(value):
        return False
    numbered = [piece for piece in value.split(".") if has_digit(piece)]
    if sum(re.search(r"\d[A-Za-z]", piece) is not None for piece in numbered) >= 2:
        return True
    return len(numbered) >= 2 and has_both_cases(value) and len(value) <= 24
