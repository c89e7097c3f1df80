"""The Markdown transcript: everything that was said and done, and nothing of it can act."""

import json
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tests.stubs.golden import golden_session
from tests.stubs.store import said, store
from tests.stubs.story import MODEL, called, compacted, decision, file_changed, finished, requested, responded
from tui_agent.export.export_content import load_export, strip_controls
from tui_agent.export.export_labels import header_rows
from tui_agent.export.html.page import to_html
from tui_agent.export.markdown import clip_lines, quote, to_markdown
from tui_agent.export.redacted_log import to_jsonl
from tui_agent.folds.projection import current_branch
from tui_agent.protocol.display_blocks import TerminalBlock
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.session import SessionHeadMoved, SessionStarted
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import (
    TurnFinished,
    TurnStarted,
    UserMessageReceived,
    UserQueued,
    UserShellFinished,
    UserShellStarted,
    UserUnqueued,
)
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.protocol.parts import ImageContent
from tui_agent.protocol.settings import SessionSettings
from tui_agent.store.log_reader import read_records, read_stored_lines
from tui_agent.store.redaction.redactor import Redactor

HOSTILE = "```\n````\n</pre><script>alert(1)</script>\n~~~\n<img src=x onerror=alert(1)>\n# no heading"


def test_a_transcript_tells_messages_calls_diffs_and_cost(tmp_path: Path) -> None:
    text = to_markdown(load_export(golden_session(tmp_path, "night_shift"), Redactor()))
    for words in ("**You**", "**Agent**", "```diff", "\n+", "- cost: $", "## Turn 1", "model call"):
        assert words in text, words


def test_a_queued_message_stands_where_it_was_sent_and_only_there(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    log.append(UserQueued(queue_id=RequestId("q1"), text="Then the changelog."))
    log.append(UserMessageReceived(text="Then the changelog.", source="queue", queue_id=RequestId("q1")))
    log.append(UserQueued(queue_id=RequestId("q2"), text="Never mind."))
    log.append(UserUnqueued(queue_id=RequestId("q2")))
    log.close()
    content = load_export(log.folder, Redactor())
    text, page = to_markdown(content), to_html(content)
    assert text.count("Then the changelog.") == page.count('class="said">Then the changelog.') == 1
    assert "Never mind." not in text and "Never mind." not in page


def test_every_kind_of_entry_has_its_words(tmp_path: Path) -> None:
    text = to_markdown(load_export(golden_session(tmp_path, "every_kind"), Redactor()))
    assert len(text) > 1_000
    assert "\x1b" not in text


def test_foreign_words_make_no_markup_and_close_no_fence(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    log.append(said(HOSTILE))
    call = CallId("call_1")
    log.append(
        ToolCalled(
            call_id=call, name="bash", arguments={}, iteration=1, verb="run", target=f"`<b>x</b>` {HOSTILE}"
        )
    )
    log.append(
        ToolFinished(
            call_id=call,
            name="bash",
            status="ok",
            part=1,
            content=(),
            display=(TerminalBlock(text=f"\x1b[31m{HOSTILE}\x1b[0m"),),
            summary="*_[x](javascript:alert(1))_*",
        )
    )
    log.close()
    tokens = MarkdownIt("commonmark").parse(to_markdown(load_export(log.folder, Redactor())))
    kinds = {child.type for token in tokens for child in (token, *(token.children or []))}
    assert not kinds & {"html_block", "html_inline", "link_open", "image"}
    fences = [token for token in tokens if token.type == "fence" and token.level == 0]
    assert [token.content.strip() for token in fences] == [HOSTILE]
    assert [token.tag for token in tokens if token.type == "heading_open" and token.level == 0] == [
        "h1",
        "h2",
    ]


def test_the_users_words_at_a_refusal_are_a_quotation_apart_from_the_output(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    output = TerminalBlock(text="ERROR: no network")
    log.append(called("call_1", target="pip install x"))
    log.append(decision("call_1", decision="deny", message="use a *venv*\n<b>here</b>"))
    log.append(finished("call_1", "failed").model_copy(update={"display": (output,), "summary": "exit 1"}))
    log.append(called("call_2", target="rm x"))
    log.append(decision("call_2", decision="deny"))
    log.append(finished("call_2", "denied").model_copy(update={"summary": "denied by you"}))
    log.close()
    story = load_export(log.folder, Redactor())
    text = to_markdown(story)
    assert "`pip install x` — failed · exit 1" in text
    assert "ERROR: no network\n```\n\n> You said no: use a \\*venv\\*\n> \\<b>here\\</b>\n" in text
    assert "`rm x` — denied · 5 ms\n\n> You said no\n" in text
    assert to_html(story).count("You said no") == 2


def test_a_call_that_was_stopped_or_never_ran_says_so_once(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    for call, status, summary in (
        ("call_1", "interrupted", "stopped"),
        ("call_2", "interrupted", "not run"),
        ("call_3", "lost", "lost"),
        ("call_4", "interrupted", ""),
    ):
        log.append(called(call, target=call))
        log.append(finished(call, status).model_copy(update={"summary": summary}))
    log.close()
    story = load_export(log.folder, Redactor())
    assert ">interrupted<" not in to_html(story), "the page has the same words"
    text = to_markdown(story)
    rows = [line.partition(" — ")[2] for line in text.split("\n") if line.startswith("- **run")]
    assert rows == ["stopped · 5 ms", "not run · 5 ms", "lost · 5 ms", "stopped · 5 ms"]


def test_the_users_own_command_is_named_with_its_outcome(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    for command, code in (("seq 1 `n` | tail", 0), ("false", 1)):
        log.append(UserShellStarted(command=command))
        log.append(UserShellFinished(command=command, exit_code=code, duration_ms=5.0, output="3000"))
    log.close()
    story = load_export(log.folder, Redactor())
    text, page = to_markdown(story), to_html(story)
    assert "**You ran** `` seq 1 `n` | tail `` — exit 0\n\n```\n3000\n```" in text
    assert "**You ran** `false` — exit 1" in text
    assert page.count(">you ran<") == 2 and ">seq 1 `n` | tail<" in page and ">exit 1<" in page


def test_the_lines_of_a_notice_are_sentences(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    log.append(compacted())
    log.close()
    text = to_markdown(load_export(log.folder, Redactor()))
    assert re.search(r" tokens\. /compact list shows [\w ]+\.\*\n", text)


@pytest.mark.parametrize("images", [True, False])
def test_a_picture_that_was_not_sent_has_a_note(images: bool, tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    settings = SessionSettings(model=MODEL.model_copy(update={"images": images}))
    log.append(SessionStarted(workspace="/w", product="p", settings=settings))
    picture = ImageContent(media_type="image/png", blob_sha256="a" * 64, size=3, name="shot.png")
    log.append(said("look").model_copy(update={"attachments": (picture,)}))
    log.close()
    story = load_export(log.folder, Redactor())
    for text in (to_markdown(story), to_html(story)):
        assert "shot.png" in text
        assert ("not sent to fast-1" in text) is not images


def test_addresses_in_angle_brackets_stay_links() -> None:
    kept = "<https://peps.python.org/pep-0440/?a=b>, <http://a.b> or <mailto:ada@example.org>"
    assert quote(kept) == f"> {kept}"
    for text in (
        "<https://a onclick=x>",
        "<https:a>",
        "<javascript:x()>",
        "<https://a<b>",
        "<https://a",
        "<b>",
        "<!--",
        "</p>",
    ):
        assert "&lt;" in quote(text), text


def test_a_long_output_keeps_its_ends() -> None:
    text = clip_lines("\n".join(str(number) for number in range(100)), lines=4, width=5)
    assert text == "0\n1\n… 96 more lines …\n98\n99"
    assert clip_lines("abcdefgh", width=5) == "abcde… (8 characters)"


def test_what_a_terminal_would_do_is_undone() -> None:
    assert (
        strip_controls("\x1b]0;title\x07a\x1b[1;31mb\x1b[0m\r\n10%\r50%\r100%\nc\u202ed\x00")
        == "ab\n100%\ncd"
    )


def test_a_secret_known_only_now_is_in_neither_form(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    log.append(said("the key is hunter2-hunter2"))
    log.append(said("again hunter2-hunter2 " * 1_000))
    log.close()
    redactor = Redactor(secrets={"KEY": "hunter2-hunter2"})
    assert "hunter2" not in to_markdown(load_export(log.folder, redactor))
    assert b"hunter2" not in to_jsonl(log.folder, redactor, everything=True)
    assert b"hunter2" in to_jsonl(log.folder, Redactor(), everything=True)


def test_lines_are_the_logs_own_of_the_branch_or_all(tmp_path: Path) -> None:
    """Except for digests of files whose content is not in the session, such as those that were only read."""
    folder = golden_session(tmp_path, "every_kind")
    exported = to_jsonl(folder, Redactor(), everything=True).splitlines()
    stored = (folder / "events.jsonl").read_bytes().splitlines()
    different = [(new, old) for new, old in zip(exported, stored, strict=True) if new != old]
    kinds = {json.loads(old)["payload"]["kind"] for _, old in different}
    assert kinds == {"file.read", "instructions.loaded", "user.message"}
    assert all(without_digests(new) == without_digests(old) for new, old in different)
    on = {record.seq for record in current_branch(read_records(folder))}
    wanted = [line.encode() for seq, line in read_stored_lines(folder) if seq in on]
    branch = to_jsonl(folder, Redactor()).splitlines()
    assert list(map(without_digests, branch)) == list(map(without_digests, wanted))


def without_digests(line: bytes) -> bytes:
    return re.sub(rb'"(digest|sha256|crc)":"[0-9a-f]+"', b"", line)


def test_a_file_whose_content_is_gone_is_not_told_as_empty(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    log.append(
        FileChanged(
            path="a",
            before=None,
            after="0" * 64,
            before_size=0,
            after_size=9,
            mode=None,
            author="human",
            added=1,
            removed=0,
        )
    )
    log.close()
    assert "not stored" in to_markdown(load_export(log.folder, Redactor()))


@pytest.mark.parametrize(
    ("words", "live"),
    [
        ("[x](javascript:alert(1))", False),
        ("[x](JaVaScript:alert(1))", False),
        ("[x]( <javascript:alert(1)>)", False),
        ("[x](java&#115;cript&colon;alert(1))", False),
        ("[x](javascript\\:alert(1))", False),
        ("[x](data:text/html,hi)", False),
        ("![x](file:///etc/passwd)", False),
        ("![x](http://evil.example/x.png)", True),
        ("\\\\![x](http://evil.example/x.png)", True),
        ("![x]\n\n[x]: http://evil.example/x.png", True),
        ("<javascript:alert(1)>", False),
        ("[x]\n\n[x]: javascript:alert(1)", False),
        ("[x][y]\n\n> [y]: vbscript:hi", False),
        ("[x](\njavascript:hi)", False),
        ("[x]\n\n[x]:\njavascript:hi", False),
        ("[x\\\\]\n\n- [x\\\\]: javascript:hi", False),
        ("[x y]\n\n[x\ny]: javascript:hi", False),
        ("[x]\n\n[x]: https://example.org", True),
        ("[x](https://example.org/a_(b))", True),
        ("[x](http://example.org 'title')", True),
        ("[x](mailto:ada@example.org)", True),
        ("[x](docs/notes.md#here)", True),
    ],
)
def test_only_links_to_the_web_to_mail_and_to_near_files_stay_links(
    tmp_path: Path, words: str, live: bool
) -> None:
    log = store(tmp_path).create("ses_a")
    log.append(said(words))
    log.close()
    reader = MarkdownIt("commonmark", {"html": True})
    reader.validateLink = lambda url: True  # type: ignore[method-assign]
    shown = reader.render(to_markdown(load_export(log.folder, Redactor())))
    assert ("href=" in shown) is live, shown
    assert "src=" not in shown


def test_a_file_that_was_made_and_removed_again_is_not_among_the_changed(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    for path, before, after in (("a", None, "1"), ("b", None, "2"), ("a", "1", None)):
        log.append(
            FileChanged(
                path=path,
                before=before,
                after=after,
                before_size=0,
                after_size=2,
                mode=None,
                author="agent",
                added=int(before is None),
                removed=int(after is None),
            )
        )
    log.close()
    story = load_export(log.folder, Redactor())
    assert "- files: 1 file changed, +1" in to_markdown(story)
    assert dict(header_rows(story))["files"] == "1 file changed, +1"


def test_the_header_counts_the_current_branch_and_compares_the_files(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    one, two = (log.blobs.put_bytes(text) for text in (b"a\n", b"b\n"))
    log.append(said("one"))
    log.append(TurnStarted(turn=1))
    log.append(requested("r1"))
    log.append(file_changed(after=one, added=1, removed=0))
    log.append(file_changed(before=one, after=two, added=1))
    log.append(file_changed("mine", after=one, author="human"))
    log.append(TurnFinished(turn=1, reason="finished", duration_ms=1))
    end = log.last_seq
    log.append(said("two"))
    log.append(TurnStarted(turn=2))
    log.append(file_changed("undone", after=one))
    log.append(TurnFinished(turn=2, reason="finished", duration_ms=1))
    log.append(SessionHeadMoved(to_seq=end, from_seq=log.last_seq, reason="undo", turn=2))
    log.append(said("three"))
    log.append(TurnStarted(turn=3))
    log.append(requested("r2").model_copy(update={"model": MODEL.model_copy(update={"model": "slow-2"})}))
    log.append(TurnFinished(turn=3, reason="finished", duration_ms=1))
    log.close()
    story = load_export(log.folder, Redactor())
    header = dict(header_rows(story))
    assert (header["turns"], header["model"]) == ("2, and 1 undone", "fast-1, slow-2")
    assert header["files"] == "1 file changed, +1"
    text = to_markdown(story)
    assert [line for line in text.splitlines() if line.startswith("## ")] == ["## Turn 1", "## Turn 3"]


def test_the_headings_of_an_answer_are_below_the_heading_of_the_turn(tmp_path: Path) -> None:
    log = store(tmp_path).create("ses_a")
    answer = (
        "# One\n\ntext\n\nTwo\n===\n\n## Three\n\nFour\n---\n\n---\n\n```\n# no heading\n```\n\n###### Six"
    )
    log.append(said("go"))
    log.append(responded("r1", answer))
    log.close()
    tokens = MarkdownIt("commonmark").parse(to_markdown(load_export(log.folder, Redactor())))
    tags = [
        (token.tag, tokens[index + 1].content)
        for index, token in enumerate(tokens)
        if token.type == "heading_open"
    ][2:]
    assert tags == [("h3", "One"), ("h3", "Two"), ("h4", "Three"), ("h4", "Four"), ("h6", "Six")]
    assert [token.type for token in tokens].count("hr") == 1
    assert "# no heading" in next(token.content for token in tokens if token.type == "fence")
