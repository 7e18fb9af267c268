"""What has come to a file since the last look."""

from pathlib import Path

from tests.campaign.ledger import line
from tests.campaign.tails import FileTail


def test_a_line_is_found_once_and_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out"
    tail = FileTail(path)
    assert tail.read() == []
    path.write_text(f"{line(0)}\n{line(1)}")
    assert tail.read() == [0]
    with path.open("a") as file:
        file.write(f"\n{line(2)}\n")
    assert tail.read() == [1, 2]
    assert tail.read() == []
