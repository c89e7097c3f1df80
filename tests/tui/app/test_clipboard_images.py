"""Images that are pasted from the clipboard into a message, or come back with a queued message."""

import resource
from pathlib import Path

import pytest

from tests.tui.app.driving import Driven, golden, open_app
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import TuiAgentError
from tui_agent.protocol.commands import Queue, SubmitPrompt
from tui_agent.protocol.events.session import SettingsChanged
from tui_agent.protocol.events.turn import TurnStarted, UserMessageReceived, UserQueued, UserSteered
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.parts import ImageContent
from tui_agent.protocol.settings import ModelInfo
from tui_agent.tui.terminal import clipboard_image


def _content_and_mode(path: str) -> tuple[bytes, int]:
    return Path(path).read_bytes(), Path(path).stat().st_mode & 0o777


async def test_an_image_in_the_clipboard_is_attached_and_what_is_missing_is_named(tmp_path: Path) -> None:
    image = b"\x89PNG\r\n\x1a\n" + b"x" * 100
    (tmp_path / "shot").write_bytes(image)
    program = tmp_path / "xclip"
    environ = {"DISPLAY": ":0", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    async with open_app(golden("night_shift"), environ=environ) as driven:
        await driven.press("ctrl+v")
        await driven.until(lambda: "Install xclip" in driven.text())
        program.write_text("#!/bin/sh\necho text\n")
        program.chmod(0o755)
        await driven.press("ctrl+v")
        await driven.until(lambda: "The clipboard holds no image." in driven.text())
        program.write_text(f"#!/bin/sh\ncat {tmp_path}/shot\n")
        await driven.press("ctrl+v")
        await driven.until(lambda: "[image pasted-" in driven.app.prompt.editor.text)
        await driven.press("enter")
        [command] = driven.session.submitted
        assert isinstance(command, SubmitPrompt)
        [picture] = command.attachments
        assert _content_and_mode(str(picture.path)) == (image, 0o600)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("printf '\\211PNG\\r\\n\\032\\n'; cat /dev/zero", "larger than 20 MB"),
        ("cat /dev/zero", ""),
        ("sleep 1000", "xclip did not answer within 0.5 s"),
    ],
    ids=["endless image", "endless", "silent"],
)
def test_a_program_that_floods_or_hangs_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    monkeypatch.setattr(clipboard_image, "LIMIT_S", 0.5 if "sleep" in script else 30.0)
    program = tmp_path / "xclip"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    environ = {"DISPLAY": ":0", "PATH": f"{tmp_path}:/usr/bin:/bin"}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if words:
        with pytest.raises(TuiAgentError, match=words):
            clipboard_image.read_clipboard_image(environ)
    else:
        assert clipboard_image.read_clipboard_image(environ) is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


async def test_a_message_that_was_queued_before_a_restart_comes_back_with_its_pictures() -> None:
    first = ImageContent(media_type="image/png", blob_sha256="a" * 64, size=3, name="shot.png")
    second = first.model_copy(update={"media_type": "image/jpeg", "blob_sha256": "b" * 64})
    text = "compare [image shot.png] with [image shot.png #2]"
    async with open_app(golden("night_shift")) as driven:
        driven.session.blobs.update({"a" * 64: b"one", "b" * 64: b"two"})
        queued = UserQueued(queue_id=RequestId("q1"), text=text, attachments=(first, second))
        driven.session.feed(TurnStarted(turn=3), queued)
        await driven.settle()
        driven.app.do("unqueue")
        await driven.until(lambda: driven.app.prompt.editor.text == text)
        await driven.press("tab")
        await driven.until(lambda: any(isinstance(one, Queue) for one in driven.session.submitted))
        again = next(one for one in driven.session.submitted if isinstance(one, Queue))
        contents = [(_content_and_mode(one.path)[0], one.media_type) for one in again.attachments]
        assert contents == [(b"one", "image/png"), (b"two", "image/jpeg")]


SHOT = ImageContent(media_type="image/png", blob_sha256="a" * 64, size=3, name="shot.png")


def _choose_model(driven: Driven, *, images: bool) -> None:
    model = ModelInfo(profile="own", provider="openai-chat", model="own-model", images=images)
    driven.session.feed(SettingsChanged(key="model", value=model.model_dump(mode="json"), previous=None))


@pytest.mark.slow_variants
@pytest.mark.parametrize("images", [False, True])
@pytest.mark.parametrize("source", ["path", "clipboard"])
async def test_a_picture_that_the_model_will_not_get_is_announced(
    tmp_path: Path, source: str, images: bool
) -> None:
    picture = tmp_path / "shot.png"
    picture.write_bytes(b"x")
    async with open_app(golden("night_shift")) as driven:
        _choose_model(driven, images=images)
        await driven.until(lambda: "own-model" in driven.rows()[0])
        editor = driven.app.prompt.editor
        if source == "path":
            editor.paste(str(picture))
        else:
            editor.insert_picture(picture)
        assert "[image shot.png]" in editor.text
        notice = driven.app.notice
        text = notice.text if notice.display else ""
        assert ("own-model is not known to accept images" in text) is not images
        assert ("/model" in text) is not images


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_row_below_the_prompt_says_that_a_mentioned_image_is_not_sent(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    (tmp_path / "pic.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    (tmp_path / "a.py").write_text("A = 1\n")
    options = SessionOptions(cwd=tmp_path, data_dir=tmp_path / "data")
    async with open_app(golden("night_shift"), options=options, size=size) as driven:
        driven.app.prompt.set_root(tmp_path)
        await driven.type("look at @a.py and @pic.png now")
        await driven.until(lambda: "attaches a.py, pic.png" in driven.text())
        _choose_model(driven, images=False)
        unsent = "attaches a.py  not sent: pic.png (model may not accept images)"
        await driven.until(lambda: unsent in driven.text())
        _choose_model(driven, images=True)
        await driven.until(lambda: "attaches a.py, pic.png" in driven.text())


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_a_message_shows_that_its_picture_was_not_sent(size: tuple[int, int]) -> None:
    note = "not sent: own-model is not known to accept images"
    async with open_app(golden("night_shift"), size=size) as driven:
        _choose_model(driven, images=True)
        driven.session.feed(
            TurnStarted(turn=3), UserMessageReceived(text="with picture", attachments=(SHOT,))
        )
        await driven.until(lambda: "shot.png" in driven.text())
        assert note not in driven.text()
        _choose_model(driven, images=False)
        driven.session.feed(UserSteered(text="and this", attachments=(SHOT,)))
        await driven.until(lambda: note in driven.text())
        driven.session.feed(UserMessageReceived(text="and that", attachments=(SHOT,)))
        await driven.until(lambda: driven.text().count(note) == 2)
