"""A secret that a model streams in two pieces is redacted wherever the pieces are cut."""

import pytest

from tests.stubs.clock import FakeClock
from tui_agent.engine.cutting import MOST_HELD, safe_end
from tui_agent.engine.merge import LIMIT, Merger
from tui_agent.store.redaction.redactor import Redactor

PEM = "\n".join(
    f"MIIEpAIBAAKCAQEA{number:02d}abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMN" for number in range(40)
)
SECRETS = {
    "anthropic": ("sk-ant-api03-AbCdEf0123456789AbCdEf0123456789", "AbCdEf0123456789"),
    "github": ("ghp_" + "a1B2" * 9, "a1B2a1B2"),
    "jwt": ("eyJ" + "aB3d" * 60 + ".eyJ" + "Zx9y" * 200 + "." + "Qw7e" * 20, "Qw7eQw7e"),
    "assigned": ("password = hunter2Hunter2xyz9", "hunter2"),
    "variable": ('MY_API_KEY: "qwerty12345asdfgh9"', "qwerty12345"),
    "header": ("Authorization: Bearer abcdef0123456789ABCDEF", "abcdef0123456789"),
    "pem": (f"-----BEGIN RSA PRIVATE KEY-----\n{PEM}\n-----END RSA PRIVATE KEY-----", "MIIEpAIB"),
}


def recorded(*pieces: str) -> str:
    """The pieces as they stand in the log one behind the other, when each is flushed as soon as it may be."""
    said: list[str] = []
    redactor = Redactor()
    merger: Merger[str] = Merger(FakeClock(), lambda _key, text: said.append(redactor.text(text)))
    for piece in pieces:
        merger.add("text", piece)
        merger.flush()
    merger.finish()
    return "".join(said)


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_cut_anywhere_is_in_no_event_nor_in_all_together(name: str) -> None:
    secret, telling = SECRETS[name]
    step = max(1, len(secret) // 60)
    for at in range(0, len(secret) + 1, step):
        log = recorded("Here it is: " + secret[:at], secret[at:] + " and that ", "was all.")
        assert telling not in log and "[redacted" in log, (at, log[:200])
        assert log.startswith("Here it is: ") and log.endswith("was all.")


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_across_the_size_of_an_event_is_redacted_too(name: str) -> None:
    secret, telling = SECRETS[name]
    for before in range(LIMIT - len(secret[:60]) - 2, LIMIT + 2, 3):
        log = recorded("x " * (before // 2) + secret + " " + "y " * LIMIT)
        assert telling not in log, before


def test_plain_words_are_not_held_back() -> None:
    assert safe_end("The keys of a map, and the token it holds, are ") == 47
    assert safe_end("half a wor") == 7
    assert safe_end("日本語") == 3


def test_what_is_held_back_is_bounded() -> None:
    assert safe_end("x" * MOST_HELD) == MOST_HELD
