"""L1: secrets on command lines and in calls of functions: what follows an option, a name, or a user.

Invariant: as `rules`; an option counts only where its program (or its own name) says what follows.
"""

import re

from tui_agent.secret_words import SECRET_WORD
from tui_agent.store.redaction.rule import Rule, rule
from tui_agent.store.redaction.values import (
    TEMPLATE,
    WORDS,
    is_placeholder,
    looks_random,
    secret_text,
    tells_of,
    thought_up,
)

_VALUE = r"[\"']?(?P<secret>[^\s\"'`$<|;-][^\s\"'`]{3,400})"
_LOGIN = r"[\"'](?P<secret>[^\s\"']{6,400})[\"']"


def _thought_up(match: re.Match[str]) -> bool:
    return thought_up(match["secret"])


def _set(match: re.Match[str]) -> bool:
    return thought_up(match["secret"]) and not tells_of(match["name"])


def _optioned(match: re.Match[str]) -> bool:
    """Behind an option; within a word (`single-token text`) only what holds a digit."""
    value, before = match["secret"], match.string[max(0, match.start() - 1) : match.start()]
    return thought_up(value) and (not before.isalnum() or any(char.isdigit() for char in value))


def _given(match: re.Match[str]) -> bool:
    value = match["secret"]
    return not is_placeholder(value) and not TEMPLATE.search(value)


def _long(match: re.Match[str]) -> bool:
    """Made by a generator for sure: long, of all three kinds of characters."""
    value = match["secret"]
    return looks_random(value, 24) and value != value.lower() and value != value.upper()


def _secret_text(match: re.Match[str]) -> bool:
    """A text behind a name in quotes, or within a call."""
    return secret_text(match["secret"])


def _random_or_odd(match: re.Match[str]) -> bool:
    value = match["secret"]
    if looks_random(value, 20):
        return True
    if not thought_up(value):
        return False
    digits = sum(char.isdigit() for char in value)
    signs_in = re.match(r"(?i)(?:\w*auth|login|credentials|authenticate)\b", match.group()) is not None
    return (signs_in and digits > 1) or not re.fullmatch(r"[\w./:-]+", value)


COMMANDS: tuple[Rule, ...] = (
    rule(
        "secret",
        "-- -pass -token -secret -pw -access -api",
        r"(?i)--?(?:[a-z0-9]{1,20}-){0,4}(?:password|passwd|passphrase|(?!by)[a-z]{0,8}pass(?:word)?|pwd?|token|api-?key|secret|access-key|secret-key"
        rf"|storepass|keypass|psk)(?:[ =]{{1,3}}|[\"'],\s{{0,3}}(?=[\"'])){_VALUE}",
        _optioned,
        within=True,
        begins=r"-(?=[a-z-])",
    ),
    rule(
        "password",
        "-storepass -keypass -srcstorepass -deststorepass",
        rf"-(?:storepass|keypass|srcstorepass|deststorepass)\s{{1,3}}{_VALUE}",
        _given,
    ),
    rule("password", "pass:", r"(?<![\w])pass:(?P<secret>[^\s\"':|]{4,200})", _thought_up),
    rule(
        "password",
        "docker podman helm supabase mongo mongosh mongodump zip unzip 7z az sqlcmd mariadb rabbitmqadmin ldapsearch ldapadd ldapmodify wpa_passphrase",
        r"\b(?:(?:docker|podman|helm|nerdctl)\b[^\n|;]{0,100}?\blogin\b[^\n|;]{0,200}?\s-p[ \t]{0,2}"
        r"|mongo(?:sh|dump|restore|export|import)?\b[^\n|;]{0,200}?\s-p[ \t]{1,2}|(?:zip|unzip|sqlcmd)\b[^\n|;]{0,100}?\s-P[ \t]{0,2}"
        r"|7z[ar]?\b[^\n|;]{0,100}?\s-p|az[ \t]{1,2}login\b[^\n|;]{0,200}?\s-p[ \t]{1,2}|ldap(?:search|add|modify|delete|whoami)\b[^\n|;]{0,200}?\s-w[ \t]{0,2}"
        r"|supabase\b[^\n|;]{0,100}?\s-p[ \t]{1,2}"
        rf"|wpa_passphrase[ \t]{{1,2}}\S{{1,64}}[ \t]{{1,2}}){_VALUE}",
        _given,
    ),
    rule(
        "password",
        "openssl",
        rf"\bopenssl\b[^\n|;]{{0,200}}?\s-(?:k|K|passin|passout)[ \t]{{1,3}}(?!pass:|env:|file:){_VALUE}",
        _given,
    ),
    rule(
        "password",
        "smbclient rpcclient",
        r"\b(?:smbclient|rpcclient)\b[^\n|;]{0,200}?\s-U[ \t]{0,3}[\"']?[^\s%]{1,60}%(?P<secret>[^\s\"']{4,200})",
        _given,
    ),
    rule(
        "password",
        "rabbitmqctl lftp nmcli aws keypassword storepassword",
        r"(?i)\b(?:rabbitmqctl\b[^\n|;]{0,100}?\b(?:add_user|change_password)[ \t]{1,3}\S{1,60}[ \t]{1,3}"
        r"|lftp\b[^\n|;]{0,100}?\s-u[ \t]{0,3}[^\s,]{1,60},|nmcli\b[^\n|;]{0,200}?\spassword[ \t]{1,3}"
        r"|aws[ \t]{1,3}ssm[ \t]{1,3}put-parameter\b(?=[^\n]{0,400}SecureString)[^\n|;]{0,300}?--value[ =]{1,3}"
        rf"|(?:key|store)password[ \t]{{1,3}}(?=\S*\d)){_VALUE}",
        _given,
    ),
    rule(
        "token",
        "twine nuget doctl",
        r"(?i)\b(?:twine\s{1,3}upload\b[^\n|;]{0,200}?\s-p|nuget\b[^\n|;]{0,200}?\spush\b[^\n|;]{0,200}?\s(?:-k|-apikey)|doctl\b[^\n|;]{0,100}?\s-t)"
        rf"[ \t]{{1,3}}{_VALUE}",
        _thought_up,
    ),
    rule(
        "password",
        "unlock-keychain create-keychain schtasks signtool",
        rf"(?i)(?:\b(?:unlock|create)-keychain\b[^\n|;]{{0,60}}?\s-p|\bschtasks\b[^\n|;]{{0,200}}?\s/rp|\bsigntool\b[^\n|;]{{0,200}}?\s/p)[ \t]{{1,2}}{_VALUE}",
        _given,
        within=True,
        begins=r"(?:unlock|create)-keychain|schtasks|signtool",
    ),
    rule(
        "secret",
        "user-secrets",
        r"\buser-secrets\s{1,3}set\s{1,3}[\"']?[\w:.-]{1,100}[\"']?\s{1,3}[\"']?(?P<secret>[^\s\"'$<{-][^\s\"']{3,400})",
        _given,
    ),
    rule(
        "password",
        "ssh-keygen",
        rf"\bssh-keygen\b[^\n|;]{{0,200}}?\s-[NP][ \t]{{1,3}}{_VALUE}",
        _given,
    ),
    rule(
        "password",
        "username user login",
        rf"(?i)\b(?:user(?:name)?|login) [\w@.-]{{1,60}} pass(?:word|wd)? {_VALUE}",
        _thought_up,
    ),
    rule(
        "secret",
        "key secret token pass pw credential",
        rf"(?i){SECRET_WORD}[\w.-]{{0,20}}[ \t]{{1,3}}[\"']?(?P<secret>[A-Za-z0-9+/_=-]{{24,400}})(?![A-Za-z0-9+/_=.(-])",
        _long,
        within=True,
        begins=WORDS,
    ),
    rule(
        "password",
        "basicauth( basic_auth auth= networkcredential( passwordauthentication( usernamepasswordcredentials( mysqli_connect( getconnection( pdo(",
        r"(?i)(?:\w*Basic_?Auth[( ]|\bauth\s{0,2}=\s{0,2}(?:\w{1,20})?\(|NetworkCredential\(|PasswordAuthentication\(|UsernamePasswordCredentials\("
        rf"|mysqli_connect\(|getConnection\(|\bPDO\()\s{{0,3}}(?:[^,()\n]{{1,100}},\s{{0,3}}){{1,2}}{_LOGIN}",
        _thought_up,
        within=True,
        begins=(
            r"basic_?auth[( ]|auth\s{0,2}=|networkcredential\(|passwordauthentication\(|usernamepasswordcredentials\(|mysqli_connect\(|getconnection\(|pdo\("
        ),
    ),
    rule(
        "password",
        "requirepass masterauth bindpw rootpw enable username snmp-server rocommunity rwcommunity",
        r"(?i)(?<![^\n])[ \t+-]{0,12}(?:(?:\S{1,40}> )?config set )?(?:requirepass|masterauth|bindpw|rootpw|enable (?:secret|password)(?: \d)?"
        r"|username \S{1,60} (?:privilege \d{1,2} )?(?:secret|password)(?: \d)?|snmp-server community|r[ow]community6?)[ \t]{1,8}(?!(?:public|private)\b)[\"']?"
        r"(?P<secret>[^\s\"'$<{][^\s\"']{3,200})",
        _given,
        within=True,
        lines=1,
    ),
    rule(
        "token",
        "cargo vault npm fly wandb",
        r"\b(?:cargo|vault|npm|fly|wandb)\s{1,3}login\s{1,3}(?:--\w{1,20}\s{1,3}){0,2}(?P<secret>[A-Za-z0-9._-]{16,400})",
        lambda match: looks_random(match["secret"], 16) or match.group().startswith("wandb"),
    ),
    rule(
        "password",
        "net",
        r"(?i)\bnet[ \t]{1,3}use[ \t]{1,3}(?:(?:\S{1,10}[ \t]{1,3})?\\\\\S{1,200}|[a-z*]:?[ \t]{1,3}(?=/user:))[ \t]{0,3}(?:/\S{1,60}[ \t]{1,3}){0,2}(?P<secret>(?<=[ \t])[^\s/][^\s]{3,200})",
        _given,
    ),
    rule(
        "password",
        "htpasswd",
        r"\bhtpasswd[ \t]{1,3}-[a-zA-Z]{0,6}b[a-zA-Z]{0,6}[ \t]{1,3}(?:\S{1,200}[ \t]{1,3}){1,2}(?P<secret>[^\s\"']{4,200})(?=\s|$)",
        _given,
    ),
    rule(
        "password",
        (
            *("stdin", "sudo", "chpasswd", "passwd", "with-token", "cryptsetup", "passphrase-fd", "kinit"),
            *("secret", "pass insert", "vault login", "vault kv"),
        ),
        r"\b(?:echo|printf)[ \t]{1,3}(?:-[ne]{1,2}[ \t]{1,3}|[\"']?%s(?:\\n)?[\"']?[ \t]{1,3}){0,2}[\"']?(?:[\w.-]{1,40}:)?(?P<secret>[^\s\"'$:|][^\s\"':|]{3,200}?)(?:\\n)?[\"']?[ \t]{0,3}\|[ \t]{0,3}"
        r"(?:sudo[ \t]{1,3}-S|sudo[ \t]{1,3}chpasswd|chpasswd|passwd|kinit|vault[ \t]{1,3}(?:login|kv[ \t]{1,3}put)|pass[ \t]{1,3}insert|(?:sudo[ \t]{1,3})?cryptsetup"
        r"|[a-z]{2,12}[ \t]{1,3}secrets?[ \t]{1,3}(?:set|put|create|import|add)\b|[^\n|]{1,200}(?:--password-stdin|--with-token|-stdin|--passphrase-fd[ =]0))",
        _given,
        within=True,
        begins=r"echo|printf",
    ),
    rule(
        "password",
        "password-stdin with-token",
        r"(?:--password-stdin|--with-token)\b[^\n|;<]{0,100}<<<[ \t]{0,3}[\"']?(?P<secret>[^\s\"'$<{`][^\s\"']{3,400})",
        _given,
        within=True,
        lines=1,
    ),
    rule(
        "password",
        "http-basic",
        r"\bconfig(?:[ \t]{1,3}--?[a-z-]{1,20}){0,2}[ \t]{1,3}http-basic\.\S{1,100}[ \t]{1,3}\S{1,60}[ \t]{1,3}[\"']?(?P<secret>[^\s\"'$<{][^\s\"']{3,200})",
        _given,
        within=True,
        lines=1,
    ),
    rule(
        "secret",
        "secret",
        r"\bsecret[ \t]{1,3}set[ \t]{1,3}\S{1,100}[^\n|;]{0,100}?(?:--body|-b|--value)[ =]{1,3}[\"']?(?P<secret>[^\s\"'$][^\s\"']{3,400})",
        _given,
    ),
    rule(
        "password",
        "convertto-securestring",
        r"(?i)ConvertTo-SecureString\s{1,3}(?:-(?:AsPlainText|Force)\s{1,3}){0,2}(?:-String\s{1,3})?[\"'](?P<secret>[^\s\"'$][^\s\"']{3,200})",
        _given,
    ),
    rule(
        "password",
        "convertto-securestring",
        r"(?i)[\"'](?P<secret>[^\s\"'$][^\s\"']{3,200})[\"']\s{0,3}\|\s{0,3}ConvertTo-SecureString",
        _given,
        within=True,
        lines=1,
    ),
    rule(
        "password",
        "send",
        r"\bsend\s{1,3}(?:--\s)?[\"'](?P<secret>[^\s\"'\\]{6,200})\\[rn][\"'][^\n]{0,40}pass",
        _given,
    ),
    rule(
        "secret",
        "key secret token pass pw credential pat",
        rf"(?i)(?:\b(?:env(?:\s{{1,3}}(?:add|set))?|setx|setenv|export|arg|define)|\bset\s{{1,3}}-[a-z]{{1,4}})\s{{1,3}}(?P<name>\w{{0,60}}{SECRET_WORD}\w{{0,10}})\s{{1,3}}(?:<<<\s{{0,3}})?{_VALUE}",
        _set,
        within=True,
        begins=r"(?:env|setx|setenv|export|arg|set|define)\s",
    ),
    rule(
        "secret",
        "key secret token pass pw credential",
        rf"(?i){SECRET_WORD}[\"']\s{{0,3}},\s{{0,3}}(?:default\s{{0,2}}[=:]\s{{0,2}})?b?[\"'`](?P<secret>[^\n\"'`]{{6,400}})[\"'`]",
        _secret_text,
        within=True,
        begins=WORDS,
    ),
    rule(
        "secret",
        "key secret token pass pw",
        rf"(?i){SECRET_WORD}(?:str|bytes|value)?(?:(?:::|\.)(?:new|of|from\w{{0,6}}|make))?[({{]\s{{0,3}}[\"'`](?P<secret>[^\n\"'`]{{6,400}})[\"'`]",
        _secret_text,
        within=True,
        begins=WORDS,
    ),
    rule(
        "password",
        "auth( auth= login( connect( client( credentials( authenticate(",
        rf"(?i)(?:\bauth\s{{0,2}}=\s{{0,2}}\(|\bauth\(|(?:BasicAuth|login|Credentials|connect|Client|authenticate)\()\s{{0,2}}[bfru]?[\"'][^\"'\n]{{1,100}}[\"']\s{{0,2}},\s{{0,2}}[bfru]?{_LOGIN}",
        _random_or_odd,
        within=True,
        begins=r"auth\s{0,2}=\s{0,2}\(|auth\(|login\(|credentials\(|connect\(|client\(|authenticate\(",
    ),
    rule(
        "password",
        "auth(",
        r"(?i)\.auth\(\s{0,2}[\"'](?P<secret>[^\s\"']{6,400})[\"']\s{0,2}\)",
        _secret_text,
        within=True,
        begins=r"\.auth\(",
    ),
    rule(
        "secret",
        "consul etcdctl",
        rf"(?i)\b(?:consul[ \t]{{1,3}}kv|etcdctl)(?:[ \t]{{1,3}}--?\S{{1,60}}){{0,3}}[ \t]{{1,3}}put[ \t]{{1,3}}[\w./:-]{{0,200}}{SECRET_WORD}[\w-]{{0,20}}[ \t]{{1,3}}{_VALUE}",
        _given,
    ),
    rule(
        "login token",
        "login",
        r"(?i)\blogin\(\s{0,2}[\"'](?P<secret>[^\s\"']{20,400})[\"']",
        lambda match: looks_random(match["secret"], 20),
        within=True,
        begins=r"login\(",
    ),
    rule(
        "secret",
        "client( algoliasearch(",
        r"(?i)(?:client|algoliasearch)\(\s{0,2}[\"'][^\"'\n]{1,100}[\"']\s{0,2},\s{0,2}[\"'](?P<secret>[0-9a-f]{32,64})[\"']",
        within=True,
        begins=r"client\(|algoliasearch\(",
    ),
    rule(
        "secret",
        "config configure",
        rf"(?i)\bconfig(?:ure)?(?:\s{{1,3}}--?[a-z-]{{1,20}}){{0,2}}\s{{1,3}}(?:set\s{{1,3}})?(?:--?[a-z-]{{1,20}}\s{{1,3}}){{0,2}}[\w./:@-]{{0,100}}(?:{SECRET_WORD}|:_auth|github-oauth|gitlab-token)[\w.]{{0,40}}\s{{1,3}}{_VALUE}",
        _thought_up,
    ),
    rule(
        "secret",
        "mc",
        rf"\bmc\s{{1,3}}(?:alias\s{{1,3}}set|config\s{{1,3}}host\s{{1,3}}add)\s{{1,3}}\S{{1,60}}\s{{1,3}}\S{{1,200}}\s{{1,3}}\S{{1,60}}\s{{1,3}}{_VALUE}",
        _given,
    ),
    rule(
        "secret",
        "(def (setq (setf",
        rf"(?i)\((?:def\w{{0,9}}|setq|setf)\s{{1,3}}(?:\^\S{{1,30}}\s{{1,3}})?[\w*.-]{{0,60}}{SECRET_WORD}[\w*-]{{0,10}}\s{{1,3}}\"(?P<secret>[^\s\"]{{6,400}})\"",
        _secret_text,
        within=True,
        begins=r"\((?:def|set[qf])",
    ),
)
