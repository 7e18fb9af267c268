"""Names of files (Confluent: ``FileUtils.fileKeyToCommit``)."""

from __future__ import annotations

from dataclasses import dataclass

from connect_dagster.plugin.records import TopicPartition


@dataclass(frozen=True, slots=True)
class FileNames:
    """The parts of names that are the same for all files.

    Attributes:
        folder: above the folders of topics; empty for none.
        directory_delimiter: between directories.
        delimiter: between the parts of a file's name.
        offset_digits: to which offsets are filled with zeros.
    """

    folder: str = ""
    directory_delimiter: str = "/"
    delimiter: str = "+"
    offset_digits: int = 10

    def of(self, topic: str, directory: str, place: TopicPartition, offset: int, extension: str) -> str:
        """Return the path of a file in its store.

        Args:
            topic: of the records, as transforms left it.
            directory: that the partitioner gives.
            place: the Kafka partition from which the records were read.
            offset: of the first record, as read.
            extension: with its dot.
        """
        last = self.delimiter.join((place.topic, str(place.partition), str(offset).zfill(self.offset_digits)))
        parts = (self.folder, topic, directory, f"{last}{extension}")
        return self.directory_delimiter.join(part for part in parts if part)
