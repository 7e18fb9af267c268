"""A realm of Kerberos: MIT's key distribution centre as a process of this machine, with its principals' key tables."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from connect_dagster.embedded.child_process import start_leashed
from connect_dagster.embedded.ports import HOST, free_port, is_listening

REALM = "EXAMPLE.TEST"
SERVICE = "kafka"
BROKER_HOST = "localhost"
"""The name of brokers' address: Java and MIT's library look for it, as by default."""
MODULE = "com.sun.security.auth.module.Krb5LoginModule"
_SECONDS = 30
# Debian has them outside of a user's path.
_PATH = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


class KerberosRealm:
    """A realm; :func:`kerberos_realm` makes it.

    Args:
        folder: for its files.

    Attributes:
        config: the file ``krb5.conf`` of its clients, MIT's and Java's.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self._center: subprocess.Popen[bytes] | None = None
        self.config = folder / "krb5.conf"
        folder.mkdir(parents=True, exist_ok=True)
        self.config.write_text(self._client_config())
        (folder / "kdc.conf").write_text(self._center_config())
        (folder / "acl").write_text("")
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")

    def add(self, name: str, lifetime: str = "1 day") -> Path:
        """Add a principal, and return its key table.

        Args:
            name: without the realm.
            lifetime: the longest of its tickets.
        """
        self._admin(f'addprinc -randkey -maxlife "{lifetime}" {name}')
        return self.export(name)

    def export(self, name: str) -> Path:
        """Write the present key of a principal to its key table, and return that."""
        file = self.key_table(name)
        self._admin(f"ktadd -norandkey -k {file} {name}")
        return file

    def log_in(self, name: str, cache: Path) -> None:
        """Get a ticket into a cache, as a user does."""
        self._run("kinit", "-k", "-t", str(self.key_table(name)), "-c", str(cache), name)

    def key_table(self, name: str) -> Path:
        """Return the path of a principal's key table."""
        return self._folder / f"{name.replace('/', '_')}.keytab"

    def change_key(self, name: str) -> None:
        """Replace the key of a principal: its key table is an old one then."""
        self._admin(f"change_password -randkey {name}")

    def expire(self, name: str) -> None:
        """Let a principal have expired yesterday."""
        self._admin(f'modprinc -expire "yesterday" {name}')

    def login(self, name: str, **options: str) -> dict[str, str]:
        """Return the settings of Kafka clients that log in as a principal.

        Args:
            name: without the realm.
            options: of the login module, besides and instead of those for its key table.
        """
        given = {"useKeyTab": "true", "keyTab": str(self.key_table(name)), "principal": f"{name}@{REALM}", **options}
        text = " ".join(f'{option}="{value}"' for option, value in given.items())
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.service.name": SERVICE,
            "sasl.jaas.config": f"{MODULE} required {text};",
        }

    def broker_settings(self, listener: str) -> dict[str, str]:
        """Return the settings of a broker on this machine whose listener takes logins."""
        name = f"{SERVICE}/{BROKER_HOST}"
        prefix = f"listener.name.{listener.lower()}."
        return {
            f"{prefix}sasl.enabled.mechanisms": "GSSAPI",
            f"{prefix}gssapi.sasl.jaas.config": f'{MODULE} required useKeyTab="true" storeKey="true" '
            f'keyTab="{self.key_table(name)}" principal="{name}@{REALM}";',
            f"{prefix}sasl.kerberos.service.name": SERVICE,
        }

    @property
    def jvm_options(self) -> tuple[str, ...]:
        """Return the options of a JVM whose Kerberos is of this realm."""
        return (f"-Djava.security.krb5.conf={self.config}",)

    def start(self) -> None:
        """Start the centre, and wait until it listens."""
        with (self._folder / "kdc.log").open("ab") as log:
            self._center = start_leashed([_program("krb5kdc"), "-n", "-r", REALM], log=log, env=self._environment())
        deadline = time.monotonic() + _SECONDS
        while not is_listening(self._port):
            assert self._center.poll() is None, (self._folder / "kdc.log").read_text()
            assert time.monotonic() < deadline, "the centre does not listen"
            time.sleep(0.05)

    def stop(self) -> None:
        """Stop the centre; :meth:`start` brings it back with its principals."""
        if self._center is not None:
            self._center.kill()
            self._center.wait()
            if self._center.stdin:
                self._center.stdin.close()
            self._center = None

    def _admin(self, command: str) -> None:
        output = self._run("kadmin.local", "-r", REALM, "-q", command)
        refused = [line for line in output.splitlines() if ": " in line and "while" in line]
        assert not refused, f"{command}: {refused}"

    def _run(self, program: str, *arguments: str) -> str:
        ran = subprocess.run(
            [_program(program), *arguments],
            env=self._environment(),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout + ran.stderr

    def _environment(self) -> Mapping[str, str]:
        profile = str(self._folder / "kdc.conf")
        return {**os.environ, "KRB5_CONFIG": str(self.config), "KRB5_KDC_PROFILE": profile}

    def _client_config(self) -> str:
        # Java's Kerberos and MIT's would first try UDP, and wait for answers that are lost while the centre is away.
        return f"""
[libdefaults]
  default_realm = {REALM}
  dns_lookup_realm = false
  dns_lookup_kdc = false
  udp_preference_limit = 1
[realms]
  {REALM} = {{
    kdc = {HOST}:{self._port}
  }}
[domain_realm]
  {BROKER_HOST} = {REALM}
"""

    def _center_config(self) -> str:
        return f"""
[kdcdefaults]
  kdc_listen = {HOST}:{self._port}
  kdc_tcp_listen = {HOST}:{self._port}
[realms]
  {REALM} = {{
    database_name = {self._folder}/principal
    key_stash_file = {self._folder}/stash
    acl_file = {self._folder}/acl
    max_life = 1d
  }}
"""


def _program(name: str) -> str:
    found = shutil.which(name, path=_PATH)
    assert found is not None, f"{name} is missing: `make kerberos` installs it"
    return found


@contextmanager
def kerberos_realm(folder: Path) -> Iterator[KerberosRealm]:
    """Run a realm with the principals ``connect`` and that of a broker on this machine."""
    made = KerberosRealm(folder)
    for name in ("connect", f"{SERVICE}/{BROKER_HOST}"):
        made.add(name)
    made.start()
    try:
        yield made
    finally:
        made.stop()
