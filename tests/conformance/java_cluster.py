"""A worker of Apache Kafka Connect for Java, distributed, as a process beside us."""

import requests

from tests.conformance.java_connect import JavaWorker


class JavaDistributed(JavaWorker):
    """One `ConnectDistributed` worker; group, topics and converters are the caller's, see `group_properties`."""

    main = "org.apache.kafka.connect.cli.ConnectDistributed"

    def _is_ready(self) -> bool:
        try:
            return requests.get(f"{self.rest_url}/health", timeout=15).ok
        except requests.RequestException:
            return False
