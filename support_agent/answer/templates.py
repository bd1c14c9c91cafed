"""A snapshot of the company's templates: read once and hashed.

Invariant: rendering uses only `files`, and `version` is the sha256 over all of them, so stored mails render again to
the same bytes. Checked by tests/unit/answer/test_templates.py.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path

import yaml

from support_agent.answer.formatting import unsafe_in
from support_agent.company.values import Customer
from support_agent.core.frozen import Frozen
from support_agent.core.locales import FALLBACK_LOCALE, language_of, lookup
from support_agent.errors import ConfigError

WORDS = "words.yaml"
WORD_FILES_KEPT = 64
"""Parsed `words.yaml` that are kept: when a template changes, all are read again, and most are as before."""
LINE_END = re.compile("\r\n?")


class TemplatesUnusable(ConfigError):
    """The templates cannot be read; `name` and `line` are the place, if known."""

    def __init__(self, what: str, todo: str, name: str | None = None, line: int | None = None) -> None:
        place = "" if name is None else f"{name}: " if line is None else f"{name}:{line}: "
        super().__init__(f"{place}{what}: {todo}")
        self.what, self.todo, self.name, self.line = what, todo, name, line


class TemplateFile(Frozen):
    """One file: `name` is its path below the directory ("en/answer.txt.j2"), line ends are "\\n"."""

    name: str
    text: str


class Word(Frozen):
    """The company's word for a code, and the 1-based line where it stands."""

    name: str
    line: int
    text: str


class Templates(Frozen):
    """Every template and table of words of a company, in order of name.

    Each folder is a language ("de") or a country's variant ("de-AT"); missing files and words come from the next folder
    of `locales.lookup`, finally from English.
    """

    files: tuple[TemplateFile, ...]

    def __eq__(self, other: object) -> bool:
        """Compare by version: the cache of engines is asked for each piece of a mail, and comparing every file cost
        more than rendering the piece.
        """
        return isinstance(other, Templates) and self.version == other.version

    def __hash__(self) -> int:
        return hash(self.version)

    @classmethod
    def load(cls, directory: Path) -> Templates:
        """Read `LOCALE/*.j2` and `LOCALE/words.yaml` below the directory.

        Raises:
            TemplatesUnusable: there is no such directory or no template in it, or a file is not UTF-8 text.
        """
        if not directory.is_dir():
            raise TemplatesUnusable(f"no templates directory at {directory}", "set company.templates or run `init`")
        found: dict[str, str] = {}
        for path in sorted([*directory.glob("*/*.j2"), *directory.glob(f"*/{WORDS}")]):
            try:
                found[path.relative_to(directory).as_posix()] = path.read_text(encoding="utf-8-sig")
            except (OSError, UnicodeDecodeError) as error:
                name = path.relative_to(directory).as_posix()
                raise TemplatesUnusable(f"not UTF-8 text ({error})", "save it as UTF-8", name) from error
        return cls.from_files(found)

    @classmethod
    def from_files(cls, files: Mapping[str, str]) -> Templates:
        """The templates of a mapping of name to text, such as the store keeps.

        Raises:
            TemplatesUnusable: the fallback language is missing, or a file has invisible characters (they could hide
                text, or forge the marks of spans).
        """
        if not any(name.startswith(f"{FALLBACK_LOCALE}/") for name in files):
            raise TemplatesUnusable(
                f"no template in {FALLBACK_LOCALE}/", "add it: every other language falls back to it"
            )
        normal = {name: LINE_END.sub("\n", text).rstrip("\n") + "\n" for name, text in sorted(files.items())}
        for name, text in normal.items():
            for line, content in enumerate(text.split("\n"), start=1):
                for character in unsafe_in(content):
                    if character != "\t":
                        raise TemplatesUnusable(f"U+{ord(character):04X} cannot be seen", "remove it", name, line)
        return cls(files=tuple(TemplateFile(name=name, text=text) for name, text in normal.items()))

    def as_files(self) -> dict[str, str]:
        """Name to text, as for `from_files`."""
        return dict(self._by_name)

    @cached_property
    def version(self) -> str:
        """The sha256 over all names and texts, in hex."""
        digest = hashlib.sha256()
        for file in self.files:
            for part in (file.name, file.text):
                data = part.encode("utf-8")
                digest.update(len(data).to_bytes(8, "big") + data)
        return digest.hexdigest()

    @cached_property
    def passed(self) -> set[tuple[object, ...]]:
        """What the gate has found to be literals of these templates, for the kind of mail and the locale."""
        return set()

    @cached_property
    def languages(self) -> frozenset[str]:
        """The folders that have any file."""
        return frozenset(file.name.partition("/")[0] for file in self.files)

    def has_language(self, tag: str) -> bool:
        """Whether there are templates for a locale or its language."""
        return language_of(tag) == FALLBACK_LOCALE or self._folders(tag)[0] != FALLBACK_LOCALE

    def locale_for(self, tag: str) -> str:
        """The customer's locale if there are templates for it, else English, so that words and dates agree."""
        return tag if self.has_language(tag) else FALLBACK_LOCALE

    def locale_of(self, customer: Customer | None, otherwise: str) -> str:
        """The locale of an answer: the customer's, if there are templates for it; else the company's."""
        return customer.locale if customer is not None and self.has_language(customer.locale) else otherwise

    def resolve(self, name: str, locale: str) -> str | None:
        """The full name of the file `name` in a locale: from the first of its folders that has it."""
        names = (f"{folder}/{name}" for folder in self._folders(locale))
        return next((full_name for full_name in names if full_name in self._by_name), None)

    def source(self, full_name: str) -> str:
        """The text of a file, or ""."""
        return self._by_name.get(full_name, "")

    def word(self, section: str, code: str, locale: str) -> Word | None:
        """The word for a code in a locale: from the first of its folders that has it."""
        words = (self._words.get((folder, section, code)) for folder in self._folders(locale))
        return next((word for word in words if word), None)

    def codes(self, section: str) -> tuple[str, ...]:
        """The codes of a section that have an English word, in order of name."""
        english = (FALLBACK_LOCALE, section)
        return tuple(sorted(code for language, part, code in self._words if (language, part) == english))

    def _folders(self, locale: str) -> tuple[str, ...]:
        """The folders of a locale, in order; the last is the English one."""
        return _folders(self.languages, locale)

    @cached_property
    def _by_name(self) -> dict[str, str]:
        return {file.name: file.text for file in self.files}

    @cached_property
    def _words(self) -> dict[tuple[str, str, str], Word]:
        found: dict[tuple[str, str, str], Word] = {}
        for language in self.languages:
            name = f"{language}/{WORDS}"
            for section, code, text, line in read_words(name, self.source(name)):
                found[language, section, code] = Word(name=name, line=line, text=text)
        return found


@lru_cache(maxsize=256)
def _folders(languages: frozenset[str], locale: str) -> tuple[str, ...]:
    names = {folder.lower(): folder for folder in languages}
    return tuple(names[key] for key in lookup(locale) if key in names)


@lru_cache(maxsize=WORD_FILES_KEPT)
def read_words(name: str, text: str) -> tuple[tuple[str, str, str, int], ...]:
    """(section, code, word, 1-based line) of each entry of a `words.yaml`: a mapping of sections of codes.

    Raises:
        TemplatesUnusable: it is no such mapping; names the line.
    """
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", 0) + 1
        raise TemplatesUnusable(
            f"this is not YAML ({getattr(error, 'problem', error)})", "correct it", name, line
        ) from error
    found = []
    for section, codes in _pairs(name, root):
        for code, word in _pairs(name, codes):
            if not isinstance(word, yaml.ScalarNode) or not word.value.strip():
                line = word.start_mark.line + 1
                raise TemplatesUnusable(f"{code!r} has no word", "write one word or phrase", name, line)
            found.append((section, code, word.value, word.start_mark.line + 1))
    return tuple(found)


def _pairs(name: str, node: yaml.Node | None) -> list[tuple[str, yaml.Node]]:
    if node is None:
        return []
    if not isinstance(node, yaml.MappingNode):
        line = node.start_mark.line + 1
        raise TemplatesUnusable("not a table of words", "write `section:`, below it `code: word`", name, line)
    return [(str(key.value), value) for key, value in node.value]
