"""The committed vote on its embedding models: plain notices and plain customers in the languages that both read."""

from __future__ import annotations

import pytest

from support_agent.config.embedding import MULTILINGUAL, EmbeddingModel, EmbeddingSettings
from support_agent.config.screening import ScreeningSettings
from support_agent.config.settings import Settings
from support_agent.mail.machines.machine_vote import MachineVote, open_vote
from support_agent.models.embedders import PINNED, load_embedders
from support_agent.models.pulling import cache_dir, locate
from tests.servers.postgres import skip_or_fail
from tests.unit.models.packages import RecordedProgress

DOUBTFUL = ScreeningSettings().doubtful_from
MACHINES = [
    ("Your order 4471 has shipped", "Your parcel left our warehouse today.\n\nTracking number: 00340434\n\nTrack it"),
    ("[Ticket 90441] Re: Backup", "Your request has been logged under 90441. Please keep this number in the subject."),
    ("Re: Rechnung", "Vielen Dank für Ihre Nachricht. Ich bin im Urlaub und ab dem 4. Mai wieder erreichbar."),
    (
        "Demande 7781 enregistrée",
        "Votre demande a été enregistrée sous le numéro 7781. Un agent vous répondra.",
    ),
    ("Pago recibido", "Hemos recibido su pago de 20,00 € el 3 de mayo. No es necesario que haga nada más."),
    ("Zgłoszenie 5512", "Utworzono zgłoszenie 5512. Status: nowe. Odpowiemy w ciągu dwóch dni roboczych."),
]
MOST = 4
PEOPLE = [
    ("Invoice", "Where do I find my invoice for March?"),
    ("Urlaub", "Ich bin ab Montag im Urlaub. Wie lange bleiben meine Dateien erhalten?"),
    ("Mot de passe", "Je n'arrive plus à me connecter depuis hier, pouvez-vous m'aider ?"),
    ("Factura", "No encuentro la factura de marzo. ¿Dónde la descargo?"),
    ("Account", "Sono in ferie e non riesco ad accedere. Come faccio?"),
    ("Zwrot", "Kupiłem dwa razy przez pomyłkę. Czy mogę dostać zwrot pieniędzy?"),
]


@pytest.fixture(scope="module", params=MULTILINGUAL)
def vote(request: pytest.FixtureRequest) -> MachineVote:
    """The vote of one embedder."""
    model = EmbeddingModel(request.param)
    settings = Settings(embedding=EmbeddingSettings(models=(model,)))
    if locate(PINNED[model], cache_dir(settings.model)) is None:
        skip_or_fail(f"{model} is not in the cache")
    (embedder,) = load_embedders(settings, RecordedProgress())
    opened = open_vote({request.param: embedder}, settings.screening)
    assert opened is not None
    return opened


def test_most_of_what_machines_wrote_is_doubted(vote: MachineVote) -> None:
    """Rule: the threshold spares people, so a few machines are not seen; the rules and limits hold for those."""
    assert sum(vote.probability(*mail) >= DOUBTFUL for mail in MACHINES) >= MOST


@pytest.mark.parametrize(("subject", "text"), PEOPLE)
def test_what_a_customer_wrote_is_not(vote: MachineVote, subject: str, text: str) -> None:
    assert vote.probability(subject, text) < DOUBTFUL


def test_the_same_mail_has_the_same_probability(vote: MachineVote) -> None:
    first, again = (vote.probability(*MACHINES[0]) for _ in range(2))
    assert first == again
