"""The value of a secret variable is found however a program writes it; and only the model may be shown it plain."""

import base64
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from tui_agent.engine.recorder import Recorder
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.ids import CallId
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.session.clock import SystemClock
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

VALUE = "correct horse/batt+ery=ä1"
REDACTOR = Redactor(secrets={"MY_LOGIN": VALUE})


@pytest.mark.parametrize("before", ["", "a", "ab", "ada:"])
@pytest.mark.parametrize("after", ["", "z", "zz"])
@pytest.mark.parametrize("code", [base64.b64encode, base64.urlsafe_b64encode])
def test_it_is_found_within_base64_wherever_it_begins(before, after, code):
    text = f"x {code(f'{before}{VALUE}{after}'.encode()).decode()} y"
    assert "[redacted: MY_LOGIN]" in REDACTOR.redact_text(text)
    assert REDACTOR.suspects(text.encode())


@pytest.mark.parametrize(
    "spelled",
    [VALUE, quote(VALUE), quote(VALUE, safe=""), quote_plus(VALUE), VALUE.encode().hex()],
)
def test_it_is_found_in_addresses_and_in_digits(spelled):
    assert (
        REDACTOR.redact_text(f"https://x.example/?q={spelled}&r=1")
        == "https://x.example/?q=[redacted: MY_LOGIN]&r=1"
    )


@pytest.mark.parametrize("plain", [True, False])
def test_only_the_model_is_shown_it_and_only_where_that_is_wished(tmp_path: Path, plain: bool):
    store = SessionStore(tmp_path / "sessions", SystemClock(), REDACTOR)
    log = store.create("ses_1")
    heard: list[Envelope] = []
    recorder = Recorder(log, (), (heard.append,), model_sees_secrets=plain)
    recorder.append(UserMessageReceived(text=f"The login is {VALUE}."))
    recorder.append(
        ToolFinished(
            call_id=CallId("c"),
            name="x",
            status="ok",
            part=0,
            content=(TextContent(text=VALUE),),
            summary=VALUE,
        )
    )
    first = recorder.messages()[0]
    assert isinstance(first, UserMessage) and isinstance(first.content[0], TextContent)
    assert (VALUE in str(first.content[0].text)) is plain
    assert recorder.snapshot() is None or not plain
    assert not [event for event in heard if VALUE in event.model_dump_json()]
    log.close()
    assert not [
        path for path in tmp_path.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()
    ]
    again = Recorder(store.open("ses_1"), store.read("ses_1"))
    assert VALUE not in str(again.messages())
