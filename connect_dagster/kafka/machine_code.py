"""Machine code from LLVM's language, for calls of librdkafka that Python would make too slowly."""

from __future__ import annotations

import threading
from typing import Any

from connect_dagster.kafka.librdkafka import library_file

_ENGINES: dict[str, Any] = {}
_COMPILING = threading.Lock()


def compiled(source: str) -> Any:
    """Compile functions once in a process, in 0.1 s where they are the first.

    Args:
        source: a module in LLVM's language, which may call functions of librdkafka.

    Returns:
        The engine, whose ``get_function_address`` takes a name; it lives as long as the process, as librdkafka has
        addresses of its code.
    """
    # Tasks open their producers at once, each on its thread.
    with _COMPILING:
        if source not in _ENGINES:
            _ENGINES[source] = _compile(source)
        return _ENGINES[source]


def _compile(source: str) -> Any:
    import llvmlite.binding as llvm  # a process without such calls does not load the compiler

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.load_library_permanently(str(library_file()))
    module = llvm.parse_assembly(source)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    return engine
