"""Names from subjects of certificates, as Kafka's brokers make them (KIP-371)."""

import pytest

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.security.principal_rules import PrincipalRules

RULES = (
    r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    r"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U, DEFAULT"
)


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke"),
        ("CN=duke,OU=JavaSoft,O=Sun,L=Town,ST=State,C=US", "duke@javasoft"),
        ("OU=JavaSoft,cn=Mark.Smith,L=Town", "MARK.SMITH"),
        ("OU=JavaUser", "OU=JavaUser"),
    ],
)
def test_the_first_rule_that_matches_applies(subject: str, name: str) -> None:
    assert PrincipalRules.parse(RULES).name(subject) == name


def test_without_a_match_there_is_no_name() -> None:
    rules = PrincipalRules.parse("RULE:^CN=(a)$/$1$2/")
    assert rules.name("CN=a") == "a$2"
    assert rules.name("CN=ab") is None


@pytest.mark.parametrize("text", ["", "default", "RULE:", "RULE:a/b", "RULE:a/b/L;DEFAULT", "DEFAULT/L", "RULE:(/a/"])
def test_other_rules_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"ssl\.principal\.mapping\.rules"):
        PrincipalRules.parse(text)
