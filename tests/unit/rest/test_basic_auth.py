"""Users with a password; the expectations are what Java 4.3.1 was seen to answer, but for the challenge it lacks, and
its 500 for a header that is not base64."""

from base64 import b64encode
from pathlib import Path

import pytest

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.kafka.security.jaas import parse_entries
from connect_dagster.rest.basic_auth import ENTRY, BasicAuth
from tests.rest_calls import call
from tests.unit.rest.conftest import LOGIN_MODULE
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import LOCAL, rest_server, serving


def basic(user: str) -> str:
    return f"Basic {b64encode(user.encode()).decode()}"


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (basic("me:secret"), 200),
        (basic("me:secret").replace("Basic", "bASIC"), 200),
        (basic("한글:비밀"), 200),
        (basic("me:wrong"), 401),
        (basic("you:secret"), 401),
        (basic("me"), 401),
        (basic(":secret"), 401),
        ("Bearer x", 401),
        ("Basic", 401),
        ("Basic !!!", 401),
        ("Basic a", 401),
        ("", 401),
    ],
)
def test_users_are_admitted(herder: MemoryHerder, basic_auth: dict[str, str], authorization: str, status: int) -> None:
    with serving(herder, **basic_auth) as server:
        answer = call(server.advertised_url, "GET", "/connectors", headers={"Authorization": authorization})
    assert answer.status == status
    if status == 401:
        assert answer.body == b"User cannot access the resource."
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["www-authenticate"] == 'Basic realm="KafkaConnect"'


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, 401),
        ("GET", "/health", {}, 401),
        ("GET", "/admin/loggers", {}, 401),
        ("GET", "/openapi.json", {}, 401),
        ("HEAD", "/connectors", {}, 401),
        ("OPTIONS", "/connectors", {}, 401),
        ("PUT", "/connectors/c/config", {}, 401),
        # Refused before anyone asks who it is.
        ("GET", "/nope", {}, 404),
        ("DELETE", "/connectors", {}, 405),
        ("GET", "/connectors", {"Accept": "text/html"}, 406),
        ("GET", "/connectors", {"Content-Type": "text/html"}, 415),
        # Signed instead.
        ("PUT", "/connectors/c/fence", {}, 204),
        ("POST", "/connectors/c/tasks/", {}, 500),
        ("GET", "/connectors/c/tasks", {}, 401),
    ],
)
def test_what_is_asked_for(
    herder: MemoryHerder, basic_auth: dict[str, str], method: str, path: str, headers: dict[str, str], status: int
) -> None:
    with serving(herder, **basic_auth) as server:
        assert call(server.advertised_url, method, path, headers=headers).status == status


def test_classes_of_jetty_are_named_once(caplog: pytest.LogCaptureFixture) -> None:
    rest_server(LOCAL, **{"rest.servlet.initializor.classes": "x.Y"})
    assert caplog.messages == ["rest.servlet.initializor.classes=x.Y has no effect: its classes are those of a JVM"]


@pytest.mark.parametrize(("protocol", "told"), [("compatible", True), ("eager", True), ("sessioned", False)])
def test_a_protocol_without_signatures_is_named(
    basic_auth: dict[str, str], caplog: pytest.LogCaptureFixture, protocol: str, told: bool
) -> None:
    rest_server(LOCAL, **basic_auth, **{"connect.protocol": protocol})
    named = f"connect.protocol={protocol}: workers do not sign their requests"
    assert any(message.startswith(named) for message in caplog.messages) is told


def test_another_extension_is_refused() -> None:
    with pytest.raises(ConnectError, match=r"^Failed to find any class that implements .* name matches x\.Y, "):
        rest_server(LOCAL, **{"rest.extension.classes": "x.Y"})


@pytest.fixture
def users(tmp_path: Path) -> Path:
    (tmp_path / "users").write_text("me=secret\n")
    (tmp_path / "none").write_text("# nobody\n")
    return tmp_path


def login(folder: Path, text: str) -> BasicAuth:
    (folder / "login conf").write_text(text.format(folder=folder, module=LOGIN_MODULE))
    return BasicAuth.of({"KAFKA_OPTS": f"-Dx=y '-Djava.security.auth.login.config={folder}/login conf' -Xmx1g"})


@pytest.mark.parametrize(
    "text",
    [
        'KafkaConnect {{ {module} required file="{folder}/users"; }};',
        "/* a\n b */ Other {{ x.Y OPTIONAL debug=true; }};\n// c\n"
        'KafkaConnect{{{module} sufficient\n a=b\nfile = "{folder}/users" ; }} ;',
        'KafkaConnect {{ {module} required file="{folder}/users"; {module} optional file="{folder}/users"; }};',
    ],
)
def test_login_files_are_read(users: Path, text: str) -> None:
    admits = login(users, text)
    assert admits(basic("me:secret"))
    assert not admits(basic("me:x"))


def test_a_file_without_users_admits_all(users: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert login(users, 'KafkaConnect {{ {module} required file="{folder}/none"; }};')(None)
    assert f"Credential properties file '{users}/none' is empty; all requests will be permitted" in caplog.messages


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('Other {{ {module} required file="{folder}/users"; }};', "No LoginModules configured for KafkaConnect in "),
        ("KafkaConnect {{ {module} required; }};", "Property Credentials file must be specified"),
        ('KafkaConnect {{ {module} required file="/no/file"; }};', "Cannot read /no/file: No such file or directory"),
        ("KafkaConnect {{ x.Ldap required; }};", "Login module x.Ldap of KafkaConnect cannot be used here"),
        (
            "KafkaConnect {{ {module} perhaps; }};",
            "expected one of optional, required, requisite, sufficient, found per",
        ),
        ("KafkaConnect {{ {module} required file=; }};", "expected an option's value, found ;"),
        ("KafkaConnect {{ {module} required file", "expected =, found the end of the file"),
        ("KafkaConnect [", "expected {{, found ["),
    ],
)
def test_other_login_files_are_refused(users: Path, text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        login(users, text)
    assert says.replace("{{", "{") in str(caught.value)


@pytest.mark.parametrize("options", ["", "-Xmx1g", "'"])
def test_the_login_file_must_be_named(options: str) -> None:
    with pytest.raises(ConfigError, match="KAFKA_OPTS"):
        BasicAuth.of({"KAFKA_OPTS": options})


def test_options_keep_their_escapes() -> None:
    ((module,),) = parse_entries(r'A { x.Y required a="q\"b\\" n=1; };', "f").values()
    assert (module.class_name, module.options) == ("x.Y", {"a": 'q"b\\', "n": "1"})
    assert ENTRY == "KafkaConnect"
