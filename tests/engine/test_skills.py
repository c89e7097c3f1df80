"""Skills: what the model is told of them, what it reads on demand, and what is wrong with broken ones."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.harness import call, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.config.front_matter import split_front_matter
from tui_agent.config.project.project_files import read_project_files
from tui_agent.context.skills import SkillStore
from tui_agent.engine.middleware.prompt_sections import SkillsSection
from tui_agent.errors import ToolError
from tui_agent.ports.symbols_and_skills import Knowledge
from tui_agent.protocol.commands import SubmitPrompt
from tui_agent.protocol.events.instructions import SkillsLoaded
from tui_agent.protocol.parts import TextContent

PDF = "---\nname: pdf\ndescription: Reads and fills\n  PDF files.\n---\n\n# PDF\n\nUse pdftotext.\n"


def _put(folder: Path, text: str = PDF, name: str = "SKILL.md") -> Path:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return folder


def test_the_front_matter_is_read_with_quotes_and_lines_that_go_on() -> None:
    head, body, _ = split_front_matter(
        '---\nname: "x"\ndescription: >\n  two\n  lines\nother: 1\n---\nbody\n'
    )
    assert head == {"name": "x", "description": "two lines", "other": "1"} and body == "body"
    assert split_front_matter("no front matter")[:2] == ({}, "no front matter")
    assert split_front_matter("---\nnever: ended")[:2] == ({}, "---\nnever: ended")


async def test_the_model_is_told_name_and_description_and_reads_the_body_when_it_needs_it(
    tmp_path: Path,
) -> None:
    user = tmp_path / "skills"
    _put(_put(user / "pdf"), "import sys\n", "scripts/fill.py")
    shelf = SkillStore(user)
    answers = [
        call(("read_skill", '{"name": "pdf"}'), ("read_skill", '{"name": "pdf", "file": "scripts/fill.py"}')),
        call(("read_skill", '{"name": "pdf", "file": "../other.md"}'), ("read_skill", '{"name": "nope"}')),
        say("done"),
    ]
    tools = list(tools_of("skills").values())
    knowledge = Knowledge(skills=shelf)
    async with running(
        tmp_path, answers, tools, middlewares=[SkillsSection(shelf)], knowledge=knowledge
    ) as bench:
        bench.submit(SubmitPrompt(text="Fill the form."))
        await bench.until("turn.finished")
    system = bench.model.requests[0].system
    assert "- pdf: Reads and fills PDF files." in system and "pdftotext" not in system
    said = [
        (event.status, str(event.content[0].text))
        for event in bench.results()
        if isinstance(event.content[0], TextContent)
    ]
    assert said[0][0] == "ok" and "Use pdftotext." in said[0][1]
    assert "[files of this skill: scripts/fill.py]" in said[0][1]
    assert said[1] == ("ok", "import sys\n")
    assert said[2][0] == said[3][0] == "failed"
    assert "not inside the skill's folder" in said[2][1] and "Available: pdf" in said[3][1]


async def test_one_that_comes_later_is_told_from_the_next_turn_on(tmp_path: Path) -> None:
    shelf = SkillStore(tmp_path / "skills")
    async with running(tmp_path, [say("1"), say("2"), say("3")], middlewares=[SkillsSection(shelf)]) as bench:
        bench.submit(SubmitPrompt(text="a"))
        await bench.until("turn.finished")
        _put(tmp_path / "skills" / "pdf")
        for count in (2, 3):
            bench.submit(SubmitPrompt(text="b"))
            await bench.until("turn.finished", count)
    assert [bool("pdf" in request.system) for request in bench.model.requests] == [False, True, True]
    assert len(bench.of(SkillsLoaded)) == 1


def test_a_trusted_projects_are_used_as_they_were_trusted_and_hide_the_users(tmp_path: Path) -> None:
    project = tmp_path / "project"
    own = _put(project / ".tui_agent" / "skills" / "pdf", PDF.replace("pdftotext", "the project's way"))
    _put(own, "one", "more/a.txt")
    _put(tmp_path / "skills" / "pdf")
    trusted = read_project_files(project)
    (own / "SKILL.md").write_text(PDF.replace("pdftotext", "something else by now"))
    shelf = SkillStore(tmp_path / "skills", trusted)
    assert [(one.name, one.origin, bool(one.fault)) for one in shelf.records] == [
        ("pdf", "project", False),
        ("pdf", "user", True),
    ]
    found = shelf.read("pdf")
    assert "the project's way" in found.text and found.files == ("more/a.txt",)
    assert shelf.read("pdf", "more/a.txt").text == "one"
    with pytest.raises(ToolError, match=r"no file other.txt"):
        shelf.read("pdf", "other.txt")


def _no_head(folder: Path) -> None:
    _put(folder, "# Just text\n")


def _no_description(folder: Path) -> None:
    _put(folder, "---\nname: pdf\n---\nbody")


def _bad_name(folder: Path) -> None:
    _put(folder, "---\nname: ../../x\ndescription: d\n---\nbody")


def _latin(folder: Path) -> None:
    _put(folder)
    (folder / "SKILL.md").write_bytes(b"---\nname: caf\xe9\n---\n")


def _huge(folder: Path) -> None:
    _put(folder, PDF + "x" * 300_000)


def _absent(folder: Path) -> None:
    folder.mkdir(parents=True)


def _a_folder(folder: Path) -> None:
    (folder / "SKILL.md").mkdir(parents=True)


def _no_end(folder: Path) -> None:
    _put(folder, "---\nname: pdf\ndescription: d\nbody")


def _round(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "SKILL.md").symlink_to("SKILL.md")


BROKEN = (_no_head, _no_end, _no_description, _bad_name, _latin, _huge, _absent, _a_folder, _round)


@pytest.mark.parametrize("make", BROKEN)
def test_a_broken_one_is_listed_with_what_is_wrong_and_the_others_work(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "broken")
    _put(tmp_path / "pdf")
    shelf = SkillStore(tmp_path)
    faults = {one.path.rpartition("/")[2]: one.fault for one in shelf.records}
    assert faults["broken"] and faults["pdf"] == ""
    assert "pdftotext" in shelf.read("pdf").text


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (_absent, "it has no SKILL.md"),
        (_no_end, "its front matter has no end: the line --- is missing"),
    ],
)
def test_the_fault_names_what_is_missing(tmp_path: Path, make: Callable[[Path], None], fault: str) -> None:
    make(tmp_path / "broken")
    assert [one.fault for one in SkillStore(tmp_path).records] == [fault]


def test_of_two_of_the_users_with_one_name_the_second_says_where_the_first_is(tmp_path: Path) -> None:
    first = _put(tmp_path / "a")
    _put(tmp_path / "b")
    faults = [one.fault for one in SkillStore(tmp_path).records]
    assert faults == ["", f"{first} is used instead: it has the same name, pdf"]


def test_a_description_is_read_without_signs_that_nobody_sees_and_without_a_comment(tmp_path: Path) -> None:
    _put(tmp_path / "x", '---\ndescription: "Use when: \u202ea\0b" # why\n---\nbody')
    [record] = SkillStore(tmp_path).records
    assert (record.name, record.description, record.fault) == ("x", "Use when: ab", "")


async def test_a_folder_whose_name_is_no_utf_8_costs_no_session(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path / "skills") + b"/caf\xe9"
    os.makedirs(odd)  # noqa: PTH103 - a name that is no text
    _put(tmp_path / "skills" / "pdf")
    shelf = SkillStore(tmp_path / "skills")
    async with running(tmp_path, [say("ok")], middlewares=[SkillsSection(shelf)]) as bench:
        for count in (1, 2):
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished", count)
    assert len(bench.of(SkillsLoaded)) == 1
    assert "- pdf: Reads and fills PDF files." in bench.model.requests[0].system
    assert [one.name for one in bench.recorder.state.skills] == ["caf\ufffd", "pdf"]


def test_a_link_in_a_skill_leads_nowhere_else(tmp_path: Path) -> None:
    folder = _put(tmp_path / "skills" / "pdf")
    (tmp_path / "secret.txt").write_text("hidden")
    (folder / "a.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "out").symlink_to(tmp_path)
    shelf = SkillStore(tmp_path / "skills")
    for file in ("a.txt", "out/secret.txt", "/etc/passwd", "a/../../x"):
        with pytest.raises(ToolError):
            shelf.read("pdf", file)
