"""The fact room's sections of the configuration; `settings.Settings` holds them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from support_agent.core.frozen import Frozen


class Ways(StrEnum):
    """What passages are found by: the nearness of their vectors, the words they share with the question, or both."""

    BOTH = "both"
    VECTORS = "vectors"
    WORDS = "words"


class PolicyKind(StrEnum):
    """What decides whether to retrieve evidence, to draft, to answer or to hand over: a rule, or trained weights."""

    ALWAYS = "always"
    """Retrieves evidence before each draft."""
    SELF_ASK = "self_ask"
    """Asks the model first whether evidence is needed."""
    NEVER = "never"
    """Retrieves nothing: only what the case knows already is answered from."""
    TRAINED = "trained"


class Retrieve(StrEnum):
    """When the fact room retrieves evidence for a question that a document may answer."""

    ALWAYS = "always"
    DOUBTFUL = "doubtful"
    """Where the search alone is not sure of the document and of its section."""
    NEVER = "never"


class ChunkUnit(StrEnum):
    """What the length of a chunk is counted in; tokens are those of the embedding model."""

    CHARACTERS = "characters"
    TOKENS = "tokens"


class ExtractionBy(StrEnum):
    """What finds the entities of the documents' sentences: marks such as capitals and headings, or the model."""

    RULES = "rules"
    MODEL = "model"


class StepsBy(StrEnum):
    """What a draft is taken apart by: its own sentences, or the model that writes down its steps."""

    DRAFT = "draft"
    MODEL = "model"


class EntailmentBy(StrEnum):
    """What says whether a sentence bears out a step: the model's yes or no, or the likeness of the two."""

    MODEL = "model"
    SIMILARITY = "similarity"


Threshold = Annotated[float, Field(ge=0, le=1)]


class FactSettings(Frozen):
    """The search inside the documents, of which no customer sees anything: how they are cut, and what finds them."""

    retrieve: Retrieve = Retrieve.DOUBTFUL
    """When the fact room retrieves evidence. Where it does, a document answers only if it finds the sentences that do.
    That takes the embedded model about three seconds."""
    chunk_unit: ChunkUnit = ChunkUnit.CHARACTERS
    chunk_size: Annotated[int, Field(ge=50, le=10_000)] = 400
    """Longest chunk, in `chunk_unit`s, without the title and the heading that it is searched by as well. Of a chunk
    longer than 256 tokens the rest is found by its words only."""
    chunk_overlap: Annotated[int, Field(ge=0, le=5_000)] = 100
    """The most that a chunk repeats of the one before it, in `chunk_unit`s; below `chunk_size`."""
    ways: Ways = Ways.BOTH
    """What passages are found by. By vectors alone, questions in other words than the document's are found somewhat
    better, and codes and numbers next to never."""
    policy: PolicyKind = PolicyKind.ALWAYS
    """What decides how often evidence is retrieved and drafts are written."""
    policy_file: Path | None = None
    """Of `policy = "trained"`: the file that `support-agent facts train` wrote, under its own name."""

    @model_validator(mode="after")
    def _moves_on(self) -> FactSettings:
        if self.chunk_overlap >= self.chunk_size:
            raise ValueError(f"chunk_overlap = {self.chunk_overlap} must be below chunk_size = {self.chunk_size}")
        return self

    @model_validator(mode="after")
    def _has_weights(self) -> FactSettings:
        if self.policy is PolicyKind.TRAINED and self.policy_file is None:
            raise ValueError('policy = "trained" needs policy_file: `support-agent facts train` writes one')
        return self


class GradingSettings(Frozen):
    """How evidence is retrieved and graded before a document may answer: thresholds, bounds, and the cost.

    A grader whose threshold is 0 is switched off: it would let everything pass.
    """

    passages: Annotated[int, Field(ge=1, le=20)] = 4
    """Passages of one retrieval."""
    enough_passages: Annotated[int, Field(ge=1, le=20)] = 1
    """Passages that help, after which no more of a retrieval are graded: each grade is a forward pass. Where drafts
    are written, all are graded."""
    max_cycles: Annotated[int, Field(ge=0, le=10)] = 1
    """Times that a question is rewritten or drafted anew; then a person gets it. Each takes the embedded model about
    as long as the first try."""
    max_tokens: Annotated[int, Field(ge=256, le=1_000_000)] = 20_000
    """Tokens that one mail may take in grades, drafts and rewritten questions; checked before each of them."""
    max_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Time that one mail may take in them; checked before each. `planner.max_s` goes on meanwhile."""
    drafts: bool = False
    """Whether a draft is written and graded, too, before a document answers a mail. With the embedded model that takes
    ten seconds and more a question; `facts find` and `eval` always do it."""
    draft_tokens: Annotated[int, Field(ge=16, le=2_000)] = 120
    """Longest draft."""
    question_tokens: Annotated[int, Field(ge=8, le=200)] = 40
    """Longest rewritten question."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    """Longest wait for one draft or rewritten question."""
    prior: Threshold = 0.0
    """How much of what the model says to empty texts is taken off each grade, for a model that leans to one answer."""
    threshold_router: Threshold = 0.5
    """Below it a question is searched in the web first, where a search is configured."""
    threshold_document: Threshold = 0.4
    """A passage below it is not used. With the embedded model and the likely document searched first, 46 of the 47
    documents that the tuning mails were rightly sent passed at 0.4 and 44 at 0.5. Of passages for questions that no
    document answers 0.83 were refused at 0.4 and 0.97 at 0.5. For questions of several sentences grades are lower."""
    threshold_hallucination: Threshold = 0.55
    """A draft below it says what its passages do not. With the embedded model 17 of 32 true drafts for tuning
    questions passed, and 4 of 60 that had something changed or invented: it doubts much that is true."""
    threshold_answer: Threshold = 0.0
    """A draft below it does not answer the question. Off, because the embedded model cannot tell: at 0.5 it refused
    three of five right drafts, and let one of fifteen wrong ones pass. For a larger model set 0.5."""
    threshold_knowledge: Threshold = 0.0
    """A draft whose Knowledge-F1 (share of words in common with its passages, 0..1) is below it is written anew, told
    to use their words. Off: a short true draft has few words of long passages."""
    feedback: bool = True
    """Whether a draft is told what was wrong with the one before it."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 1
    """Of the drafts: the same seed, question and index give the same ones with the embedded model."""

    @property
    def writes_drafts(self) -> bool:
        """A draft is there to be graded: without its graders none is written."""
        return self.drafts and max(self.threshold_hallucination, self.threshold_answer, self.threshold_knowledge) > 0


class EvidenceSettings(Frozen):
    """How the sentences are chosen that stand behind a draft, where one is written: for each step the best one.

    The score is alpha * (probability that the sentence says it) - beta * (its length, the longest candidate's being 1).
    """

    extraction: ExtractionBy = ExtractionBy.RULES
    """By the model each document is read once, some seconds for every eight sentences; where it fails, by rules."""
    steps: StepsBy = StepsBy.DRAFT
    entailment: EntailmentBy = EntailmentBy.MODEL
    """By the model one forward pass for each sentence of the shortlist and each step, within the mail's tokens; where
    they do not suffice, by similarity."""
    slope: Annotated[float, Field(gt=0, le=10)] = 2.17
    intercept: Annotated[float, Field(ge=-20, le=20)] = -0.948
    """Calibrate the model's yes: the logistic function of slope * log-odds + intercept. Fitted to the embedded model on
    112 pairs of 14 constructed claims (demo, shop, utility, office) by `tests.benchmarks.papers.entailment`; for
    another model fit them anew, or set 1 and 0."""
    entities_path: Path = Path("entities")
    """Folder in which is kept what the model found in each document."""
    alpha: Threshold = 0.5
    beta: Threshold = 0.5
    hops: Annotated[int, Field(ge=0, le=4)] = 2
    """How far from a step's entities sentences are searched, in relations; 0: those that name the entities."""
    shortlist: Annotated[int, Field(ge=1, le=32)] = 8
    """The sentences most similar to a step, which are asked about."""
