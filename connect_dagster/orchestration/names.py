"""Valid names of Dagster's sensors, ops, checks and resources."""

import re


def identifier(text: str) -> str:
    """Return the text with every character replaced that is not an ASCII letter, a digit or ``_``.

    Examples:
        >>> identifier("mysql-products.v2")
        'mysql_products_v2'
    """
    return re.sub(r"[^A-Za-z0-9_]", "_", text)
