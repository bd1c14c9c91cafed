"""What the grading workflow asks its judge and orders of its writer: the program's own words, English for any mail.

A small model is sensitive to each of them: change one together with a run of tests/integration/facts/test_grading.py,
which checks them on the pinned model. The passage stands before the question: the other way round right passages are
told from wrong ones with an AUROC of 0.82, this way of 0.92 (12 of each of right, near and far passages).
"""

QUESTION, PASSAGE, NOTE, TRIED = "Customer's question", "Passage", "Note", "Found nothing with"
ROUTE_ASK = "Is this something that the company's own help pages for its customers would explain?"
DOCUMENT_ASK = "Does the passage help to answer the customer's question?"
HALLUCINATION_ASK = "According to the passages, is the note true?"
"""With "supported" in it the grades of true and of invented notes lie close together, nearly all of them above 0.5."""
ANSWER_ASK = "Does the note answer the customer's question?"
DRAFT_ORDER = (
    "Answer the customer's question in one to three short sentences, with what the passages say and nothing else."
)
"""A way out ("write: they do not say it") is what a small model takes even where they do; the graders see to that."""
DRAFT_AGAIN = "An earlier draft was wrong:"
"""What follows is what was wrong with it, in the program's own sentences."""
REWRITE_ORDER = (
    "Write the customer's question again as one short question, in the words that a help page would use. "
    "Write the question and nothing else."
)
