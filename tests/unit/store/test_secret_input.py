"""Bad input is redacted in bounded time and changed nowhere else; and what earlier versions missed is covered."""

import pytest

from tests.stubs.rows import rows
from tui_agent.store.redaction.library import bundled_rules
from tui_agent.store.redaction.redactor import Redactor

REDACTOR = Redactor()
KEY = "gh" + "p_" + "a1B2" * 9
SIZE = 300_000
PIECES = {
    "names without values": "password: ",
    "open quotes": 'key="',
    "beginnings of keys": "-----BEGIN " + "PRIVATE KEY-----",
    "defaults": "password or 'x",
    "options": "curl -u a:",
    "members": '"password":',
    "escapes": 'password\\\\\\"',
    "variables": 'variable "password" { ',
    "deep sections": " secrets:\n  a: hunter2hunter\n",
    "NUL": "\0",
    "carriage returns": "\r",
    "surrogates": "\ud800",
    "brackets": "[",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PIECES)
def test_a_long_hostile_text_is_redacted(name: str) -> None:
    text = PIECES[name] * (SIZE // len(PIECES[name]))
    assert isinstance(
        REDACTOR.redact_text(text), str
    )  # a quadratic pattern would run into the test's time limit


@pytest.mark.parametrize(
    "around", ["\0", "\r", "\ud800", "\udcff", "é", "\u3000", "\u2028", "\x1b[32m", "\ufeff"]
)
def test_a_secret_beside_an_odd_character_is_covered_and_the_character_stays(around: str) -> None:
    assert REDACTOR.redact_text(f"a{around}{KEY}{around}b") == f"a{around}[redacted: github token]{around}b"


def test_a_character_of_several_bytes_is_covered_whole_or_not_at_all() -> None:
    text = "password='" + "é" * 5_000 + "1' and more"
    assert REDACTOR.redact_text(text) == "password='[redacted: secret]' and more"


def test_redacted_text_stays_as_it_is() -> None:
    for text in (
        f"token: {KEY}",
        "curl -u bob:sunflower x",
        "password: |\n  correct horse battery",
        f"a {KEY} b",
    ):
        once = REDACTOR.redact_text(text)
        assert once != text and REDACTOR.redact_text(once) == once


COVERED = {
    "service account": "op_service_account = @@ops_eyJ" + "aB3d" * 70,
    "slack webhook": "https://hooks.slack.com/services/@@T01ABCDEF/B02ABCDEF/aBcDeFgHiJkLmNoPqRsTuVwX",
    "discord webhook": "https://discord.com/api/webhooks/@@123456789012345678/" + "aB3d" * 17,
    "putty key": "@@PuTTY-User-Key-File-2: ssh-rsa\nEncryption: none\nComment: a\nPublic-Lines: 1\nAAAA\nPrivate-Lines: 1\nBBBB",
    "ini line": "[db]\nuser=ada\npasswd=@@qwertyuiopas",
    "letters made at random": "passwd=@@QwErTyUiOpAs",
    "folded block": "password: >-\n  @@correct horse battery staple@@\nuser: x",
    "block with a number": "token: |2\n    @@hunter2hunter",
    "variable of terraform": 'variable "db_password" {\n  description = "of the db"\n  default     = "@@sunflower@@"\n}',
    "value in XML": '<entry key="db.password" value="@@sunflower@@"/>',
    "German": "Das Passwort lautet: @@Tr0ub4dor",
    "German, at once": "Das Kennwort für ada lautet @@Sommer2024!",
    "okta": "Authorization: @@SSWS 00abcDEF123abcDEF123abcDEF123abcDEF123abcD",
    "hcl": '  admin_password = "@@hunter2@@"',
    "recovery words": "mnemonic = @@legal winner thank year wave sausage worth useful legal winner thank yellow",
}
STAYING = [
    'hash_password("hunter2")',
    'assert hash_password("hunter2") != "x"',
    "ops_eyJxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
    "https://discord.com/api/webhooks/{id}/{token}",
    "Das Passwort lautet: <Passwort>",
    "Das Passwort ist falsch.",
    "password: |\n  ${DB_PASSWORD}",
    "password: >-\n  Enter the password of your account",
    "FooCameraKit: f15a5a04b0f6dc6073e6db0296e6ef2d8b8d2522",
    "sumOfExposures = sumOfExposures;",
    "PuTTY-User-Key-File is how such a file begins",
]


@rows("name", COVERED)
def test_what_was_missed_is_covered(name: str) -> None:
    before, secret, behind = f"{COVERED[name]}@@".split("@@")[:3]
    text = REDACTOR.redact_text(before + secret + behind)
    assert text.startswith(f"{before}[redacted: ") and text.endswith(f"]{behind}")
    assert text.count("[redacted: ") == 1


@rows("text", STAYING)
def test_what_looks_alike_stays(text: str) -> None:
    assert REDACTOR.redact_text(text) == text


def test_a_text_that_holds_every_keyword_many_times_is_redacted() -> None:
    words = sorted({word.removeprefix("^") for rule in bundled_rules() for word in rule.keywords})
    text = " ".join(words * 3)
    assert isinstance(REDACTOR.redact_text(f"{text} {KEY}"), str)
    assert KEY not in REDACTOR.redact_text(f"{text} {KEY}")


def test_a_password_that_is_told_in_a_text_in_json_is_covered() -> None:
    assert "Tr0ub4dor" not in REDACTOR.redact_text('{"text": "the password is Tr0ub4dor\\nand more"}')
