"""Files in Google Cloud Storage, by its API, and what its user reads when it is missing."""

import datetime as dt
from pathlib import Path

import pytest
from pyarrow import fs

from connect_dagster.connectors.object_store.arrow_store import ArrowStore
from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.errors import ConnectError, RetriableError
from tests.object_store_server import running_google_storage

pytestmark = pytest.mark.nightly


def client(server: str) -> fs.GcsFileSystem:
    """Arrow's client, as the sink makes it, but without Google's credentials."""
    return fs.GcsFileSystem(
        anonymous=True, scheme="http", endpoint_override=server, retry_time_limit=dt.timedelta(seconds=2)
    )


def test_objects(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with running_google_storage(tmp_path, "lake") as server:
        store = ArrowStore(client(server), "lake/raw", "gs://lake/raw")
        store.check()
        for content in (b"first", b"second"):
            file.write_bytes(content)
            store.put(file, "orders/partition=0/orders+0+0.json")
        with client(server).open_input_stream("lake/raw/orders/partition=0/orders+0+0.json") as found:
            assert found.read() == b"second"
        nowhere = ArrowStore(client(server), "nowhere", "gs://nowhere")
        with pytest.raises(ConnectError, match="gs://nowhere cannot be written: the bucket nowhere does not exist"):
            nowhere.check()
        with pytest.raises(ConnectError, match=r"gs://nowhere/a.json cannot be written: .*NOT_FOUND"):
            nowhere.put(file, "a.json")


def test_a_server_that_cannot_be_reached(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    store = ArrowStore(client(f"{HOST}:{free_port()}"), "lake", "gs://lake")
    with pytest.raises(ConnectError, match=r"gs://lake cannot be written: .*connect to server"):
        store.check()
    with pytest.raises(RetriableError, match=r"gs://lake/a.json cannot be written: .*connect to server"):
        store.put(tmp_path / "file", "a.json")
