"""A worker of a cluster for clients that others have written."""

import uuid
from collections.abc import Iterator

import pytest

from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties


@pytest.fixture(scope="module")
def worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DistributedProcess]:
    folder = tmp_path_factory.mktemp("clients")
    prefix = f"clients-{uuid.uuid4().hex[:8]}-"  # modules of two processes must not make one group
    with DistributedProcess(group_properties(broker.bootstrap_servers, prefix), folder) as process:
        yield process
