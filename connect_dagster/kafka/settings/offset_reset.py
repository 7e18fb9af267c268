"""``auto.offset.reset``: the start of a consumer without offset (Java: ``AutoOffsetResetStrategy``, KIP-1106)."""

from __future__ import annotations

import re

from connect_dagster.errors import ConfigError

_NAME = "auto.offset.reset"
_BY_DURATION = "by_duration:"
# As java.time.Duration.parse takes it, without its signs: a duration that looks ahead is refused.
_DURATION = re.compile(
    r"P(?=.)(?:(?P<days>\d+)D)?(?:T(?=.)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:[.,]\d{1,9})?)S)?)?",
    re.IGNORECASE | re.ASCII,
)
_SECONDS = {"days": 86_400, "hours": 3_600, "minutes": 60, "seconds": 1}


def reset_duration(value: str) -> float | None:
    """Return the seconds to go back; ``None`` for a policy without duration.

    Raises:
        ConfigError: it is not a policy.
    """
    policy = value.strip()
    if policy in ("earliest", "latest", "none"):
        return None
    found = _DURATION.fullmatch(policy.removeprefix(_BY_DURATION)) if policy.startswith(_BY_DURATION) else None
    if found is None:
        raise ConfigError.invalid(
            _NAME,
            value,
            f"Invalid value `{value}` for configuration {_NAME}. The value must be either 'earliest', 'latest', 'none' "
            "or of the format 'by_duration:<PnDTnHnMn.nS.>'.",
        )
    parts = {name: found[name] for name in _SECONDS if found[name] is not None}
    return sum(float(number.replace(",", ".")) * _SECONDS[name] for name, number in parts.items())


def reset_policy(value: str) -> str:
    """Return librdkafka's policy. It has none for durations: the sink's consumer looks those offsets up.

    Raises:
        ConfigError: it is not a policy.
    """
    reset_duration(value)
    return value.strip() if value.strip() in ("earliest", "latest") else "error"
