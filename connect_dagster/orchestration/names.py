"""Names as Dagster takes them for sensors, ops, checks and resources."""

import re


def identifier(text: str) -> str:
    """The text with all but letters of the English alphabet, digits and ``_`` replaced.

    Examples:
        >>> identifier("mysql-products.v2")
        'mysql_products_v2'
    """
    return re.sub(r"[^A-Za-z0-9_]", "_", text)
