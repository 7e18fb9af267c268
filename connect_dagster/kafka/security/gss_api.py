"""The system's GSSAPI for Kerberos (RFC 2743, 2744, 4121), by ctypes: the library of MIT's Kerberos 5.

Linux distributions have it in a package that most systems have already (Debian: ``libgssapi-krb5-2``), so that a login
needs neither a compiler nor a further package of Python.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Mapping
from functools import cache
from types import SimpleNamespace
from typing import Any

LIBRARY = "libgssapi_krb5.so.2"

_COMPLETE, _CONTINUE_NEEDED = 0, 1
_IS_ERROR = 0xFFFF0000
_INITIATE = 1
_INDEFINITE = 0xFFFFFFFF
_CODE_OF_CALL, _CODE_OF_MECHANISM = 1, 2
_SAID_BY_MECHANISM = (0xD0000, 0x70000)
"""``GSS_S_FAILURE`` and ``GSS_S_NO_CRED``, whose reason is in the text of the mechanism."""
# GSS_C_MUTUAL_FLAG, GSS_C_SEQUENCE_FLAG and GSS_C_INTEG_FLAG, as the SASL mechanism needs them (RFC 4752).
_FLAGS = 2 | 8 | 32


class _Buffer(ctypes.Structure):
    _fields_ = (("length", ctypes.c_size_t), ("value", ctypes.c_void_p))


class _Oid(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint32), ("elements", ctypes.c_char_p))


class _OidSet(ctypes.Structure):
    _fields_ = (("count", ctypes.c_size_t), ("elements", ctypes.POINTER(_Oid)))


class _Pair(ctypes.Structure):
    _fields_ = (("key", ctypes.c_char_p), ("value", ctypes.c_char_p))


class _Store(ctypes.Structure):
    _fields_ = (("count", ctypes.c_uint32), ("elements", ctypes.POINTER(_Pair)))


def _oid(elements: bytes) -> _Oid:
    return _Oid(len(elements), elements)


_KERBEROS = _oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02")
_PRINCIPAL_NAME = _oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01")
_HOST_BASED_SERVICE = _oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04")
_MECHANISMS = _OidSet(1, ctypes.pointer(_KERBEROS))

_handle, _pointer, _number = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "import_name": (_pointer, _pointer, _pointer),
    "release_name": (_pointer,),
    "acquire_cred_from": (_handle, _number, _pointer, ctypes.c_int, _pointer, _pointer, _pointer, _pointer),
    "inquire_cred": (_handle, _pointer, _pointer, _pointer, _pointer),
    "release_cred": (_pointer,),
    "init_sec_context": (
        *(_handle, _pointer, _handle, _pointer, _number, _number, _pointer, _pointer),
        *(_pointer, _pointer, _pointer, _pointer),
    ),
    "delete_sec_context": (_pointer, _pointer),
    "wrap": (_handle, ctypes.c_int, _number, _pointer, _pointer, _pointer),
    "unwrap": (_handle, _pointer, _pointer, _pointer, _pointer),
    "release_buffer": (_pointer,),
    "display_status": (_number, ctypes.c_int, _pointer, _pointer, _pointer),
}


class GssError(Exception):
    """A call was refused.

    Args:
        text: of the library.
        code: of Kerberos, as in its header ``krb5.h``; 0 where the call itself was wrong.
    """

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


@cache
def _library() -> SimpleNamespace:
    """Return the functions, without their prefix ``gss_``. Raises OSError: the system has no such library."""
    library = ctypes.CDLL(LIBRARY)
    functions = SimpleNamespace()
    for name, arguments in _FUNCTIONS.items():
        function = getattr(library, f"gss_{name}")
        function.restype, function.argtypes = _number, (ctypes.POINTER(_number), *arguments)
        setattr(functions, name, function)
    return functions


class Credential:
    """Keys and tickets of a client.

    Args:
        principal: the client's; ``None`` for that of the store.
        store: where keys and tickets are: names and values as in MIT's ``gss_acquire_cred_from``.

    Raises:
        OSError: the system has no such library.
        GssError: the store has no valid ticket, and none can be got with its keys.
    """

    def __init__(self, principal: str | None, store: Mapping[str, str]) -> None:
        self._handle = ctypes.c_void_p()
        _free(self, "release_cred", self._handle)
        pairs = (_Pair * len(store))(*(_Pair(name.encode(), value.encode()) for name, value in store.items()))
        given = _Store(len(store), pairs)
        name = _Name(principal, _PRINCIPAL_NAME) if principal is not None else None
        wanted = name.handle if name is not None else None
        addresses = (ctypes.byref(one) for one in (_MECHANISMS, given, self._handle))
        mechanisms, from_store, made = addresses
        _call("acquire_cred_from", wanted, _INDEFINITE, mechanisms, _INITIATE, from_store, made, None, None)

    @property
    def handle(self) -> ctypes.c_void_p:
        """Return the library's handle."""
        return self._handle

    def seconds(self) -> int:
        """Return for how long its ticket is valid. Raises GssError: it has ended, and no other can be got."""
        left = _number()
        _call("inquire_cred", self._handle, None, ctypes.byref(left), None, None)
        return left.value


class Context:
    """A client's side of one login at one service.

    Args:
        credential: of the client.
        service: as ``service@host``.

    Raises:
        GssError: the service's name cannot be read.
    """

    def __init__(self, credential: Credential, service: str) -> None:
        self._credential = credential
        self._service = _Name(service, _HOST_BASED_SERVICE)
        self._handle = ctypes.c_void_p()
        self.complete = False
        _free(self, "delete_sec_context", self._handle, None)

    def step(self, token: bytes) -> bytes:
        """Return the next token for the service, which may be empty.

        Args:
            token: the service's last one; empty at first.

        Raises:
            GssError: no ticket for the service can be got, or it is not who it says.
        """
        received, sent = _buffer(token), _Buffer()
        major = _call(
            "init_sec_context",
            self._credential.handle,
            ctypes.byref(self._handle),
            self._service.handle,
            ctypes.byref(_KERBEROS),
            _FLAGS,
            0,
            None,
            ctypes.byref(received),
            None,
            ctypes.byref(sent),
            None,
            None,
        )
        self.complete = not major & _CONTINUE_NEEDED
        return _taken(sent)

    def wrap(self, message: bytes) -> bytes:
        """Return a message for the service, signed. Raises GssError: the context is not complete."""
        given, wrapped = _buffer(message), _Buffer()
        _call("wrap", self._handle, 0, 0, ctypes.byref(given), None, ctypes.byref(wrapped))
        return _taken(wrapped)

    def unwrap(self, message: bytes) -> bytes:
        """Return what the service has signed. Raises GssError: it is not the service's."""
        given, message_ = _buffer(message), _Buffer()
        _call("unwrap", self._handle, ctypes.byref(given), ctypes.byref(message_), None, None)
        return _taken(message_)


class _Name:
    """A name of the library's."""

    def __init__(self, text: str, form: _Oid) -> None:
        self.handle = ctypes.c_void_p()
        _free(self, "release_name", self.handle)
        given = _buffer(text.encode())
        _call("import_name", ctypes.byref(given), ctypes.byref(form), ctypes.byref(self.handle))


def _free(owner: object, function: str, handle: ctypes.c_void_p, *more: None) -> None:
    """Release a handle with its owner."""
    release: Callable[..., int] = getattr(_library(), function)

    def released() -> None:
        if handle.value:
            release(ctypes.byref(_number()), ctypes.byref(handle), *more)

    weakref.finalize(owner, released).atexit = False


def _call(function: str, *arguments: Any) -> int:
    minor = _number()
    major: int = getattr(_library(), function)(ctypes.byref(minor), *arguments)
    if major & _IS_ERROR:
        raise _error(major, minor.value)
    return major


def _error(major: int, minor: int) -> GssError:
    texts = [_text(minor, _CODE_OF_MECHANISM)] if minor else []
    if major & _IS_ERROR not in _SAID_BY_MECHANISM or not texts:
        texts.insert(0, _text(major, _CODE_OF_CALL))
    return GssError(": ".join(texts), ctypes.c_int32(minor).value)


def _text(status: int, kind: int) -> str:
    context, text = _number(), _Buffer()
    address = ctypes.byref(text)
    minor = _number()
    _library().display_status(
        ctypes.byref(minor), status, kind, ctypes.byref(_KERBEROS), ctypes.byref(context), address
    )
    return _taken(text).decode(errors="replace")


def _buffer(data: bytes) -> _Buffer:
    held = ctypes.create_string_buffer(data, len(data))
    made = _Buffer(len(data), ctypes.cast(held, ctypes.c_void_p))
    made.held = held  # for as long as the structure refers to it
    return made


def _taken(buffer: _Buffer) -> bytes:
    """Return what the library has written, and free it."""
    data = ctypes.string_at(buffer.value, buffer.length) if buffer.value else b""
    _library().release_buffer(ctypes.byref(_number()), ctypes.byref(buffer))
    return data
