"""Writing of export files, and their transfer to and from S3 or a compatible object storage.

Invariant: no local file is ever overwritten, and no partial file remains. Credentials, region and endpoint come from
boto3's own configuration (`AWS_…` variables, `~/.aws`).
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import mkstemp
from typing import Any, Final

from tui_agent.config.settings.export_folder import default_export_folder
from tui_agent.config.settings.extras import load_package
from tui_agent.errors import StoreError, StoreFull, UsageError

FILE_MODE = 0o600
S3_SCHEME: Final = "s3://"


@contextmanager
def create_file(dest: Path) -> Iterator[Path]:
    """Yield a temporary file next to `dest`, and rename it to `dest` at the end.

    Raise `UsageError` if `dest` exists.
    """
    if os.path.lexists(dest):
        raise _exists_error(dest)
    try:
        handle, name = mkstemp(prefix=f".{dest.name[:40]}.", dir=dest.parent)
    except OSError as fault:
        raise _write_error(dest, fault) from fault
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(FILE_MODE)
        _link_to_name(draft, dest)
    except OSError as fault:
        raise _write_error(dest, fault) from fault
    finally:
        draft.unlink(missing_ok=True)


def _link_to_name(draft: Path, dest: Path) -> None:
    try:
        os.link(draft, dest)  # unlike a rename, this never replaces another file
    except FileExistsError as fault:
        raise _exists_error(dest) from fault
    except OSError:  # The file system does not support hard links.
        draft.replace(dest)


def write_new(dest: Path, data: bytes) -> None:
    """Write a new file; after an error, no partial file remains."""
    with create_file(dest) as draft:
        draft.write_bytes(data)


def output_path(output: str | None, data_dir: Path, workspace: Path, stem: str, ending: str) -> Path:
    """Return the path of the file to write. If `output` is a folder, the path is an unused name in it.

    If `output` is None, the default folder is used.
    """
    dest = Path(output).expanduser() if output else default_export_folder(data_dir, workspace)
    return unused_path(dest, stem, ending) if dest.is_dir() else dest


def unused_path(folder: Path, stem: str, ending: str) -> Path:
    """Return an unused path in `folder`: `stem.ending`, `stem-2.ending`, …"""
    number = 1
    while os.path.lexists(path := folder / f"{stem}{'' if number == 1 else f'-{number}'}.{ending}"):
        number += 1
    return path


def _exists_error(dest: Path) -> UsageError:
    return UsageError(
        f"The file {dest} already exists.", hint="Choose another name with -o, or remove the existing file."
    )


def _write_error(dest: Path, fault: OSError) -> StoreFull:
    return StoreFull(
        f"{dest} could not be written: {fault.strerror or fault}.",
        hint="Check that the folder exists and is writable, and that the disk has space.",
    )


def parse_address(address: str) -> tuple[str, str]:
    """Return the bucket and the key of an address such as `s3://bucket/runs/7`.

    Raise `UsageError` for any other address.
    """
    bucket, _, key = address.removeprefix(S3_SCHEME).partition("/")
    if not address.startswith(S3_SCHEME) or not bucket:
        raise UsageError(f"{address!r} is not an address in S3.", hint="Give it as s3://BUCKET/FOLDER.")
    return bucket, key.strip("/")


def upload_files(files: Mapping[str, Path], address: str) -> list[str]:
    """Upload files below an address, each under its name. Return the addresses of the uploaded files.

    Raise `UsageError` for a wrong address, and `StoreError` if the upload fails.
    """
    bucket, folder = parse_address(address)
    uploaded = []
    with _s3_client(address) as client:
        for name, path in files.items():
            key = f"{folder}/{name}" if folder else name
            client.upload_file(str(path), bucket, key)
            uploaded.append(f"{S3_SCHEME}{bucket}/{key}")
    return uploaded


def download_file(address: str, folder: Path) -> Path:
    """Download a file into a folder and return its path.

    Raise `UsageError` for a wrong address, `StoreError` if the download fails.
    """
    bucket, key = parse_address(address)
    dest = folder / Path(key).name
    if not key:
        raise UsageError(f"{address} is a bucket.", hint="Give the address of a file.")
    with _s3_client(address) as client:
        client.download_file(bucket, key, str(dest))
    return dest


@contextmanager
def _s3_client(address: str) -> Iterator[Any]:
    boto3 = load_package("boto3")
    failures = import_module("botocore.exceptions")
    errors = (failures.BotoCoreError, failures.ClientError, boto3.exceptions.Boto3Error)
    try:
        yield boto3.client("s3")
    except errors as fault:
        raise StoreError(
            f"{address} could not be used: {str(fault).rstrip('.')}.",
            hint="Check the bucket's name, your AWS credentials and AWS_ENDPOINT_URL.",
        ) from fault
