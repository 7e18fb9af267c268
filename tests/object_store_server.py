"""Servers with the APIs of S3 and of Google Cloud Storage for tests, as child processes: moto, gcp-storage-emulator."""

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]

from connect_dagster.embedded.child_process import start_leashed
from connect_dagster.embedded.ports import HOST, free_port, is_listening

REGION = "eu-central-1"
KEYS = {"aws.access.key.id": "key", "aws.secret.access.key": "secret"}
"""Accepted until the server asks for rights."""


class ObjectStoreServer:
    """A server.

    Args:
        workdir: for its log.
    """

    def __init__(self, workdir: Path) -> None:
        self._port, self._log = free_port(), workdir / "moto.log"
        self.url = f"http://{HOST}:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, without buckets."""
        command = [sys.executable, "-m", "moto.server", "-H", HOST, "-p", str(self._port)]
        with self._log.open("ab") as log:
            self._process = start_leashed(command, log=log)
        deadline = time.monotonic() + 60
        while not is_listening(self._port):
            assert self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def stop(self) -> None:
        """Kill it: its objects are in memory."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(30)
            self._process = None

    def client(self, service: str = "s3") -> Any:
        """A client of AWS's own."""
        given = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}
        return boto3.client(service, endpoint_url=self.url, region_name=REGION, **given)

    def create_bucket(self, name: str) -> None:
        """Create a bucket."""
        self.client().create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": REGION})

    def objects(self, bucket: str) -> dict[str, bytes]:
        """The contents of all objects, by their names."""
        found = self.client().list_objects_v2(Bucket=bucket).get("Contents", [])
        return {one["Key"]: self.client().get_object(Bucket=bucket, Key=one["Key"])["Body"].read() for one in found}

    def create_user(self, name: str, *actions: str) -> dict[str, str]:
        """Create a user who may do these; answers the options of a connector."""
        iam = self.client("iam")
        iam.create_user(UserName=name)
        allowed = [{"Effect": "Allow", "Action": list(actions), "Resource": "*"}]
        policy = json.dumps({"Version": "2012-10-17", "Statement": allowed})
        iam.put_user_policy(UserName=name, PolicyName="own", PolicyDocument=policy)
        key = iam.create_access_key(UserName=name)["AccessKey"]
        return {"aws.access.key.id": key["AccessKeyId"], "aws.secret.access.key": key["SecretAccessKey"]}

    @contextmanager
    def asking_for_rights(self) -> Iterator[None]:
        """Let the server refuse users without rights."""
        self._accept(0)
        try:
            yield
        finally:
            self._accept(1 << 60)

    def _accept(self, requests: int) -> None:
        headers = {"Content-Type": "text/plain"}
        request = urllib.request.Request(f"{self.url}/moto-api/reset-auth", str(requests).encode(), headers)
        with urllib.request.urlopen(request, timeout=10):
            pass


@contextmanager
def running_object_store(workdir: Path) -> Iterator[ObjectStoreServer]:
    """Run a server; its log is in a folder."""
    server = ObjectStoreServer(workdir)
    try:
        server.start()
        yield server
    finally:
        server.stop()


@contextmanager
def running_google_storage(workdir: Path, bucket: str) -> Iterator[str]:
    """Run a server with the API of Google Cloud Storage and one bucket; answers its host and port."""
    port = free_port()
    program = "from gcp_storage_emulator.__main__ import main; import sys; sys.exit(main())"
    words = ["start", f"--host={HOST}", f"--port={port}", "--in-memory", f"--default-bucket={bucket}"]
    with (workdir / "google.log").open("ab") as log:
        process = start_leashed([sys.executable, "-c", program, *words], log=log)
    try:
        deadline = time.monotonic() + 60
        while not is_listening(port):
            assert process.poll() is None, (workdir / "google.log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield f"{HOST}:{port}"
    finally:
        process.kill()
        process.wait(30)
