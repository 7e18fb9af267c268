"""A worker's property file: the user's file with a resource's properties appended.

The last line of a key counts, so appended lines win. Java: ``Properties.load``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from connect_dagster.java.properties import load_properties, property_lines, read_text

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"

# A worker needs these and has no default for them.
JSON_CONVERTERS = {"key.converter": JSON_CONVERTER, "value.converter": JSON_CONVERTER}


def effective(
    file: str | None, additions: Mapping[str, str], without_a_file: Mapping[str, str] = JSON_CONVERTERS
) -> dict[str, str]:
    """Return the effective properties of a worker.

    Args:
        file: The user's property file; None for none.
        additions: Properties that take the place of the file's.
        without_a_file: Those of a worker without a file.

    Raises:
        ConfigError: The file cannot be read; names it.
    """
    return {**(load_properties(file) if file else without_a_file), **additions}


def write_effective(
    file: str | None, additions: Mapping[str, str], folder: Path, without_a_file: Mapping[str, str] = JSON_CONVERTERS
) -> Path:
    """Return the file that starts a worker: the user's, or a copy in ``folder`` with the additions at its end.

    Raises:
        ConfigError: The user's file cannot be read; names it.
    """
    if file and not additions:
        return Path(file)
    text = read_text(file) if file else property_lines(without_a_file)
    copy = folder / (Path(file).name if file else "worker.properties")
    copy.touch(mode=0o600)
    copy.write_text(f"{text}\n{property_lines(additions)}", encoding="utf-8")
    return copy


def spark_properties(config: Mapping[str, Any]) -> dict[str, str]:
    """Return the ``spark_config`` of dagster-pyspark's resources, flat or nested, as a worker's properties."""
    flat: dict[str, str] = {}
    for key, value in config.items():
        nested = spark_properties(value) if isinstance(value, Mapping) else None
        flat |= {key: _text(value)} if nested is None else {f"{key}.{name}": text for name, text in nested.items()}
    return flat


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
