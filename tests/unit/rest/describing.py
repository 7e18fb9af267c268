"""What schemathesis may find in answers that follow the API's own description.

For a worker that runs: `schemathesis.openapi.from_url(f"{rest_url}/openapi.json")`, or on the command line
`schemathesis run <rest url>/openapi.json --seed 1 --checks <names of CHECKS>`.
"""

import re

from schemathesis import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
"""Of schemathesis' checks those that Kafka Connect's own rules leave standing: what it cannot read is a 500 there,
a worker takes more than the description promises, and refuses what only a plugin can judge."""

JAVAS_500 = re.compile(
    r"The request has no (body|connector configuration)|The request body is not valid JSON|Cannot read |"
    r"Cannot deserialize value of type |Cannot construct instance of |"
    r"Unrecognized field |org\.apache\.kafka\.connect\.runtime\.rest\.errors\.BadRequestException: Connector config "
)
"""Texts of errors that Java's worker too answers with 500: what it cannot read, or validate without a class."""


def is_ours_to_mend(answer: Response) -> bool:
    """Whether it is a server error that Java's worker would not show."""
    return answer.status_code >= 500 and not JAVAS_500.match(answer.json()["message"])
