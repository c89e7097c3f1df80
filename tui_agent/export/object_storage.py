"""Transfer of export files to and from S3 or a compatible object storage.

Invariant: credentials, region and endpoint come from boto3's own configuration (`AWS_…` variables, `~/.aws`).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from tui_agent.config.settings.optional_packages import load_package
from tui_agent.errors import StoreError, UsageError

S3_SCHEME: Final = "s3://"


def parse_address(address: str) -> tuple[str, str]:
    """Return the bucket and the key of an address such as `s3://bucket/runs/7`.

    Raise `UsageError` for any other address.
    """
    bucket, _, key = address.removeprefix(S3_SCHEME).partition("/")
    if not address.startswith(S3_SCHEME) or not bucket:
        raise UsageError(f"{address!r} is not an address in S3.", hint="Write it as s3://BUCKET/FOLDER.")
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
