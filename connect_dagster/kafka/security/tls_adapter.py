"""HTTPS connections of ``requests`` whose trust and certificates are those of one TLS context."""

from __future__ import annotations

import ssl
from typing import Any

from requests.adapters import HTTPAdapter


class TlsAdapter(HTTPAdapter):
    """Takes certificates from a context alone.

    Args:
        context: of client connections.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs, ssl_context=self._context)

    def cert_verify(self, *_: Any) -> None:
        """Add nothing: requests would trust the authorities of certifi as well."""
