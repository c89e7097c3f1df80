"""Images that are pasted from the clipboard into a message."""

import resource
from pathlib import Path

import pytest

from tests.tui.app.driving import golden, open_app
from tui_agent.errors import TuiAgentError
from tui_agent.protocol.commands import SubmitPrompt
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
