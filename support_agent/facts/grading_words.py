"""The prompts of the grading workflow for its judge and its writer: fixed English words for every mail.

A small model is sensitive to each word: after a change run tests/integration/facts/test_grading.py, which checks the
prompts on the pinned model. The passage comes before the question: that separates right from wrong passages with an
AUROC of 0.92, the other order with 0.82 (12 each of right, near and far passages).
"""

QUESTION, PASSAGE, NOTE, TRIED = "Customer's question", "Passage", "Note", "Found nothing with"
ROUTE_ASK = "Is this something that the company's own help pages for its customers would explain?"
DOCUMENT_ASK = "Does the passage help to answer the customer's question?"
HALLUCINATION_ASK = "According to the passages, is the note true?"
"""With the word "supported", the grades of true and of invented notes are close together, nearly all above 0.5."""
ANSWER_ASK = "Does the note answer the customer's question?"
DRAFT_ORDER = (
    "Answer the customer's question in one to three short sentences, with what the passages say and nothing else."
)
"""No way out is offered ("write: they do not say it"): a small model takes it too often. The graders refuse instead."""
DRAFT_AGAIN = "An earlier draft was wrong:"
"""Followed by what was wrong with the draft, in fixed sentences."""
REWRITE_ORDER = (
    "Write the customer's question again as one short question, in the words that a help page would use. "
    "Write the question and nothing else."
)
