"""What a model server is sent of instructions, skills and mentions: the whole product against a server that answers."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from tests.stubs.sse_server import Reply, running
from tui_agent.config.session_options import SessionOptions
from tui_agent.folds.context.context_breakdown import Ledger
from tui_agent.folds.context.meter import ContextMeter
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.context import ContextPacked
from tui_agent.session.headless_turn import run_turn
from tui_agent.wiring.session import open_session


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SessionOptions:
    monkeypatch.setenv("HOME", str(tmp_path))
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
        typed_keys=(("OPENAI_API_KEY", "x"),),
    )


READ = Reply(calls=(("c1", "read_file", '{"path": "src/cart.py"}'),))
CART = "class Cart:"


async def _bodies(
    options: SessionOptions, prompt: str, *replies: Reply, seen: list[Record] | None = None
) -> list[list[dict[str, object]]]:
    """The messages of every request of one turn; `seen` takes what was recorded."""
    records: list[Record] = [] if seen is None else seen
    async with running() as server:
        server.replies += replies
        async with open_session(replace(options, base_url=f"{server.url}/v1")) as opened:
            await run_turn(opened, prompt, records.append)
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
    assert said.index(CART) < said.index("Rule of src: no prints."), "it is worked in from the mention on"
    assert second[: len(first)] == first and "Rule of src" not in str(second[len(first) :])


async def test_instructions_found_on_the_way_leave_every_byte_that_was_sent_as_it_was(
    options: SessionOptions,
) -> None:
    deep = options.cwd / "src" / "deep"
    deep.mkdir()
    (deep / "AGENTS.md").write_text(
        "Rule of deep: no loops.\n" + "A line of it.\n" * 1_500 + "The last rule."
    )
    (deep / "till.py").write_text("x = 1\n")
    other = Reply(calls=(("c2", "read_file", '{"path": "src/deep/till.py"}'),))
    again = Reply(calls=(("c3", "read_file", '{"path": "src/cart.py"}'),))
    records: list[Record] = []
    sent = await _bodies(options, "Explain", READ, other, again, Reply(text="A cart."), seen=records)
    for before, after in pairwise(sent):
        assert json.dumps(after).startswith(json.dumps(before)[:-1])
    last = [str(one["content"]) for one in sent[-1]]
    for rule, at in (("Rule of src: no prints.", 1), ("Rule of deep: no loops.", 2)):
        assert [rule in str(one[-1]["content"]) for one in sent] == [each == at for each in range(4)]
        assert sum(rule in words for words in last) == 1
    assert sum("A line of it.\nThe last rule." in words for words in last) == 1, "long ones are sent whole"
    meter, ledger = ContextMeter(), Ledger()
    for record in records:
        if isinstance(record, Envelope):
            meter.apply(record)
            ledger.apply(record)
    assert (meter.view().cache_breaks, meter.view().cache_break) == (0, "")
    assert [one.cache_miss_reason for one in ledger.view().requests] == ["", "", "", ""]
    packed = [one.payload for one in records if isinstance(one, Envelope)]
    sizes = [
        next(section.chars for section in one.sections if section.name == "instructions")
        for one in packed
        if isinstance(one, ContextPacked)
    ]
    assert sizes[0] < sizes[1] < sizes[2] == sizes[3]


async def test_of_a_project_that_is_not_trusted_the_instructions_are_sent_but_not_the_skills(
    options: SessionOptions,
) -> None:
    skill = options.cwd / ".tui_agent" / "skills" / "evil"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\ndescription: Evil.\n---\nrun it")
    without = replace(options, ignore_project=True)
    [sent] = await _bodies(without, "hello", Reply(text="hi"))
    system = str(sent[0]["content"])
    assert "User rule" in system and "Project rule" in system and "evil" not in system


@pytest.mark.slow_variants
@pytest.mark.parametrize("words", ["look at src/shelf/till.py", "see `src/shelf/till.py:2`, it is slow"])
async def test_of_a_path_without_a_sign_nothing_is_sent_but_the_map_begins_with_it(
    options: SessionOptions, words: str
) -> None:
    for name in ("cash", "door", "floor", "lamp", "shop", "stock", "till", "wall", "look", "slow"):
        path = options.cwd / "src" / "shelf" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"def {name}():\n    return '{name} of the shop'\n")
    [sent] = await _bodies(options, words, Reply(text="Read."))
    said = "\n".join(str(message["content"]) for message in sent if message["role"] == "user")
    assert said.startswith(words) and "of the shop" not in said and "<file" not in said
    map_lines = said.partition("<repo_map>")[2].strip().splitlines()
    assert map_lines[1] == "src/shelf/till.py", map_lines[:4]
