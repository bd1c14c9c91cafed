"""What the fact room found for a question of a case: the documents with the evidence highlighted, and the graph.

Invariant: it is the page of `facts find --html`, in a frame that runs and fetches nothing. Checked by
tests/journey/test_page_acts.py.
"""

from __future__ import annotations

from pydantic import ValidationError

from support_agent.cases.decision import Decision
from support_agent.core.levels import CUSTOMER
from support_agent.desk_page.visit import Desk, Framed, NotFound, Page, Result, Visit, whole_number
from support_agent.facts.graph.near_finding import near_finding
from support_agent.ops.facts_page import facts_page
from support_agent.ops.retrieval_report import searchable
from support_agent.store.records import MailId


def evidence(desk: Desk, visit: Visit) -> Result:
    """The evidence for one question of a mail."""
    mail_id = MailId(visit.path["mail"])
    mail, plan = desk.store.mails.get(mail_id), desk.store.plans.get(mail_id)
    if mail is None or plan is None or mail.case_id != visit.path["case"]:
        raise NotFound
    try:
        decision = Decision.model_validate(plan.trace)
    except ValidationError:
        raise NotFound from None
    at = whole_number(visit.path["question"]) or 0
    found = decision.findings.get(at)
    if found is None or at > len(decision.plan.questions):
        raise NotFound
    question = decision.plan.questions[at - 1]
    documents = searchable(desk.company.documents, desk.settings.company.day_of(plan.planned_at), CUSTOMER)
    graph = near_finding(question, found, documents, hops=desk.settings.evidence.hops)
    return Framed(facts_page(question, found, documents, graph))


PAGES = (Page("/cases/{case}/facts/{mail}/{question}", evidence),)
