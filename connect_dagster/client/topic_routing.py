r"""Topic of a record after the transforms of its connector, as far as the configuration shows.

``RegexRouter`` is computed (Java: ``RegexRouter.apply``: the whole name has to match, ``$1`` names a group). Routers
that look into records, and those behind a predicate, are not: their topics are learnt from the worker.
"""

import re
from collections.abc import Mapping

import regex

from connect_dagster.java.bounded_patterns import BoundedPattern, PatternSyntaxError, RunawayPatternError

UNPREDICTABLE = frozenset({"TimestampRouter", "ByLogicalTableRouter", "EventRouter", "ExtractTopic", "TopicRouter"})
_JAVA_GROUP = re.compile(r"\\(.)|\$(\d)|\$\{(\w+)\}")


def transforms_of(config: Mapping[str, str | None]) -> list[tuple[str, str]]:
    """Alias and simple class name of each transform, in order; an inner class goes by its outer one's name."""
    aliases = [alias.strip() for alias in (config.get("transforms") or "").split(",") if alias.strip()]
    return [(alias, _simple_name(config.get(f"transforms.{alias}.type") or "")) for alias in aliases]


def routed_topic(config: Mapping[str, str | None], topic: str) -> str | None:
    """Return the topic a record leaves the transforms with; None when the configuration does not show it."""
    for alias, kind in transforms_of(config):
        if _is_unpredictable(config, alias, kind):
            return None
        if kind != "RegexRouter":
            continue
        if config.get(f"transforms.{alias}.predicate"):
            return None
        renamed = _renamed(
            config.get(f"transforms.{alias}.regex"), config.get(f"transforms.{alias}.replacement"), topic
        )
        if renamed is None:
            return None
        topic = renamed
    return topic


def keeps_topics(config: Mapping[str, str | None]) -> bool:
    """Return whether no transform changes the topic."""
    return not any(
        kind == "RegexRouter" or _is_unpredictable(config, alias, kind) for alias, kind in transforms_of(config)
    )


def _is_unpredictable(config: Mapping[str, str | None], alias: str, kind: str) -> bool:
    by_field = kind == "ExtractNewRecordState" and config.get(f"transforms.{alias}.route.by.field")
    return kind in UNPREDICTABLE or bool(by_field)


def _renamed(pattern: str | None, replacement: str | None, topic: str) -> str | None:
    if pattern is None or replacement is None:
        return None
    try:
        match = BoundedPattern(pattern).fullmatch(topic)
        return match.expand(_python_template(replacement)) if match else topic
    except (PatternSyntaxError, RunawayPatternError, regex.error, IndexError):
        # Java may understand it, and have the time.
        return None


def _python_template(replacement: str) -> str:
    """Return Java's replacement text in the syntax of Python's ``re``."""

    def reference(match: re.Match[str]) -> str:
        escaped, number, name = match.groups()
        return _literal(escaped) if escaped else rf"\g<{number or name}>"

    parts, end = [], 0
    for match in _JAVA_GROUP.finditer(replacement):
        parts += [_literal(replacement[end : match.start()]), reference(match)]
        end = match.end()
    return "".join([*parts, _literal(replacement[end:])])


def _literal(text: str) -> str:
    return text.replace("\\", r"\\")


def _simple_name(class_name: str) -> str:
    return class_name.rpartition(".")[2].partition("$")[0]
