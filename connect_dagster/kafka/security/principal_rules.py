"""Names of clients from the subjects of their certificates (Java: ``SslPrincipalMapper``, KIP-371).

Rules stand between commas: ``DEFAULT`` is the subject itself, ``RULE:pattern/replacement/`` the replacement with ``$1``
for the first group of the pattern, in lower case with an ``L`` behind it, in upper case with a ``U``. The first rule
whose pattern matches the whole subject applies.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from connect_dagster.errors import ConfigError

SETTING = "ssl.principal.mapping.rules"
DEFAULT = "DEFAULT"

_RULE = re.compile(
    r"\s*(?:(?P<default>DEFAULT)|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))"
    r"\s*(?:,|$)"
)
_GROUP = re.compile(r"\$(\d)")


@dataclass(frozen=True, slots=True)
class _Rule:
    pattern: re.Pattern[str]
    replacement: str
    case: str

    def apply(self, subject: str) -> str | None:
        if (match := self.pattern.fullmatch(subject)) is None:
            return None
        groups = ("", *match.groups(default=""))
        # A number without a group stands for itself.
        name = _GROUP.sub(lambda found: _group(groups, found), self.replacement)
        return {"L": name.lower(), "U": name.upper()}.get(self.case, name)


def _group(groups: Sequence[str], found: re.Match[str]) -> str:
    number = int(found[1])
    return groups[number] if 0 < number < len(groups) else found[0]


_SUBJECT = _Rule(re.compile("(.*)", re.DOTALL), "$1", "")


@dataclass(frozen=True, slots=True)
class PrincipalRules:
    """Rules in their order."""

    rules: tuple[_Rule, ...]

    @classmethod
    def parse(cls, text: str) -> PrincipalRules:
        """Read the rules. Raises ConfigError when one is malformed."""
        rules: list[_Rule] = []
        position = 0
        while position < len(text) or not rules:
            if (match := _RULE.match(text, position)) is None:
                reason = f"Expected DEFAULT or RULE:pattern/replacement/[LU] at '{text[position:]}'"
                raise ConfigError.invalid(SETTING, text, reason)
            rules.append(_SUBJECT if match["default"] else _rule(text, match))
            position = match.end()
        return cls(tuple(rules))

    def name(self, subject: str) -> str | None:
        """Return the name for a subject; ``None`` when no rule applies."""
        return next((name for rule in self.rules if (name := rule.apply(subject)) is not None), None)


def _rule(text: str, match: re.Match[str]) -> _Rule:
    try:
        return _Rule(re.compile(match["pattern"]), match["replacement"], match["case"])
    except re.error as error:
        raise ConfigError.invalid(SETTING, text, f"The pattern '{match['pattern']}' is wrong: {error}") from error
