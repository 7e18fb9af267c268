"""Java's names of cipher suites as OpenSSL's."""

import re
import ssl

import pytest

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.security.cipher_suites import SUITES_BEFORE_1_3, SUITES_OF_1_3, CipherSuites

GCM, CBC = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_RSA_WITH_AES_256_CBC_SHA"
AES, CHACHA, SMALL = SUITES_OF_1_3


@pytest.mark.parametrize("java", SUITES_BEFORE_1_3)
def test_each_name_is_openssls_by_its_rule_and_known_to_it(java: str) -> None:
    exchange, _, cipher = java.removeprefix("TLS_").partition("_WITH_")
    cipher = re.sub(r"AES_(\d+)", r"AES\1", cipher).replace("CCM_8", "CCM8").replace("_CBC", "")
    cipher = cipher.removesuffix("_SHA256") if "CHACHA" in cipher else cipher
    openssl = SUITES_BEFORE_1_3[java]
    assert openssl == f"{exchange}_{cipher}".removeprefix("RSA_").replace("_", "-")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers(openssl)
    assert [one["name"] for one in context.get_ciphers() if one["protocol"] != "TLSv1.3"] == [openssl]


def test_the_suites_of_1_3_are_those_that_openssl_uses() -> None:
    suites = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).get_ciphers()
    assert {one["name"] for one in suites if one["protocol"] == "TLSv1.3"} == set(SUITES_OF_1_3)


@pytest.mark.parametrize(
    ("names", "openssl", "versions", "unavoidable"),
    [
        ((CBC, GCM), "AES256-SHA:ECDHE-RSA-AES128-GCM-SHA256", ("TLSv1.2",), ()),
        ((AES, GCM), "ECDHE-RSA-AES128-GCM-SHA256", ("TLSv1.2", "TLSv1.3"), (CHACHA, SMALL)),
        ((SMALL, CHACHA, AES), "", ("TLSv1.3",), ()),
        ((GCM, "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"), "ECDHE-RSA-AES128-GCM-SHA256", ("TLSv1.2",), ()),
    ],
)
def test_suites_are_sorted_by_version(
    names: tuple[str, ...], openssl: str, versions: tuple[str, ...], unavoidable: tuple[str, ...]
) -> None:
    suites = CipherSuites.parse(names)
    assert suites
    assert (suites.openssl, suites.versions, suites.unavoidable) == (openssl, versions, unavoidable)


@pytest.mark.parametrize("names", [(), ("TLS_EMPTY_RENEGOTIATION_INFO_SCSV",)])
def test_none_are_no_restriction(names: tuple[str, ...]) -> None:
    assert CipherSuites.parse(names) is None


def test_an_unknown_name_gets_similar_ones() -> None:
    with pytest.raises(ConfigError) as caught:
        CipherSuites.parse((GCM, "ECDHE-RSA-AES128-GCM-SHA256"))
    assert str(caught.value) == (
        "Invalid value ECDHE-RSA-AES128-GCM-SHA256 for configuration ssl.cipher.suites: OpenSSL has no such suite; it "
        "has TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_DHE_RSA_WITH_AES_128_GCM_SHA256, "
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    )
