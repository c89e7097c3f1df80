"""L1: a user and a password behind the options of a program: `-u ada:…`, `-u ada -p …`, `ada/…@host`.

Invariant: as `rules`. Behind a program that signs in with what the option says anything counts that is no placeholder;
behind others only what nobody takes for a name, a number or a path (`docker run --user node:node`, `-u 1000:1000`).
"""

import re

from tui_agent.store.redaction.rule import Rule, rule
from tui_agent.store.redaction.values import TEMPLATE, is_placeholder, thought_up

_BACK = 400
"""Characters before an option in which its program is looked for."""
_SIGNS_IN = re.compile(
    r"\b(?:curl|curlie|wget|xhs?|https?(?=\s)|httpie|hurl|hey|ab|wrk2?|siege|vegeta|ncat|gh-api|aria2c|restic|jenkins-cli(?:\.jar)?|nikto|ffuf|wfuzz"
    r"|gobuster|lynx|links|imapfilter|swaks|crackmapexec|netexec|nxc|evil-winrm|ipmitool|snmp\w+|winexe|mosquitto_\w+|cqlsh|influx|tabcmd"
    r"|kinit|oc|kubelogin|argocd|sqlplus|xfreerdp3?|rdesktop|clickhouse-client|cypher-shell|mongo\w*|mysql\w*|mariadb\w*|psql|sqlcmd|isql|bcp"
    r"|skopeo|buildah|crane|oras|cf|az|vsql|beeline|impala-shell|presto|trino|nats|rabbitmqadmin|couchbase-cli|etcdctl)\b"
)
_BY_A = {
    "a": re.compile(r"\b(?:xhs?|https?|httpie|curlie|hey|wuzz|http-prompt)[ \t]"),
    "A": re.compile(r"\bab[ \t]"),
}
"""Programs to which a lone letter says so: to `curl` and `ls` it says something else."""
_NOT_HERE = re.compile(
    r"\b(?:docker|podman|nerdctl|chown|install|rsync|git|sort|ps|sudo|cp|chroot)\b[^|;&]*$"
)
"""Programs to which these options say something else."""
_USER = r"(?P<user>[A-Za-z_][\w.@+\\-]{0,63})"
_OPTION = r"(?P<option>-[a-zA-Z]{0,6}?[uUaA]|--?(?:user|auth|proxy-user|proxy-auth|credentials?|login))"
_END = r"(?P<secret>(?!//)[^\s\"'$<{][^\s\"'|]{3,200})"


def _program(match: re.Match[str]) -> str:
    """The line that an option stands in, continued ones too, up to it."""
    text = match.string[max(0, match.start() - _BACK) : match.start()].replace("\\\n", "  ")
    return text[text.rfind("\n") + 1 :]


def _login(match: re.Match[str]) -> bool:
    value, line, letter = match["secret"], _program(match), match["option"][-1]
    if is_placeholder(value) or TEMPLATE.search(value) or re.match(r"v?\d+\.\d", value):
        return False
    if letter in "aA" and not match["option"].startswith("--"):
        return _BY_A[letter].search(line) is not None
    if _SIGNS_IN.search(line):
        return True
    if _NOT_HERE.search(line) or "/" in value or value.isdigit() or len(value) < 8:
        return False
    return (
        thought_up(value)
        and any(char.isdigit() for char in value)
        and not re.fullmatch(r"[a-z_]+\d{0,2}", value)
    )


def _behind_program(match: re.Match[str]) -> bool:
    value = match["secret"]
    return not is_placeholder(value) and not TEMPLATE.search(value) and not value.startswith("-")


LOGINS: tuple[Rule, ...] = (
    rule(
        "password",
        "curl -u -a --user --auth --proxy-user --proxy-auth --credential --login -auth",
        rf"(?<!\S){_OPTION}[ \t=]{{0,2}}[\"']?{_USER}:{_END}",
        _login,
        within=True,
        begins=r"-(?=[a-z-]{1,16}[ \t=\"']{0,3}[a-z_][\w.@+\\-]{0,63}:)",
    ),
    rule(
        "password",
        "-p -a",
        rf"(?<!\S)(?:-[uU]|--?user(?:name)?)[ \t=]{{0,2}}[\"']?{_USER}[\"']?[ \t]{{1,3}}(?:-[pPAwW]|--?pass)[ \t=]{{1,2}}[\"']?{_END}",
        lambda match: thought_up(match["secret"]),
        within=True,
        begins=r"-(?=(?:u|-?user(?:name)?)[ \t=])",
    ),
    rule(
        "password",
        "login",
        r"\b[\w.-]{2,20}[ \t]{1,2}login\b[^\n|;]{0,200}?\s(?:-p|-t)[ \t=]{1,2}[\"']?" + _END,
        lambda match: thought_up(match["secret"]),
        within=True,
        begins=r"(?<=[\s])[\w.-]{2,20}[ \t]{1,2}login\b|(?:oc|cf|az|tabcmd|argocd|skopeo|buildah|crane|oras|kubelogin)[ \t]{1,2}login\b",
    ),
    rule(
        "password",
        "sqlplus expdp impdp sqlldr",
        rf"\b(?:sqlplus|expdp|impdp|sqlldr)\b[^\n|;]{{0,100}}?[ \t]{_USER}/(?P<secret>[^\s/@\"']{{4,200}})@",
        _behind_program,
    ),
    rule(
        "password",
        "/p:",
        r"(?<!\S)/p:[\"']?(?P<secret>[^\s\"'$<{][^\s\"']{3,200})",
        lambda match: (
            "/u:" in match.string[max(0, match.start() - _BACK) : match.end() + _BACK]
            and _behind_program(match)
        ),
        within=True,
        lines=1,
    ),
    rule(
        "password",
        "winexe wmiexec net wmic",
        r"\b(?:winexe|net[ \t]{1,2}rpc|wmic)\b[^\n|;]{0,200}?\s-U[ \t]{0,3}[\"']?[^\s%]{1,60}%(?P<secret>[^\s\"']{4,200})",
        _behind_program,
    ),
    rule(
        "password",
        "kinit su ssh-add",
        r"\b(?:kinit|su|ssh-add)\b[^\n|;]{0,100}?<<<[ \t]{0,2}[\"']?(?P<secret>[^\s\"'$<{][^\s\"']{3,200})",
        _behind_program,
    ),
    rule(
        "password",
        "net",
        r"(?i)\bnet[ \t]{1,3}user[ \t]{1,3}[\w.$-]{1,64}[ \t]{1,3}(?P<secret>[^\s/*][^\s]{3,200})[ \t]{1,3}/(?:add|domain)",
        _behind_program,
    ),
    rule(
        "secret",
        "--from-literal",
        r"--from-literal[= ][\"']?[\w.-]{1,80}=(?P<secret>[^\s\"'$<{][^\s\"']{3,400})",
        lambda match: thought_up(match["secret"]),
    ),
    rule(
        "password",
        ("user ",),
        r"(?m)(?<![\w])USER [\w.@-]{1,60}\s{1,3}(?:[<>-]{1,4} )?(?:331[^\n]{0,100}\s{1,3})?(?:[<>-]{1,4} )?PASS (?P<secret>\S{4,200})",
        _behind_program,
        within=True,
        lines=3,
    ),
    rule(
        "password",
        ("pass ",),
        r"(?m)^(?:[<>-]{1,4} )?PASS (?P<secret>\S{4,200})\r?\n(?:[<>-]{1,4} )?(?:230|530)[ -]",
        _behind_program,
        within=True,
        lines=2,
    ),
    rule(
        "password",
        "identify",
        r"(?i)\b(?:nickserv|authserv)\b[^\n]{0,20}?\bidentify[ \t]{1,2}(?:[\w-]{1,30}[ \t]{1,2})?(?P<secret>\S{4,200})",
        _behind_program,
        within=True,
        lines=1,
    ),
    rule(
        "password",
        "set_password(",
        r"set_password\(\s{0,3}(?:[\"'][^\"'\n]{0,100}[\"']\s{0,2},\s{0,2}){1,2}[\"'](?P<secret>[^\"'\n]{4,200})[\"']",
        _behind_program,
        within=True,
        begins=r"set_password\(",
    ),
)
