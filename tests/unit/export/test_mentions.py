"""What a message mentions, in the files for others: what was sent of each, and why nothing was."""

from pathlib import Path

from markdown_it import MarkdownIt

from tests.stubs.store import store
from tui_agent.export.export_content import ExportContent, load_export
from tui_agent.export.html.page import to_html
from tui_agent.export.markdown import to_markdown
from tui_agent.protocol.events.turn import UserMessageReceived
from tui_agent.protocol.mentions import Mention
from tui_agent.store.redaction.redactor import Redactor

HOSTILE = "a`<img src=x onerror=alert(1)>.py"
MENTIONS = (
    Mention(reference="src/app.py", kind="file", path="src/app.py", tokens=1_204, text="a = 1"),
    Mention(reference=".env", kind="refused", path=".env", note="it may hold secrets"),
    Mention(reference=HOSTILE, kind="missing", note="there is no such file"),
)


def story(tmp_path: Path) -> ExportContent:
    log = store(tmp_path).create("ses_a")
    log.append(UserMessageReceived(text="Look at @src/app.py and @.env", mentions=MENTIONS))
    log.close()
    return load_export(log.folder, Redactor())


def test_a_transcript_lists_the_mentions_below_their_message(tmp_path: Path) -> None:
    text = to_markdown(story(tmp_path))
    assert "- `src/app.py`: 1.2k tokens" in text
    assert "- `.env`: not sent: it may hold secrets" in text
    assert "<img" not in MarkdownIt("commonmark").render(text)


def test_the_reader_lists_them_too_as_text(tmp_path: Path) -> None:
    page = to_html(story(tmp_path))
    assert "<code>src/app.py</code> 1.2k tokens" in page
    assert "not sent: it may hold secrets" in page and "<img src=x" not in page
