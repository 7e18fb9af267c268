"""Parse records of groups dumped from ``__consumer_offsets``, in the forms that tools print them in. Pure.

Read are the value alone, as it is, as hex or base64; the value, or key and value, as JSON, with the names that Kafka's
own formatter or other tools give the fields; and a line of ``connect-dagster topic read -J``.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from connect_dagster.cli.topics.record_text import ENCODING_SUFFIX
from connect_dagster.protocol.group_metadata import (
    GroupKey,
    GroupMember,
    GroupMetadata,
    OffsetCommitKey,
    RecordKey,
    decode_key,
)

_VERSION = 3
"""Of the values that brokers have written since Kafka 2.3; the JSON of most tools does not hold it."""
_LABEL = re.compile(r"\s*(?:(key|value)\s*:)?\s*", re.IGNORECASE)
_HEX = re.compile(r"00([0-9a-f]{2})*", re.IGNORECASE)


def read_dump(dump: bytes) -> tuple[str | None, GroupMetadata]:
    """Return the id, where the dump has it, and the metadata of a group.

    Raises:
        ValueError: it is not such a record; names the error, and in a value's bytes its place.
    """
    if dump.startswith(b"\x00"):  # a value begins with its version, and no text does so
        return None, GroupMetadata.decode(dump)
    text = dump.decode()
    if "{" in text:
        return _from_json(_record(text))
    return None, GroupMetadata.decode(_raw("".join(text.split())))


def _raw(text: str) -> bytes:
    # A version as hex begins with "00", and that is none in base64.
    if _HEX.fullmatch(text):
        return bytes.fromhex(text)
    return _base64(text)


def _base64(text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise ValueError(f"neither JSON nor the hex or base64 of a group's record: {str(text)[:40]!r}") from error


def _record(text: str) -> dict[str, Any]:
    """Return the one record of a JSON text: an object, or two that are labelled as key and value."""
    parts = list(_objects(text))
    labels = [label for label, _ in parts]
    if labels == [None]:
        return parts[0][1]
    if sorted(label or "" for label in labels) in (["value"], ["key", "value"]):
        return {label: part for label, part in parts if label}
    raise ValueError(f"{len(parts)} JSON objects, where the key and the value of one record are expected")


def _objects(text: str) -> Iterator[tuple[str | None, dict[str, Any]]]:
    decoder, at, end = json.JSONDecoder(), 0, len(text.rstrip())
    while at < end:
        label = _LABEL.match(text, at)
        start = label.end() if label else at
        try:
            found, at = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise ValueError(f"not JSON: {error}") from error
        if not isinstance(found, dict):
            raise ValueError(f"JSON of a record is an object, not {str(found)[:40]!r}")
        yield (label[1].lower() if label and label[1] else None), found


def _from_json(record: Mapping[str, Any]) -> tuple[str | None, GroupMetadata]:
    if "payload" in record:
        return _from_topic_read(record)
    if "value" not in record:
        return None, _group(record)
    key = _unwrapped(record.get("key") or {})
    if "topic" in key:
        raise _not_of_a_group(f"an offset that group {key.get('group')!r} committed for topic {key['topic']!r}")
    return key.get("group"), _group(record["value"])


def _from_topic_read(record: Mapping[str, Any]) -> tuple[str | None, GroupMetadata]:
    key, value = _field(record, "key"), _field(record, "payload")
    group = _group_of(decode_key(key)) if key is not None else None
    if value is None:
        raise _deleted()
    return group, GroupMetadata.decode(value)


def _field(record: Mapping[str, Any], name: str) -> bytes | None:
    text = record.get(name)
    if text is None:
        return None
    return _base64(text) if record.get(name + ENCODING_SUFFIX) == "base64" else str(text).encode()


def _group_of(key: RecordKey) -> str:
    if isinstance(key, GroupKey):
        return key.group
    if isinstance(key, OffsetCommitKey):
        raise _not_of_a_group(
            f"an offset that group {key.group!r} committed for partition {key.partition} of topic {key.topic!r}"
        )
    raise _not_of_a_group(f"a record of kind {key.kind}, {key.name}")


def _unwrapped(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without what Kafka's formatter puts around keys and values: their type or version."""
    return value["data"] if isinstance(value.get("data"), dict) else value


def _group(value: Mapping[str, Any] | None) -> GroupMetadata:
    if value is None:
        raise _deleted()
    try:
        group = _Group.model_validate(_unwrapped(value))
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise ValueError(f"not the record of a group: {wrong}") from error
    members = tuple(GroupMember(**dict(member)) for member in group.members)
    return GroupMetadata(**{**dict(group), "members": members, "version": int(value.get("version", _VERSION))})


def _not_of_a_group(what: str) -> ValueError:
    return ValueError(f"the record is not of a group, but {what}")


def _deleted() -> ValueError:
    return ValueError("the record's value is null: the group was deleted")


_Bytes = Annotated[bytes, BeforeValidator(_base64)]


class _Fields(BaseModel):
    """Fields in Kafka's names or, as in most tools, with underscores."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True)


class _Member(_Fields):
    member_id: str
    group_instance_id: str | None = None
    client_id: str
    client_host: str
    rebalance_timeout: int = -1
    session_timeout: int
    subscription: _Bytes
    assignment: _Bytes


class _Group(_Fields):
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp: int = -1
    members: list[_Member]
