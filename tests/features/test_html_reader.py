"""The HTML export in a real browser: it shows the session, finds and filters in it, and nothing foreign is alive."""

import re
import shutil
import struct
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from tests.stubs.browser import Page, browser, program
from tests.stubs.golden import GOLDEN
from tests.stubs.left_out import only_where
from tests.stubs.store import said, store
from tui_agent.export.export_content import load_export
from tui_agent.export.html.page import to_html
from tui_agent.protocol.display_blocks import (
    DiffBlock,
    JsonBlock,
    MarkdownBlock,
    TableBlock,
    TerminalBlock,
    TextBlock,
)
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.session import RunStarted, SessionStarted, SessionTitled
from tui_agent.protocol.events.tool import ToolCalled, ToolFinished
from tui_agent.protocol.events.turn import TurnStarted
from tui_agent.protocol.ids import CallId, RequestId, RunId
from tui_agent.protocol.parts import ReasoningPart, TextPart, Usage
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.units import format_duration

HOSTILE = (
    "</title></style></script></pre><script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)>"
    '" onmouseover="alert(1)" \' autofocus onfocus=\'alert(1) <!-- <iframe src=https://evil.example> '
    "[x](javascript:alert(1)) [y](https://ok.example) ![z](https://evil.example/z.png) <base href=https://evil.example>"
    "\n\n<style>body{display:none}</style>\n\n<details open ontoggle=alert(1)>\u202e\x1b]8;;https://evil.example\x07link\x1b]8;;\x07"
)


def night(root: Path) -> Path:
    """The recorded night shift as a file to open."""
    folder = root / "sessions" / "night"
    folder.mkdir(parents=True)
    shutil.copy(GOLDEN / "night_shift.jsonl", folder / "events.jsonl")
    return written(folder, root / "night.html")


def written(folder: Path, path: Path) -> Path:
    path.write_text(to_html(load_export(folder, Redactor())), encoding="utf-8")
    return path


def hostile(root: Path) -> Path:
    """A session in which everything that others can say is an attack."""
    log = store(root).create("ses_a")
    model = ModelInfo(profile="p", provider="x", model=HOSTILE)
    settings = SessionSettings(model=model)
    log.append(SessionStarted(workspace=f"/{HOSTILE}", product="p", settings=settings))
    log.append(SessionTitled(title=HOSTILE, titled_by="auto"))
    log.append(RunStarted(run_id=RunId("run_1"), pid=1, client="headless", product="p", model=model))
    log.append(TurnStarted(turn=1))
    log.append(said(HOSTILE))
    parts = (
        ReasoningPart(text=HOSTILE),
        TextPart(text=f"{HOSTILE}\n\n```{HOSTILE.split()[0]}\n{HOSTILE}\n```\n"),
    )
    log.append(
        ModelResponded(
            request_id=RequestId("r"),
            first_part=0,
            parts=parts,
            finish="stop",
            usage=Usage(),
            cost_usd=None,
            duration_ms=1,
        )
    )
    call = CallId("call_1")
    log.append(
        ToolCalled(call_id=call, name=HOSTILE, arguments={}, iteration=1, verb=HOSTILE, target=HOSTILE)
    )
    blocks = (
        TextBlock(text=HOSTILE),
        TerminalBlock(text=f"{HOSTILE}\n" * 20),
        MarkdownBlock(text=HOSTILE),
        DiffBlock(path=HOSTILE, diff=f"@@ -1 +1 @@\n-{HOSTILE}\n+{HOSTILE}", added=1, removed=1),
        TableBlock(columns=(HOSTILE,), rows=((HOSTILE,),)),
        JsonBlock(data={HOSTILE: HOSTILE}),
    )
    log.append(
        ToolFinished(
            call_id=call, name=HOSTILE, status="failed", part=2, content=(), display=blocks, summary=HOSTILE
        )
    )
    log.close()
    return written(log.folder, root / "hostile.html")


def test_the_file_asks_for_nothing_and_its_policy_allows_nothing(tmp_path: Path) -> None:
    text = night(tmp_path).read_text(encoding="utf-8")
    assert "default-src 'none'" in unescape(text)
    assert not re.findall(r"""(?:src|href)=["']?(?!#|data:)[^"'>\s]+""", text)
    assert not re.findall(r"url\(|@import|<[^>]+ style=|<[^>]+ on\w+=", text)
    assert text.count("<script>") == text.count("<style>") == 1


def test_what_others_said_is_text_and_never_markup(tmp_path: Path) -> None:
    text = hostile(tmp_path).read_text(encoding="utf-8")
    alive = re.findall(r"<(script|img|svg|iframe|base|style|details)\b", text)
    assert {name: alive.count(name) for name in set(alive)} == {
        "script": 1,
        "svg": 1,
        "style": 1,
        "details": 2,
    }
    assert "\u202e" not in text
    assert "\x1b" not in text
    assert not re.findall(r"<[^>]*javascript:[^>]*>", text)


pytest_browser = only_where(program() is not None, "no Chromium is installed")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("browser")) as opened:
        yield opened


@pytest_browser
def test_it_shows_every_turn_and_filters_fold_and_find(page: Page, tmp_path: Path) -> None:
    page.requests.clear()
    page.open(night(tmp_path))
    shown = "[...document.querySelectorAll('.e')].filter((e) => e.checkVisibility()).length"
    everything = page.run(shown)
    assert page.run("document.querySelectorAll('.e.you').length") == 2
    assert page.run("document.querySelectorAll('.side ol a').length") == 2
    assert page.run("document.querySelectorAll('.add').length") > 5
    for tag in ("you", "agent", "tools", "errors", "files"):
        chip = f"document.querySelector('[data-filter={tag}]')"
        page.run(f"{chip}.click()")
        assert page.run(shown) == int(page.run(f"{chip}.querySelector('b').textContent"))
        assert 0 < page.run(shown) < everything
        page.run(f"{chip}.click()")
    assert page.run(shown) == everything
    page.run(
        "(((f) => (f.value = 'PYTEST', f.dispatchEvent(new Event('input'))))(document.getElementById('find')))"
    )
    assert re.fullmatch(r"1 of \d+", page.run("found.textContent"))
    page.run("document.activeElement.blur()")
    page.key("o")
    assert page.run("[...document.querySelectorAll('details')].every((d) => d.open)")
    assert (page.requests, page.troubles) == (
        [(tmp_path / "night.html").as_uri(), "data:,"][: len(page.requests)],
        [],
    )


@pytest_browser
def test_the_scrubber_goes_through_the_session_and_follows_the_reader(page: Page, tmp_path: Path) -> None:
    page.open(night(tmp_path), height=700)
    assert "turn 1" in page.run("then.textContent")
    page.run("(at.value = at.max, at.dispatchEvent(new Event('input')))")
    assert page.run("document.querySelector('.now').id") == f"e{page.run('at.max')}"
    assert page.run("document.querySelector('.now').checkVisibility()")
    assert "turn 2" in page.run("then.textContent")
    assert page.run("lasted.textContent") == page.run(
        "`${document.querySelector('.e.now').dataset.elapsed} of ${lasted.dataset.whole}`"
    )
    page.run("new Promise((done) => setTimeout(done, 300))")
    page.run("window.scrollTo(0, 0)")
    assert page.run("at.value") == "0"
    page.key("j")
    assert page.run("at.value") == "1"


@pytest_browser
def test_timeline_and_filters_work_by_keyboard_alone(page: Page, tmp_path: Path) -> None:
    page.open(night(tmp_path), height=700)
    page.key("]")
    second = page.run("at.value")
    assert page.run("then.textContent.split(' · ')[1]") == "turn 2"
    page.key("[")
    assert (page.run("at.value"), page.run("then.textContent.split(' · ')[1]")) == ("0", "turn 1")
    focused = "document.activeElement.id || document.activeElement.dataset.filter || ''"
    for _ in range(40):
        if page.run(focused) == "at":
            break
        page.key("Tab")
    assert page.run(focused) == "at"
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "End", "Home", "ArrowRight"):
        page.key(key)
    assert page.run("at.value") == "1" and page.run("document.querySelector('.now').id") == "e1"
    page.key("]")
    assert page.run("at.value") == second
    shown = "[...document.querySelectorAll('.e')].filter((e) => e.checkVisibility()).length"
    everything = page.run(shown)
    page.key("4")
    assert page.run(shown) == 1 and page.run("document.querySelector('.now').dataset.tags").count("errors")
    page.key("4")
    assert page.run(shown) == everything
    page.run("document.querySelector('[data-filter=files]').focus()")
    page.key("Enter")
    assert 0 < page.run(shown) < everything
    page.key("Enter")
    assert page.run(shown) == everything


@pytest_browser
def test_on_a_phone_no_verb_breaks_and_the_facts_leave_room(page: Page, tmp_path: Path) -> None:
    page.open(night(tmp_path), width=400)
    lines = "((v) => ((r) => (r.selectNodeContents(v), r.getClientRects().length))(new Range()))"
    assert set(page.run(f"[...document.querySelectorAll('.verb')].map({lines})")) == {1}
    assert page.run("document.querySelector('.bar').getBoundingClientRect().top") < 330


@pytest_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_looks_as_the_reader_likes_it(page: Page, tmp_path: Path, scheme: str) -> None:
    for width in (1440, 390):
        page.open(night(tmp_path / str(width)), width=width, scheme=scheme)
        data = page.picture(tmp_path / f"{scheme}-{width}.png")
        assert struct.unpack(">II", data[16:24]) == (width, 1000)
        colour = page.run("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", colour))) > 380) == (scheme == "light")
        assert page.run("document.documentElement.scrollWidth") == width


@pytest_browser
def test_in_a_browser_nothing_of_a_hostile_session_runs_or_loads(page: Page, tmp_path: Path) -> None:
    page.requests.clear()
    path = hostile(tmp_path)
    page.open(path)
    page.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.run("document.querySelectorAll('.e').length") == 4
    assert page.run("document.querySelector('.said').checkVisibility()")
    alive = (
        "img, iframe, base, object, embed, [onerror], [onload], [onmouseover], [onfocus], [ontoggle], [style]"
    )
    assert page.run(f"document.querySelectorAll('{alive}').length") == 0
    links = page.run("[...document.querySelectorAll('a[href]')].map((a) => a.protocol)")
    assert set(links) <= {"file:", "https:"}
    assert [url for url in page.requests if url not in (path.as_uri(), "data:,")] == []
    assert page.troubles == []


def test_the_timeline_is_as_long_as_the_head_says(tmp_path: Path) -> None:
    page = night(tmp_path).read_text(encoding="utf-8")
    told = re.search(r"<dt>lasted</dt><dd>([^<]+)</dd>", page)
    whole = re.search(r'data-whole="([^"]+)"', page)
    assert told and whole and told[1] == whole[1]


def test_the_timeline_formats_the_time_of_each_row_as_every_other_duration(tmp_path: Path) -> None:
    page = night(tmp_path).read_text(encoding="utf-8")
    start = load_export(tmp_path / "sessions" / "night", Redactor()).metrics.first_at
    times = [float(text) for text in re.findall(r'data-at="([^"]+)"', page)]
    assert len(times) > 10
    assert re.findall(r'data-elapsed="([^"]+)"', page) == [format_duration(time - start) for time in times]
