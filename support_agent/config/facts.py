"""The configuration's sections of the fact room; part of `settings.Settings`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from support_agent.core.frozen import Frozen


class Ways(StrEnum):
    """How passages are found: by the similarity of vectors, by words shared with the question, or by both."""

    BOTH = "both"
    VECTORS = "vectors"
    WORDS = "words"


class PolicyKind(StrEnum):
    """The policy that decides whether to retrieve evidence, draft, answer or escalate: a rule, or trained weights."""

    ALWAYS = "always"
    """Retrieves evidence before each draft."""
    SELF_ASK = "self_ask"
    """Asks the model first whether evidence is needed."""
    NEVER = "never"
    """Retrieves nothing: answers only from the evidence that the case already has."""
    TRAINED = "trained"


class Retrieve(StrEnum):
    """When the fact room retrieves evidence for a question that a document may answer."""

    ALWAYS = "always"
    DOUBTFUL = "doubtful"
    """Only if the choice of the topic, or of the document's section, is not clear. If no topic is chosen, only with
    `search.sources`."""
    NEVER = "never"


class ChunkUnit(StrEnum):
    """The unit of a chunk's length; tokens are those of the embedding model."""

    CHARACTERS = "characters"
    TOKENS = "tokens"


class ExtractionBy(StrEnum):
    """How entities in the documents' sentences are found: by rules on capitals and headings, or by the model."""

    RULES = "rules"
    MODEL = "model"


class StepsBy(StrEnum):
    """How a draft is split into steps: by its own sentences, or by the model."""

    DRAFT = "draft"
    MODEL = "model"


class EntailmentBy(StrEnum):
    """How support of a step by a sentence is judged: by the model's yes or no, or by their similarity."""

    MODEL = "model"
    SIMILARITY = "similarity"


Threshold = Annotated[float, Field(ge=0, le=1)]


class FactSettings(Frozen):
    """The internal search inside the documents: how they are cut into chunks, and how chunks are found. Customers see
    none of it."""

    retrieve: Retrieve = Retrieve.DOUBTFUL
    """When the fact room retrieves evidence. `doubtful`: only if the choice of the document or of its section is not
    clear; if none is chosen, only with `search.sources`. If it retrieves, a document answers only if supporting
    sentences are found in it. This takes the embedded model about three seconds."""
    chunk_unit: ChunkUnit = ChunkUnit.CHARACTERS
    """The unit of a chunk's length; tokens are those of the embedding model."""
    chunk_size: Annotated[int, Field(ge=50, le=10_000)] = 400
    """Longest chunk, in `chunk_unit`s, without its title and heading, which are searched as well. The text of a chunk
    beyond 256 tokens is found by words only."""
    chunk_overlap: Annotated[int, Field(ge=0, le=5_000)] = 100
    """Longest text that a chunk repeats from the chunk before it, in `chunk_unit`s; below `chunk_size`."""
    ways: Ways = Ways.BOTH
    """How passages are found. Vectors alone serve questions in other words than the document's somewhat better, but
    hardly ever find codes and numbers."""
    policy: PolicyKind = PolicyKind.ALWAYS
    """The policy that decides how often evidence is retrieved and drafts are written. `always` retrieves before each
    draft; `self_ask` asks the model first whether evidence is needed; `never` retrieves nothing and uses only what the
    case already has; `trained` follows the weights of `policy_file`."""
    policy_file: Path | None = None
    """For `policy = "trained"`: the file that `support-agent facts train` wrote, under its original name."""

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
    """How evidence is retrieved and graded before a document may answer: thresholds, limits and cost.

    A threshold of 0 switches its grader off, because everything would pass.
    """

    passages: Annotated[int, Field(ge=1, le=20)] = 4
    """Passages per retrieval."""
    enough_passages: Annotated[int, Field(ge=1, le=20)] = 1
    """Grading of a retrieval stops after this many helpful passages: each grade is a forward pass. If drafts are
    written, all passages are graded."""
    max_cycles: Annotated[int, Field(ge=0, le=10)] = 1
    """How often a question may be rewritten or drafted again before a person gets it. Each cycle takes the embedded
    model about as long as the first try."""
    max_tokens: Annotated[int, Field(ge=256, le=1_000_000)] = 20_000
    """Most tokens for one mail's grades, drafts and rewritten questions; checked before each of them."""
    max_s: Annotated[float, Field(gt=0, le=3600)] = 60.0
    """Longest time for one mail's grades, drafts and rewritten questions; checked before each of them. It counts
    towards `planner.max_s` as well."""
    drafts: bool = False
    """Whether a draft is also written and graded before a document answers a mail. This takes the embedded model ten
    seconds or more per question; `facts find` and `eval` always do it."""
    draft_tokens: Annotated[int, Field(ge=16, le=2_000)] = 120
    """Longest draft."""
    question_tokens: Annotated[int, Field(ge=8, le=200)] = 40
    """Longest rewritten question."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 60.0
    """Longest wait for one draft or rewritten question."""
    threshold_router: Threshold = 0.5
    """Below it a question is searched on the web first, if a web search is configured."""
    threshold_document: Threshold = 0.4
    """A passage below it is not used. With the embedded model and the likely document searched first, 46 of the 47
    documents that the tuning mails were rightly sent passed at 0.4 and 44 at 0.5. Of passages for questions that no
    document answers 0.83 were refused at 0.4 and 0.97 at 0.5. Questions of several sentences get lower grades."""
    threshold_hallucination: Threshold = 0.55
    """A draft below it is not supported by its passages. With the embedded model 17 of 32 true drafts for tuning
    questions passed, and 4 of 60 with something changed or invented: the model doubts many true drafts."""
    threshold_answer: Threshold = 0.0
    """A draft below it does not answer the question. Off, because the embedded model cannot tell: at 0.5 it refused
    three of five right drafts, and let one of fifteen wrong ones pass. For a larger model set 0.5."""
    threshold_knowledge: Threshold = 0.0
    """A draft whose Knowledge-F1 (share of words in common with its passages, 0..1) is below it is written again, with
    the instruction to use their words. Off: a short true draft shares few words with long passages."""
    feedback: bool = True
    """Whether the prompt for a further draft says what was wrong with the one before."""
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 1
    """Seed of the drafts: with the embedded model, the same seed, question and index give the same drafts."""

    @property
    def writes_drafts(self) -> bool:
        """Whether drafts are written: they only serve their graders, so at least one grader must be on."""
        return self.drafts and max(self.threshold_hallucination, self.threshold_answer, self.threshold_knowledge) > 0


class EvidenceSettings(Frozen):
    """How supporting sentences for a draft, if one is written, are chosen: the best one for each step.

    The score is alpha * (probability that the sentence says it) - beta * (its length / the longest candidate's).
    """

    extraction: ExtractionBy = ExtractionBy.RULES
    """`model` reads each document once, in some seconds for every eight sentences, and uses rules if that fails."""
    steps: StepsBy = StepsBy.DRAFT
    """How a draft is split into steps: by its own sentences (`draft`), or by the model."""
    entailment: EntailmentBy = EntailmentBy.MODEL
    """`model` takes one forward pass for each sentence of the shortlist and each step, within the mail's tokens; after
    that, similarity decides."""
    slope: Annotated[float, Field(gt=0, le=10)] = 2.17
    """With `intercept` below."""
    intercept: Annotated[float, Field(ge=-20, le=20)] = -0.948
    """Calibrate the model's yes: the logistic function of slope * log-odds + intercept. Fitted to the embedded model on
    112 pairs of 14 constructed claims (demo, shop, utility, office) by `tests.benchmarks.papers.entailment`; for
    another model fit both again, or set 1 and 0."""
    entities_path: Path = Path("entities")
    """Folder for the entities that the model found in each document."""
    alpha: Threshold = 0.5
    """Weight of the probability in the score."""
    beta: Threshold = 0.5
    """Weight of the length in the score."""
    hops: Annotated[int, Field(ge=0, le=4)] = 2
    """Search distance from a step's entities, in relations; 0: only sentences that name the entities."""
    shortlist: Annotated[int, Field(ge=1, le=32)] = 8
    """How many sentences, the most similar to a step, are judged."""
