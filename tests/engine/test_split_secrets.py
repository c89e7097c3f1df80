"""A secret that a model streams in two pieces is redacted wherever the pieces are cut."""

import json
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import EchoTool, running, say
from tests.stubs.clock import FakeClock
from tui_agent.engine.cutting import MOST_HELD, safe_end
from tui_agent.engine.merge import LIMIT, Merger
from tui_agent.ports.model import Finished, TextChunk, ToolCallChunk
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
    answers = [[*pieces, Finished("tool_calls")], say("done")]
    async with running(tmp_path, answers, [EchoTool()]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    sent = "\n".join(event.model_dump_json() for event in bench.events)
    (delta,) = [
        one for one in bench.of(ModelDelta) if isinstance(one, ModelDelta) and one.part == "tool_call"
    ]
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
    assert not [
        one for one in bench.of(ModelDelta) if isinstance(one, ModelDelta) and one.part == "tool_call"
    ]
