"""Lines one by one: what a survey counts, where an event ends, what a reader leaves out."""

import json
from pathlib import Path

import pytest

from tui_agent.folds.session.branches import Stretch
from tui_agent.protocol.envelope import SCHEMA_VERSION, Envelope, UnknownEvent
from tui_agent.store.blobs import BlobStore
from tui_agent.store.log_chunks import CHUNK_BYTES, find_end_offset, read_chunks_backwards
from tui_agent.store.log_line import (
    decode_line,
    encode_body,
    is_intact,
    line_version,
    salvage_lines,
    seal_line,
)
from tui_agent.store.log_scan import (
    EMPTY_SURVEY,
    RecordFilter,
    Survey,
    filter_lines,
    filter_records,
    find_ended_requests,
    intact_seq,
    read_records_from,
    read_seq,
    split_lines,
    survey_bytes,
    survey_lines,
)

NO_BLOBS = BlobStore(Path("/nonexistent"))


def line(seq: int, payload: str = '{"kind":"test.thing"}') -> bytes:
    """A whole line without its newline."""
    return seal_line(encode_body(seq, float(seq), b'"ses_1"', b'"main"', None, b"null", payload.encode()))[
        :-1
    ]


def said(seq: int, text: str = "hello") -> bytes:
    return line(seq, json.dumps({"kind": "user.message", "text": text}, separators=(",", ":")))


def delta(seq: int, request: str) -> bytes:
    return line(seq, f'{{"kind":"model.delta","request_id":"{request}","text":"x"}}')


def ended(seq: int, request: str, kind: str = "model.responded") -> bytes:
    return line(seq, f'{{"kind":"{kind}","request_id":"{request}"}}')


def joined(*each: bytes) -> bytes:
    return b"".join(one + b"\n" for one in each)


def newer(seq: int, version: int = 7) -> bytes:
    return seal_line(b'{"v":%d,"seq":%d' % (version, seq))[:-1]


def test_nothing_and_nothing_whole_end_at_the_beginning() -> None:
    assert survey_bytes(b"") == EMPTY_SURVEY == Survey(0, -1, (), SCHEMA_VERSION, 0)
    assert survey_bytes(b"junk\nmore junk\n") == EMPTY_SURVEY


def test_a_survey_counts_lines_ends_and_the_bad_ones_between() -> None:
    data = joined(said(0), b"junk", said(1))
    assert survey_bytes(data) == Survey(len(data), 1, (2,), SCHEMA_VERSION, 3)
    assert survey_bytes(data + b"torn\nmore torn\n") == Survey(len(data), 1, (2,), SCHEMA_VERSION, 3)
    assert survey_bytes(data + said(2)) == Survey(len(data), 1, (2,), SCHEMA_VERSION, 3), (
        "a line ends in a newline"
    )


def test_a_survey_goes_on_behind_what_is_known() -> None:
    known = survey_bytes(joined(said(0), said(1)))
    more = [b"junk", said(2)]
    found = survey_lines(more, known)
    assert found == Survey(known.good_end + len(joined(*more)), 2, (3,), SCHEMA_VERSION, 4)


def test_a_line_that_repeats_a_seq_is_no_end() -> None:
    data = joined(said(0), said(1))
    assert survey_bytes(data + joined(said(1), said(0))) == survey_bytes(data)


def test_the_highest_version_is_told() -> None:
    assert survey_bytes(joined(newer(0, 7), newer(1, 3), said(2))).version == 7
    assert survey_bytes(joined(newer(0, 7)[:-3] + b'0"}')).version == SCHEMA_VERSION, (
        "a damaged line tells none"
    )


def test_a_damaged_line_that_holds_a_whole_event_counts_as_bad_and_its_event_counts() -> None:
    data = joined(said(0), b"\0\0" + said(1))
    assert survey_bytes(data) == Survey(len(data), 1, (2,), SCHEMA_VERSION, 2)


def test_lines_come_with_the_offset_behind_them() -> None:
    assert list(split_lines(b"a\n\nbc\ntorn")) == [(2, b"a"), (3, b""), (6, b"bc")]
    assert list(split_lines(b"\na\n")) == [(1, b""), (3, b"a")]


def test_the_seq_of_a_line_is_told_where_it_is_ours_and_of_a_whole_one_in_any_layout() -> None:
    other = seal_line(b'{"seq": 5, "v": 9, "parent": null')[:-1]
    assert (read_seq(said(12)), read_seq(other), read_seq(b"junk")) == (12, None, None)
    assert (intact_seq(said(12)), intact_seq(other), intact_seq(said(12) + b" ")) == (12, 5, None)


@pytest.mark.timeout(10)
def test_the_end_of_an_event_is_found_wherever_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"")
    assert find_end_offset(path, 3) == 0
    each = [said(seq, "x" * (seq * 7 % 50)) for seq in range(2, 40)]
    path.write_bytes(joined(*each))
    for count in range(len(each) + 1):
        assert find_end_offset(path, count + 1) == len(joined(*each[:count]))
    assert find_end_offset(path, 0) == 0
    assert find_end_offset(path, 99) == len(joined(*each))


@pytest.mark.timeout(10)
def test_the_end_of_an_event_is_found_between_damaged_lines_and_gaps(tmp_path: Path) -> None:
    path = tmp_path / "log"
    first, between, last = (
        joined(said(0), said(1)),
        joined(b"junk", b"", b"more junk"),
        joined(said(6), said(8)),
    )
    path.write_bytes(first + between + last)
    assert find_end_offset(path, 0) == len(joined(said(0)))
    assert len(first) <= find_end_offset(path, 1) == find_end_offset(path, 5) <= len(first + between)
    assert find_end_offset(path, 6) == find_end_offset(path, 7) == len(first + between + joined(said(6)))
    assert find_end_offset(path, 8) == len(first + between + last)
    path.write_bytes(joined(said(0)) + said(1))
    assert find_end_offset(path, 0) == len(joined(said(0)))
    path.write_bytes(b"\n" + joined(said(0), said(1)))
    assert [find_end_offset(path, seq) for seq in (0, 1)] == [1 + len(joined(said(0))), path.stat().st_size]
    path.write_bytes(joined(said(0), b"", said(1), b"", said(2), b"junk", b"more junk"))
    ends = [len(joined(*each)) for each in ([said(0)], [said(0), b"", said(1)])]
    assert (
        ends[0] <= find_end_offset(path, 0) <= ends[0] + 1
        and ends[1] <= find_end_offset(path, 1) <= ends[1] + 1
    )
    whole = len(joined(said(0), b"", said(1), b"", said(2)))
    assert find_end_offset(path, 2) == find_end_offset(path, 99) == whole, (
        "what cannot be read behind it is not its own"
    )


def test_the_end_of_an_event_is_found_on_a_line_with_a_torn_start(tmp_path: Path) -> None:
    path = tmp_path / "log"
    torn = said(1)[:20]
    path.write_bytes(joined(said(0), torn + said(1), torn + said(2) + said(3), said(4)))
    ends = [stop for stop, _ in split_lines(path.read_bytes())]
    assert [find_end_offset(path, seq) for seq in range(5)] == [*ends[:3], ends[2], ends[3]]


def test_chunks_from_the_end_hold_the_whole_log_and_begin_at_lines(tmp_path: Path) -> None:
    path = tmp_path / "log"
    for size in (0, 1, CHUNK_BYTES - 2, CHUNK_BYTES - 1, CHUNK_BYTES, 3 * CHUNK_BYTES):
        data = joined(b"first", b"x" * size, *[b"y" * 999] * 999) + b"torn"
        path.write_bytes(data)
        chunks = list(read_chunks_backwards(path))[::-1]
        assert b"".join(chunks) == data and len(chunks) > 3, size
        assert all(chunk.endswith(b"\n") for chunk in chunks[:-1]), size


def test_a_sieve_without_anything_lets_all_through() -> None:
    assert not RecordFilter().skips(said(0), -1)
    assert not RecordFilter().skips(b"junk", -1)
    assert RecordFilter().includes(7)


def test_a_sieve_leaves_out_what_came_before_and_what_is_beside_the_branch() -> None:
    assert [RecordFilter().skips(said(seq), 1) for seq in range(3)] == [True, True, False]
    assert [RecordFilter().skips(said(seq), 0) for seq in range(2)] == [True, False]
    kept = RecordFilter(stretches=(Stretch(0, 1), Stretch(4, 5)))
    assert [kept.skips(said(seq), -1) for seq in range(6)] == [False, False, True, True, False, False]
    assert [kept.includes(seq) for seq in range(6)] == [True, True, False, False, True, True]
    assert [kept.skips(said(seq), 0) for seq in range(3)] == [True, False, True]
    assert not kept.skips(b"junk", -1), "what cannot be told is read"


def test_a_sieve_leaves_out_deltas_of_requests_that_ended_and_nothing_else() -> None:
    sieve = RecordFilter(frozenset({b"req_1"}))
    assert sieve.skips(delta(0, "req_1"), -1)
    assert not sieve.skips(delta(0, "req_2"), -1)
    assert not sieve.skips(ended(0, "req_1"), -1)
    assert not sieve.skips(said(0), -1)


def test_requests_with_an_answer_or_a_failure_have_ended_wherever_their_line_stands() -> None:
    data = joined(ended(0, "a"), delta(1, "b"), ended(2, "c", "model.failed"), ended(3, "d"))
    assert find_ended_requests(data) == {b"a", b"c", b"d"}
    assert find_ended_requests(data[:-1]) == {b"a", b"c"}, "a torn line is none"
    assert find_ended_requests(b"") == frozenset()


def test_a_request_that_ended_beside_the_branch_has_not_ended_on_it() -> None:
    data = joined(ended(0, "a"), ended(1, "b"), ended(2, "c"))
    assert find_ended_requests(data, RecordFilter(stretches=(Stretch(0, 0), Stretch(2, 2)))) == {b"a", b"c"}


def test_words_of_a_message_end_no_request() -> None:
    text = '"payload":{"kind":"model.responded","request_id":"a"}'
    assert find_ended_requests(joined(said(0, text))) == frozenset()


def test_a_request_in_the_arguments_of_a_call_has_not_ended() -> None:
    inner = '{"kind":"model.responded","request_id":"a"}'
    call = line(1, f'{{"kind":"tool.called","arguments":{{"payload":{inner}}},"request_id":"b"}}')
    data = joined(delta(0, "a"), call)
    assert find_ended_requests(data) == frozenset()
    assert [one.seq for one in read_records_from(data, NO_BLOBS, skip_deltas=True)] == [0, 1]


def test_deltas_stay_where_the_answer_is_damaged() -> None:
    data = joined(delta(0, "a"), ended(1, "a")[:-4] + b'zz"}', said(2), delta(3, "b"), ended(4, "b"))
    assert find_ended_requests(data) == {b"b"}
    assert [one.seq for one in read_records_from(data, NO_BLOBS, skip_deltas=True)] == [0, 2, 4]


def test_records_come_in_order_once_and_behind_a_seq() -> None:
    data = joined(said(0), said(2), said(1), b"junk", said(2), b"\0" + said(3) + b"\0" + said(4), said(5))
    assert [one.seq for one in read_records_from(data, NO_BLOBS)] == [0, 2, 3, 4, 5]
    assert [one.seq for one in read_records_from(data, NO_BLOBS, after=3)] == [4, 5]
    assert [
        one.seq
        for one in filter_records(data, NO_BLOBS, RecordFilter(stretches=(Stretch(3, 3), Stretch(5, 9))))
    ] == [3, 5]


def test_records_come_with_their_lines() -> None:
    data = joined(said(0), b"\0\0" + said(1))
    assert [raw for raw, _ in filter_lines(data, None, RecordFilter())] == [said(0), said(1)]


def test_deltas_are_left_out_only_where_that_is_asked_for() -> None:
    data = joined(delta(0, "a"), ended(1, "a"), delta(2, "b"))
    assert [one.seq for one in read_records_from(data, NO_BLOBS, skip_deltas=True)] == [1, 2]
    assert [one.seq for one in read_records_from(data, NO_BLOBS)] == [0, 1, 2]


def test_a_line_is_decoded_where_its_checksum_fits() -> None:
    event = decode_line(said(3, "ü"))
    assert isinstance(event, Envelope)
    assert (event.v, event.seq, event.time, event.parent, event.cause) == (SCHEMA_VERSION, 3, 3.0, None, None)
    assert decode_line(said(3)[:-1]) is None
    assert not is_intact(b"") and is_intact(said(0))
    assert b'"parent":7,' in encode_body(8, 0, b'"s"', b'"a"', 7, b"null", b"{}")


def test_a_line_of_a_newer_version_is_unknown_though_its_shape_is_known() -> None:
    found = decode_line(seal_line(said(3).replace(b'"v":2', b'"v":3', 1)[: -len(b',"crc":"00000000"}')])[:-1])
    assert isinstance(found, UnknownEvent)
    assert (found.seq, found.kind, found.agent, found.is_other_version) == (3, "user.message", "main", True)


UNKNOWN = [
    (b'{"v":2,"seq":4,"time":2,"agent":"a","parent":3,"payload":{"kind":"x.y"}', (4, 2.0, "a", 3, "x.y")),
    (b'{"v":2,"seq":4,"time":2.5,"parent":null', (4, 2.5, "", None, "")),
    (b'{"v":2,"seq":4,"time":"noon","payload":{}', (4, 0.0, "", None, "")),
]


@pytest.mark.parametrize(("unsealed", "wanted"), UNKNOWN)
def test_what_is_not_known_is_told_as_far_as_it_can_be(unsealed: bytes, wanted: tuple[object, ...]) -> None:
    found = decode_line(seal_line(unsealed)[:-1])
    assert isinstance(found, UnknownEvent)
    assert (found.seq, found.time, found.agent, found.parent, found.kind) == wanted
    assert found.raw["seq"] == 4


@pytest.mark.parametrize(
    "unsealed", [b'{"v":2,"seq":"4"', b'{"v":2,"seq":4,"parent":"3"', b"[1,2", b'{"v":2', b'"text"']
)
def test_what_has_no_place_in_a_log_is_no_event(unsealed: bytes) -> None:
    assert decode_line(seal_line(unsealed)[:-1]) is None


def test_the_version_of_a_line_is_told_in_any_layout() -> None:
    assert (line_version(said(0)), line_version(newer(0, 12))) == (SCHEMA_VERSION, 12)
    assert line_version(seal_line(b'{"seq": 1, "v": 9')[:-1]) == 9
    assert line_version(seal_line(b'{"seq": 1, "v": "9"')[:-1]) == SCHEMA_VERSION
    assert line_version(b"junk") == line_version(seal_line(b"[1")[:-1]) == SCHEMA_VERSION


def test_a_payload_that_is_a_blob_is_read_from_there(tmp_path: Path) -> None:
    blobs = BlobStore(tmp_path)
    payload = b'{"kind":"user.message","text":"long"}'
    digest = blobs.put_bytes(payload)
    pointed = line(1, f'{{"kind":"user.message","payload_blob":"{digest}"}}')
    assert decode_line(pointed, blobs) == decode_line(said(1, "long"))
    assert isinstance(decode_line(pointed), UnknownEvent)
    assert isinstance(decode_line(pointed, NO_BLOBS), UnknownEvent)
    odd = line(1, f'{{"kind":"no.such","payload_blob":"{blobs.put_bytes(b"no JSON")}"}}')
    assert isinstance(decode_line(odd, blobs), UnknownEvent)
    assert isinstance(decode_line(line(1, '{"kind":"x.y","payload_blob":4}'), blobs), UnknownEvent)
    assert isinstance(decode_line(line(1, '"x"'), blobs), UnknownEvent)


def test_whole_events_are_found_inside_a_damaged_line() -> None:
    first, second = said(1), said(2, 'a {"v":2, "seq" inside')
    assert list(salvage_lines(first)) == [first]
    assert list(salvage_lines(b"\0\0" + first + b"x" + second + b"\0")) == [first, second]
    assert list(salvage_lines(b'{"v":2,"seq":0,"at"' + first)) == [first]
    quoted = line(3, '{"kind":"x.y","text":"{\\"v\\":","raw":{"v":2}}')
    assert list(salvage_lines(b"\0" + quoted)) == [quoted]
    assert list(salvage_lines(first[:-4] + b'0"}' + second)) == [second]
    assert list(salvage_lines(b"nothing")) == []


def test_a_hostile_line_is_tried_a_bounded_number_of_times() -> None:
    wrong = b'{"v":2,"crc":"00000000"}'
    assert list(salvage_lines(wrong * 63 + said(1))) == [said(1)]
    assert list(salvage_lines(wrong * 64 + said(1))) == []
    starts = b'{"v":' * 80
    assert list(salvage_lines(starts + b',"crc":"00000000"}' + said(1))) == []


def test_a_line_without_its_newline_is_not_read_though_it_is_whole() -> None:
    data = joined(said(0)) + said(1)
    assert [one.seq for one in read_records_from(data, NO_BLOBS)] == [0]
    assert [one.seq for one in read_records_from(data + b"\n", NO_BLOBS)] == [0, 1]


def test_an_answer_behind_an_empty_line_ends_its_request() -> None:
    assert find_ended_requests(b"\n" + joined(ended(0, "r1"))) == frozenset({b"r1"})
