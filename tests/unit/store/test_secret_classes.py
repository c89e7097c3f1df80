"""Classes of secrets and of what only looks so: plain words as passwords, phrases, whose key it is, keys behind escapes."""

import json
import random
import string

import pytest

from tui_agent.store.redaction.redactor import Redactor

MADE = random.Random(23)
ALNUM = string.ascii_letters + string.digits
REDACTOR = Redactor()


def made(count: int, alphabet: str = ALNUM) -> str:
    """Made here, so that no line of this file looks like a key."""
    return "".join(MADE.choice(alphabet) for _ in range(count - 4)) + "7a" + alphabet[3] + "9"


PLAIN = (
    "pwd=@@",
    "uid=sa;pwd=@@;database=x",
    "Pwd=@@;Server=h",
    "User ID=sa;Password=@@;",
    "password=@@ host=h user=u",
    "mysql --password=@@ db",
    "PASS=@@",
    "DB_PASS=@@",
    "DB_PASSWORD=@@",
    "export APP_PASSWORD=@@",
    "  POSTGRES_PASSWORD: @@",
    "spring.datasource.password=@@",
    "[db]\nuser = x\npassword = @@",
    "db:\n  user: ada\n  password: @@",
    "redis://:@@@cache:6379",
    "password = '@@'",
)


@pytest.mark.parametrize("name", ["DBPASS", "SMTPPASS", "ftppass", "userpass", "MYSQLPASS"])
@pytest.mark.parametrize("place", ["{}=@@", "export {}=@@", '{} = "@@"'])
def test_a_name_that_ends_in_pass_without_a_border_is_known(name: str, place: str) -> None:
    value = made(12)
    assert value not in REDACTOR.redact_text(place.format(name).replace("@@", value))


@pytest.mark.parametrize("text", ["compass=north4711east", "bypass=ab9Kd82hs", "userpassage = ab9Kd82hs"])
def test_other_words_with_these_letters_stay(text: str) -> None:
    assert REDACTOR.redact_text(text) == text


@pytest.mark.parametrize("place", PLAIN)
@pytest.mark.parametrize("word", ["sunflower", "rosebush"])
def test_a_plain_word_is_a_password_where_programs_are_configured(place: str, word: str) -> None:
    assert word not in REDACTOR.redact_text(place.replace("@@", word))


@pytest.mark.parametrize(
    "text",
    [
        "password = sunflower",
        "password: string",
        "password: required",
        "connect(password=plaintext, user=user)",
        "this.password=sunflower;",
        '{"PASSWORD": sunflower}',
        "user = who\npassword = sunflower",
        "username: string\npassword: string",
        "FIRST_PASS=enabled",
        "PASSWORD=required",
        "PASS=12tests",
        "PWD=/home/ada/work",
        "OLDPWD=/srv",
        "PASSWORD_RESET_TIMEOUT=259200",
    ],
)
def test_in_code_and_of_states_it_is_a_name(text: str) -> None:
    assert REDACTOR.redact_text(text) == text


@pytest.mark.parametrize("quote", ["'", '"'])
@pytest.mark.parametrize(
    "phrase", ["correct horse battery staple", "my cat has 9 lives now", "tea at four with the old queen"]
)
def test_a_phrase_in_quotes_is_a_password(quote: str, phrase: str) -> None:
    for place in ("password = {0}{1}{0}", "DB_PASSWORD={0}{1}{0}", "  passphrase: {0}{1}{0}"):
        assert phrase not in REDACTOR.redact_text(place.format(quote, phrase))


@pytest.mark.parametrize(
    "text",
    [
        '"password": "must be at least 8 characters"',
        '"forgot_password": "Forgot your password?"',
        'password: "Passwort ändern"',
        '"password": "Mot de passe"',
        'title_password = "Change the password of this account"',
    ],
)
def test_a_label_or_a_message_is_none(text: str) -> None:
    assert REDACTOR.redact_text(text) == text


ISSUED = {
    "github token": f"gh{'p_'}{made(36)}",
    "openrouter key": f"s{'k-or-v1-'}{made(64, '0123456789abcdef')}",
    "openai key": f"s{'k-proj-'}{made(90)}",
    "anthropic key": f"s{'k-ant-api03-'}{made(90)}",
    "gitlab token": f"gl{'pat-'}{made(20)}",
    "npm token": f"np{'m_'}{made(36)}",
    "google key": f"AI{'za'}{made(35)}",
    "stripe key": f"s{'k_live_'}{made(24)}",
    "json web token": f"ey{'J'}{made(30)}.ey{'J'}{made(60)}.{made(43)}",
}


@pytest.mark.parametrize("kind", ISSUED)
@pytest.mark.parametrize(
    "place",
    [
        "{}",
        "token={}",
        "API_TOKEN='{}'",
        "Authorization: Bearer {}",
        "x-api-key: {}",
        "https://a:{}@host/x",
        "https://host/?key={}",
    ],
)
def test_a_key_is_named_after_its_issuer_wherever_it_stands(kind: str, place: str) -> None:
    assert REDACTOR.redact_text(place.format(ISSUED[kind])) == place.format(f"[redacted: {kind}]")
    assert REDACTOR.json({"token": ISSUED[kind]}) == {"token": f"[redacted: {kind}]"}


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_secret_is_found_however_often_its_json_is_quoted(depth: int) -> None:
    value, key = made(20), ISSUED["github token"]
    text = json.dumps({"password": value, "log": f"one\n{key}"})
    for _ in range(depth):
        text = json.dumps({"body": text})
    redacted = REDACTOR.redact_text(text)
    assert value not in redacted
    assert key not in redacted


@pytest.mark.parametrize(
    "text",
    [
        "mysql -u root -p\nmysql --version",
        "docker login -u ada -p\ndocker ps",
    ],
)
def test_an_option_at_the_end_of_a_line_takes_nothing_of_the_next_one(text: str) -> None:
    assert REDACTOR.redact_text(text) == text
