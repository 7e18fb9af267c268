"""The Avro converters of both sides, and what each is told of the same registry.

Java's side has Apicurio's, as Confluent's is in no public repository.
"""

AVRO = "io.confluent.connect.avro.AvroConverter"
JAVAS_AVRO = "io.apicurio.registry.utils.converter.AvroConverter"
JAVAS_JARS = "java-avro-converter"
"""The set of jars with Java's converter."""


def registry_options(converter: str, registry: str) -> dict[str, str]:
    """Options of one of these converters; none for any other.

    Args:
        converter: its Java class.
        registry: its ``schema.registry.url``.
    """
    if converter == AVRO:
        return {"schema.registry.url": registry}
    if converter != JAVAS_AVRO:
        return {}
    return {
        "apicurio.registry.url": registry.replace("/apis/ccompat/v7", "/apis/registry/v2"),
        "apicurio.registry.auto-register": "true",
        "apicurio.registry.as-confluent": "true",
        "apicurio.registry.use-id": "contentId",
        "apicurio.registry.headers.enabled": "false",
    }
