"""Binary log to Arrow: bytes in, values and columns out. Nothing here knows a server, a socket or Spark."""
