import pytest

from connect_dagster.errors import ConfigError
from connect_dagster.java.maven_versions import VersionRange, check_version, require_version


@pytest.mark.parametrize("spec", [None, "latest"])
def test_nothing_and_latest_are_every_version(spec: str | None) -> None:
    assert VersionRange.parse(spec) is None
    require_version("p", "undefined", spec)


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("1", "[1,1]"),
        (" 1.2 ", "[1.2,1.2]"),
        ("[1]", "[1,1]"),
        ("[1,2)", "[1,2)"),
        ("(,1],[2,)", "(,1],[2,)"),
        ("", "[,]"),
    ],
)
def test_ranges_are_shown_as_bounds(spec: str, shown: str) -> None:
    assert str(VersionRange.parse(spec)) == shown


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("[", "Unbounded range: ["),
        ("[1,2),3", "Only fully-qualified sets allowed in multiple set scenario: [1,2),3"),
        ("(1]", "Single version must be surrounded by []: (1]"),
        ("[1,1]", "Range cannot have identical boundaries: [1,1]"),
        ("[2,1]", "Range defies version ordering: [2,1]"),
        ("[1,3],[2,4]", "Ranges overlap: [1,3],[2,4]"),
    ],
)
def test_what_is_no_range(spec: str, text: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_version("connector.plugin.version", spec)
    assert raised.value.message == text


@pytest.mark.parametrize(
    ("version", "spec", "within"),
    [
        ("1.5", "[1,2)", True),
        ("2", "[1,2)", False),
        ("2.0", "[1,2)", False),
        ("1", "(1,2)", False),
        ("1.0.0", "1", True),
        ("1.10", "[1.9,)", True),
        ("2.0-rc1", "[,2.0)", True),
        ("2.0-beta-2", "[2.0-alpha,2.0-rc)", True),
        ("2.0.1", "(2.0-sp,)", True),
        ("3", "(,1],[3,)", True),
        ("2", "(,1],[3,)", False),
    ],
)
def test_versions_are_compared_as_maven_does(version: str, spec: str, within: bool) -> None:
    wanted = VersionRange.parse(spec)
    assert wanted is not None
    assert (version in wanted) is within


def test_a_version_that_is_not_there() -> None:
    with pytest.raises(ConfigError) as raised:
        require_version("a.B", "4.3.1", "1.0")
    expected = "Plugin a.B not found that matches the version range [1.0,1.0], available versions: [4.3.1]"
    assert raised.value.message == expected
