"""Acting on connectors: operations and jobs that people launch, and the sensors that launch them."""
