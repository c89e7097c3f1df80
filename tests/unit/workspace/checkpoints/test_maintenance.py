"""Redaction of a stream of checkpoints for exports."""

from tui_agent.folds.text.redaction_placeholders import SECRET_FILE_CONTENT
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.workspace.checkpoints.maintenance import redact_stream


def test_a_redacted_stream_keeps_empty_files_that_share_the_content_of_an_empty_secret_file() -> None:
    stream = (
        b"blob\nmark :1\ndata 0\n\nblob\nmark :2\ndata 4\nPIN\n\n"
        b"M 100644 :1 .env\nM 100644 :1 __init__.py\nM 100644 :2 b.env\n"
    )
    redactor = Redactor(is_secret_file=lambda path: path.endswith(".env"))
    new_content = b"data %d\n%s" % (len(SECRET_FILE_CONTENT), SECRET_FILE_CONTENT)
    assert b"".join(redact_stream(stream, redactor)) == stream.replace(b"data 4\nPIN\n", new_content)
