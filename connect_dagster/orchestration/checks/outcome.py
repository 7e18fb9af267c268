"""The outcome of a check as a value, which a run's step or a sensor's tick reports."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dagster import AssetCheckEvaluation, AssetCheckKey, AssetCheckResult, AssetCheckSeverity


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Outcome of a check.

    Attributes:
        passed: Whether all is well.
        description: Why, in a sentence; without secrets.
        metadata: What was measured; without secrets.
        severity: How bad it is when it is not well.
    """

    passed: bool
    description: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    severity: AssetCheckSeverity = AssetCheckSeverity.ERROR

    def result(self, key: AssetCheckKey) -> AssetCheckResult:
        """Return the result for a run's step."""
        return AssetCheckResult(
            passed=self.passed,
            asset_key=key.asset_key,
            check_name=key.name,
            metadata=self.metadata,
            severity=self.severity,
            description=self.description,
        )

    def evaluation(self, key: AssetCheckKey) -> AssetCheckEvaluation:
        """Return the evaluation for a sensor's tick."""
        return AssetCheckEvaluation(
            asset_key=key.asset_key,
            check_name=key.name,
            passed=self.passed,
            metadata=dict(self.metadata),
            severity=self.severity,
            description=self.description,
        )
