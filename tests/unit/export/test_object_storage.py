"""Exports go to S3 and come back from it, tried with a server of moto's on this machine."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stubs.golden import golden_session
from tui_agent.cli.main import main
from tui_agent.errors import StoreError, UsageError
from tui_agent.export.object_storage import download_file, parse_address, upload_files
from tui_agent.export.trajectory.parquet import read_trace
from tui_agent.export.trajectory.trajectory_file import read_session_trace
from tui_agent.store.redaction.redactor import Redactor


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    from moto.server import ThreadedMotoServer  # noqa: PLC0415 - slow, and no other test needs it

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """An empty bucket at the endpoint that boto3's own variables name."""
    import boto3  # noqa: PLC0415 - slow

    for name, value in {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_MAX_ATTEMPTS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    boto3.client("s3").create_bucket(Bucket="traces")
    return "traces"


@pytest.mark.slow
def test_files_are_uploaded_below_the_address_and_downloaded_again(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"rows")
    assert upload_files({"ses_1/trace.parquet": tmp_path / "a"}, f"s3://{bucket}/runs/") == [
        "s3://traces/runs/ses_1/trace.parquet"
    ]
    (tmp_path / "got").mkdir()
    path = download_file("s3://traces/runs/ses_1/trace.parquet", tmp_path / "got")
    assert (path, path.read_bytes()) == (tmp_path / "got" / "trace.parquet", b"rows")
    with pytest.raises(
        StoreError, match=r"s3://none-of-ours/x could not be used: .*NoSuchBucket.*[^.]\. Check"
    ):
        upload_files({"a": tmp_path / "a"}, "s3://none-of-ours/x")
    with pytest.raises(StoreError, match=r"could not be used: .*404"):
        download_file("s3://traces/runs/missing", tmp_path)


def test_a_session_is_exported_to_a_bucket_and_imported_from_it(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    folder = golden_session(tmp_path / "data", "night_shift").rename(tmp_path / "data" / "sessions" / "ses_1")

    def run(*words: str) -> Any:
        assert main([*words, "--json", "--data-dir", str(tmp_path / "data")]) == 0, capsys.readouterr().err
        return json.loads(capsys.readouterr().out)

    exported = run("sessions", "export", "ses_1", "--format", "trajectory", "--to", "s3://traces/t")
    assert exported["paths"] == ["s3://traces/t/ses_1/trace.parquet"]
    trace = read_trace(download_file(exported["path"], tmp_path))
    assert trace == read_session_trace(folder, Redactor())
    points = run("eval", "graph", exported["path"])["points"]
    assert [(point["part"], point["passed"]) for point in points] == [(41, 31), (46, 32)]
    exported = run("sessions", "export", "ses_1", "--format", "archive", "--to", "s3://traces/a")
    assert exported["paths"] == ["s3://traces/a/ses_1.tar.gz"]
    shutil.rmtree(folder)
    assert run("sessions", "import", "s3://traces/a/ses_1.tar.gz")["session"] == "ses_1"
    assert not list((tmp_path / "data").glob("trajectories"))


def test_an_address_has_a_bucket() -> None:
    assert parse_address("s3://traces/a/b/") == ("traces", "a/b")
    assert parse_address("s3://traces") == ("traces", "")
    for wrong in ("traces/a", "http://traces/a", "s3://", "s3:///a"):
        with pytest.raises(UsageError, match="is not an address in S3"):
            parse_address(wrong)
