# ruff: noqa: RUF001 - words in Cyrillic and other letters
"""A mail that withdraws or closes and asks nothing is no question; one that still wants something is one."""

from __future__ import annotations

import pytest

from support_agent.mail.text.closing import MAX_CHARACTERS, why_closing


@pytest.mark.parametrize(
    "text",
    [
        "Never mind, forget about cancelling.",
        "Thanks, it works now.",
        "Please ignore my last mail.",
        "All good, no need to reply. Bye, Tom",
        "Hat sich erledigt, danke!",
        "Meine Kündigung ziehe ich hiermit zurück.",
        "Es funktioniert jetzt wieder, vielen Dank.",
        "C'est bon, je l'ai retrouvé. Merci !",
        "Ya me funciona, gracias.",
        "Risolto, grazie lo stesso!",
        "Het is opgelost, bedankt.",
        "Já está resolvido, obrigado.",
        "Nu fungerar det, tack.",
        "Już działa, dziękuję.",
        "Спасибо, всё заработало.",
        "無事ログインできました。ありがとうございました。",
        "已经解决了，谢谢。",
    ],
)
def test_a_mail_that_withdraws_or_closes_asks_nothing(text: str) -> None:
    assert why_closing("A question", text)


def test_thanks_alone_close_what_was_asked_before() -> None:
    """In a reply; as the first mail of somebody they stand before a question that got lost."""
    assert why_closing("Re: Refund", "Thank you very much for the explanation.")
    assert why_closing("Refund", "Thank you very much for the explanation.") == ""


@pytest.mark.parametrize(
    "text",
    [
        "How do I cancel?",
        "Never mind the invoice, how do I cancel my plan?",
        "Thanks, it works now on Windows. On my Mac it still fails.",
        "Forget my last mail. I need a copy of the invoice.",
        "Please cancel my plan. Thanks!",
        "Danke, es läuft wieder, aber leider nur am PC.",
        "Die Rechnung hat sich erledigt. Wie kündige ich?",
        "Gracias, ya funciona, pero ¿cómo cambio el correo?",
        'The page says "problem solved" and nothing works.',
        "How do I withdraw my cancellation?",
        "Please close my account.",
        "You can close my account and delete the data.",
        "Bitte meine Daten löschen.",
        "My refund is not settled.",
        "The invoice was settled twice, I want my money back.",
        "I found it impossible to log in.",
        "I no longer need it, please cancel my subscription.",
        "Please ignore my last mail, I need a refund of invoice 30.",
        "The sync is running fine on my laptop. On my phone it never starts.",
        "Das läuft jetzt seit drei Wochen so.",
        "Ya está cobrado dos veces.",
        "Ya no necesito el plan, quiero darme de baja.",
        "Bitte mein Konto löschen.",
        "Please close my account and delete all data.",
        "Ich brauche das Abo nicht mehr. Kündigung zum nächsten Termin.",
        "Ya no necesito la cuenta, denme de baja.",
        "Je n'ai plus besoin du service, résiliez mon contrat.",
        "Já não preciso da conta, cancelem a assinatura.",
        "もう必要ありませんので、解約をお願いします。",
        "I withdraw my order of 3 May.",
        "Everything was working fine until yesterday. Now uploads stop at 50%.",
        "Die Seite geht jetzt nicht.",
        "Seit dem Update geht jetzt gar nichts mehr.",
        "Il problema non è risolto, il file manca.",
        "De app werkt nu helemaal niet.",
        "La facture 221 a été réglée deux fois. Remboursez-moi.",
        "Glömt lösenord",
        "Thank you. I never got the money.",
        "Merci. Le lien est expiré.",
        "Danke. Die Bestätigung habe ich nicht bekommen.",
        "Thanks! Send me the upgrade link.",
        "Thanks. Invoice 4411.",
        "Thanks, the invoice arrived. The VAT number is wrong on it.",
        "",
        "Thanks, it works now. " + "And this is my story. " * 100,
    ],
)
def test_a_mail_that_still_wants_something_is_a_question(text: str) -> None:
    assert why_closing("Re: Refund", text) == ""


def test_a_long_mail_closes_nothing() -> None:
    assert why_closing("Re: Refund", "It works now." + " " * MAX_CHARACTERS) == ""
