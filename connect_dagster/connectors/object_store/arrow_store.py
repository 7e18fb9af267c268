"""Objects in a bucket of S3, or of a server with its API, and of Google Cloud Storage, by Arrow's clients."""

from __future__ import annotations

import logging
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from pyarrow import fs

from connect_dagster.errors import ConnectError, RetriableError

log = logging.getLogger(__name__)

_COPIED_AT_ONCE = 4 << 20
_AWS = re.compile(
    r"AWS Error (?P<word>[A-Z_]+)(?: \(HTTP status (?P<status>\d+)\))? during (?P<operation>\w+) operation"
)
# What S3 says, and what would be right.
_REMEDIES = {
    "ACCESS_DENIED": "the credentials have no right to it; writing needs s3:PutObject",
    "INVALID_ACCESS_KEY_ID": "the access key (aws.access.key.id, or the AWS environment's) is not known there",
    "INVALID_CLIENT_TOKEN_ID": "the access key (aws.access.key.id, or the AWS environment's) is not known there",
    "SIGNATURE_DOES_NOT_MATCH": "the secret key (aws.secret.access.key, or the AWS environment's) is not that of the "
    "access key",
    "NO_SUCH_BUCKET": "the bucket does not exist",
    "EXPIRED_TOKEN": "the session token has expired",
    "REQUEST_TIME_TOO_SKEWED": "the worker's clock is wrong",
    "NETWORK_CONNECTION": "the server cannot be reached",
}
_STATUSES = {"301": "the bucket is in another region than s3.region", "403": _REMEDIES["ACCESS_DENIED"]}
_TEMPORARY = frozenset(
    {
        "NETWORK_CONNECTION",
        "SLOW_DOWN",
        "THROTTLING",
        "SERVICE_UNAVAILABLE",
        "INTERNAL_FAILURE",
        "REQUEST_TIMEOUT",
        "EXPIRED_TOKEN",
    }
)
_GOOGLE = re.compile(r"(?:PERMISSION_DENIED|UNAUTHENTICATED|NOT_FOUND|INVALID_ARGUMENT)")


@dataclass(frozen=True, slots=True)
class Failure:
    """An error of a store, in its user's terms.

    Attributes:
        text: what is wrong, and where.
        is_temporary: whether another attempt may succeed.
        is_refusal: whether the store refused the right to it.
    """

    text: str
    is_temporary: bool
    is_refusal: bool = False


def failure_of(error: OSError, place: str) -> Failure:
    """Return an error of Arrow's clients in its user's terms.

    Args:
        error: what the client has raised.
        place: the object or bucket.
    """
    text = str(error)
    found = _AWS.search(text)
    if found is None:
        return Failure(f"{place} cannot be written: {text}", is_temporary=_GOOGLE.search(text) is None)
    word, status = found["word"], found["status"] or ""
    remedy = _REMEDIES.get(word) or _STATUSES.get(status) or f"S3's error is {word} {status}".rstrip()
    is_temporary = word in _TEMPORARY or status.startswith("5")
    refused = word == "ACCESS_DENIED" or status == "403"
    return Failure(f"{place} cannot be written: {remedy} ({found['operation']}: {text})", is_temporary, refused)


class ArrowStore:
    """A bucket, or a folder in it.

    Args:
        filesystem: Arrow's client.
        root: bucket and folder.
        shown: the same as a URL, for errors.
    """

    def __init__(self, filesystem: fs.FileSystem, root: str, shown: str) -> None:
        self._filesystem = filesystem
        self._root = root.strip("/")
        self._shown = shown

    def check(self) -> None:
        """Raise an error where the bucket cannot be reached or does not exist; the right to list it is not needed."""
        bucket = self._root.partition("/")[0]
        try:
            (found,) = self._filesystem.get_file_info([bucket])
        except OSError as error:
            failure = failure_of(error, self._shown)
            if not failure.is_refusal:
                raise ConnectError(failure.text) from error
            log.info(
                "The bucket of %s may not be looked at; the first file shows whether it can be written", self._shown
            )
            return
        if found.type is fs.FileType.NotFound:
            raise ConnectError(f"{self._shown} cannot be written: the bucket {bucket} does not exist")

    def put(self, file: Path, name: str) -> None:
        """Upload a file; the object appears when all of it is there."""
        try:
            with file.open("rb") as content, self._filesystem.open_output_stream(f"{self._root}/{name}") as sent:
                shutil.copyfileobj(content, sent, _COPIED_AT_ONCE)
        except OSError as error:
            failure = failure_of(error, f"{self._shown}/{name}")
            raise (RetriableError if failure.is_temporary else ConnectError)(failure.text) from error
