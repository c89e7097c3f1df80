"""A secret that a model streams in two pieces is redacted wherever the pieces are cut."""

import json
import random
import time
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import EchoTool, running, say
from tests.stubs.clock import FakeClock
from tests.unit.store.test_secret_shapes import every, filled
from tui_agent.engine.delta_merge import MAX_EVENT_CHARS, MAX_HELD_CHARS, DeltaMerger, safe_end
from tui_agent.ports.model import FinishChunk, TextChunk, ToolCallChunk
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.model import ModelDelta
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
    "login": ("curl -u bob:Hunter2Hunter2 https://example.org\n", "Hunter2Hunter2"),
    "continued": ("mysql -u root \\\n  -pHunter2Hunter2 shop\n", "Hunter2Hunter2"),
    "pem": (f"-----BEGIN RSA PRIVATE KEY-----\n{PEM}\n-----END RSA PRIVATE KEY-----", "MIIEpAIB"),
}


def recorded(*pieces: str) -> str:
    """The pieces as they stand in the log one behind the other, when each is flushed as soon as it may be."""
    said: list[str] = []
    redactor = Redactor()
    merger: DeltaMerger[str] = DeltaMerger(
        FakeClock(), lambda _key, text: said.append(redactor.redact_text(text))
    )
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
    for before in range(MAX_EVENT_CHARS - len(secret[:60]) - 2, MAX_EVENT_CHARS + 2, 3):
        log = recorded("x " * (before // 2) + secret + " " + "y " * MAX_EVENT_CHARS)
        assert telling not in log, before


def test_a_command_is_held_back_up_to_the_end_of_its_line_or_quotes() -> None:
    assert safe_end("Run curl -s https://example.org ") == 4
    assert safe_end("Run `curl -s https://example.org` now ") == 38
    assert safe_end("Run curl -s https://example.org\nand ") == 36
    assert safe_end("With docker " + "word " * 80) == 412


VALUE = "hunter2Xy9q"
LINES = [
    "password: |\n  @@",
    "password: >-\n  @@",
    "- name: DB_PASSWORD\n  value: @@",
    '{"name": "DB_PASSWORD",\n "value": "@@"}',
    'variable "db_password" {\n  type = string\n  default = "@@"\n}',
    "<key>password</key>\n<string>@@</string>",
    "insert into users (name, password)\nvalues ('bob', '@@');",
    "Password for bob:\n@@",
    "user: bob\npass: @@",
    "machine h login ada\npassword @@",
    "pwd: @@",
    'pass: "@@"',
    'os.environ["API_KEY"] = "@@"',
    "setenv API_KEY @@",
    "setx API_KEY @@",
    "set -gx API_KEY @@",
    "my password is @@",
    'the db password for staging is "@@"',
    "A temporary password is generated for root@localhost: @@",
    "creds: ada / @@",
    "username ada password @@",
    "alter user bob identified by '@@';",
    "set password for 'bob' = '@@';",
    "echo @@ | docker login --password-stdin",
    "echo @@ | sudo -S ls",
    "echo bob:@@ | chpasswd",
    "gh secret set FOO --body @@",
    "mosquitto_pub -h h -u bob -P @@ -t x",
    "ipmitool -H h -U bob -P @@ lan",
    "xfreerdp /v:h /u:bob /p:@@",
    "curl -b 'session=@@' https://h/",
    "vault kv put secret/a value=@@",
    "flyctl secrets set A=@@",
]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("before", ["", "Here it is:\n\n", "```\n"])
def test_what_is_covered_in_a_whole_text_is_covered_in_pieces(line: str, before: str) -> None:
    text = before + line.replace("@@", VALUE) + "\nand that was all."
    assert VALUE not in Redactor().redact_text(text)
    for size in (1, 4, 7):
        log = recorded(*(text[at : at + size] for at in range(0, len(text), size)))
        assert "[redacted: " in log
        assert not [at for at in range(len(VALUE) - 3) if VALUE[at : at + 4] in log], log


@pytest.mark.slow
def test_of_the_places_of_the_corpus_few_are_missed_in_pieces() -> None:
    missed: list[str] = []
    for place in every("shapes", "code", "files"):
        text, values = filled(place + "\nand that was all.\n", random.Random(1))
        whole, log = (
            Redactor().redact_text(text),
            recorded(*(text[at : at + 4] for at in range(0, len(text), 4))),
        )
        parts = {value[at : at + 5] for value in values for at in range(len(value) - 4)}
        missed += [place] if any(part in log and part not in whole for part in parts) else []
    assert len(missed) <= 14, missed


def test_a_login_that_looks_like_a_name_is_held_back_with_its_command() -> None:
    assert safe_end("Run:\ncurl -u bob:topsecret") == 5
    log = recorded("curl ", "-u ", "bob:top", "secret9", "\n")
    assert log == "curl -u bob:[redacted: password]\n"


def test_a_line_is_held_back_up_to_the_second_below_it_or_for_some_characters() -> None:
    assert safe_end("one\n- name: TOKEN\n  value: x\n") == 4
    assert safe_end("one\n- name: TOKEN\n  value: x\n  b: c\n") == 36
    assert safe_end("the token: " + "word " * 80) == 411
    assert safe_end("token = x\n" * 100) == 700


def test_names_behind_names_cost_little_and_go_out() -> None:
    text = "password " * 800
    begun = time.process_time()
    assert len(text) - safe_end(text) < 1_000
    assert time.process_time() - begun < 0.1


def test_plain_words_are_not_held_back() -> None:
    assert safe_end("The password of the server, which is set. When ") == 47
    assert safe_end("The keys of a map, and the token it holds, are ") == 47
    assert safe_end("half a wor") == 7
    assert safe_end("3 of 7 tests passed\n") == 20
    assert safe_end("日本語") == 3


def test_what_is_held_back_is_bounded() -> None:
    assert safe_end("x" * MAX_HELD_CHARS) == MAX_HELD_CHARS


def texts_below(folder: Path) -> str:
    return "".join(path.read_text("utf-8") for path in folder.rglob("*") if path.is_file())


COMMANDS = {
    "login option": ("curl -u bob:", "sunflower", " https://host.example/"),
    "joined option": ("mysql -u root -p", "sunflower", " app"),
    "named option": ("deploy --password ", "Tr0ub4dor&3", " --force"),
    "file of lines": ("printf 'machine h login ada\npassword ", "hunter2x", "' > .netrc"),
    "far from the end": ("x " * 2_000 + "curl -u bob:", "sunflower", " https://h/ " + "y " * 2_000),
}


@pytest.mark.parametrize("name", COMMANDS)
async def test_no_piece_of_a_secret_in_a_call_is_recorded_or_sent(tmp_path: Path, name: str) -> None:
    before, secret, behind = COMMANDS[name]
    arguments = json.dumps({"words": before + secret + behind})
    at = arguments.index(secret)
    cuts = [0, at - 2, at, at + 3, at + len(secret), len(arguments)]

    async def wait() -> None:
        await anyio.sleep(0.06)  # the pieces would go out by themselves

    pieces: list[object] = [TextChunk("Now I run it.")]
    for start, end in pairwise(cuts):
        pieces += [ToolCallChunk(0, "c1", "echo", arguments[start:end]), wait]
    answers = [[*pieces, FinishChunk("tool_calls")], say("done")]
    async with running(tmp_path, answers, [EchoTool()]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    sent = "\n".join(event.model_dump_json() for event in bench.events)
    (delta,) = [one for one in bench.of(ModelDelta) if one.part_kind == "tool_call"]
    assert delta.name == "echo" and "[redacted: " in delta.text
    recorded = texts_below(tmp_path)
    for text in (sent, recorded):
        assert secret not in text and secret[3:] not in text


async def test_of_a_call_that_broke_off_no_argument_is_recorded(tmp_path: Path) -> None:
    async def wait() -> None:
        await anyio.sleep(0.06)

    begun = ToolCallChunk(0, "c1", "echo", '{"words": "curl -u bob:')
    cut = [begun, wait, ToolCallChunk(0, "c1", "echo", "sun"), wait]
    async with running(tmp_path, [cut, cut, cut, cut, cut, cut], [EchoTool()]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert not [one for one in bench.of(ModelDelta) if one.part_kind == "tool_call"]
