"""A language that a plugin teaches: the session's map shows its symbols, also those that another process found."""

from pathlib import Path

import pytest

from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import PluginError
from tui_agent.plugin_host.registration import OwnedApi
from tui_agent.protocol.envelope import Envelope, Record
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.session.headless_turn import run_turn
from tui_agent.wiring.session import open_session

FIXTURES = Path(__file__).parents[1] / "fixtures" / "plugins"


SCRIPT = """\
answers:
  - calls:
      - repo_map: {query: sheep, refresh: true}
  - text: Done.
"""


@pytest.mark.slow
async def test_a_sessions_map_knows_the_language_of_a_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    work = tmp_path / "work"
    work.mkdir()
    for number in range(60):
        (work / f"{number}.tally").write_text(f"count sheep{number}\n  one more\n")
    (tmp_path / "script.yaml").write_text(SCRIPT)
    options = SessionOptions(
        cwd=work,
        client="headless",
        interactive=False,
        data_dir=tmp_path / "data",
        model=f"scripted:{tmp_path / 'script.yaml'}",
        plugin_dirs=(FIXTURES,),
    )
    seen: list[Record] = []
    async with open_session(options) as opened:
        await run_turn(opened, "count", seen.append)
    payloads = [one.payload for one in seen if isinstance(one, Envelope)]
    (end,) = [one for one in payloads if isinstance(one, ToolFinished)]
    assert end.status == "ok"
    assert "\\n7.tally\\n  1-2 count sheep7\\n" in end.model_dump_json()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"suffixes": []}, "no usable suffixes"),
        ({"suffixes": [".x"], "patterns": [("a", "(?P<name>x)")]}, "Leave out the dot"),
        ({"suffixes": ["x"]}, "neither patterns nor a grammar"),
        ({"suffixes": ["x"], "grammar": "a:b"}, "only one of grammar and query"),
        ({"suffixes": ["x"], "grammar": "a.b", "query": "(x) @y"}, "not a reference"),
        ({"suffixes": ["x"], "patterns": [("a", "(")]}, "is not valid"),
        ({"suffixes": ["x"], "patterns": [("a", "x")]}, "must have a group `name`"),
    ],
)
def test_what_cannot_be_used_is_refused_when_it_is_registered(words: dict[str, object], said: str) -> None:
    api = OwnedApi("mine", None)
    suffixes = words.pop("suffixes")
    with pytest.raises(PluginError) as refused:
        api.language("x", suffixes, **words)  # type: ignore[arg-type]
    assert said in f"{refused.value} {refused.value.hint}"


def test_a_language_cannot_be_registered_twice() -> None:
    api = OwnedApi("mine", None)
    api.language("tally", ["tally"], patterns=[("function", "^(?P<name>x)")])
    assert api.reserved == ["language:tally"]
    with pytest.raises(PluginError, match="language tally of mine is registered twice"):
        api.language("tally", ["tally"], patterns=[("function", "^(?P<name>x)")])
