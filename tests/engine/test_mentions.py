"""Mentions: what the model is sent of the files that a message names, and what stays text."""

import os
import struct
import zlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from tests.engine.harness import MODEL, FakeModel, call, running, say
from tests.stubs.tool_context import Bench, text, tools_of
from tui_agent.context.mentions.mentions import NOT_INDEXED_NOTE, Sources, resolve_mentions
from tui_agent.folds.text.labels import mention_result
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import FileInfo
from tui_agent.ports.symbols_and_skills import SymbolLocation
from tui_agent.protocol.commands import Queue, Steer, SubmitPrompt
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.protocol.events.turn import UserMessageReceived, UserSteered
from tui_agent.protocol.mentions import REFUSED_MENTIONS, Mention
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import ImageContent, TextContent
from tui_agent.protocol.stored_text import text_size
from tui_agent.workspace.local.environment import LocalEnvironment

judged = RulePolicy().decide


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("class Cart:\n    def total(self):\n        return 0\n\n\nX = 1\n")
    return folder


def _png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(b"\0\0\0\0"))
        + chunk(b"IEND", b"")
    )


def _sent(model: FakeModel, at: int = 0) -> str:
    """Everything that users said in a request."""
    said = [message for message in model.requests[at].messages if isinstance(message, UserMessage)]
    return "\n".join(
        str(piece.text) if isinstance(piece, TextContent) else f"[image {piece.name}]"
        for message in said
        for piece in message.content
    )


async def _mentions(tmp_path: Path, text: str) -> tuple[tuple[Mention, ...], str]:
    """What a message is recorded to mention, and what the model is sent."""
    async with running(tmp_path, [say("ok")], policy=judged) as bench:
        bench.submit(SubmitPrompt(text=text))
        await bench.until("turn.finished")
    message = bench.of(UserMessageReceived)[0]
    assert message.text == text
    return message.mentions, _sent(bench.model)


@pytest.mark.parametrize("typed", [(), ("src/app.py",), None])
async def test_only_typed_mentions_are_sent_if_it_is_known_what_was_typed(
    tmp_path: Path, workspace: Path, typed: tuple[str, ...] | None
) -> None:
    (workspace / "log.txt").write_text("pasted")
    text = "Fix @src/app.py, the log says @log.txt."
    async with running(tmp_path, [say("ok"), say("ok")], policy=judged) as bench:
        bench.submit(SubmitPrompt(text=text, typed_mentions=typed))
        await bench.until("turn.finished")
        bench.submit(Queue(text=text, typed_mentions=typed))
        await bench.until("turn.finished", count=2)
    expected = ["src/app.py", "log.txt"] if typed is None else [*typed]
    for message in bench.of(UserMessageReceived):
        assert [mention.reference for mention in message.mentions] == expected


async def test_a_file_is_sent_behind_the_message_and_counted_apart(tmp_path: Path, workspace: Path) -> None:
    async with running(tmp_path, [say("ok")], policy=judged) as bench:
        bench.submit(SubmitPrompt(text="What does @src/app.py do?"))
        await bench.until("turn.finished")
    sent = _sent(bench.model)
    assert sent.startswith("What does @src/app.py do?")
    assert '<file path="src/app.py">\n1\tclass Cart:\n2\t    def' in sent and sent.count("class Cart") == 1
    packed = bench.of(ContextPacked)[0]
    assert [one.name for one in packed.sections if one.name in ("mentions", "task_contract")] == [
        "task_contract",
        "mentions",
    ]
    kinds = bench.kinds()
    assert kinds.index("user.message") < kinds.index("turn.started") < kinds.index("model.requested")


async def test_a_mentioned_file_may_be_edited_without_being_read_again(
    tmp_path: Path, workspace: Path
) -> None:
    answers = [
        call(("edit_file", '{"path": "src/app.py", "old_text": "X = 1", "new_text": "X = 2"}')),
        say("done"),
    ]
    tools = list(tools_of("files").values())
    async with running(tmp_path, answers, tools) as bench:
        bench.submit(SubmitPrompt(text="Make X 2 in @src/app.py"))
        await bench.until("turn.finished")
    assert len(bench.of(FileChanged)) == 1
    assert "X = 2" in (workspace / "src" / "app.py").read_text()


async def test_a_mention_shows_the_lines_of_a_file_as_read_file_does(tmp_path: Path, workspace: Path) -> None:
    lines = [f"line {number}" for number in range(1, 120)]
    lines[99] = "x" * 5_000
    (workspace / "long.txt").write_bytes("\r\n".join(lines).encode("latin-1"))
    [mention], sent = await _mentions(tmp_path, "@long.txt:98-101")
    files = Bench(workspace, tools_of("files"))
    result = await files.run("read_file", path="long.txt", offset=98, limit=4)
    shown = text(result).removesuffix("\n[lines 98-101 of 119; read on with offset=102]")
    assert f'<file path="long.txt" lines="98-101">\n{shown}\n</file>' in sent
    assert " 98\tline 98\n" in sent and "[1 long line cut at 2000 characters]" in sent
    assert mention.truncated


async def test_a_folder_is_listed_lines_are_picked_and_blanks_are_quoted(
    tmp_path: Path, workspace: Path
) -> None:
    (workspace / "my notes.md").write_text("one\ntwo\n")
    mentions, sent = await _mentions(tmp_path, 'See @src/, @src/app.py:2-3 and @"my notes.md".')
    assert [(one.kind, one.path) for one in mentions] == [
        ("directory", "src/"),
        ("file", "src/app.py"),
        ("file", "my notes.md"),
    ]
    assert '<directory path="src/">\napp.py\n</directory>' in sent
    assert (
        '<file path="src/app.py" lines="2-3">\n2\t    def total(self):\n3\t        return 0\n</file>' in sent
    )
    assert (mentions[1].first_line, mentions[1].last_line, mentions[1].is_whole_file) == (2, 3, False)


async def test_a_pasted_path_of_the_workspace_and_a_symbol_are_found(tmp_path: Path, workspace: Path) -> None:
    mentions, sent = await _mentions(tmp_path, f"{workspace}/src/app.py and @Cart")
    assert [(one.kind, one.path, one.first_line) for one in mentions] == [
        ("file", "src/app.py", 0),
        ("symbol", "src/app.py", 1),
    ]
    assert '<symbol name="Cart" path="src/app.py" lines="1-3">\n[see the file' in sent
    assert sent.count("class Cart") == 1
    [alone] = await resolve_mentions("see @Cart", _sources(workspace, 20_000))
    assert '<symbol name="Cart" path="src/app.py" lines="1-3">\n1\tclass Cart:' in str(alone.text)


async def test_what_is_not_there_stays_text_and_only_a_path_is_told(tmp_path: Path, workspace: Path) -> None:
    mentions, sent = await _mentions(tmp_path, "@property @types/node me@x.org @src/gone.py @alice")
    assert [(one.reference, one.kind) for one in mentions] == [("src/gone.py", "missing")]
    assert sent == "@property @types/node me@x.org @src/gone.py @alice"


async def test_secrets_and_what_lies_elsewhere_are_not_sent(tmp_path: Path, workspace: Path) -> None:
    (workspace / ".env").write_text("TOKEN=abc\n")
    (workspace / "innocent.md").symlink_to(".env")
    (workspace / "away.md").symlink_to("../outside.md")
    (tmp_path / "outside.md").write_text("far away")
    mentions, sent = await _mentions(tmp_path, "@.env @innocent.md @away.md @../outside.md")
    assert [(one.reference, one.kind) for one in mentions] == [
        (".env", "refused"),
        ("innocent.md", "refused"),
        ("away.md", "missing"),
        ("../outside.md", "missing"),
    ]
    assert "secrets" in mentions[0].note and "outside the workspace" in mentions[2].note
    assert "abc" not in sent and "far away" not in sent


async def test_a_client_can_ask_which_mentioned_files_would_not_be_sent(
    tmp_path: Path, workspace: Path
) -> None:
    (workspace / ".env").write_text("TOKEN=abc\n")
    (workspace / "innocent.md").symlink_to(".env")
    (workspace / "away.md").symlink_to("../outside.md")
    (tmp_path / "outside.md").write_text("far away")
    paths = (".env", "src/app.py", "src", "innocent.md", "away.md", "/etc/passwd")
    async with running(tmp_path, [], policy=RulePolicy().decide, workspace=workspace) as bench:
        refused = await bench.engine.slash_commands.complete(REFUSED_MENTIONS, "\n".join(paths))
    assert refused == [".env", "innocent.md", "away.md", "/etc/passwd"]


async def test_a_file_elsewhere_on_the_computer_is_told_of_and_an_import_is_not(tmp_path: Path) -> None:
    [told], _ = await _mentions(tmp_path, 'see @/etc/passwd, and import x from "@/components/button"')
    assert (told.reference, told.kind) == ("/etc/passwd", "missing")
    assert "outside the workspace" in told.note


async def test_of_something_huge_or_binary_the_head_is_sent_with_a_note(
    tmp_path: Path, workspace: Path
) -> None:
    (workspace / "log.txt").write_text("".join(f"line {number}\n" for number in range(50_000)))
    (workspace / "one.json").write_text("x" * 300_000)
    (workspace / "blob.bin").write_bytes(b"\x7fELF\0\0" + b"\0" * 500)
    mentions, sent = await _mentions(tmp_path, "@blob.bin @log.txt")
    assert all(one.truncated for one in mentions)
    assert "read on with read_file, offset=" in sent and "line 49999" not in sent
    assert "[binary, 506 B; only its beginning is shown]\n7f 45 4c 46" in sent
    assert len(sent) < 40_000


def _sources(workspace: Path, room: int) -> Sources:
    return Sources(LocalEnvironment(workspace), lambda given, path: "", lambda data: "0" * 64, room=room)


async def test_short_files_are_whole_whatever_stands_before_them_and_long_ones_share_the_rest(
    workspace: Path,
) -> None:
    for name, lines in (("long.md", 2_000), ("other.md", 1_900), ("short.md", 200)):
        (workspace / name).write_text("a line of it\n" * lines)
    found = await resolve_mentions(
        "@long.md and @other.md, as @short.md and @src/app.py say", _sources(workspace, 20_000)
    )
    assert [one.path for one in found] == ["long.md", "other.md", "short.md", "src/app.py"]
    assert [one.truncated for one in found] == [True, True, False, False]
    sizes = [len(str(one.text)) for one in found]
    assert abs(sizes[0] - sizes[1]) < 200 and 19_000 < sum(sizes) < 20_500


async def test_where_there_is_hardly_any_room_no_file_is_begun(workspace: Path) -> None:
    for name in ("one.md", "two.md"):
        (workspace / name).write_text("b" * 5_000)
    found = await resolve_mentions("@one.md and @two.md", _sources(workspace, 700))
    assert all(one.truncated and "use read_file" in str(one.text) for one in found)
    assert "b" * 20 not in "".join(str(one.text) for one in found)


class EndlessWorkspace(LocalEnvironment):
    """Has more files than there is time for."""

    async def walk(self, path: str = "", *, include_ignored: bool = False) -> AsyncIterator[FileInfo]:
        await anyio.sleep_forever()
        yield FileInfo(path, "file", 0, 0, 0)


async def test_a_name_that_was_not_looked_up_to_the_end_is_told_and_a_file_that_is_not_there_is_said_to_be_missing(
    workspace: Path,
) -> None:
    many = replace(_sources(workspace, 20_000), env=EndlessWorkspace(workspace), names_s=0.1)
    late = replace(many, symbols=_not_indexed)
    [told] = await resolve_mentions("Why does @Cart.total and gone@x.org", late)
    assert (told.reference, told.kind, told.note) == ("Cart.total", "missing", NOT_INDEXED_NOTE)
    [missing] = await resolve_mentions("see @gone.py", late)
    assert missing.note == "file not found"


async def _not_indexed(name: str) -> None:
    return None


async def test_a_method_is_looked_up_in_its_own_class_while_the_index_is_being_built(workspace: Path) -> None:
    (workspace / "src" / "items.py").write_text("class Basket:\n    def total(self): ...\n" * 3)
    (workspace / "src" / "shop.py").write_text(
        "class Cart:\n    def total(\n        self,\n    ) -> int:\n        return 1\n"
    )
    (workspace / "src" / "app.py").unlink()
    sources = replace(_sources(workspace, 20_000), symbols=_not_indexed)
    [mention] = await resolve_mentions("see @Cart.total", sources)
    assert (mention.path, mention.first_line, mention.last_line, mention.note) == ("src/shop.py", 2, 5, "")
    assert str(mention.text).startswith(
        '<symbol name="Cart.total" path="src/shop.py" lines="2-5">\n2\t    def'
    )
    [mention] = await resolve_mentions("see @items.Basket", sources)
    assert (mention.path, mention.note) == ("src/items.py", "3 places")


async def test_a_function_of_c_is_found_while_the_index_is_being_built(workspace: Path) -> None:
    (workspace / "src" / "cart.h").write_text("API(Cart *) cart_new(int size);\n")
    (workspace / "src" / "cart.c").write_text(
        "static int size_of(int);\n\nAPI(Cart *) cart_new(int size)\n{\n    return size_of(size);\n}\n"
        "static int size_of(int size)\n{\n    return size;\n}\n"
    )
    (workspace / "src" / "use.c").write_text("int main(void)\n{\n    return cart_new(2) != 0;\n}\n")
    sources = replace(_sources(workspace, 20_000), symbols=_not_indexed)
    mentions = await resolve_mentions("what do @cart_new and @size_of do?", sources)
    assert [(one.path, one.first_line, one.last_line, one.note) for one in mentions] == [
        ("src/cart.c", 3, 6, ""),
        ("src/cart.c", 7, 10, ""),
    ]


async def test_a_method_of_another_class_has_its_own_name(workspace: Path) -> None:
    sources = replace(_sources(workspace, 20_000), symbols=_not_indexed)
    [mention] = await resolve_mentions("see @Basket.total", sources)
    assert mention.note == "Cart.total"
    assert '<symbol name="Cart.total" path="src/app.py" lines="2-3">' in str(mention.text)


async def test_a_symbol_in_a_file_that_is_sent_whole_is_not_sent_twice(workspace: Path) -> None:
    (workspace / "src/eval.py").write_text("import os\n\ndef match_caret():\n    return os.name\n")
    sources = _sources(workspace, 20_000)
    for words in ("see @src/eval.py @match_caret", "see @match_caret in @src/eval.py"):
        mentions = {mention.kind: mention for mention in await resolve_mentions(words, sources)}
        assert "return os.name" in str(mentions["file"].text)
        head = '<symbol name="match_caret" path="src/eval.py" lines="3-4">'
        assert mentions["symbol"].text == f"{head}\n[see the file, which is attached]\n</symbol>"
        assert (mentions["symbol"].first_line, mentions["symbol"].last_line) == (3, 4)
    _, symbol = await resolve_mentions("see @src/eval.py:1-2 @match_caret", sources)
    assert "return os.name" in str(symbol.text)


async def test_of_many_overloads_the_one_with_the_body_comes_first(workspace: Path) -> None:
    stub = "    @overload\n    def lines(self, size: int) -> str: ...\n"
    body = "    def lines(self, size):\n        return str(size)\n"
    (workspace / "src/models.py").write_text(f"class Reply:\n{stub * 4}{body}")
    [mention] = await resolve_mentions("see @Reply.lines", _sources(workspace, 20_000))
    assert (mention.first_line, mention.last_line, mention.note) == (10, 11, "3 of 5 places")
    assert "return str(size)" in str(mention.text) and str(mention.text).count("<symbol") == 3


async def test_a_long_symbol_is_sent_whole(workspace: Path) -> None:
    body = "".join(f"    line_{number} = 0\n" for number in range(400))
    (workspace / "src" / "long.py").write_text(f"\n\ndef long_one():\n{body}")
    [mention] = await resolve_mentions("see @long_one", _sources(workspace, 20_000))
    assert (mention.first_line, mention.last_line, mention.truncated) == (3, 403, False)
    assert "403\t    line_399 = 0\n</symbol>" in str(mention.text)
    assert mention_result(mention) == "src/long.py:3"


async def test_a_symbol_that_is_too_long_is_cut_with_notes_for_the_model_and_the_user(
    workspace: Path,
) -> None:
    body = "".join(f"    line_{number} = {'0' * 80}\n" for number in range(999))
    long = f"def long_one():\n{body}"
    (workspace / "src" / "long.py").write_text(f"\n\n{long}")
    sources = _sources(workspace, 200_000)
    [mention] = await resolve_mentions("see @long_one", sources)
    last = mention.last_line
    assert (mention.first_line, mention.truncated) == (3, True) and 400 < last < 600
    note = f"[lines 3-{last} of 3-1002; read on with read_file, offset={last + 1}]\n</symbol>"
    assert str(mention.text).endswith(note)
    assert mention_result(mention) == f"src/long.py:3, only lines 3–{last} of 3–1002"
    (workspace / "src" / "same.py").write_text(long)
    [mention] = await resolve_mentions("see @long_one", sources)
    assert 45_000 < text_size(mention.text) < 51_000
    assert mention.note == "2 places, not whole"


async def test_a_link_whose_target_is_missing_is_named_whatever_its_name(workspace: Path) -> None:
    (workspace / "dangling").symlink_to("nowhere")
    [mention] = await resolve_mentions("see @dangling", _sources(workspace, 20_000))
    assert (mention.reference, mention.kind) == ("dangling", "missing")
    assert mention.note == "the target of this link does not exist"


async def test_no_more_names_are_looked_up_than_there_is_time_for_and_that_is_told_once(
    workspace: Path,
) -> None:
    asked: list[str] = []

    async def nowhere(name: str) -> tuple[SymbolLocation, ...]:
        asked.append(name)
        return ()

    names = " ".join(f"@name{number}" for number in range(8))
    [told] = await resolve_mentions(names, replace(_sources(workspace, 20_000), symbols=nowhere))
    assert len(asked) == 5 and (told.reference, told.kind) == ("name5", "missing")
    assert "5 names" in told.note


async def test_lines_are_counted_as_the_tools_count_them(tmp_path: Path, workspace: Path) -> None:
    (workspace / "page.txt").write_bytes(b"one\x0ctwo\r\nthree\xe2\x80\xa8four\r\nfive")
    mentions, sent = await _mentions(tmp_path, "@page.txt:2 and @page.txt:3")
    assert [one.first_line for one in mentions] == [2, 3]
    end = "\n[lines end with CRLF]\n</file>"
    assert f">\n2\tthree\u2028four{end}" in sent and f">\n3\tfive{end}" in sent


async def test_a_text_that_is_no_utf_8_is_shown_as_read_file_shows_it(
    tmp_path: Path, workspace: Path
) -> None:
    (workspace / "latin.txt").write_bytes("ein schönes Café".encode("latin-1"))
    (workspace / "broken.txt").write_bytes("schöne Grüße ".encode() + b"\xff")
    _, sent = await _mentions(tmp_path, "@latin.txt @broken.txt")
    assert "ein schönes Café\n[Latin-1]" in sent
    assert "schöne Grüße \ufffd\n[UTF-8 with invalid bytes]" in sent


async def test_a_file_whose_name_is_no_utf_8_is_found_by_the_name_that_is_shown(
    tmp_path: Path, workspace: Path
) -> None:
    for folder in (workspace, workspace / "src"):
        (folder / os.fsdecode(b"caf\xe9.txt")).write_text("odd name\n")
    mentions, sent = await _mentions(tmp_path, "@src/caf\ufffd.txt @caf\ufffd.txt")
    assert [(one.kind, one.truncated) for one in mentions] == [("file", False)] * 2
    assert sent.count("odd name") == 2


async def test_what_leads_out_of_the_workspace_by_a_link_is_told_of_whatever_its_name(
    tmp_path: Path, workspace: Path
) -> None:
    (workspace / "etcdir").symlink_to("/etc")
    [told], sent = await _mentions(tmp_path, "see @etcdir/passwd")
    assert (told.kind, sent) == ("missing", "see @etcdir/passwd") and "outside the workspace" in told.note


async def test_a_submodules_own_link_to_its_repository_is_not_listed(tmp_path: Path, workspace: Path) -> None:
    (workspace / "lib").mkdir()
    (workspace / "lib" / ".git").write_text("gitdir: ../.git/modules/lib\n")
    (workspace / "lib" / "a.py").write_text("")
    _, sent = await _mentions(tmp_path, "@lib/")
    assert '<directory path="lib/">\na.py\n</directory>' in sent


async def test_lines_that_a_file_has_not_are_told_of(tmp_path: Path, workspace: Path) -> None:
    mentions, sent = await _mentions(tmp_path, "@src/app.py:500-600 and @src/app.py:3-900")
    assert [(one.kind, one.note, one.last_line) for one in mentions] == [
        ("missing", "it has only 6 lines", 0),
        ("file", "", 6),
    ]
    assert sent.count("<file ") == 1


async def test_an_image_goes_along_where_the_model_takes_images(tmp_path: Path, workspace: Path) -> None:
    (workspace / "shot.png").write_bytes(_png())
    mentions, _ = await _mentions(tmp_path, "@shot.png")
    assert mentions[0].kind == "refused"
    assert "not known to accept images; to send images, set images = true in its profile" in mentions[0].note
    async with running(tmp_path, [say("ok")], session="ses_images") as bench:
        state = bench.recorder.state
        assert state.settings is not None
        seeing = MODEL.model_copy(update={"images": True})
        bench.recorder.append(
            SettingsChanged(key="model", value=seeing.model_dump(mode="json"), previous=None)
        )
        bench.submit(SubmitPrompt(text="@shot.png"))
        await bench.until("turn.finished")
    request = bench.model.requests[0]
    pieces = [
        piece for message in request.messages if isinstance(message, UserMessage) for piece in message.content
    ]
    images = [piece for piece in pieces if isinstance(piece, ImageContent)]
    assert [one.name for one in images] == ["shot.png"]
    assert request.images[images[0].blob_sha256] == _png()


async def test_steering_and_queued_messages_are_looked_up_too(tmp_path: Path, workspace: Path) -> None:
    gate = anyio.Event()
    answers = [[gate.wait, *say("first")], say("second"), say("third")]
    async with running(tmp_path, answers, policy=judged) as bench:
        bench.submit(SubmitPrompt(text="begin"))
        await bench.until("model.requested")
        bench.submit(Steer(text="mind @src/app.py"))
        bench.submit(Queue(text="and then @src/"))
        await bench.until("user.steered")
        gate.set()
        await bench.until("turn.finished", 2)
    steered = bench.of(UserSteered)[0]
    assert steered.mentions[0].path == "src/app.py"
    assert "class Cart" in _sent(bench.model, 1)
    assert '<directory path="src/">' in _sent(bench.model, -1)


async def test_what_was_sent_comes_back_with_the_session_though_the_file_is_another(
    tmp_path: Path, workspace: Path
) -> None:
    await _mentions(tmp_path, "@src/app.py")
    (workspace / "src" / "app.py").write_text("changed\n")
    async with running(tmp_path, [say("again")]) as bench:
        bench.submit(SubmitPrompt(text="go on"))
        await bench.until("turn.finished")
    assert "class Cart" in _sent(bench.model) and "changed" not in _sent(bench.model)
