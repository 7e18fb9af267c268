"""Makes PySpark's calls into the JVM fewer and faster; what they return is the same.

PySpark makes an expression such as ``F.lit(1)`` of three calls: it looks up a class, then its method, then calls that.
The first two return the same each time, and a class without its package is searched in all jars. Of the calls of a
hundred connectors that start, two of five were such (docs/decisions/0038-names-of-the-jvm-are-remembered.md).
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView
from py4j.protocol import INPUT_CONVERTER
from pyspark.sql import SparkSession
from pyspark.sql.types import NumpyArrayConverter, NumpyScalarConverter


class _View(JVMView):  # type: ignore[misc]
    def __getattr__(self, name: str) -> Any:
        return _remembered(self, name, JVMView.__getattr__(self, name))


class _Package(JavaPackage):  # type: ignore[misc]
    def __getattr__(self, name: str) -> Any:
        return _remembered(self, name, JavaPackage.__getattr__(self, name))


class _Class(JavaClass):  # type: ignore[misc]
    def __getattr__(self, name: str) -> Any:
        return _remembered(self, name, JavaClass.__getattr__(self, name))


_REMEMBERING = {JavaPackage: _Package, JavaClass: _Class}


def remember_names(spark: SparkSession) -> None:
    """Have a session's view of the JVM look up each name once; its threads share it."""
    view = spark._jvm
    if type(view) is JVMView:
        view.__class__ = _View


def _remembered(owner: Any, name: str, found: Any) -> Any:
    """Return what was found, after it has become an attribute, unless it may be another one next time."""
    kind = type(found)
    if kind in _REMEMBERING:
        found.__class__ = _REMEMBERING[kind]
    # What py4j takes for a package may be a class that is imported later; a static field has a value.
    if kind in (JavaClass, JavaMember) or (kind is JavaPackage and name[:1].islower()):
        owner.__dict__[name] = found
    return found


class _OfNumPy:
    """Converts arguments by a converter of PySpark, which is asked about NumPy's values alone.

    For its answer it imports PySpark's testing tools, and with them pandas: a second of each worker's start.
    """

    def __init__(self, converter: Any) -> None:
        self._converter = converter

    def can_convert(self, value: Any) -> bool:
        """Return whether this is a value to convert."""
        is_numpys = any(base.__module__ == "numpy" for base in type(value).__mro__)
        return is_numpys and bool(self._converter.can_convert(value))

    def convert(self, value: Any, client: Any) -> Any:
        """Return Java's value."""
        return self._converter.convert(value, client)


def ask_for_numpy_late() -> None:
    """Have a gateway that is opened from now on look whether arguments are NumPy's before it asks PySpark."""
    for place, converter in enumerate(INPUT_CONVERTER):
        if isinstance(converter, NumpyArrayConverter | NumpyScalarConverter):
            INPUT_CONVERTER[place] = _OfNumPy(converter)
