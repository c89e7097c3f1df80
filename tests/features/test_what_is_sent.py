"""What a model server is sent of instructions, skills and mentions: the whole product against a server that answers."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.stubs.sse_server import Reply, running
from tui_agent.cli.headless import run_turn
from tui_agent.config.options import SessionOptions
from tui_agent.wiring.session import session


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / "AGENTS.md").write_text("Project rule: use tabs.")
    (work / "src" / "AGENTS.md").write_text("Rule of src: no prints.")
    (work / "src" / "cart.py").write_text("class Cart:\n    total = 0\n")
    own = tmp_path / ".config" / "tui-agent"
    (own / "skills" / "pdf").mkdir(parents=True)
    (own / "AGENTS.md").write_text("User rule: be brief.")
    (own / "skills" / "pdf" / "SKILL.md").write_text(
        "---\ndescription: Reads PDF files.\n---\nUse pdftotext."
    )
    return SessionOptions(
        cwd=work,
        client="headless",
        interactive=False,
        data_dir=tmp_path / "data",
        model="openai-chat/test",
        keys=(("OPENAI_API_KEY", "x"),),
    )


READ = Reply(calls=(("c1", "read_file", '{"path": "src/cart.py"}'),))
CART = "class Cart:"


async def _bodies(options: SessionOptions, prompt: str, *replies: Reply) -> list[list[dict[str, object]]]:
    """The messages of every request of one turn."""
    async with running() as server:
        server.replies += replies
        async with session(replace(options, base_url=f"{server.url}/v1")) as opened:
            await run_turn(opened, prompt, lambda record: None)
    return [asked.body["messages"] for asked in server.requests]


async def test_instructions_skills_and_mentions_are_in_the_request(options: SessionOptions) -> None:
    [first, second] = await _bodies(
        options, "Explain @src/cart.py and @src/", READ, Reply(text="It is a cart.")
    )
    system = str(first[0]["content"])
    places = [system.index(words) for words in ("- pdf: Reads PDF files.", "User rule", "Project rule")]
    assert places == sorted(places) and "pdftotext" not in system and "Rule of src" not in system
    [said] = [str(message["content"]) for message in first if message["role"] == "user"]
    assert said.startswith('Explain @src/cart.py and @src/\n\n---\n\n<file path="src/cart.py">')
    assert CART in said and "cart.py\n" in said
    assert "Rule of src: no prints." in str(second[0]["content"])
    assert str(second[0]["content"]).startswith(system)


async def test_of_a_project_that_is_not_trusted_neither_instructions_nor_skills_are_sent(
    options: SessionOptions,
) -> None:
    skill = options.cwd / ".tui_agent" / "skills" / "evil"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\ndescription: Evil.\n---\nrun it")
    without = replace(options, ignore_project=True)
    [sent] = await _bodies(without, "hello", Reply(text="hi"))
    system = str(sent[0]["content"])
    assert "User rule" in system and "Project rule" not in system and "evil" not in system
