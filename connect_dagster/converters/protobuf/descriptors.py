"""Parse ``.proto`` text to descriptors with protoc, and Confluent's options in it."""

from __future__ import annotations

import base64
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from connect_dagster.errors import DataError

ROOT = "record.proto"

# Files that Confluent's schemas import, beside Google's; the numbers and names are its wire format.
_CONFLUENT = {
    "confluent/meta.proto": """
syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta {
  string doc = 1;
  map<string, string> params = 2;
  repeated string tags = 3;
}
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
""",
    "confluent/type/decimal.proto": """
syntax = "proto3";
package confluent.type;
message Decimal {
  bytes value = 1;
  uint32 precision = 2;
  int32 scale = 3;
}
""",
    "google/type/date.proto": """
syntax = "proto3";
package google.type;
message Date {
  int32 year = 1;
  int32 month = 2;
  int32 day = 3;
}
""",
    "google/type/timeofday.proto": """
syntax = "proto3";
package google.type;
message TimeOfDay {
  int32 hours = 1;
  int32 minutes = 2;
  int32 seconds = 3;
  int32 nanos = 4;
}
""",
}
_META = "confluent.field_meta"


class ProtoFile:
    """A compiled ``.proto`` text.

    Args:
        text: the text.
        imports: further texts by the name under which they are imported.

    Raises:
        DataError: the text cannot be compiled; names the position.
    """

    def __init__(self, text: str, imports: Mapping[str, str] | None = None) -> None:
        from google.protobuf import descriptor_pb2, descriptor_pool  # type: ignore[import-untyped]

        described = _described(text)
        if described is not None:
            text = 'syntax = "proto3";\n' + "".join(f'import "{name}";\n' for name in described.dependency)
        found = descriptor_pb2.FileDescriptorSet.FromString(_compiled({**_CONFLUENT, **(imports or {}), ROOT: text}))
        files = [one if described is None or one.name != ROOT else described for one in found.file]
        self._pool = descriptor_pool.DescriptorPool()
        for one in files:
            self._pool.Add(one)
        self.root = self._pool.FindFileByName(ROOT)
        self.order = [one.name for one in next(one for one in files if one.name == ROOT).message_type]

    def message(self, indexes: list[int]) -> Any:
        """Return the descriptor at a place among the messages: the index of the outermost, of one in it, and so on.

        Raises:
            DataError: there is none.
        """
        try:
            found = self.root.message_types_by_name[self.order[indexes[0]]]
            for index in indexes[1:]:
                found = found.nested_types[index]
            return found
        except IndexError:
            raise DataError(f"The schema has no message at {indexes}") from None

    def indexes(self, full_name: str) -> list[int]:
        """Return the place of a message by its full name; of the first message where there is none of this name."""
        try:
            found = self._pool.FindMessageTypeByName(full_name)
        except KeyError:
            return [0]
        places = []
        while found.containing_type is not None:
            places.append([one.name for one in found.containing_type.nested_types].index(found.name))
            found = found.containing_type
        return [self.order.index(found.name), *reversed(places)] if found.file.name == ROOT else [0]

    def parameters(self, field: Any) -> dict[str, str]:
        """Return the parameters of a field in Confluent's option ``field_meta``."""
        from google.protobuf import message_factory

        options = field.GetOptions().SerializeToString()
        if not options:
            return {}
        try:
            extension = self._pool.FindExtensionByName(_META)
        except KeyError:
            return {}
        made = message_factory.GetMessageClass(self._pool.FindMessageTypeByName("google.protobuf.FieldOptions"))
        return dict(made.FromString(options).Extensions[extension].params)


def _described(text: str) -> Any:
    """Return the descriptor that stands in place of a text, as Confluent's client for Python registers it; else
    ``None``.
    """
    from google.protobuf import descriptor_pb2
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

    try:
        found = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (ValueError, DecodeError):
        return None
    found.name = ROOT
    return found


def _compiled(texts: Mapping[str, str]) -> bytes:
    """Return the descriptors of all texts; protoc runs as a process, as it writes errors to the process's stream."""
    with tempfile.TemporaryDirectory(prefix="connect-dagster-proto-") as name:
        folder = Path(name)
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        out = folder / "out.descriptors"
        command = [sys.executable, "-m", "grpc_tools.protoc", "-I."]
        command += ["--include_imports", f"--descriptor_set_out={out}", ROOT]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise DataError(f"The Protobuf schema cannot be compiled: {done.stderr.strip()}")
        return out.read_bytes()
