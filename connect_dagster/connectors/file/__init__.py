"""FileStreamSource and FileStreamSink: lines of a file to a topic, and a topic to lines of a file."""
