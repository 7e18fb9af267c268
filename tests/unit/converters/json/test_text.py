from decimal import Decimal

import numpy as np
import pytest

from connect_dagster.converters.json.text import dumps, java_double


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.1, "0.1"),
        (0.001, "0.001"),
        (0.00099, "9.9E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (12345678.5, "1.23456785E7"),
        (1e10, "1.0E10"),
        (-2.5e-300, "-2.5E-300"),
        (5e-324, "4.9E-324"),
        (np.float32(1e-45), "1.4E-45"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (np.float32(0.1), "0.1"),
        (np.float32(3.4e38), "3.4E38"),
    ],
)
def test_numbers_look_as_java_prints_them(number: float, text: str) -> None:
    assert java_double(number) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a"\\/\n\t\b\f\r', '"a\\"\\\\/\\n\\t\\b\\f\\r"'),
        ("\x00\x1f\x7f", '"\\u0000\\u001F\x7f"'),
        ("\\u001f", '"\\\\u001f"'),
        ("세\u2028", '"세\u2028"'),
        ("😀", '"\\uD83D\\uDE00"'),
        (float("inf"), '"Infinity"'),
        (Decimal("1.50"), "1.50"),
        ({"a": [1, None, True]}, '{"a":[1,null,true]}'),
    ],
)
def test_json_looks_as_jackson_writes_it(value: object, text: str) -> None:
    assert dumps(value) == text
