"""Failures told apart, and how long to wait."""

from email.utils import formatdate

import pytest

from tui_agent.models import provider_faults, tool_call_repair
from tui_agent.models.http import EventParser
from tui_agent.models.retry_waits import next_wait, retry_after

OVERFLOWS = {
    "openai": (400, '{"error":{"message":"This model\'s maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.","code":"context_length_exceeded"}}'),
    "openai responses": (400, '{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again."}}'),
    "azure": (400, '{"error":{"message":"Input tokens exceed the configured limit; the prompt exceeds the model\'s maximum context."}}'),
    "anthropic": (400, '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}'),
    "anthropic sum": (400, "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"),
    "gemini": (400, '{"error":{"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."}}'),
    "bedrock": (400, "Input is too long for requested model."),
    "mistral": (400, '{"message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}'),
    "groq": (400, '{"error":{"message":"Please reduce the length of the messages or completion."}}'),
    "xai": (400, '{"error":"This model\'s maximum prompt length is 131072 but the request contains 140000 tokens."}'),
    "openrouter": (400, '{"error":{"message":"This endpoint\'s maximum context length is 32768 tokens."}}'),
    "llama.cpp": (400, '{"error":{"message":"the request exceeds the available context size, try increasing it"}}'),
    "llama.cpp sized": (400, '{"error":{"message":"request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it","n_ctx":4096}}'),
    "together": (422, '{"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193."}}'),
    "tgi": (422, '{"error":"`inputs` tokens must be <= 4096. Given: 5000"}'),
    "moonshot": (400, '{"error":{"message":"Invalid request: Your request exceeded model token limit: 131072"}}'),
    "dashscope": (400, '{"error":{"message":"Range of input length should be [1, 98304]"}}'),
    "cohere": (400, '{"message":"too many tokens: total number of tokens in the prompt exceeds the limit"}'),
    "zai": (400, '{"error":{"code":"1261","message":"Prompt exceeds max length"}}'),
    "too large": (413, "Request Entity Too Large"),
}  # fmt: skip


@pytest.mark.parametrize("provider", OVERFLOWS)
def test_every_providers_overflow_is_known(provider: str) -> None:
    status, body = OVERFLOWS[provider]
    assert provider_faults.from_status(status, body, {}, now=0).kind == "overflow"


SAID = {
    "openai": 128_000,
    "anthropic": 200_000,
    "anthropic sum": 200_000,
    "gemini": 1_048_576,
    "mistral": 32_768,
    "xai": 131_072,
    "openrouter": 32_768,
    "llama.cpp sized": 4_096,
    "together": 8_193,
    "tgi": 4_096,
    "moonshot": 131_072,
    "dashscope": 98_304,
}


@pytest.mark.parametrize("provider", OVERFLOWS)
def test_what_a_model_holds_is_read_where_its_provider_says_it(provider: str) -> None:
    status, body = OVERFLOWS[provider]
    assert provider_faults.from_status(status, body, {}, now=0).window_tokens == SAID.get(provider, 0)


def test_numbers_of_another_failure_are_no_window() -> None:
    assert not provider_faults.from_status(
        429, "tokens per min (TPM): maximum context length is 9000", {}, now=0
    ).window_tokens


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (429, '{"error":{"message":"Rate limit reached for tokens per min. Reduce the length of the messages."}}', "rate_limit"),
        (429, '{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}', "auth"),
        (402, '{"error":{"message":"Insufficient Balance"}}', "auth"),
        (400, '{"error":{"message":"Incorrect API key provided"}}', "auth"),
        (400, '{"error":{"message":"The response was filtered due to content management policy"}}', "refusal"),
        (400, '{"error":{"message":"Unknown parameter: foo"}}', "invalid_request"),
        (500, '{"error":{"type":"overloaded_error","message":"Overloaded"}}', "overloaded"),
        (500, "<html><body>Internal Server Error</body></html>", "server_error"),
        (504, "upstream timed out", "timeout"),
    ],
)  # fmt: skip
def test_words_decide_where_a_status_is_shared(status: int, body: str, kind: str) -> None:
    assert provider_faults.from_status(status, body, {}, now=0).kind == kind


@pytest.mark.parametrize("body", ["[" * 100_000, '{"error":' * 900 + '"busy"' + "}" * 900])
def test_an_error_nested_too_deeply_is_a_fault_too(body: str) -> None:
    assert provider_faults.from_status(503, body, {}, now=0).kind == "overloaded"


def test_the_providers_words_are_kept_and_the_message_is_short() -> None:
    body = '{"error":{"message":"' + "x" * 9_000 + '"}}'
    found = provider_faults.from_status(400, body, {}, now=0)
    assert len(found.message) < 600
    assert found.original.startswith('{"error"')
    assert len(found.original) == provider_faults.ORIGINAL_LIMIT


def test_retry_after_is_read_in_all_its_forms() -> None:
    assert retry_after({"retry-after": "2"}, 0) == 2
    assert retry_after({"retry-after-ms": "1500", "retry-after": "9"}, 0) == 1.5
    assert retry_after({"retry-after": formatdate(1_000_030, usegmt=True)}, 1_000_000) == 30
    assert retry_after({"retry-after": formatdate(5, usegmt=True)}, 1_000_000) == 0
    assert retry_after({"retry-after": "soon"}, 0) is None
    assert retry_after({"retry-after": "-3"}, 0) is None
    assert retry_after({}, 0) is None


def test_a_wait_that_is_too_long_is_said() -> None:
    assert (
        "wait of 1 h 00 min"
        in provider_faults.from_status(429, "slow down", {"retry-after": "3600"}, now=0).message
    )


def test_transient_faults_are_the_six() -> None:
    assert {
        "rate_limit",
        "overloaded",
        "server_error",
        "transport",
        "timeout",
        "cut",
        "empty",
    } == provider_faults.TRANSIENT


def test_waits_double_within_a_quarter_and_respect_the_provider() -> None:
    for attempt, planned in enumerate((1, 2, 4, 8, 16), 1):
        for jitter in (0.0, 0.5, 0.999):
            waited = next_wait(attempt, None, jitter)
            assert waited is not None
            assert 0.75 * planned <= waited <= 1.25 * planned
    assert next_wait(1, 30.0, 0.5) == 30
    assert next_wait(4, 0.1, 0.5) == 8
    assert next_wait(1, 60.1, 0.5) is None


def test_events_come_out_whole_however_the_bytes_are_cut() -> None:
    body = b': hello\r\nevent: x\r\ndata: {"a": 1}\r\n\r\ndata:two\n\ndata: 3\ndata: 4\n\ndata: last'
    for size in range(1, len(body) + 1):
        parser = EventParser()
        found = [data for at in range(0, len(body), size) for data in parser.feed(body[at : at + size])]
        assert found == [b'{"a": 1}', b"two", b"3\n4"]
        assert list(parser.close()) == [b"last"]


def test_the_first_complete_object_counts_and_prose_is_tolerated() -> None:
    assert tool_call_repair.first_object('Sure: {"a": {"b": 1}} or {"c": 2}') == {"a": {"b": 1}}
    assert tool_call_repair.first_object('Use {path} as in {"a": 1}') == {"a": 1}
    assert tool_call_repair.first_object('{"half": and {"a": 1}') is None
    assert tool_call_repair.first_object("{'python': {\"a\": 1}}") is None
    assert tool_call_repair.first_object("none {") is None
    assert tool_call_repair.first_object("{" * 100_000) is None
