"""Generated records through Java's Avro converter and ours, both ways: equal bytes, equal data.

Equal bytes hold equal ids: the registry took the schemas of both sides for the same. None of these schemas has a
default of 32 bits that Java before 19 prints with a digit too many, as ``-8.5136992E11`` (JDK-4511638).
"""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.conformance.converter_cases import envelope
from tests.conformance.java_records import JavaRecords
from tests.conformance.json_records_by_chance import Generator
from tests.integration.converters.enveloped_records import read, written
from tests.integration.converters.test_avro_converter import converter
from tests.registry_converters import JAVAS_AVRO, registry_options

pytestmark = pytest.mark.nightly

RECORDS = 300


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_generated_records(
    spark: SparkSession, schema_registry: str, java: JavaRecords, topic_prefix: str, seed: int
) -> None:
    generator = Generator(seed, names=("a", "B", "under_score"))
    schema = generator.row(9)
    data = [envelope(schema, generator.payload(schema) or {}) for _ in range(RECORDS)]
    options = registry_options(JAVAS_AVRO, schema_registry)
    ours = only_bytes(written(spark, converter(schema_registry), topic_prefix, data))
    assert ours == only_bytes(java.written(JAVAS_AVRO, options, data, topic=f"{topic_prefix}0"))
    well = [one for one in ours if one is not None]
    assert len(well) > 100
    back = [parsed(one) for one in read(spark, converter(schema_registry), well)]
    # The version in the registry, which Confluent's converter tells and Apicurio's does not.
    assert {one["schema"].pop("version") for one in back} == {1}
    assert back == list(map(parsed, java.read(JAVAS_AVRO, options, well)))


def only_bytes(found: list[Any]) -> list[bytes | None]:
    """What was written; ``None`` for errors, whose texts differ: Java fails before its converter is asked."""
    return [one if isinstance(one, bytes) else None for one in found]


def parsed(data: object) -> Any:
    assert isinstance(data, bytes), data
    return json.loads(data)
