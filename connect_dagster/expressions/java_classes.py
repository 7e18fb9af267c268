"""Java classes of this package, compiled in Spark's JVM by the compiler that Spark brings (Janino).

A class lies beside the module that uses it, for the few places where each record would otherwise cost several times as
much, or never end.
"""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark import SparkContext

from connect_dagster.expressions.java_calls import jvm, kept_in_jvm

_PACKAGE = "connect.dagster"
_compiling = threading.Lock()


def new_instance(source: Path, *arguments: Any) -> Any:
    """Return a new object of the class that is in a file.

    Args:
        source: the file ``NAME.java``; its class ``connect.dagster.NAME`` has one public constructor.
        arguments: of the constructor.

    Raises:
        Py4JJavaError: the class does not fit this Spark, or its constructor threw.
    """
    return _constructor(source).newInstance(_array(arguments))


def _constructor(source: Path) -> Any:
    # One class of a name in a JVM: py4j calls methods by the class's name.
    with _compiling:
        return _compiled_constructor(source)


@kept_in_jvm(16)
def _compiled_constructor(source: Path) -> Any:
    compiler = jvm().org.codehaus.janino.SimpleCompiler()
    compiler.cook(source.read_text(encoding="utf-8"))
    _add_to_tasks(compiler.getBytecodes())
    return compiler.getClassLoader().loadClass(f"{_PACKAGE}.{source.stem}").getConstructors()[0]


def _add_to_tasks(classes: Any) -> None:
    """Give classes to the loaders of Spark's tasks, which read them when they get a plan that has such an object."""
    jar = jvm().java.io.File.createTempFile("connect-dagster-", ".jar")
    jar.deleteOnExit()
    with zipfile.ZipFile(jar.getPath(), "w") as archive:
        for name in classes:
            archive.writestr(f"{name.replace('.', '/')}.class", bytes(classes[name]))
    _context()._jsc.addJar(jar.getPath())


def _array(items: Sequence[Any]) -> Any:
    gateway: Any = _context()._gateway
    array = gateway.new_array(gateway.jvm.java.lang.Object, len(items))
    for place, item in enumerate(items):
        array[place] = item
    return array


def _context() -> SparkContext:
    context = SparkContext._active_spark_context
    assert context is not None  # jvm() has raised before
    return context
