"""docs/testing.md says where each acceptance row is shown, and each is shown in `make test` or `make nightly`."""

from tests.acceptance import BEGIN, END, PAGE, ROWS, table


def test_the_page_has_the_table_of_the_tests_there_are() -> None:
    written = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    assert written.strip() == table().strip(), "stale: run `make docs`"


def test_each_row_is_shown_by_a_change_or_each_night() -> None:
    rows = {cells[1].strip(): cells[2:4] for line in table().splitlines()[2:] if (cells := line.split("|"))}
    assert list(rows) == ROWS
    assert [row for row, cells in rows.items() if not "".join(cells).strip()] == []
