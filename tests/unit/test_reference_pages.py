"""The reference pages in docs/reference are those that the code makes; `make docs` writes them again."""

from docs.generate import FOLDER, REMEDIES, pages


def test_the_pages_are_those_of_the_code() -> None:
    assert {file.name: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.md")} == pages()


def test_each_remedy_is_that_of_an_error() -> None:
    errors = pages()["errors.md"]
    assert [name for name in REMEDIES if f"| `{name}` |" not in errors] == []
