"""L1: secrets in markup, tables, files of other programs and prose.

Invariant: as `rules`; what is only said about a secret (`the password must have 8 characters`) stays.
"""

import re

from tui_agent.secret_words import SECRET_WORD
from tui_agent.store.redaction.rule import EDGE, Rule, rule
from tui_agent.store.redaction.values import (
    TEMPLATE,
    is_placeholder,
    looks_random,
    mixed,
    numbered,
    tells_of,
    thought_up,
)

_ALGORITHM = re.compile(
    r"(?i)(?:o?auth|sha|md|base|bcrypt|argon|utf|v|rfc|iso|http|tls|aes|rsa|hs|rs|es|ed|x|p|pbkdf|oauth|totp|s3|ec2|k8s|i18n)[-_]?\d.*"
)


def _given(match: re.Match[str]) -> bool:
    value = match["secret"].strip()
    return (
        not is_placeholder(value)
        and not TEMPLATE.search(value)
        and not value.startswith(("$", "{", "(", "@"))
    )


def _said(match: re.Match[str]) -> bool:
    """In prose: letters and digits or odd signs, and no word with a number that everybody knows."""
    value = match["secret"].rstrip(".,!?:;)")
    if (
        len(value) < 6
        or _ALGORITHM.fullmatch(value)
        or "(" in value
        or value.count("/") > 1
        or set(value) & set("=*")
        or (numbered(value) and match.group()[:1] not in "pP")
    ):
        return False
    digits = sum(char.isdigit() for char in value)
    return (
        thought_up(value) and (digits > 0 or bool(re.search(r"[!#%^*&@$]", value))) and "." not in value[1:-1]
    )


def _of_words(match: re.Match[str]) -> bool:
    return len(set(match["secret"].split())) >= 8


def _long_random(match: re.Match[str]) -> bool:
    return looks_random(match["secret"], 20)


_BASE64 = r"A-Za-z0-9+/="
_NAMED = rf"[\w.:-]{{0,60}}{SECRET_WORD}"

KEYS: tuple[Rule, ...] = (
    rule(
        "private key",
        "-----begin",
        r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!-{4})){40,}-----END[ A-Z0-9]{0,50}-----",
        lambda match: re.search(rf"[{_BASE64}]{{30}}", match.group()) is not None,
    ),
    rule(
        "private key",
        "-----begin",
        r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:\\+[nr]|[^A-Za-z0-9+/=-]|\+\s|\d{1,4}[\s:|]){0,24}[A-Za-z0-9+/=]{16,})+",
    ),
    rule(
        "private key",
        ("---- begin ssh2",),
        r"---- BEGIN SSH2 (?:ENCRYPTED )?PRIVATE KEY ----(?:[^-]|-(?!-{3})){40,}(?:---- END[ A-Z0-9]{0,50}----)?",
    ),
    rule(
        "private key",
        "minisign signify",
        r"(?i)(?:minisign|signify)[^\n]{0,60}secret key\s{1,3}(?P<secret>[A-Za-z0-9+/=]{60,400})",
    ),
)
"""Private keys: before all else, since anything may stand in them."""

TEXTS: tuple[Rule, ...] = (
    rule(
        "recovery words",
        "mnemonic phrase seed",
        r"(?i)(?:mnemonic|(?:seed|recovery|secret|backup)[ _-]{1,2}(?:phrase|words)|seed)[\"']?\s{0,2}(?::=|[:=]|is)\s{0,3}[\"'\[]{0,2}(?P<secret>(?:[a-z]{3,8}[\"', ]{1,4}){11,23}[a-z]{3,8})",
        _of_words,
        within=True,
        begins=r"mnemonic|seed|recovery|secret|backup",
    ),
    rule(
        "telegram token",
        ":aa",
        rf"(?:(?<=bot)|{EDGE})[0-9]{{5,16}}:AA[A-Za-z0-9_-]{{32,34}}(?![A-Za-z0-9_-])",
        within=True,
        lines=1,
    ),
    rule(
        "firebase token",
        ":apa91b",
        r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{7,64}:APA91b[A-Za-z0-9_-]{100,200}",
        within=True,
        lines=1,
    ),
    rule(
        "azure devops token",
        "azdo",
        r"(?<![A-Za-z0-9])[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}(?![A-Za-z0-9])",
        within=True,
        lines=1,
    ),
    rule(
        "rapidapi key",
        "jsn",
        r"(?<![a-z0-9])[a-f0-9]{10}msh[a-f0-9]{15}p1[a-f0-9]{5}jsn[a-f0-9]{12}(?![a-z0-9])",
        within=True,
        lines=1,
    ),
    rule(
        "json web key",
        '"kty',
        r"\"(?:d|p|q|dp|dq|qi|k)\\{0,7}\"\s{0,3}:\s{0,3}\\{0,7}\"(?P<secret>[A-Za-z0-9_-]{30,1200})\\{0,7}\"",
        within=True,
    ),
    rule(
        "password",
        "@tcp( @unix(",
        r"(?<![\w.-])[\w.-]{1,60}:(?P<secret>[^\s/\"'`:]{3,200})@(?:tcp|unix)\(",
        _given,
        within=True,
        lines=1,
    ),
    rule(
        "discord token",
        "discord bot token login",
        r"(?<![A-Za-z0-9_-])[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])",
        within=True,
        lines=1,
    ),
    rule(
        "mailgun key",
        "mailgun using api_key api-key apikey mg_ private",
        r"(?<![\w./-])[a-f0-9]{32}-[a-f0-9]{8}-[a-f0-9]{8}(?![\w-]|[./]\w)",
        mixed,
        within=True,
        lines=1,
    ),
    rule(
        "secret",
        "define(",
        r"(?i)define\(\s{0,3}[\"']\w{0,40}(?:key|salt)[\"']\s{0,3},\s{0,20}[\"'](?P<secret>[^\n\"']{30,200})[\"']",
        lambda match: any(char.isdigit() for char in match["secret"]),
    ),
    rule(
        "password",
        ('" * "', "' * '"),
        r"(?m)^[\"'][^\"'\n]{1,60}[\"']\s{1,4}\*\s{1,4}[\"'](?P<secret>[^\"'\n]{4,200})[\"']",
        within=True,
        lines=1,
    ),
    rule(
        "secret",
        "psk eap xauth",
        r"(?m)(?:^|\s):\s{0,3}(?:PSK|EAP|XAUTH)\s{1,4}[\"'](?P<secret>[^\"'\n]{4,200})[\"']",
        _given,
        within=True,
        lines=1,
    ),
    rule(
        "password",
        "createuser",
        r"\bcreateUser\s{1,3}\S{1,60}\s{1,3}(?:SHA|MD5)[\d-]{0,5}\s{1,3}[\"']?(?P<secret>[^\s\"']{4,200})",
        _given,
    ),
    rule(
        "password",
        ("auth ",),
        r"(?m)(?:^|> )AUTH (?:[\w-]{1,40} )?[\"']?(?P<secret>[^\s\"']{6,200})[\"']?$",
        lambda match: thought_up(match["secret"]),
        within=True,
        lines=1,
    ),
    rule(
        "secret",
        "pragma",
        r"(?i)\bpragma\s{1,3}(?:hex)?(?:re)?key\s{0,3}=\s{0,3}[\"']{1,2}(?P<secret>[^\"'\n]{4,200})[\"']",
        _given,
    ),
    rule(
        "rails key",
        "master.key credentials/",
        r"(?:master|credentials/\w{1,30})\.key\b[^\n]{0,60}\n(?P<secret>[0-9a-f]{32})(?![0-9a-f])",
        within=True,
        lines=2,
    ),
    rule(
        "ansible vault",
        "$ansible_vault;",
        r"\$ANSIBLE_VAULT;[\d.]{1,5};AES256(?:;[\w-]{1,60})?(?P<secret>(?:\s{1,20}[0-9a-f]{40,80}){1,400})",
    ),
    rule(
        "aws secret",
        "akia asia",
        r"(?:AKIA|ASIA)[A-Z0-9]{16}[\"']?[\s,;:|/]{1,4}[\"']?(?P<secret>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])",
    ),
    rule(
        "private key id", '"private_key_id"', r"\"private_key_id\"\s{0,3}:\s{0,3}\"(?P<secret>[a-f0-9]{40})\""
    ),
    rule(
        "secret",
        "key secret token pass pw credential",
        rf"(?i)<({_NAMED}\d?)(?:\s[^<>]{{0,200}})?>(?P<secret>[^<>\s][^<>\n]{{3,4000}})</\1\s{{0,2}}>",
        _given,
        within=True,
        begins=r"<(?=[a-z_])",
    ),
    rule(
        "secret",
        "key secret token pass pw credential",
        rf"(?i)(?:key|name)=[\"']{_NAMED}[\"'][^<>]{{0,100}}>\s{{0,20}}(?:<value>)?(?P<secret>[^<>\s]{{4,4000}})</",
        _given,
        within=True,
        begins=r"(?:key|name)=[\"']",
    ),
    rule(
        "secret",
        "<key>",
        rf"(?i)<key>{_NAMED}</key>\s{{0,20}}<string>(?P<secret>[^<>\s]{{4,4000}})</string>",
        _given,
        within=True,
        begins=r"<key>",
    ),
    rule(
        "secret",
        "key secret token pass pw credential",
        rf"(?i)\b(?:name|key|variable)[\"']?\s{{0,3}}[:= ]\s{{0,3}}[\"']?(?P<name>{_NAMED}\w{{0,10}})[\"']?(?:\s{{0,3}},)?\s{{0,20}}(?:\{{[^{{}}]{{0,300}}?(?<![\w]))?[\"']?(?:value|default)[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?(?P<secret>[^\s\"'<>,}}]{{4,4000}})",
        lambda match: _given(match) and not tells_of(match["name"]),
        within=True,
        begins=r"name|key|variable",
    ),
    rule(
        "secret",
        "|",
        rf"(?i)\|\s{{0,20}}[`*]{{0,2}}(?:[\w-]{{1,20}} ){{0,3}}{_NAMED}[`*]{{0,2}}\s{{0,20}}\|\s{{0,20}}`?(?P<secret>[^\s|`]{{6,400}})`?\s{{0,20}}\|",
        _said,
        within=True,
        begins=r"\|",
    ),
    rule(
        "password",
        ("password\n", "passwd\n", "secret\n", "token\n"),
        r"(?im)^(?:[\w-]{1,30},){0,3}(?:password|passwd|secret|token)\n(?:[^,\n]{1,60},){0,3}(?P<secret>[^\s,]{6,200})$",
        lambda match: thought_up(match["secret"]),
        within=True,
        lines=2,
    ),
    rule(
        "password",
        ":5432: :5433: :5434: :5435: :5436: :5437: :5438: :5439: :6432: :15432: :25432: :26257: :*: *:*",
        r"(?m)^(?:[\w.-]{1,200}|\*):(?:543\d|6432|[12]5432|26257|\*):[\w*-]{1,64}:[\w-]{1,64}:(?P<secret>\S{4,200})$",
        _given,
        within=True,
        lines=1,
    ),
    rule(
        "password",
        ":5432: :5433: :5434: :5435: :5436: :5437: :5438: :5439: :6432: :15432: :25432: :26257:",
        rf"(?:{EDGE}(?<![._-])|(?<=[/:]))[\w.-]{{1,200}}:(?:543\d|6432|[12]5432|26257):[\w*-]{{1,64}}:[A-Za-z_][\w-]{{0,63}}:(?P<secret>(?:[^\s\"'`\x1b\\]|\\(?![nrtu\"'\\])){{4,200}})",
        _given,
        within=True,
        lines=1,
    ),
    rule(
        "meta token",
        "| %7c",
        r"(?<=[0-9]{15})(?<![A-Za-z0-9][0-9]{16})(?:\||%7[Cc])(?P<secret>[A-Za-z0-9_-]{27,40})(?![A-Za-z0-9_-])",
        mixed,
        within=True,
        begins=r"[|%](?<=[0-9]{15}[|%])",
    ),
    rule(
        "password",
        "jdbc:oracle",
        r"jdbc:oracle:[a-z]{2,5}:[^\s/@]{1,60}/(?P<secret>[^\s/@\"']{4,200})@",
        _given,
    ),
    rule(
        "secret",
        "password passphrase pwd api key token secret",
        r"(?i)\b(?:password|passphrase|pwd|passcode|api[ -]key|access[ -](?:key|token)|secret(?: key)?|token|passwd)(?: is generated)?(?: (?:for|of)(?: (?:the|user|account))? [\w@.'-]{1,40})?"
        r"(?:(?: is| was)(?: now| set to)?:?|:)\s{1,2}[\"'`]?(?P<secret>[^\s\"'`<>\x1b]{6,400})",
        _said,
        within=True,
        begins=r"pass|pwd|api[ -]key|access[ -](?:key|token)|secret|token",
    ),
    rule(
        "password",
        ("pw is", "pw was", "creds", "credentials", "login is", "login:", "login "),
        r"(?i)\b(?:pw (?:is|was):?|(?:creds|credentials|login)(?:(?: is| are|:)?\s{1,2})[\w.@-]{1,40}\s?/)\s{0,2}[\"'`]?(?P<secret>[^\s\"'`<>\x1b/]{6,400})",
        _said,
        within=True,
        begins=r"pw (?:is|was)|(?:creds|credentials|login)(?: is| are|:)?\s",
    ),
    rule(
        "secret",
        ("api key", "api token", "access key", "access token", "secret key", "secret token"),
        r"(?i)\b(?:api|access|secret|personal access) (?:key|token)\s{1,3}[\"'`]?(?P<secret>[A-Za-z0-9+/_=-]{24,400})(?![A-Za-z0-9+/_=.(-])",
        _long_random,
        within=True,
        begins=r"(?:api|access|secret) (?:key|token)\s",
    ),
    rule(
        "password",
        ("following password",),
        r"(?i)following password[^\n]{0,60}:\s{1,6}(?P<secret>[^\s\"'<>]{8,200})",
        _said,
    ),
    rule(
        "password",
        "password passwd",
        r"(?i)\b(?:and|with|using|the|user) (?:password|passwd|pass) [\"'`]?(?P<secret>[^\s\"'`<>\x1b]{6,400})",
        _said,
        within=True,
        begins=r"(?:and|with|using|the|user) pass",
    ),
    rule(
        "header",
        "x- apikey api-key proxy_set_header",
        r"(?i)\b(?:proxy_set_header|add_header|header(?: set)?)\s{1,3}[\"']?(?:x-[a-z-]{0,30}(?:key|token|auth|secret)|authorization|apikey|api-key)[\"']?\s{1,3}[\"']?(?:(?:bearer|basic|token)\s{1,3})?(?P<secret>[^\s\"'$;][^\s\"';]{5,400})",
        _given,
        within=True,
        begins=r"proxy_set_header|add_header|header",
    ),
    rule(
        "header",
        "x-",
        r"(?i)\bx-[a-z-]{0,30}(?:key|token|auth|secret|team|credential)s?[\"']?\s{0,3}:\s{0,3}[\"']?(?P<secret>[^\s\"',;$<{][^\s\"',;<{]{11,4000})",
        lambda match: looks_random(match["secret"], 12) or thought_up(match["secret"]),
    ),
    rule(
        "signature",
        "signature=",
        r"(?i)(?<![a-z])(?:x-goog-signature|x-amz-signature|signature)=(?P<secret>[a-f0-9]{64,1024})(?![a-z0-9])",
        within=True,
        begins=r"x-goog-signature=|x-amz-signature=|signature=",
    ),
    rule("digest response", "response=", r"\bresponse=\"(?P<secret>[a-f0-9]{32})\""),
    rule(
        "password hash",
        "{sha} {ssha} {ssha512} {smd5} pbkdf2 scrypt: :::",
        r"\{S(?:SHA|HA|MD5|SHA256|SHA512)\}[A-Za-z0-9+/=]{20,200}|pbkdf2[_:-]sha\d{1,3}[$:][0-9a-zA-Z$:/+=.]{40,400}|scrypt:\d{2,9}:\d:\d\$[A-Za-z0-9$/+=.]{40,400}"
        r"|:[a-fA-F0-9]{32}:[a-fA-F0-9]{32}:::",
        within=True,
        lines=1,
    ),
    rule(
        "secret",
        "%22",
        rf"(?i)%22{_NAMED}%22(?:%3a|:)(?:%20|\+)?%22(?P<secret>[^%\s&]{{4,400}})",
        _given,
        within=True,
        begins=r"%22",
    ),
)
