"""The text of `server.properties`."""

from pathlib import Path

from connect_dagster.embedded.broker_config import jvm_options, server_properties


def _parsed(**settings: str) -> dict[str, str]:
    text = server_properties(
        Path("/data"), 1234, 5678, {key.replace("_", "."): value for key, value in settings.items()}
    )
    return dict(line.split("=", 1) for line in text.splitlines())


def test_one_node_is_broker_and_controller_on_the_given_ports() -> None:
    properties = _parsed()
    assert properties["process.roles"] == "broker,controller"
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:1234,CONTROLLER://127.0.0.1:5678"
    assert properties["controller.quorum.voters"] == "1@127.0.0.1:5678"
    assert properties["log.dirs"] == "/data"


def test_given_settings_go_before_ours() -> None:
    assert _parsed(auto_create_topics_enable="false")["auto.create.topics.enable"] == "false"


def test_heap_and_extra_options_reach_the_jvm() -> None:
    options = jvm_options("768m", ("-XX:+UseG1GC",))
    assert options[0] == "-Xmx768m"
    assert options[-1] == "-XX:+UseG1GC"
