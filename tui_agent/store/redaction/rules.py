"""L1: what a secret looks like: a first set of well-known formats and of the places where secrets stand.

Invariant: identifiers, hashes, UUIDs, commit ids, checksums of lock files and plain numbers match no rule.
"""

from tui_agent.secret_words import SECRET_WORD
from tui_agent.store.redaction.formats import formats
from tui_agent.store.redaction.rule import EDGE, Rule, rule
from tui_agent.store.redaction.values import (
    WEAK_WORD,
    WORDS,
    assigned,
    in_address,
    in_column,
    in_header,
    in_statement,
    is_placeholder,
    issued,
    mailgun,
    mixed,
    mixed_case,
    not_placeholder,
    random_value,
    thought_up,
    weakly_assigned,
)

_TYPED = (
    r"(?:(?:\[\w{0,30}\])?(?:(?:[?!]?:|\s{1,3}as)\s{0,3}(?:&(?:'\w{1,12}\s{1,3})?)?(?:[\w.\[\]|?<>]{1,40}(?:\s\|\s[\w.\[\]?<>]{1,30}){0,3}|Annotated\[[^\n\"'=]{1,60}\])"
    r"|\s{1,3}\*?(?:[\w.]{0,20}string|str|\[\]byte)|\s{0,2}\{\s{0,2}get;[\w\s;]{0,24}\})?\s{0,3}(?==\s{0,3}(?:[\"'`]|[a-z@\[][\w.:<>\[\]\s]{0,60}\([|\s&]{0,5}[\"'`])))?"
)
"""A type between a name and its value, which must be a text."""


_WRAPPED = (
    r"(?:[bfru@ls]{1,2}(?=[\"'])|(?:secret[a-z]{0,12}(?:::\w{1,12}|\.\w{1,12})?|(?:std::|new\s{1,3})?string(?:::from)?|(?:c|os)string::(?:new|from)|some|just|optional\.of|\[\]byte|text|_t"
    r"|(?:cow|box|arc|rc)::\w{1,12}|buffer\.from|(?:base64\.)?b64decode|atob|lazy(?:lock|cell)?::new|new\s{1,3}[\w.]{0,30}(?:secret|password|token|credential|key|string)s?)\(\s{0,3}(?:\|\|\s{0,3}|&)?(?=[\"'`]))?"
)
"""What gives a text a type: `String::from("…")`, `new Secret("…")`, `b"…"`."""
_STOP = r"(?![A-Za-z0-9])"

ISSUED: tuple[Rule, ...] = (
    rule(
        "private key",
        "-----begin",
        r"-----BEGIN[ A-Z0-9]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:[A-Za-z0-9+/=\s\\:,.]|-(?!-{4})){40,}(?:-----END[ A-Z0-9]{0,50}-----)?",
    ),
    rule(
        "putty key",
        "private-lines:",
        r"Private-Lines: \d{1,4}\s{1,2}(?P<secret>(?:[A-Za-z0-9+/=]{1,80}\s{1,2}){1,200})",
    ),
    rule(
        "webhook address",
        "hooks.slack.com discord.com/api/webhooks discordapp.com/api/webhooks .webhook.office.com hooks.zapier.com/hooks/catch",
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)|discord(?:app)?\.com/api/webhooks"
        r"|hooks\.zapier\.com/hooks/catch|\.webhook\.office\.com/webhookb2)/(?P<secret>[A-Za-z0-9_/@-]{12,300})",
    ),
    rule(
        "aws key id",
        "akia asia abia acca a3t",
        rf"{EDGE}(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{{16}}{_STOP}",
        lambda match: not match.group().endswith("EXAMPLE"),
    ),
    *(Rule(kind, triggers, pattern, issued, starts) for kind, triggers, pattern, starts in formats()),
    rule("mailgun key", "key-", rf"{EDGE}key-[a-f0-9]{{32}}{_STOP}", mailgun),
    rule("openai key", "sk-", rf"{EDGE}sk-(?!ant-)(?:[a-z0-9]{{2,12}}-)?[A-Za-z0-9_-]{{20,250}}", mixed),
    rule(
        "json web token",
        "eyj",
        rf"{EDGE}eyJ[A-Za-z0-9_-]{{10,2000}}\.eyJ[A-Za-z0-9_-]{{10,4000}}(?:\.[A-Za-z0-9_-]{{10,2000}})?",
    ),
)
"""What is known by its own form: looked for first, so that it is named after its issuer wherever it stands."""

RULES: tuple[Rule, ...] = (
    rule(
        "authorization",
        "authorization",
        r"(?i)authorization\\{0,7}[\"']{0,2}\s{0,3}[:=,]\s{0,3}b?\\{0,7}[\"']{0,2}(?:(?:bearer|basic|token|digest|ssws|apikey|key)\s{1,3})?"
        r"(?P<secret>[^\s\"',;\\]{8,4000})",
        in_header,
    ),
    rule("bearer token", "bearer", r"(?i)bearer\s{1,3}(?P<secret>[A-Za-z0-9._~+/=-]{16,4000})", mixed),
    rule("basic login", "basic", r"(?i)\bbasic\s{1,3}(?P<secret>[A-Za-z0-9+/]{12,4000}={0,2})", mixed_case),
    rule(
        "header",
        "x-api-key x-auth x-amz-security private-token x-access x-csrf x-vault job-token ocp-apim api-key",
        r"(?i)(?:x-api-key|x-auth-[a-z]{1,12}|x-auth|x-amz-security-token|private-token|job-token|x-access-token|ocp-apim-subscription-key"
        r"|x-vault-token|x-csrf-token|api-key)(?:\\{0,7}[\"'])?\s{0,3}[:,]\s{0,3}b?(?:\\{0,7}[\"'])?(?P<secret>[^\s\"',;]{8,4000})",
        in_header,
    ),
    rule(
        "cookie",
        "cookie",
        r"(?i)cookie[\"']?\s{0,3}:\s{0,3}[\"']?[^\n=;]{1,60}=(?P<secret>[^\s\"';,]{16,4000})",
        random_value,
    ),
    rule(
        "password",
        "://",
        r"://(?P<user>[^\s/:@\"'<>]{0,100}):(?P<secret>[^\s/\"'<>`]{3,200})@",
        in_address,
    ),
    rule("token", "://", r"://(?P<secret>[A-Za-z0-9_-]{20,200})(?::x-oauth-basic|:)?@", mixed),
    rule(
        "address parameter",
        "access_token= refresh_token= id_token= token= api_key= apikey= key= subscription-key= sig= signature= x-amz-signature= client_secret="
        " x-amz-security-token= x-amz-credential= secret= password= pwd= auth= code=",
        r"(?i)(?<=[?&])(?:access_token|refresh_token|id_token|token|api_?key|key|subscription-key|sig|signature|x-amz-signature|client_secret"
        r"|x-amz-security-token|x-amz-credential|secret|password|pwd|auth|code)=(?P<secret>[^\s&#\"'<>]{6,2000})",
        not_placeholder,
    ),
    rule(
        "secret",
        "key secret token pass pw credential connection psk pat mnemonic rediscli",
        rf"(?i)(?P<word>{SECRET_WORD}(?:s|[0-9]{{1,3}}|[_-][A-Za-z0-9_]{{1,20}}|(?-i:[A-Z][a-z0-9][A-Za-z0-9]{{0,20}}))?)"
        rf"(?:\x1b\[[0-9;]{{0,10}}m|&quot;|[\u200b-\u200d]|\\{{0,7}}[\"']|\])*{_TYPED}\s{{0,3}}(?::=|\?=|=>|<-|->|={{2,3}}(?=\s{{0,3}}[\"'])|[:=])\s{{0,6}}(?:\x1b\[[0-9;]{{0,10}}m)?"
        rf"(?:[>|][+-]?\n\s{{1,12}}|!![a-z]{{3,6}}\s{{1,3}}|&\w{{1,30}}\s{{1,3}})?\[?{_WRAPPED}"
        r"(?:(?P<quote>\\{0,7}(?:\"\"\"|'''|[\"'`“])|&quot;)(?=(?P<text>[^\n\"'`”]{4,4000}?)(?:\\{0,7}[\"'`”]|&quot;))|)"
        r"(?P<secret>(?(text)(?P=text)|(?:[^\s\"'`“,;&)}\]<\x1b\\]|\\(?![nrt\"'\\])){6,4000}))",
        assigned,
        within=True,
        begins=WORDS,
    ),
    rule(
        "secret",
        "salt hmac jwt cookie dsn pepper session_id sessionid _auth -auth key otp",
        rf"(?i)(?<![a-z]){WEAK_WORD}\\{{0,7}}[\"']?\]?\s{{0,3}}(?::=|=>|[:=])\s{{0,3}}\\{{0,7}}[\"']?(?P<secret>[A-Za-z0-9+/=_.~!@#$%^*-]{{20,4000}})",
        weakly_assigned,
        begins=(WEAK_WORD),
    ),
    rule(
        "password",
        "password identified",
        r"(?i)(?:identified (?:with [\w'\"]{1,40} )?(?:by|as)|\bpassword(?:\s{0,3}=)?)\s{1,3}N?(?P<quote>['\"])(?P<secret>[^'\"\s]{4,200})['\"]",
        in_statement,
    ),
    *(
        rule(
            "password",
            ("insert into",),
            rf"(?i)insert into [^\s(]{{1,80}}\s{{0,3}}\((?:[^,()]{{1,60}},){{{before}}}[^,()]{{0,40}}(?P<word>{SECRET_WORD})[`\"\]]?\s{{0,3}}(?:,[^()]{{1,400}})?\)\s{{0,20}}values\s{{0,20}}\("
            rf"(?:(?:[NEe]?'[^'\n]{{0,400}}'|[^,'()\n]{{1,60}}(?:\([^()\n]{{0,100}}\))?)\s{{0,3}},\s{{0,20}}){{{before}}}[NEe]?'(?P<secret>[^'\n]{{4,400}})'",
            lambda match: not is_placeholder(match["secret"]),
        )
        for before in range(7)
    ),
    rule(
        "password",
        ("set password",),
        r"(?i)set password(?: for [^\s=;]{1,120})?\s{0,3}=\s{0,3}(?:password\(\s{0,2})?'(?P<secret>[^'\n]{4,200})'",
        not_placeholder,
    ),
    rule(
        "address parameter",
        "appid=",
        r"(?i)(?<=[?&])appid=(?P<secret>[a-f0-9]{32})(?![a-z0-9])",
        within=True,
        lines=1,
    ),
    rule(
        "secret",
        "default",
        rf"(?i)(?P<word>{SECRET_WORD})(?P<rest>\w{{0,20}})[\"`\]]?\s{{1,8}}(?:(?:in|inout)\s{{1,3}})?[a-z]\w{{1,20}}"
        r"(?:\s{0,2}\([\w, ]{1,12}\))?(?:\s{1,3}(?!default\b)[a-z][\w.%]{1,30}){0,6}\s{1,3}default\s{0,3}[=(]?\s{0,3}[NEne]?'(?P<secret>[^'\n]{4,400})'",
        in_column,
        within=True,
        begins=WORDS,
    ),
    rule(
        "password",
        "identified",
        r"(?i)\b(?:user|role|grant)\b[^\n;]{1,200}?\bidentified by (?P<secret>[^\s'\";:?@$(){}]{4,200})(?=\s{0,2};|\s{1,3}(?:default|account|quota|profile|temporary)\b|$)",
        not_placeholder,
        within=True,
        lines=1,
    ),
    rule(
        "password",
        "machine",
        r"(?i)\bmachine\s{1,3}\S{1,200}\s{1,3}login\s{1,3}\S{1,200}\s{1,3}password\s{1,3}(?P<secret>\S{4,400})",
        not_placeholder,
    ),
    rule(
        "password",
        "sshpass mysql redis-cli",
        r"\b(?:sshpass[ \t]{1,3}-p|mysql[a-z]{0,8}\b[^\n|;]{0,200}?[ \t]-p|redis-cli\b[^\n|;]{0,200}?[ \t]-a)[ \t]{0,2}[\"']?"
        r"(?P<secret>[^\s\"'$-][^\s\"']{3,200})",
        not_placeholder,
    ),
    rule(
        "password hash",
        "$1$ $2a$ $2b$ $2y$ $5$ $6$ $y$ $apr1$ $argon2",
        r"\$(?:1|2[aby]|5|6|y|apr1|argon2(?:id|i|d))\$[A-Za-z0-9./$,=+]{20,200}",
    ),
    rule(
        "password",
        "password secret token api-key apikey",
        r"(?i)(?:password|secret|token|api-?key)\"\s{1,4}value=\"(?P<secret>[^\"\s]{4,400})\"",
        not_placeholder,
    ),
    rule(
        "kubernetes secret",
        "kind:",
        r"(?is)\bkind:\s{0,3}[\"']?secret\b.{0,400}?\bdata:(?P<secret>(?:\s{1,12}[\w.-]{1,80}:\s{0,3}[\"']?[A-Za-z0-9+/]{6,4000}={0,2}[\"']?){1,50})",
    ),
    rule(
        "kubernetes secret",
        "kind:",
        r"(?is)(?<![^\n])data:(?P<secret>(?:\n[ \t]{1,12}[\w.-]{1,80}:[ \t]{0,3}[\"']?[A-Za-z0-9+/]{6,4000}={0,2}[\"']?){1,50})\n(?:kind:[ \t]{0,3}[\"']?secret\b|[^\n-]{1,100}\nkind:[ \t]{0,3}[\"']?secret\b)",
        within=True,
        begins=r"data:",
    ),
    rule(
        "kubernetes secret",
        "stringdata:",
        r"(?i)\bstringData:(?P<secret>(?:\n[ \t]{1,12}[\w.-]{1,80}:[ \t]{0,3}(?![|>{$])[^\n]{4,4000}){1,50})",
        lambda match: "{{" not in match["secret"] and "${" not in match["secret"],
    ),
    rule(
        "key data",
        "client-key-data",
        r"client-key-data:\s{0,3}(?P<secret>[A-Za-z0-9+/=]{40,8000})",
    ),
    rule(
        "login data",
        '"auth',
        r"\"auth\\{0,7}\"\s{0,3}:\s{0,3}\\{0,7}\"(?P<secret>[A-Za-z0-9+/]{12,2000}={0,2})\\{0,7}\"",
    ),
    rule(
        "login data",
        "_auth",
        r"(?<![\w])_auth\s{0,2}=\s{0,2}[\"']?(?P<secret>[A-Za-z0-9+/]{12,2000}={0,2})(?=[\"'\s]|$)",
        mixed,
    ),
    rule(
        "secret",
        "bundle_",
        r"BUNDLE_[A-Z0-9_]{4,80}__(?:COM|ORG|NET|IO)[=:]\s{0,3}[\"']?(?P<secret>[^\s\"'$]{8,400})",
        mixed,
    ),
    rule(
        "token",
        '"github-oauth"',
        r"\"github-oauth\"\s{0,3}:\s{0,3}\{\s{0,20}\"[\w.-]{1,80}\"\s{0,3}:\s{0,3}\"(?P<secret>[^\"\s]{20,400})\"",
    ),
    rule(
        "password",
        "password",
        r"(?m)(?<![^\n])[ \t]{0,12}password[ \t]{1,4}(?P<secret>[^\s\"'=:]{6,200})$",
        lambda match: thought_up(match["secret"]) and mixed(match),
        within=True,
        lines=1,
    ),
)
