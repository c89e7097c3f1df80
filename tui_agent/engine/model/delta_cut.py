"""Where a text that still grows may be cut, so that no secret stands in two pieces, each of which looks harmless.

Invariant: a piece ends behind a whole word; never inside a private key, inside a command that may be given a password,
nor between the beginning of a line with a secret's name (`password`, `- name: DB_TOKEN`) and the end of the second line
below it. What is held back is bounded by `MOST_HELD`; behind a name, also by `_NEAR` characters and by plain prose.
"""

import re
from typing import Final

from tui_agent.protocol.secret_names import SECRET_WORD

MOST_HELD: Final = 8_000
"""Characters that are held back at most; a longer run without a place to cut is cut anywhere."""
_NEAR: Final = 300
_LINES_BELOW: Final = 2
_TO_LAST_WORD: Final = re.compile(r"[\s\S]*[\s\x80-\U0010ffff]")
_PEM_BEGIN: Final = "-----BEGIN"
_PEM_END: Final = re.compile(r"-----END[ A-Z0-9]{0,50}-----")
_TELLING_WORD: Final = rf"(?!pass(?:age|e[ds]|enger|ing|ive)){SECRET_WORD}"
"""A word of secrets; `3 tests passed` has none."""
_NAME: Final = re.compile(
    rf"(?i)(?:{_TELLING_WORD}|\b(?:bearer|creds|following|identified|insert\s+into|machine|username|authenticate\(|login\("
    r"|(?:\w+_)?auth[=(]))\w{0,20}"
)
"""A secret's name, or what says that one follows without a name: `basic_auth('bob', …)`."""
_LINE_BREAK: Final = re.compile(r"\n\s*")
_LEADING: Final = (
    r"(?:account|and|by|default|for|generated|is|not|now|null|of|set|the|to|user|was|with)(?=[ ,.;!?])"
)
_PROSE: Final = re.compile(
    rf"[`'\"*)]{{0,3}}(?: +{_LEADING})*(?:[ ,]+(?!{_LEADING})[a-z]+(?=[ ,.;!?])(?: +{_LEADING})*){{3}}"
    rf"|[^\n:=\"'`]{{0,{_NEAR}}}[.!?]\s"
)
"""Behind a name: three plain words, besides those that lead to a value (`for the user ada is now `), or a sentence's end."""
_UNFINISHED: Final = re.compile(
    rf"(?i)(?:(?:{_TELLING_WORD}|authorization|auth|basic|cookie|credential|digest|dsn|hmac|jwt|key|login|otp|pepper|pin|salt"
    r"|seed|session|sid)\w{0,20}[\s\"'`\\\[\](){}<>|&:=+-]{0,40}"
    r"|(?<![\w.-])(?:alter|arg|config|create|define|env|export|insert|login|name|net|pw|security|set|the|user|using|variable|with)\b"
    r"[\"']?\s{0,3}[:=]?\s{0,3}[\"']?(?:-\w{1,4}\s{1,3})?)\Z"
)
"""A name up to where its value would begin, or a word that says of a name behind it that it is one."""
_COMMAND: Final = re.compile(
    r"(?<![\w./-])(?:7z|ab|ansible\w*|argocd|aws|az|bao|chpasswd|composer|consul|cqlsh|cryptsetup|curl\w*|cypher-shell|docker|echo"
    r"|etcdctl|flyctl|ftp|gh|gh-api|helm|hey|htpasswd|http|https|hurl|imapfilter|influx|ipmitool|keytool|kinit|kubectl|ldap\w+"
    r"|lftp|mariadb|mongo\w*|mosquitto_\w+|mysql\w*|nmcli|oc|openssl|podman|poetry|printf|psexec|psql|pulumi|rabbitmq\w+"
    r"|rdesktop|redis-(?:cli|server)|restic|rpcclient|schtasks|setenv|setx|signtool|skopeo|smbclient|snmp\w+|sqlcmd|sqlplus"
    r"|ssh-keygen|sshpass|sudo|supabase|swaks|tabcmd|twine|unzip|vault|vercel|wandb|wget|winexe|xfreerdp3?|xh|zip|-u"
    r"|(?i:(?:alter|create)\s+(?:login|role|user)|config\s+set|createUser|convertto-securestring|grant|login\s+is|net\s+use\w*"
    r"|nickserv|pragma|r[ow]community6?|requirepass|security\s+[a-z]+-keychain))\s"
    rf"(?:\\\r?\n|[^\n`]){{0,{_NEAR}}}\Z"
)
"""A command up to the end of its line, or of the quotes of Markdown around it: only the program's name tells that
`bob:hunter2` is a login."""


def safe_end(text: str) -> int:
    """How much of a growing text may go out now; 0 where nothing may."""
    if len(text) >= MOST_HELD:
        return len(text)
    end, last = _word_end(text, len(text)), -1
    while end != last:
        last = end
        for held_from in (_key_begin, _command_begin, _named_line_begin, _unfinished_begin):
            end = held_from(text, end)
    return end


def _key_begin(text: str, end: int) -> int:
    begun = text.rfind(_PEM_BEGIN, 0, end)
    return begun if begun >= 0 and _PEM_END.search(text, begun, end) is None else end


def _command_begin(text: str, end: int) -> int:
    command = _COMMAND.search(text, max(0, end - 2 * _NEAR), end)
    return command.start() if command else end


def _named_line_begin(text: str, end: int) -> int:
    """Where the first line begins in which a secret is named that may still follow.

    Only names near the end of the text count, so that a list of lines that all name one is not held back whole.
    """
    for name in _NAME.finditer(text, max(0, len(text) - _NEAR), end):
        breaks = len(_LINE_BREAK.findall(text, name.end(), end))
        prose = _PROSE.match(text, name.end())
        if breaks <= _LINES_BELOW and (prose is None or prose.end() > end):
            return _line_begin(text, name.start())
    return end


def _unfinished_begin(text: str, end: int) -> int:
    if len(text) - end > 2 * _NEAR:  # names behind names: none of them has a value
        return end
    name = _UNFINISHED.search(text, max(0, end - _NEAR), end)
    return _word_end(text, name.start()) if name else end


def _line_begin(text: str, at: int) -> int:
    """Where the line of a place begins, or a word near it if that is far away."""
    begin = text.rfind("\n", 0, at) + 1
    return begin if at - begin <= _NEAR else _word_end(text, at)


def _word_end(text: str, end: int) -> int:
    """Where the last word before `end` begins; characters beyond ASCII are words of their own."""
    found = _TO_LAST_WORD.match(text, 0, end)
    return found.end() if found else 0
