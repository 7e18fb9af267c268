"""What a check finds, as a value: the same whether a run's step or a sensor's tick reports it."""

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
        """As a run's step returns it."""
        return AssetCheckResult(
            passed=self.passed,
            asset_key=key.asset_key,
            check_name=key.name,
            metadata=self.metadata,
            severity=self.severity,
            description=self.description,
        )

    def evaluation(self, key: AssetCheckKey) -> AssetCheckEvaluation:
        """As a sensor's tick reports it."""
        return AssetCheckEvaluation(
            asset_key=key.asset_key,
            check_name=key.name,
            passed=self.passed,
            metadata=dict(self.metadata),
            severity=self.severity,
            description=self.description,
        )
