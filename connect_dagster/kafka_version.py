"""Version of Kafka Connect whose behaviour, responses and plugin versions this project reproduces."""

from typing import Final

KAFKA_VERSION: Final = "4.3.1"
KAFKA_COMMIT: Final = "26b251a451ce941d"
