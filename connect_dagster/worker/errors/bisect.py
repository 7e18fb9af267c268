"""Finds the records of a batch that make its plan fail: halves what fails, keeps what works.

One such record among n costs about 2·log2(n) runs, whose sizes halve: together little more than two runs of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

import pyarrow as pa

from connect_dagster.worker.errors.failed_records import is_spark_gone

Result = TypeVar("Result")


def narrowed(
    rows: pa.Table, run: Callable[[pa.Table], Result], poison: Callable[[pa.Table, Exception], Result]
) -> Iterator[Result]:
    """Results of all parts, in the order of the rows.

    Args:
        rows: known to fail together.
        run: runs the plan on some rows; raises where one of them makes it fail.
        poison: the result of the single row that fails, with the error.
    """
    if rows.num_rows == 1:
        yield _last_try(rows, run, poison)
        return
    middle = rows.num_rows // 2
    for numbers in (range(middle), range(middle, rows.num_rows)):
        if not numbers:
            continue
        # Copied: Spark does not take slices of nested columns.
        part = rows.take(pa.array(numbers, pa.int64()))
        try:
            result = run(part)
        except Exception as error:
            if is_spark_gone(error):
                raise
            if part.num_rows == 1:
                yield poison(part, error)
            else:
                yield from narrowed(part, run, poison)
        else:
            yield result


def _last_try(
    row: pa.Table, run: Callable[[pa.Table], Result], poison: Callable[[pa.Table, Exception], Result]
) -> Result:
    try:
        return run(row)
    except Exception as error:
        return poison(row, error)
