"""Notes across sessions: found by their words, written whole and only where the policy lets it."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.engine.harness import call, running, say
from tests.stubs.tool_context import PLUGINS, Bench, Collecting, text
from tui_agent.errors import ToolError
from tui_agent.plugin_host.plugin_imports import import_from, unload_modules
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.protocol.commands import DecidePermission, SubmitPrompt
from tui_agent.protocol.effects import InternalEffect, WriteEffect
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRequested

KEY = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def _names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir()) if folder.exists() else []


def _made(folder: Path) -> None:
    folder.mkdir(parents=True)


class _Noting(Collecting):
    """A `PluginApi` of a project with notes."""

    def __init__(self, folder: Path | None) -> None:
        super().__init__()
        self.notes_folder = folder


def _tools(folder: Path | None) -> dict[str, Any]:
    api = _Noting(folder)
    import_from("notes", PLUGINS / "notes").register(api)
    unload_modules("notes")
    return api.tools


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "data" / "notes" / "shop-12345678"


@pytest.fixture
def bench(tmp_path: Path, notes: Path) -> Bench:
    (tmp_path / "workspace").mkdir()
    return Bench(tmp_path / "workspace", _tools(notes))


async def test_what_was_written_is_found_by_its_words_with_file_and_line(bench: Bench, notes: Path) -> None:
    await bench.run("write_note", title="Payments", text="We use Stripe.\n\nRefunds go through the ledger.")
    await bench.run("write_note", title="Tests", text="Run them with make test. The ledger is faked.")
    found = await bench.run("search_notes", query="how do refunds work?")
    assert text(found).startswith("payments.md:5 — Payments\nRefunds go through the ledger.")
    both = await bench.run("search_notes", query="ledger refunds", max_results=50)
    assert [line for line in text(both).splitlines() if " — " in line] == [
        "payments.md:5 — Payments",
        "tests.md:3 — Tests",
    ]
    assert text(await bench.run("search_notes", query="ledger", max_results=1)).count(".md:") == 1
    assert "No note" in text(await bench.run("search_notes", query="kubernetes"))
    assert (notes / "payments.md").stat().st_mode & 0o777 == 0o600


async def test_the_same_title_replaces_the_note_and_the_diff_says_what_changes(
    bench: Bench, notes: Path
) -> None:
    first = await bench.run("write_note", title="Tests", text="One.")
    preview = await bench.preview("write_note", title="Tests", text="Two.")
    second = await bench.run("write_note", title="Tests", text="Two.")
    assert "-One.\n+Two.\n" in preview.blocks[0].diff and preview.content
    assert text(first) == "Saved the note tests.md." and text(second) == "Replaced the note tests.md."
    assert (notes / "tests.md").read_text() == "# Tests\n\nTwo.\n"
    assert _names(notes) == ["tests.md"]


@pytest.mark.parametrize(
    "title", ["../../etc/passwd", "/etc/passwd", "..", "ünïcödé", "日本", "a\0b", "x" * 100]
)
async def test_a_title_never_leads_out_of_the_folder(bench: Bench, notes: Path, title: str) -> None:
    [effect] = bench.effects("write_note", title=title, text="x")
    assert isinstance(effect, WriteEffect) and Path(effect.path).parent == notes
    assert "\0" not in effect.path and Path(effect.path).name.endswith(".md")
    assert bench.effects("search_notes", query=title) == (InternalEffect(subject="notes"),)


async def test_links_huge_and_damaged_notes_harm_nothing(bench: Bench, notes: Path, tmp_path: Path) -> None:
    _made(notes)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("the password is hunter2")
    (notes / "link.md").symlink_to(tmp_path / "outside" / "secret.md")
    (notes / "below").symlink_to(tmp_path / "outside")
    (notes / "bytes.md").write_bytes(b"password \xff\xfe")
    (notes / "picture.md").write_bytes(b"password \0\1\2")
    (notes / "folder.md").mkdir()
    os.mkfifo(notes / "pipe.md")
    (notes / "long.md").write_text("word " * 400_000)
    found = text(await bench.run("search_notes", query="password hunter2"))
    assert "hunter2" not in found and "bytes.md:1" in found
    assert found.endswith("[Searched only the first 200 KB of long.md.]\n\n[Unreadable: picture.md.]")
    with pytest.raises(ToolError, match="larger than 200 KB"):
        await bench.run("write_note", title="big", text="x" * 300_000)


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("round", "Amounts are rounded."),
        ("rounding", "It rounds."),
        ("configuration", "The config lies in etc."),
        ("größe", "GRÖSSE IST 3."),
        ("Groesse", "Die Größe ist 3."),
        ("cafe", "Un cafe\u0301."),
        ("order book", "OrderBook holds them."),
        ("ledgers", "See `the_ledger`."),
        ("Rundung", "Ein Rundungsfehler."),
    ],
)
async def test_a_word_is_found_in_its_other_forms(bench: Bench, notes: Path, query: str, note: str) -> None:
    _made(notes)
    (notes / "other.md").write_text("Nothing of that kind is told here.")
    (notes / "a.md").write_text(note)
    found = text(await bench.run("search_notes", query=query))
    assert found == f"a.md:1\n{note}"


async def test_the_word_itself_comes_before_one_that_only_begins_like_it(bench: Bench, notes: Path) -> None:
    _made(notes)
    (notes / "a.md").write_text("A testament of the old times, and of the new ones.")
    (notes / "b.md").write_text("A test of the old times, and of the new ones too.")
    found = text(await bench.run("search_notes", query="tests"))
    assert [line for line in found.splitlines() if ".md:" in line] == ["b.md:1", "a.md:1"]


async def test_the_heading_above_counts_and_stands_with_the_place(bench: Bench, notes: Path) -> None:
    _made(notes)
    (notes / "shop.md").write_text(
        "# Shop\n\nHow it works.\n\n## Rounding\n\nHalf to even.\n\n## Tax\n\nNone.\n"
    )
    (notes / "only.md").write_text("# Never round twice\n")
    found = text(await bench.run("search_notes", query="round"))
    assert "shop.md:7 — Shop › Rounding\nHalf to even." in found
    assert "only.md:1 — Never round twice\nNever round twice" in found
    assert "None." not in found and "How it works" not in found


async def test_of_a_long_line_only_what_stands_around_the_word_is_shown(bench: Bench, notes: Path) -> None:
    _made(notes)
    (notes / "a.md").write_text("some words " * 5_000 + "the ledger is here " + "more words " * 5_000)
    found = text(await bench.run("search_notes", query="ledger"))
    assert "the ledger is here" in found and len(found) < 700


async def test_nothing_to_search_and_nothing_found_are_told_apart(bench: Bench, notes: Path) -> None:
    assert "no notes on this project yet" in text(await bench.run("search_notes", query="refund"))
    _made(notes)
    assert "no notes on this project yet" in text(await bench.run("search_notes", query="refund"))
    (notes / "a.md").write_text("Something.")
    assert "only words that are too common" in text(await bench.run("search_notes", query="how do you"))
    nothing = "No note contains any of these words (1 note searched)."
    assert text(await bench.run("search_notes", query="refund")) == nothing


async def test_of_very_many_notes_the_newest_are_searched_and_the_rest_is_told(
    notes: Path,
) -> None:
    _made(notes)
    for number in range(30):
        (notes / f"n{number:02}.md").write_text(f"The ledger {number}.")
        os.utime(notes / f"n{number:02}.md", (1_000 + number, 1_000 + number))
    module = import_from("notes", PLUGINS / "notes")
    try:
        found = module.note_ranking.search(notes, "ledger", 20, max_notes=20)
    finally:
        unload_modules("notes")
    assert found.skipped == 10 and found.notes == 30
    assert {one.file for one in found.snippets} == {f"n{number:02}.md" for number in range(10, 30)}


async def test_a_note_that_cannot_be_written_is_told(bench: Bench, notes: Path) -> None:
    _made(notes.parent)
    (notes.parent / notes.name).write_text("a file where the folder should be")
    with pytest.raises(ToolError, match="cannot be written"):
        await bench.run("write_note", title="x", text="y")


def test_without_a_project_there_are_no_tools() -> None:
    assert _tools(None) == {}


async def test_writing_is_asked_about_searching_is_not_and_without_anyone_nothing_is_written(
    tmp_path: Path, notes: Path
) -> None:
    answers = [
        call(
            ("search_notes", '{"query": "x"}'), ("write_note", f'{{"title": "T", "text": "because {KEY}"}}')
        ),
        say("done"),
    ]
    tools = list(_tools(notes).values())
    async with running(tmp_path, answers, tools, policy=RulePolicy().decide) as bench:
        bench.submit(SubmitPrompt(text="note it"))
        asked = await bench.until_payload(PermissionRequested)
        assert asked.tool == "write_note"
        assert _names(notes) == []
        bench.submit(DecidePermission(request_id=asked.request_id, decision="allow"))
        await bench.until("turn.finished")
    assert (notes / "t.md").read_text() == "# T\n\nbecause [redacted: github token]\n"
    decided = [one.decision for one in bench.of(PermissionDecided)]
    assert decided == ["allow", "allow"]
    answers = [call(("write_note", '{"title": "U", "text": "no"}')), say("done")]
    for profile, name in (("ask", "ses_b"), ("accept-edits", "ses_c"), ("plan", "ses_d")):
        async with running(
            tmp_path,
            list(answers),
            tools,
            policy=RulePolicy().decide,
            interactive=False,
            session=name,
            policy_name=profile,  # type: ignore[arg-type]
        ) as bench:
            bench.submit(SubmitPrompt(text="note it"))
            await bench.until("turn.finished")
    assert _names(notes) == ["t.md"]


async def test_no_file_is_named_after_a_secret(tmp_path: Path, notes: Path) -> None:
    answers = [call(("write_note", f'{{"title": "About {KEY}", "text": "yes"}}')), say("done")]
    tools = list(_tools(notes).values())
    async with running(tmp_path, answers, tools, policy=RulePolicy().decide, policy_name="bypass") as bench:
        bench.submit(SubmitPrompt(text="note it"))
        finished = (await bench.until("tool.finished")).payload
        await bench.until("turn.finished")
    assert _names(notes) == []
    assert "The title contains a secret" in repr(finished)
