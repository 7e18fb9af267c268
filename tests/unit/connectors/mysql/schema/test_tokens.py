"""Tokens: strings, names, numbers, comments, and texts that have no end."""

import pytest

from connect_dagster.connectors.mysql.schema.ddl.tokens import TokenKind, tokens_of
from connect_dagster.errors import DataError

WORD, QUOTED, STRING = TokenKind.WORD, TokenKind.QUOTED, TokenKind.STRING
BITS, NUMBER, SYMBOL = TokenKind.BITS, TokenKind.NUMBER, TokenKind.SYMBOL


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("abc", WORD),
        ("_utf8mb4", WORD),
        ("$a", WORD),
        ("1a", WORD),
        ("열", WORD),
        ("`a``b c`", QUOTED),
        ("'a''b\\'c'", STRING),
        ('"it\'s"', STRING),
        ("5", NUMBER),
        (".5", NUMBER),
        ("1.5e-3", NUMBER),
        ("b'101'", BITS),
        ("X'1F'", BITS),
        ("0x1F", BITS),
        ("0b1", BITS),
        (":=", SYMBOL),
        ("@@", SYMBOL),
        ("(", SYMBOL),
    ],
)
def test_one_token(text: str, kind: TokenKind) -> None:
    token, end = tokens_of(text)
    assert (token.kind, token.text, end.kind) == (kind, text, TokenKind.END)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a /* b */ c", "a c"),
        ("a # it's\nc", "a c"),
        ("a -- it's\nc", "a c"),
        ("a --\nc", "a c"),
        ("a -- c", "a"),
        ("a --5", "a - - 5"),
        ("a /*!50100 b */ c", "a b c"),
        ("a /*!b*/ c", "a b c"),
        ("a /*M!100301 b*/ c", "a b c"),
        ("a /*!50100 b /* x */ c */ d", "a b c d"),
        ("a */ b", "a */ b"),
        ("a.b;c", "a . b ; c"),
        ("t.`a`", "t . `a`"),
    ],
)
def test_comments_are_passed_and_version_comments_are_not(text: str, words: str) -> None:
    assert [token.text for token in tokens_of(text)[:-1]] == words.split()


@pytest.mark.parametrize(
    ("text", "content", "value"),
    [
        ("'it''s'", "it''s", "it's"),
        (r"'it\'s'", r"it\'s", "it's"),
        (r"'a\\b\n\t\0\Z\%\q'", r"a\\b\n\t\0\Z\%\q", "a\\b\n\t\0\x1a\\%q"),
        ('"a""b\'\'"', "a\"\"b''", "a\"b''"),
    ],
)
def test_values_of_strings(text: str, content: str, value: str) -> None:
    token = tokens_of(text)[0]
    assert (token.content, token.value) == (content, value)


@pytest.mark.parametrize(("text", "name"), [("`a``b`", "a`b"), ('"a""b"', 'a"b'), ("a$", "a$")])
def test_names(text: str, name: str) -> None:
    assert tokens_of(text)[0].name == name


@pytest.mark.parametrize("text", ["CREATE TABLE `t", "DEFAULT 'it\\'", 'COMMENT "x', "DROP /* t"])
def test_what_has_no_end(text: str) -> None:
    with pytest.raises(DataError, match="the end of what is opened there was expected"):
        tokens_of(text)
