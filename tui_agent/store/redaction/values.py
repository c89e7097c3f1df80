"""L1: whether a value is a secret: by its name, by what it is made of, by what stands around it.

Invariant: placeholders, expressions, identifiers, hashes, paths and sentences are none.
"""

import re

from tui_agent.secret_words import JOINED, SECRET_WORD

WORDS = (
    SECRET_WORD.replace("(?=[acehlmprst])", "")
    .replace("(?<![a-z0-9])pat", "pat(?<![a-z0-9]pat)")
    .replace("(?<![a-z0-9])pass|(?-i:(?<=[a-z])Pass)", "pass")
    .replace(f"|{JOINED}pass(?![a-z])", "")
    .replace(f"|{JOINED}pw(?![a-z])|(?<![a-z0-9])pw(?![a-z])", "|pw(?![a-z])")
)
"""Finds such words, and few more, in lower case. It begins with letters, and so is found far quicker than one that looks
back first."""
WEAK_WORD = r"(?:auth|key|salt|session(?:[_-]?id)?|sid|cookie|dsn|hmac|bearer|jwt|login|pepper|pin|otp|seed)"
"""A name whose value may be one: then it must look random."""

_PLACEHOLDER = re.compile(
    r"(?i)[*x•.…-]+|<.*|@@?\w+@@?|__\w+__|:\w+|\$(?:[A-Z_]+$|[({]).*|%(?:[(]|\w+%).*|\{.*|\[.*|(?:your|my|some|the|an?|test|example|dummy|fake|changeme|placeholder|todo|insert|enter|replace)"
    r"(?:[-_].*| (?:\S+ ){0,4}(?:pass\w*|pwd|secret|token|key|value|here|credentials?)(?: \S+){0,3})|changeme|change[-_]?it|none|null|true|false|undefined|required|optional|string|redacted.*|sk-\.+|\w{2,6}[-_][x*.]{3,}.*"
    r"|(?:user|db|the|my|your|new|old)?[-_]?(?:password|passwd|passphrase|pass|pwd|pw|secret|token|credentials?)|.*EXAMPLE(?:KEY)?|(?:required|nullable|sometimes|string)\|.*"
    r"|enc\[[a-z0-9_]{3,20}(?:,.*)?|enc\([a-z0-9+/=]{16,4000}\)?|\$ANSIBLE_VAULT;.*"
)
"""Also what is encrypted where it stands, by sops, eyaml or Jasypt: such files are made to be shown."""
_IN_CODE = re.compile(
    r"[(\[{<>\\]|^[$%*!&|]|\$[({]|%[(s]|\.\w+\.|^(?:os|env|self|settings|config|process|request|args|this|var|local|module|data)\.|^=|\w\.\w+[!=]="
)
"""An expression, where no quotes say that it is a text."""
TEMPLATE = re.compile(r"\$[({]|\{\{|%\(|^%\w+%$|^\$\w+$|<[^>]*>|^\{[\w.]*\}$|^#\{")
"""A text in quotes that stands for another one."""


def tells_of(name: str) -> bool:
    """Whether a name holds something about a secret, as `token_ttl` and `secret_name` do."""
    return _TELLS_OF.search(name) is not None


def is_placeholder(value: str) -> bool:
    """Whether a value only stands where a secret would: `<token>`, `$TOKEN`, `your-key-here`, `****`."""
    return _PLACEHOLDER.fullmatch(value.strip()) is not None


_HASH = re.compile(
    r"(?i)(?:[a-f0-9]{32}|[a-f0-9]{40}|[a-f0-9]{56}|[a-f0-9]{64}|[a-f0-9]{96}|[a-f0-9]{128})|(?:sha|md5)[-:0-9].*"
)
_HASHES = re.compile(
    r"(?:(?<![A-Za-z0-9])[-_:/]?[a-f0-9]{40}(?:[a-f0-9]{24})?|(?<=[A-Za-z0-9])[-_:/][a-f0-9]{32})(?![A-Za-z0-9])"
)
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLACE = re.compile(
    r"(?i)(?:[a-z][a-z0-9+.-]*:)?//|^[./~]|^[a-z]:\\\\|/[\w.-]+\.[a-z0-9]{2,5}$|\.(?:py|js|ts|json|pem|txt|html?|ya?ml|toml|md|go|rs|com|org|net|io|zip|t?gz|tar|jar|whl|png|jpe?g|svg|css|xml|csv|log|pdf|parquet|lock|sh)$"
)
_COUNTED = re.compile(
    r"(?i)(?<![a-z])(?:max|min|num|total|count|next|prev|page|input|output|prompt|completion|cached?|websocket|public(?:[ _-]?key)?|primary|foreign|sort|partition)[ _-]?$"
)


_TELLS_OF = re.compile(
    r"(?i)(?:field|name|type|count|id|url|uri|file|path|length|policy|expiry|expires|ttl|size|limit|hint|label|input|icon"
    r"|prefix|header|env|var|except|version|algorithm|mode|format|length|pattern|regexp?|timeout|days?|hours?|attempt|required|enabled|delay|interval|backend|class|encoder|lifetime|strategy|scheme|manager|endpoint|issuer|audience|scope|strength|rounds|minutes|seconds|i[sz]er|hasher|validator)s?$|_(?:at|on|by|since|until)$"
)
"""The end of a name that holds something about a secret, not the secret."""


def mailgun(match: re.Match[str]) -> bool:
    """`key-` and 32 hexadecimal digits, where nothing around says that it names a thing: a path, a cache, an element."""
    text, (start, end) = match.string, match.span()
    before, behind = text[max(0, start - 80) : start], text[end : end + 8]
    before = before[before.rfind("\n") + 1 :]
    if re.match(r"[/:.-]\w", behind) or (
        before[-1:] in ("-", "/", ".", ":") and not re.search(r"(?:api|:\d{1,6}):$", before)
    ):
        return False
    return not _NAMES_THING.search(before) and issued(match)


_NAMES_THING = re.compile(
    r"(?i)cache|restor|etag|\b(?:id|name|class|slug|for|href|src|ref|blob|object|etag)\s{0,2}[=:]\s{0,2}[\"']?$|\b(?:data-)?key=[\"']$"
)


def looks_random(value: str, least: int = 16) -> bool:
    """Whether a value is made by a generator: long, of letters and digits mixed, no hash, id, path or address."""
    if len(value) < least or is_placeholder(value):
        return False
    if _PLACE.search(value) and not (value.endswith("=") and len(value) % 4 == 0 and len(value) > 40):
        return False
    value = _HASHES.sub("", value)
    if (
        len(value) < least
        or _HASH.fullmatch(value)
        or _UUID.fullmatch(value)
        or value.startswith(("pk_live_", "pk_test_"))
    ):
        return False
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    words = len(re.findall(r"[A-Za-z]{5,}", value))
    return digits >= 2 and letters >= 2 and len(set(value)) >= 8 and words * 7 < len(value)


_NAMED = re.compile(r"pass|pw|psk|pin")
"""The name of what people think up: it may be a word."""


def assigned(match: re.Match[str]) -> bool:
    """Whether what stands behind a secret's name is one."""
    value, word = match["secret"], match["word"].lower()
    before = match.string[max(0, match.start() - 12) : match.start()]
    if before.endswith(":") and match.string[match.end("word") : match.start("secret")] == ":":
        return False  # a piece of a name such as `arn:…:secret:db`
    if _WITHIN_NAME.search(before) or (value.isidentifier() and word in value.lower()):
        return False
    if re.search(r"secret[_-]?id$", word):
        return looks_random(value, 20) and not _NAME_OF.fullmatch(value)
    if (
        is_placeholder(value.lstrip("-+").rstrip("*") or value)
        or _COUNTED.search(before)
        or _TELLS_OF.search(match["word"])
    ):
        return False
    if value.startswith("Ag") and len(value) >= 300:
        return False  # sealed for one cluster
    sign = match.string[match.end("word") : match.start("secret")]
    if "==" in sign and (len(value) < 8 or not secret_text(value)):
        return False
    if not match["quote"] and "\n" in sign and value.endswith(":"):
        return False  # the first name of a section, as `tokens:` is one
    if value.isdigit() and (len(value) > 12 or not _NAMED.search(word) or word in ("pass", "pw")):
        return False
    if _VERSION.fullmatch(value) and not _NAMED.search(word):
        return False
    if match["quote"] == "`" and set(value) & set("=* "):
        return False
    if match["quote"]:
        return _quoted(value, word)
    if not in_pieces(value) and (
        "://" in value or _IN_CODE.search(value) or _NAME_OF.fullmatch(value) or _PATH.fullmatch(value)
    ):
        return False
    if match["word"].isupper() and match.string[match.start("secret") - 1] == "=" and _two_cases(value):
        return True
    if value[:1] in ("?", "+") and re.search(r"\$\{\w*$", before):
        return False
    if word in ("pass", "pw") and (not before or not (before[-1].isalnum() or before[-1] in "_-.")):
        return _pass_alone(match)
    if value.isalpha() and _NAMED.search(word):
        return plain_in_config(match)
    return _bare(value, match["word"])


_WITHIN_NAME = re.compile(
    r"(?i)::\w*$|(?:idempotency|existing|lock|request|forward|backward|starting|continuation)[ _-]?$"
)
"""Before a word that is a part of a name which is no secret's: `AWS::IAM::AccessKey`, `LockToken`."""
_NAME_OF = re.compile(
    r"\w+(?:\.\w+){2,}|[a-z_]+\.[a-z_]+|_?[a-z_]+[0-9]{0,2}\.[A-Z][A-Za-z_]+|arn:.*|\w+\[.*\]|pk_(?:live|test)_.*|[a-z]+(?:-[a-z]+)*-(?:password|passwd|token|secret|secrets|key)"
)
"""A class, a type, or a thing that is named after what it holds."""
_PIECES = re.compile(r"[\w!@#%^*+=~-]{2,200}(?:\.[\w!@#%^*+=~-]{2,200}){2,9}")
_LEADS = re.compile(
    r"(?i)(?:os|env|self|cls|settings|config|conf|process|request|req|args|this|var|local|module|data|com|org|net|io|v?\d+)\."
)
"""The first piece of a name, a version or an address of numbers."""


def in_pieces(value: str) -> bool:
    """Whether pieces with dots between them are one secret (`Xy7.kL9.pQ2w`): several of them hold digits, in front of
    letters or in both cases, as no name of a module and no host has them."""
    if not _PIECES.fullmatch(value) or _LEADS.match(value) or _PLACE.search(value):
        return False
    numbered = [piece for piece in value.split(".") if any(char.isdigit() for char in piece)]
    within = [piece for piece in numbered if re.search(r"\d[A-Za-z]", piece)]
    if len(within) >= 2:
        return True
    return len(numbered) >= 2 and value != value.lower() and value != value.upper() and len(value) <= 24


_VERSION = re.compile(r"[\^~>=<v ]{0,4}\d{1,4}(?:\.\d{1,6}){1,3}(?:[-+.][\w.+-]{1,20})?")
_LICENSE = re.compile(r"(?i)[a-z]+(?:-[a-z]+)*(?:-\d(?:\.\d){0,2})?(?:-only|-or-later)?")
_PATH = re.compile(r"[~.]{0,2}(?:/[A-Za-z0-9_.@+-]{1,23})+/?")


def _quoted(value: str, word: str) -> bool:
    """Whether a text in quotes behind a secret's name is one: not a template, a sentence, or a mere name."""
    named = _NAME_OF.fullmatch(value) is not None and not in_pieces(value)
    if TEMPLATE.search(value) or named or _PATH.fullmatch(value):
        return False
    if word.startswith("license") and _LICENSE.fullmatch(value):
        return False
    if _NAMED.search(word):
        return " " not in value or not _said_of(value)
    return value.count(" ") <= 2 and not re.sub(r"[_ .:/-]", "", value).isalpha()


_ABOUT = re.compile(
    r"(?i)(?<![a-z])(?:must|should|can(?:not|'t)?|may|invalid|required|enter|please|reset|change|forgot(?:ten)?|confirm|new|your|pass(?:word|wort|phrase|code)?s?"
    r"|passe|kennwort|contraseña|tokens?|secret|least|characters?|letters|digits|short|long|blank|empty|match(?:es)?|missing|expired"
    r"|incorrect|wrong|user(?:name)?|login|sign|account|field|valid|hidden|visible|updated?|saved?|sent|set|strong|weak|is|are|was|if|when|use[ds]?|used|using)(?![a-z])"
)


def _said_of(value: str) -> bool:
    """Whether words in quotes tell something about a secret, as a label or a message does, and are no secret."""
    if value.count(" ") > 9 or _ABOUT.search(value) or not re.search(r"[A-Za-z0-9]", value):
        return True
    first, *others = value.split()
    titled = first[:1].isupper() and not any(one[:1].isupper() for one in others)
    return titled and not any(char.isdigit() for char in value)


def _two_cases(value: str) -> bool:
    return len(value) >= 12 and any(c.islower() for c in value[1:]) and any(c.isupper() for c in value[1:])


_NUMBERED = re.compile(r"[a-z]{2,20}(?:-[a-z]{2,20})*-v?\d{1,2}")


def numbered(value: str) -> bool:
    """Whether it is one of several things with the same name, as `app-config-v2`."""
    return _NUMBERED.fullmatch(value) is not None


def _bare(value: str, word: str) -> bool:
    """Whether a word behind a secret's name is one."""
    digits = any(char.isdigit() for char in value)
    odd = any(not char.isalnum() and char not in "_-./" for char in value)
    shouted = word.isupper()
    if _NAMED.search(word.lower()):
        chain = value.count("-") > 1 and value.replace("-", "").isalpha()
        return (digits or odd or shouted or chain) and not (value.isidentifier() and not digits)
    if numbered(value):
        return False
    return (shouted and not value.isidentifier()) or (digits and (shouted or len(value) >= 12))


def _pass_alone(match: re.Match[str]) -> bool:
    """`PASS=`, `pass:`: of a login, and not the count or the outcome of tests."""
    value = match["secret"]
    sign = match.string[match.end("word") : match.start("secret")].strip("\"' ")
    if re.match(r"(?i)\d+[a-z%/]*$|test|\w*[(:/]", value):
        return False
    if sign == "=" and value.isalpha():
        return len(value) >= 8 and plain_in_config(match)
    digits, cases = any(c.isdigit() for c in value), value != value.lower() and value != value.upper()
    odd = any(not c.isalnum() and c not in "_-./," for c in value)
    letters = any(c.isalpha() for c in value)
    if sign == "=":
        return letters and (digits or odd)
    return match["word"].islower() and digits and (odd or cases or _whole_line(match)) and letters


def _whole_line(match: re.Match[str]) -> bool:
    """`pw: tiger2698`: nothing else stands in the line, as in a file of settings."""
    text, value = match.string, match["secret"]
    lead = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
    tail = text[match.end() : match.end() + 1]
    return match["word"] == "pw" and not lead.strip() and tail in ("", "\n", "\r") and value[-2:].isdigit()


_STATES = re.compile(
    r"(?i)(?:str|text|var)?(?:string|number|boolean|bytes|object|unknown|secretstr|varchar|password|integer|symbol|never|buffer"
    r"|default|missing|invalid|hidden|prompt|secret|plain|plaintext|empty|blank|inherit|always|manual|random|value|auto|external|internal"
    r"|success|failure|pending|correct|incorrect|wrong|forget|nullable|masked|unset|yours?|file|environment|keychain|keyring|text)"
    r"|\w+(?:ed|ing|able)"
)
"""What is said of a secret in one word, and its types."""
_NEIGHBOUR = re.compile(
    r"(?im)(?:^|[\s;])(?:host|hostaddr|dbname|port|server|database|data source|uid|user id)\s{0,2}="
)
_SIBLING = re.compile(
    r"(?m)^\s{0,20}(?:- )?\"?(?:user|username|user_name|login|host|hostname|port|database|db|dbname|email|account|server|bind_?dn)\"?:\s{0,4}[^\s,;]+$"
)
_SECTION = re.compile(r"(?m)^\[[\w .:-]{1,60}\]\s{0,4}$")


def plain_in_config(match: re.Match[str]) -> bool:
    """Whether a plain word behind a password's name is one: where programs are configured it is, in code it is a name."""
    text, value = match.string, match["secret"]
    sign = text[match.end("word") : match.start("secret")]
    if len(value) < 6 or '"' in sign or "'" in sign or value.isupper() or _STATES.fullmatch(value):
        return False
    at = match.start()
    while at > max(0, match.start() - 60) and (text[at - 1].isalnum() or text[at - 1] in "_.-"):
        at -= 1
    name = text[at : match.end("word")]
    line = max(text.rfind("\n", 0, at) + 1, at - 300)
    end = min(len(text) if (stop := text.find("\n", match.end())) < 0 else stop, match.end() + 300)
    lead, tail = text[line:at], text[match.end() : end]
    if (name.isupper() and "." not in name) or (name.startswith("--") and sign == "="):
        return True
    if "." not in name and (re.match(r";\s?[A-Za-z][\w ]{1,30}=", tail) or re.search(r"=[^;()]+;$", lead)):
        return True
    if sign == "=" and "." not in name and _NEIGHBOUR.search(lead + tail) and "," not in lead + tail:
        return True
    return not tail.strip() and value.islower() and _among_settings(text, name, sign, lead, line, end)


def _among_settings(text: str, name: str, sign: str, lead: str, line: int, end: int) -> bool:
    if re.sub(r"^[+-]?\s*(?:-\s|export\s|set\s)?\s*", "", lead):
        return False
    if sign == "=" and "." not in name:  # code has blanks here, and a comma or a semicolon behind it
        return True
    if sign == "=" and not lead and name.count(".") >= 2 and name.islower():
        return not name.startswith(("self.", "this."))
    around = text[max(0, line - 300) : end + 300]
    return bool(
        _SIBLING.search(around) if sign.strip() == ":" else _SECTION.search(text[max(0, line - 300) : line])
    )


_ID = re.compile(r"ses_[0-9a-z]{16}|01[0-9A-HJKMNP-TV-Z]{24}")
"""A session's id: our own, or one of those that sort by time and are no key to anything."""


def weakly_assigned(match: re.Match[str]) -> bool:
    """Behind a name that may be a secret's: where it looks made by a generator."""
    before = match.string[max(0, match.start() - 12) : match.start()]
    value = match["secret"]
    return looks_random(value, 20) and not _COUNTED.search(before) and not _ID.fullmatch(value.rstrip("*"))


def random_value(match: re.Match[str]) -> bool:
    """Made by a generator."""
    return looks_random(match["secret"])


def not_placeholder(match: re.Match[str]) -> bool:
    """Anything but what only stands for a secret."""
    return not is_placeholder(match["secret"])


def in_column(match: re.Match[str]) -> bool:
    """The value that a column or a parameter named after a secret has where none is given."""
    value, before = match["secret"], match.string[max(0, match.start() - 12) : match.start()]
    if is_placeholder(value) or _HASH.fullmatch(value) or _COUNTED.search(before):
        return False
    if tells_of(match["word"] + match["rest"]):
        return False
    return _quoted(value, match["word"].lower())


_STATEMENT = re.compile(r"(?i)\b(?:user|role|login|grant|create|alter|set)\b[^;]*$")


def in_statement(match: re.Match[str]) -> bool:
    """The password of a statement in SQL; not what stands for one, nor an assignment in a program."""
    if match.group()[:1] == "i" and not _STATEMENT.search(
        match.string[max(0, match.start() - 200) : match.start()]
    ):
        return False
    if (
        match.group().rstrip().startswith("=")
        or is_placeholder(match["secret"])
        or TEMPLATE.search(match["secret"])
    ):
        return False
    return "=" not in match.string[match.start() : match.start("secret")] or bool(
        re.search(r"(?i)\bwith\s{1,3}$", match.string[max(0, match.start() - 8) : match.start()])
    )


def in_address(match: re.Match[str]) -> bool:
    """The password of an address; not the one that everybody's own test server has."""
    if match["secret"] == "x-oauth-basic":
        return False
    if match["user"] == match["secret"] and re.match(
        r"@(?:localhost|127\.|\[::1\])", match.string[match.end("secret") :][:12]
    ):
        return False
    return not is_placeholder(match["secret"])


def in_header(match: re.Match[str]) -> bool:
    """A value, no expression that gives one, nor a word about it."""
    value = match["secret"]
    if (
        is_placeholder(value.rstrip("*") or value)
        or (value.isalpha() and len(value) < 20)
        or value.startswith("AWS4-")
    ):
        return False
    return not re.search(r"[(\[{<]|^(?:self|request|os|env|settings|config)\.", value)


def mixed(match: re.Match[str]) -> bool:
    """Letters and digits both: words joined by hyphens are no key."""
    value = match.groupdict().get("secret") or match.group()
    return any(char.isdigit() for char in value) and any(char.isalpha() for char in value)


def mixed_case(match: re.Match[str]) -> bool:
    """Small and capital letters, and digits or the end of Base64."""
    value = match["secret"]
    return (
        any(c.isupper() for c in value)
        and any(c.islower() for c in value)
        and any(c.isdigit() or c == "=" for c in value)
    )


def issued(match: re.Match[str]) -> bool:
    """Letters and digits both behind the beginning; a run of one character or a word stands for a key only."""
    value = match.group()
    both = any(c.islower() for c in value[4:]) and any(c.isupper() for c in value[4:])
    return (
        (both or any(c.isdigit() for c in value[4:]))
        and len(set(value[4:])) >= 4
        and "EXAMPLE" not in value
        and not (
            value[:5] in ("live_", "test_") and match.string[max(0, match.start() - 1) : match.start()] == "_"
        )
    )


def thought_up(value: str) -> bool:
    """Whether a value is what a person thinks up or a generator makes, and no plain word, name, number or path."""
    if (
        is_placeholder(value)
        or TEMPLATE.search(value)
        or value.startswith(("-", "$", "/", "./", "~", "@", "(", "{", "!"))
    ):
        return False
    value = value.rstrip("])}>,;")
    if not value or value[-1] in "-~/" or (value.isupper() and value.isidentifier()):
        return False
    digits = any(char.isdigit() for char in value)
    letters = any(char.isalpha() for char in value)
    odd = any(not char.isalnum() and char not in "_-./:,()" for char in value.rstrip(".,!?:;"))
    chain = value.count("-") > 1 and value.replace("-", "").isalpha()
    return letters and (digits or odd or chain)


_NO_TEXT = re.compile(r"\(|^\.|\*$|^[\w-]+(?:\.[\w-]+)*\.[a-z]{2,}(?::\d{1,5})?$")
"""A call, a file, a host."""
_OF_NAMES = re.compile(r"^[a-z]+-[a-z]+$|(?i:password|passwd|secret|token|key|user|project|name)")


def secret_text(value: str) -> bool:
    """Whether a text in quotes within an expression is a secret, and no name of a thing."""
    return (
        thought_up(value)
        and " " not in value
        and not _OF_NAMES.search(value)
        and not _NO_TEXT.search(value)
        and not _ALGORITHM.fullmatch(value)
    )


_ALGORITHM = re.compile(
    r"(?i)(?:sha|md|hs|rs|es|ps|aes|utf|v|rfc|iso|http|tls|rsa|pbkdf|bcrypt|argon)[-_]?\d[\w-]{0,16}"
)
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def plain_made(value: str) -> bool:
    """Whether letters alone are made by a generator: capitals stand where no word begins (`zwreEwPcoB`)."""
    humps = _HUMPS.findall(value)
    return value.isalpha() and len(value) >= 8 and len(humps) >= 3 and len(value) <= 3 * len(humps)
