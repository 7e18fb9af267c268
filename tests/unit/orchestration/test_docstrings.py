"""Every example in a docstring of what is exported runs as it stands; components' YAML resolves."""

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from connect_dagster import orchestration

BLOCK = re.compile(r"^( *)\.\. code-block:: (\w+)\n\n((?:\1    .*\n|\n)+)", re.MULTILINE)
COMPONENTS = [name for name in orchestration.__all__ if name.endswith("Component")]


def blocks(name: str) -> Iterator[tuple[str, str]]:
    """Language and text of each example in the docstrings of an export, its methods' included.

    Of a component also those of methods that it has from a base of ours, which is not exported.
    """
    exported = getattr(orchestration, name)
    members = [exported, *vars(exported).values()] if inspect.isclass(exported) else [exported]
    if name in COMPONENTS:
        bases = [base for base in exported.__mro__[1:] if base.__module__.startswith("connect_dagster.")]
        members += [member for base in bases for member in vars(base).values()]
    for member in members:
        for _, language, text in BLOCK.findall(f"{inspect.getdoc(member)}\n" if member.__doc__ else ""):
            yield language, textwrap.dedent(text)


EXAMPLES = [
    (name, number, text)
    for name in orchestration.__all__
    for number, (language, text) in enumerate(blocks(name))
    if language == "python"
]


@pytest.mark.parametrize(("name", "number", "text"), EXAMPLES, ids=[f"{name}-{number}" for name, number, _ in EXAMPLES])
def test_an_example_runs(name: str, number: int, text: str) -> None:
    exec(compile(text, f"{name}-{number}", "exec"), {"__name__": "example"})


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_components_yaml_resolves(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("local-file-sink.properties").write_text("name=snk\nconnector.class=FileStreamSink\ntopics=lines\n")
    (text,) = (text for language, text in blocks(name) if language == "yaml")
    document: dict[str, Any] = yaml.safe_load(text)
    component = getattr(orchestration, name)
    assert document["type"] == f"connect_dagster.{name}"
    assert isinstance(component.resolve_from_dict(document["attributes"]), component)
