"""Secrets right behind what is no blank: an escaped line break, a colour of the terminal, a line's number; and values of
several pieces."""

import json
import random
import string

import pytest

from tui_agent.store.redaction.redactor import Redactor

MADE = random.Random(23)
ALNUM = string.ascii_letters + string.digits
CAPITAL = string.ascii_uppercase + string.digits
HEX = "0123456789abcdef"
REDACTOR = Redactor()


def made(count: int, alphabet: str = ALNUM) -> str:
    """A value of a generator; made here, so that no line of this file looks like a key."""
    return (
        "".join(MADE.choice(alphabet) for _ in range(count - 4))
        + "7a"[: 2 if "a" in alphabet else 1].ljust(2, "9")
        + MADE.choice(alphabet)
        + "9"
    )


FORMS = {
    "telegram": ("{}", f"48572{made(5, '123456789')}:AA{made(33)}"),
    "password file of postgres": ("db.host:5432:app:bob:{}", made(16)),
    "login of docker": ('{{"auths":{{"r.x":{{"auth":"{}"}}}}}}', made(31) + "="),
    "sshpass": ("sshpass -p {} ssh bob@h", made(12)),
    "mysql": ("mysql -u root -p{} app", made(14)),
    "docker login": ("docker login -u bob -p {} r.example", made(14)),
}
AROUND = {
    "as it is": lambda text: text,
    "in a text in JSON": lambda text: json.dumps({"a": f"first\n{text}\nlast"}),
    "in such a text in one": lambda text: json.dumps(json.dumps({"a": f"first\n{text}\nlast"})),
    "behind a tab in JSON": lambda text: json.dumps(f"a\t{text}\tb"),
    "coloured": lambda text: f"\x1b[32m{text}\x1b[0m",
    "coloured in JSON": lambda text: json.dumps(f"\x1b[1;32m{text}\x1b[0m"),
    "behind a line's number": lambda text: f"12\t{text}",
    "found by grep": lambda text: f"src/x.env:3:{text}",
    "added": lambda text: f"+{text}",
    "quoted": lambda text: f"* `{text}`",
    "in a log": lambda text: f"2026-01-02T10:00:00Z [info] {text}",
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("form", FORMS)
def test_a_secret_is_found_whatever_stands_right_before_it(form: str, around: str) -> None:
    shape, value = FORMS[form]
    text = AROUND[around](shape.format(value))
    assert value not in REDACTOR.redact_text(text)
    assert REDACTOR.suspects(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "DB_PASSWORD=Xy7.kL9.pQ2w",
        "password: hunter2.Blue.Sky9",
        f'API_TOKEN="{made(22)}.{made(21)}.{made(21)}"',
        f"DISCORD_TOKEN={made(24)}.{made(6)}.{made(38)}",
        "client_secret = 'Xy7.kL9.pQ2w-8'",
    ],
)
def test_a_value_of_several_pieces_is_one_behind_a_secret_s_name(text: str) -> None:
    assert "[redacted: " in REDACTOR.redact_text(text)


@pytest.mark.parametrize(
    "key",
    [
        f"xoxc-{made(12, '123456789')}-{made(12, '123456789')}-{made(64, HEX)}",
        f"xoxd-{made(60)}",
        f"pat{made(14)}.{made(64, HEX)}",
        f"pk_{made(8, '123456789')}_{made(32, CAPITAL)}",
        f"rootly_{made(64, HEX)}",
        f"EAACEdEose0cBA{made(40)}",
        f"{made(15, '123456789')}|{made(27)}",
    ],
)
def test_a_key_is_known_by_its_own_form(key: str) -> None:
    assert key[5:] not in REDACTOR.redact_text(f"it says {key} here")
    assert key[5:] not in REDACTOR.redact_text(json.dumps(f"a\n{key}\nb"))


@pytest.mark.parametrize(
    "text",
    [
        "password_hasher = django.contrib.auth.hashers.PBKDF2PasswordHasher",
        "password = settings.db2.password",
        'token: "com.example.v2.auth.TokenProvider"',
        "secret: db1.prod2.example.com",
        "token: v1.24.3-rc1",
        "password: 10.20.30.40",
        "passwd = self.forms2.Field3.password",
        "password = request.form2.Login1",
        "auth_token = module.auth_v2.Token",
        "session_id: 01JGX5K7RGM16T6VJJV54C3K9J",
        '"session_id":"ses_1m8183brw6xywc7v"',
        '{"session_id": "ses_1m8183brw6xywc7v", "run_id": "run_0a1b2c3d4e5f"}',
        "**password: null** and **session_id: 01JGX5K7RGM16T6VJJV54C3K9J**",
        "\x1b[32mpassword: null\x1b[0m",
        "cpe:2.3:a:vendor:product:1.0:*:*:*:*:*:*:*",
        "ports: 127.0.0.1:5432:5432",
        "pk_20814036_users",
        "| 123456789012345 | abcdefghijklmnopqrstuvwxyz0123 |",
    ],
)
def test_names_of_several_pieces_hosts_versions_and_our_own_ids_stay(text: str) -> None:
    assert REDACTOR.redact_text(text) == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("PASSWORD=Tr0ub4dor&3x", "PASSWORD=[redacted: secret]"),
        ("A=1\nDB_PASSWORD=ab&cd12&ef9\nB=2", "A=1\nDB_PASSWORD=[redacted: secret]\nB=2"),
        ("export DB_PASSWORD=ab&cd=12", "export DB_PASSWORD=[redacted: secret]"),
        (
            "https://h/?password=abcdef12&next=1",
            "https://h/?password=[redacted: address parameter]&next=1",
        ),
        ("password=abcdef12&next=1", "password=[redacted: secret]&next=1"),
        ("PASSWORD=hunter2x&& ls", "PASSWORD=[redacted: secret]&& ls"),
    ],
)
def test_an_ampersand_belongs_to_a_setting_and_ends_a_field_of_a_query(text: str, clean: str) -> None:
    assert REDACTOR.redact_text(text) == clean


@pytest.mark.parametrize("value", ["k8sd9f8sdf", "hunter2secret", "s3cr3tpassw0rd"])
def test_a_generated_pass_is_a_secret_alone_in_its_line(value: str) -> None:
    assert REDACTOR.redact_text(f"db:\n  pass: {value}\n") == "db:\n  pass: [redacted: password]\n"
    assert value in REDACTOR.redact_text(f"the tests pass: {value} and more")
