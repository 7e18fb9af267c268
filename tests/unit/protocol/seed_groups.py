"""Records of a group of one and of four workers, as a user of Kafka 3.1.2 dumped them from `__consumer_offsets`."""

import base64
import json
from pathlib import Path
from typing import Any

_DIRECTORY = Path(__file__).parent / "seed"
ONE_WORKER_FILE = _DIRECTORY / "one_worker.txt"
FOUR_WORKERS_FILE = _DIRECTORY / "four_workers.json"

LEADER = "this_is_client_id-41f8da84-2220-4fa3-9690-dc2ba8460f50"


def one_worker() -> dict[str, Any]:
    """The value of the first record, which the file holds behind its key."""
    return dict(json.loads(ONE_WORKER_FILE.read_text().split("Value : ")[1]))


def four_workers() -> dict[str, Any]:
    """The value of the second record."""
    return dict(json.loads(FOUR_WORKERS_FILE.read_text()))


def structs(group: dict[str, Any], field: str) -> list[bytes]:
    """The bytes of each member's `subscription` or `assignment`, in the record's order."""
    return [base64.b64decode(member[field]) for member in group["members"]]
