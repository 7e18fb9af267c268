"""Translations of assets in YAML: one for connectors, one for their data."""

from typing import Annotated, Protocol, TypeAlias

import dagster as dg

from connect_dagster.client.datasets import KafkaConnectConnectorProps, KafkaConnectDatasetProps
from connect_dagster.orchestration._compat import TranslationFn, TranslationFnResolver
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator

Props: TypeAlias = KafkaConnectConnectorProps | KafkaConnectDatasetProps

ResolvedTranslation: TypeAlias = (
    Annotated[
        TranslationFn[KafkaConnectConnectorProps],
        TranslationFnResolver(template_vars_for_translation_fn=lambda props: {"props": props}),
    ]
    | None
)
ResolvedDataTranslation: TypeAlias = (
    Annotated[
        TranslationFn[KafkaConnectDatasetProps],
        TranslationFnResolver(template_vars_for_translation_fn=lambda props: {"props": props}),
    ]
    | None
)


class TranslatingComponent(Protocol):
    """A component whose assets can be changed by YAML and by subclasses."""

    translation: ResolvedTranslation
    data_translation: ResolvedDataTranslation

    def get_asset_spec(self, props: Props) -> dg.AssetSpec:
        """Return the asset of a connector, or of its data, before YAML's translation."""


class ComponentTranslator(DagsterKafkaConnectTranslator):
    """Makes assets with a component's ``get_asset_spec``, then applies its translation in YAML."""

    def __init__(self, component: TranslatingComponent, *, allow_equal_keys: bool = False) -> None:
        self._component = component
        self.allow_equal_keys = allow_equal_keys

    def get_asset_spec(self, props: Props) -> dg.AssetSpec:
        """Return the asset of a connector, or of its data."""
        spec = self._component.get_asset_spec(props)
        if isinstance(props, KafkaConnectConnectorProps):
            return self._component.translation(spec, props) if self._component.translation else spec
        return self._component.data_translation(spec, props) if self._component.data_translation else spec

    def untranslated(self, props: Props) -> dg.AssetSpec:
        """Return the default asset; its upstream keys are the component's."""
        return super().get_asset_spec(props)
