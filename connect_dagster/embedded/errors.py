"""Errors around child JVMs. Every text is one sentence for the person at the terminal.

EmbeddedError
├── JavaNotFound      no Java, or too old a one: install Java
├── JarUnavailable    a jar is neither cached nor to be had: look at the network
├── JarCorrupt        a jar is not the one the lock names: delete it
└── BrokerFailed      the broker did not come up: read the quoted log lines
"""


class EmbeddedError(RuntimeError):
    """Base of all errors of this package."""


class JavaNotFound(EmbeddedError):
    """No Java runtime of the needed version is on this machine."""


class JarUnavailable(EmbeddedError):
    """A locked jar is not in the local Maven repository and cannot be downloaded."""


class JarCorrupt(EmbeddedError):
    """A jar's SHA-256 differs from the one in the lock."""


class BrokerFailed(EmbeddedError):
    """The broker's JVM ended, or answered no request in time, while it was starting."""
