"""Values that texts for people hide: those that config providers gave, and secrets in configurations.

An error of a plugin may quote a value of its configuration, and a library may log one. In such texts (traces of
statuses, replies of REST, log lines) a value of a config provider stands as its placeholder, any other secret as
``[hidden]``. Which values are secret, ``client/masking`` decides: this module knows no keys.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, quote_plus

_HIDDEN = "[hidden]"
# Shorter ones would blot out harmless text wherever it has the same letters.
_SHORTEST = 4
# Shorter ones, and letters alone, may be words: a password `postgres` must not blot out a part of `org.postgresql`.
_NO_WORD = 8
# The second form is Oracle's `user/password@host`.
_AS_WORD = r"(?<![\w./-]){0}(?![\w/-]|\.\w)|(?<=\w/){0}(?=@)"
# Up to this number it takes less time to look for each of them than to cut the text into pieces.
_FEW = 100
_MOST = 5_000
"""Texts that are remembered, the newest: values of a provider may change every minute for years."""
_MOST_PARTS = 100
"""Of one value: a list of thousands of tables must not push out passwords."""


class HiddenValues:
    """Values to hide, and how they are shown; safe to use from any thread."""

    def __init__(self) -> None:
        self._all = _Texts({})
        self._secrets = _Texts({})
        self._lock = threading.Lock()

    def add(self, resolved: Mapping[str, str], secrets: Iterable[str] = ()) -> None:
        """Hide further values from now on.

        Args:
            resolved: values of config providers by their placeholders; log lines, unlike errors and details, show those
                that are not among the secrets, such as names of topics.
            secrets: passwords and the like, also those among ``resolved``.
        """
        placeholders = {text: placeholder for placeholder, value in resolved.items() for text in _forms(value)}
        hidden = {text: placeholders.get(text, _HIDDEN) for value in secrets for text in _forms(value)}
        with self._lock:
            self._all = self._all.plus(hidden | placeholders)
            self._secrets = self._secrets.plus(hidden)

    def in_error(self, text: str) -> str:
        """Return the text of an error, or a trace, without any of the values."""
        return self._all.masked(text, parts=False)

    def in_reply(self, text: str) -> str:
        """Return a text that was made from values alone, also without those that are a part of a word in it."""
        return self._all.masked(text, parts=True)

    def in_log(self, text: str, *, detailed: bool) -> str:
        """Return a log line without the secrets; a detailed one (DEBUG, TRACE) without any of the values."""
        return (self._all if detailed else self._secrets).masked(text, parts=detailed)


class _Texts:
    """Texts to replace. They are found by their first letters: a worker may have thousands, and each line is looked at.

    Args:
        shown: by text, what is shown in its place.
    """

    def __init__(self, shown: Mapping[str, str]) -> None:
        self._shown = shown
        self._by_begin: dict[str, list[str]] = {}
        for text in shown:
            self._by_begin.setdefault(text[:_SHORTEST], []).append(text)

    def plus(self, newest: Mapping[str, str]) -> _Texts:
        """Return these with further ones; when there are too many, without the oldest."""
        if newest.items() <= self._shown.items():
            return self
        older = [(text, shown) for text, shown in self._shown.items() if text not in newest]
        return _Texts(dict([*older, *newest.items()][-_MOST:]))

    def masked(self, text: str, *, parts: bool) -> str:
        """Replace all texts, in one pass, as what is shown for one may contain another one."""
        found = [one for begin in self._begins_in(text) for one in self._by_begin[begin] if one in text]
        if not found:
            return text
        patterns = [_pattern(one, parts=parts) for one in sorted(found, key=len, reverse=True)]
        return re.sub("|".join(patterns), lambda match: self._shown[match[0]], text)

    def _begins_in(self, text: str) -> Iterable[str]:
        if len(self._by_begin) <= _FEW:
            return [begin for begin in self._by_begin if begin in text]
        return self._by_begin.keys() & {text[at : at + _SHORTEST] for at in range(len(text) - _SHORTEST + 1)}


def _pattern(text: str, *, parts: bool) -> str:
    may_be_word = len(text) < _NO_WORD or text.isalpha()
    return _AS_WORD.format(re.escape(text)) if may_be_word and not parts else re.escape(text)


def _forms(value: str) -> Iterator[str]:
    """Yield the ways in which a text may quote a value: whole, by lines, by items of a list, escaped, and in a URL."""
    parts = (*value.splitlines(), *value.split(","))[:_MOST_PARTS]
    for text in {value, *(part.strip() for part in (value, *parts))}:
        for form in (text, repr(text)[1:-1], json.dumps(text)[1:-1], quote(text, safe=""), quote_plus(text)):
            if len(form) >= _SHORTEST:
                yield form
