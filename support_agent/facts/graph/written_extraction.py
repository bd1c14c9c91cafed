"""Extracts entities with the language model, and stores them in a folder.

The model's text is read line by line, in one form; other lines are ignored, and `extraction.checked` drops entities
that are not in the source. The text is internal: a graph never reaches a customer. Checked by
tests/unit/facts/graph/test_written_extraction.py.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
from collections.abc import Generator
from pathlib import Path

from pydantic import ValidationError

from support_agent.errors import ConfigError, PermanentError, SupportAgentError, ToolCallRejected
from support_agent.facts.chunks import Source
from support_agent.facts.graph.extraction import (
    LOOKED_AT,
    NAME_CHARACTERS,
    Extraction,
    Extractor,
    checked,
    checksum_of,
    heading_of,
)
from support_agent.models.writer import Writer

SENTENCES_PER_ASKING = 8
"""Sentences per prompt; with more, a small model forgets the first ones."""
WRITTEN_TOKENS = 400
INSTRUCTION = (
    "List what each numbered sentence speaks of: named things, products, rules, amounts and deadlines. "
    "Write one line for each sentence, in this form and nothing else: number | thing | thing. "
    "Use only words of the sentence."
)
_NUMBER = re.compile(r"\s*[0-9]{1,9}\s*")


class WrittenExtractor:
    """An `Extractor` that asks the language model, some sentences at a time."""

    def __init__(self, writer: Writer, *, seed: int) -> None:
        """Includes the writer's name, as each writer finds other entities."""
        self._writer = writer
        self._seed = seed
        self.name = f"written 3 {hashlib.sha256(INSTRUCTION.encode()).hexdigest()[:8]} {writer.name} {seed}"

    def extract(self, source: Source) -> Extraction:
        """As `Extractor.extract`, already checked."""
        entities: list[tuple[str, ...]] = [()] * len(source.sentences)
        for start in range(0, len(source.sentences), SENTENCES_PER_ASKING):
            for position, things in self._written(source, start):
                entities[position] += things
        return checked(Extraction(by=self.name, entities=tuple(entities)), source)

    def _written(self, source: Source, start: int) -> Generator[tuple[int, tuple[str, ...]]]:
        """The model's entities for one prompt of sentences from `start` on; see `_read`."""
        sentences = source.sentences[start : start + SENTENCES_PER_ASKING]
        shown = [
            (str(number), ": ".join(filter(None, (heading_of(sentence, source), sentence.text[:LOOKED_AT]))))
            for number, sentence in enumerate(sentences, start=start + 1)
        ]
        draft = self._writer.generate(INSTRUCTION, shown, temperature=0.0, max_tokens=WRITTEN_TOKENS, seed=self._seed)
        return _read(draft.text, range(start, start + len(sentences)))


def _read(text: str, positions: range) -> Generator[tuple[int, tuple[str, ...]]]:
    """The position of a sentence and its entities, for each well-formed line about a shown sentence."""
    for row in text.splitlines():
        number, *things = row.split("|")
        if things and _NUMBER.fullmatch(number) and (position := int(number) - 1) in positions:
            yield position, tuple(thing.strip()[:NAME_CHARACTERS] for thing in things)


class KeptExtractor:
    """An `Extractor` that asks another one once per content, and a second one if that fails.

    It stores one file per content, named by its checksum; results of the second extractor are not stored. Stored
    entities must still be in the source; an unreadable file is replaced. Several processes may share the folder.
    """

    def __init__(self, extractor: Extractor, folder: Path, otherwise: Extractor) -> None:
        """Put the parts together.

        Args:
            extractor: Asked for contents without a file. After a timeout or a spent budget it is not asked again.
            folder: Created for the first file.
            otherwise: An extractor that does not fail.
        """
        self._extractor = extractor
        self._folder = folder
        self._otherwise = otherwise
        self._may_ask = True

    @property
    def name(self) -> str:
        """The name of the first extractor, as storing changes nothing."""
        return self._extractor.name

    def extract(self, source: Source) -> Extraction:
        """As `Extractor.extract`, checked; `by` names the extractor that was used.

        Raises:
            ConfigError: raised by the first extractor, so that a wrong key or address is noticed; or the folder cannot
                be written.
        """
        content = hashlib.sha256(f"{self.name}\0{checksum_of(source)}".encode()).hexdigest()
        path = self._folder / f"{content}.json"
        if (kept := _kept(path, self.name)) is not None:
            return checked(kept, source)
        found = self._asked(source) if self._may_ask else None
        if found is None:
            return checked(self._otherwise.extract(source), source)
        self._keep(path, extraction := checked(found, source))
        return extraction

    def _asked(self, source: Source) -> Extraction | None:
        try:
            return self._extractor.extract(source)
        except ConfigError:
            raise
        except (PermanentError, ToolCallRejected):  # only for this source, which may be too long
            return None
        except SupportAgentError:  # each further source would take another timeout
            self._may_ask = False
            return None

    def _keep(self, path: Path, extraction: Extraction) -> None:
        partial = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.partial")
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            partial.write_text(extraction.model_dump_json(), encoding="utf-8")
            partial.replace(path)
        except OSError as error:
            what = f"evidence.entities_path {self._folder}: {error.strerror}"
            raise ConfigError(f"{what}: choose a folder that can be written") from error


def _kept(path: Path, name: str) -> Extraction | None:
    """The content of the file, if this extractor wrote it."""
    try:
        extraction = Extraction.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
    return extraction if extraction.by == name else None
