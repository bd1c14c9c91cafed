# ruff: noqa: RUF001 - words in Cyrillic and other letters
"""Recognise a mail that only withdraws a request, or says that all is well: it asks nothing, so it needs no answer.

Invariant: such a mail goes to a person and is never filed, and apart from the closing words it contains no question,
wish, denial or exception. Checked by tests/unit/mail/text/test_closing.py.
"""

from __future__ import annotations

import re

from support_agent.mail.machines.automatic_wording import QUOTED, asks
from support_agent.mail.machines.automatic_words import ANSWERED
from support_agent.mail.text.wording import has_question_mark, words

MAX_CHARACTERS = 1_500
MAX_WORDS = 40
"""Such mails are short; a longer one has something to say."""
MAX_THANKS_WORDS = 8
"""Words of a thank-you reply besides the thanks: a name, a wish for the weekend."""

CLOSES = words(
    # English
    r"\bnever ?mind\b|\bscratch that\b|\bfalse alarm\b|\bproblem solved\b|\bnothing left to do\b|\bthat did (?:it"
    r"|the trick)\b",
    r"\b(?:please )?(?:ignore|disregard) (?:my|the|this|that)(?: last| previous| earlier)? (?:e-?mail|mail|message"
    r"|question|one)",
    r"(?:^|[,;:.!] ?|please |just )forget (?:about \w+|my (?:last|mail|question|request)(?: mail)?|it|that)\b"
    r"|\bchanged my mind\b",
    r"\b(?:don'?t|no longer) need (?:it|this|that)\b|\bno (?:need to|further) (?:answer|reply|respond|call|help)\w*",
    r"\bno (?:answer|reply) (?:is )?(?:needed|necessary|required)|\b(?:you can|please) close (?:this|the"
    r"|my) (?:ticket|case|one)",
    r"\b(?:i )?(?:take|taking) (?:it|that|this) back\b|\bwithdraw (?:my|this|our) (?:request|cancellation|complaint"
    r"|question)",
    r"\b(?:is|are|was|has been|all|it'?s|consider it) (?:now |all )?(?:solved|fixed|sorted|settled|resolved"
    r"|clarified)\b",
    r"\b(?:it|that|everything|all) (?:works?|is working|runs) (?:again|now|fine|perfectly)\b|\bworks like a charm\b"
    r"|\bsorted it\b",
    r"(?:^|[.!,] ?)(?:i(?:'ve)? )?found it(?= (?:myself|now)\b|[.,!]|$)|\b(?:found|solved|fixed"
    r"|figured) it (?:out )?myself\b",
    r"\ball (?:good|fine|well)\b|\b(?:exactly|just) what i (?:needed|wanted)\b",
    # German
    r"\b(?:hat sich (?:\w+ )?erledigt|ist (?:\w+ )?erledigt|entwarnung|fehlalarm|gegenstandslos)\b|\balles wieder da\b",
    r"\b(?:ziehe|nehme)n?\b[^.?!]{0,60}\bzur[üu]ck\b|\bm[öo]chte\b[^.?!]{0,40}\bzur[üu]ck(?:nehmen|ziehen)\b"
    r"|\bvergessen sie\b",
    r"\bbitte [^.?!]{0,40}ignorieren\b|\b(?:funktioniert|l[äa]uft|geht|klappt|druckt)\b[^.?!]{0,20}\b(?:wieder"
    r"|endlich)\b",
    r"\b(?:funktioniert|klappt) (?:jetzt|nun)(?=[.,!]|$)|\bnicht mehr (?:n[öo]tig|erforderlich)"
    r"|\bantwort ist nicht n[öo]tig",
    r"\bbrauchen?\b[^.?!]{0,40}\b(?:nichts weiter|doch nicht)\b|\b(?:selbst|selber) (?:gefunden|gel[öo]st)\b"
    r"|\bfrage beantwortet\b",
    r"\b(?:problem gel[öo]st|ist (?:alles )?gekl[äa]rt|alles (?:gut|klar|gekl[äa]rt|bestens))\b"
    r"|\bnehmen\b[^.?!]{0,40}\babstand\b",
    # French, Spanish, Italian, Portuguese
    r"\boubliez (?:ma|mon|cette)\b|\bpas en tenir compte|\bc'est (?:bon|r[ée]solu|r[ée]gl[ée])\b"
    r"|\best (?:d[ée]sormais |maintenant )?"
    r"r[ée]solu\b|\b(?:ça|cela) (?:re)?marche\b|\bje l'ai retrouv[ée]|\bplus n[ée]cessaire de\b|\bfausse alerte\b"
    r"|\brentr[ée] dans l'ordre",
    r"\bolv[íi]d(?:e|en)(?:se|nse) de\b|\bhag?an? caso omiso\b|\bya (?:me )?funciona(?=[.,!]|$)"
    r"|\bya (?:est[áa] (?:solucionado|resuelto)"
    r"|lo (?:he )?(?:encontr|resolv)\w+)|\bya no (?:hace falta|es necesario)|\basunto (?:por )?cerrado"
    r"|\bhe cambiado de opini[óo]n",
    r"\blasciate perdere\b|\bignor(?:arla|arlo|ate)\b|(?:^|[.!] ?)risolto\b|\bora funziona\b|\bnon (?:serve"
    r"|occorre) pi[ùu]\b"
    r"|\bnon occorre\b|\bci ho ripensato\b|\bfalso allarme\b|\btutto (?:a posto|risolto)\b",
    r"\besque[çc]am? o (?:meu|pedido)|\bdeixem? estar\b|\bj[áa] (?:funciona|est[áa] (?:resolvido|a funcionar)"
    r"|consegui)\b|(?:^|[.!] ?)funcionou\b"
    r"|\bj[áa] n[ãa]o [ée] preciso|\bfica sem efeito|\bpode encerrar\b|\bachei sozinh",
    # Dutch, Scandinavian, Finnish
    r"\blaat (?:die|de|het|maar)\b[^.?!]{0,20}\b(?:zitten|maar)\b|\b(?:doet het|werkt) weer\b|\bis (?:al )?opgelost\b"
    r"|\bniet meer nodig\b"
    r"|\bzelf gevonden\b|\bhoeft niet meer\b|\bloos alarm\b",
    r"\bgl[öo]m (?:det|min|mitt|upps\w+)\b|\bl[öo]st(?:e)? sig\b|\bnu (?:fungerar|funkar|virker"
    r"|syns)\b[^.?!]{0,10}(?=[.,!]|$)"
    r"|\bfungerar igen\b|\bvirker igen\b|\bbeh[öo]ver inte (?:[åa]terkomma|svara)|\btr[æa]kker [^.?!]{0,30}tilbage"
    r"|\btrekker [^.?!]{0,30}"
    r"tilbake|\ber l[øo]st\b|\bfalsk alarm\b|\bunohta(?:kaa|a)\b|\bratkesi\b|\btoimii (?:taas|j[äa]lleen)\b"
    r"|\bei tarvitse vastata",
    # Slavic, Hungarian, Romanian, Turkish, Greek
    r"\bniewa[żz]ne\b|\bnieaktualne\b|\bju[żz] dzia[łl]a\b|\bnie bra[ćc] pod uwag[ęe]"
    r"|\bodpowied[źz] nie jest potrzebna|\bsprawa (?:za[łl]atwiona"
    r"|zosta[łl]a wyja[śs]niona)|\bberu (?:\w+ )?zp[ěe]t|\bu[žz] (?:to )?(?:funguje|jde|[šs]lape)\b"
    r"|\bfale[šs]n[ýy] poplach",
    r"(?:всё|все|уже) заработало|вопрос (?:снят|решен|решён|закрыт)|отвечать не (?:надо|нужно)|отзываю"
    r"|не обращайте внимания|проблема решена"
    r"|вже працює|питання (?:знято|вирішен)|відкликаю|λύθηκε|αγνο[ήη]στε|\bmegoldód\w+|\bmár működik\b|\btárgytalan\b"
    r"|\bs-a rezolvat\b"
    r"|\bvazge[çc]tim\b|\bsorun (?:çözüldü|kalmad[ıi])|\bkendim (?:buldum|hallettim)|\bcevap [^.?!]{0,20}gerek yok",
    # Chinese, Japanese, Korean, Arabic, Hebrew, Indonesian, Vietnamese
    r"取り下げ|解決(?:しました|いたしました|済み)|返信(?:は)?不要|無事(?:に)?[^。]{0,12}(?:できました|直りました)"
    r"|お気になさらず"
    r"|已(?:经)?(?:解决|解決|好了|恢复)|不用(?:回复|回覆|处理)了?|请忽略|請忽略|没事了|해결(?:됐|되었|했)|무시해 ?주"
    r"|답(?:장|변)(?:은)? 안"
    r"|تم حل|تجاهلوا|הסתדר|תתעלמו|\bsudah (?:bisa|teratasi|beres)\b|\btidak perlu dibalas|\bđã (?:giải quyết|được rồi)",
)
"""Something is over, solved, or not wanted any more; by language."""
THANKS = words(
    r"\b(?:(?:many |so much )?thanks?(?: you| a lot| so much| very much)?|thx|cheers|(?:vielen |herzlichen "
    r"|besten )?dank(?:e|eschön)?"
    r"|merci(?: beaucoup)?|(?:muchas |mille )?gra(?:cias|zie)|(?:muito )?obrigad[oa]|valeu|bedankt|dank je|tack|takk?"
    r"|kiitos"
    r"|dzi[ęe]kuj[ęe]|d[ěe]kuj[iu]|[ďd]akujem|k[öo]sz[öo]n[öo]m|mul[țt]umesc|te[şs]ekk[üu]r\w*)\b",
    r"спасибо|дякую|ευχαριστώ|ありがとう\w*|谢谢|謝謝|감사\w*|شكر\w*|תודה|\bc[ảa]m [ơo]n|\bterima kasih",
)
OPEN = words(
    r"\b(?:but|however|still|except|although|not|never|isn'?t|doesn'?t|can'?t|cannot|won'?t|missing|instead|one more"
    r"|another|only|until"
    r"|wrong|twice|unfortunately|cancel|delete|stop"
    r"|aber|jedoch|leider|noch|nach wie vor|trotzdem|allerdings|sondern|offen|fehlt|kein\w*|nicht|nichts|nie|nur"
    r"|falsch|doppelt|zweimal"
    r"|mais|cependant|toujours|pourtant|pas|jamais|non|pero|sin embargo|sigue|todav[íi]a|solo|no|nunca|dos veces|ma"
    r"|per[òo]|ancora|mancano"
    r"|mas|por[ée]m|ainda|continua|n[ãa]o|maar|alleen|nog|echter|niet|geen|men|dock|fortfarande|tyv[äa]rr|desv[æa]rre"
    r"|stadig|inte|ikke"
    r"|mutta|edelleen|ei|ale|dalej|nadal|nie|ne|však|st[áa]le|ama|ancak|h[âa]l[âa]|de[ğg]il|dar|[îi]nc[ăa]|nu)\b",
    r"(?:^|\W)(?:но|однако|по-прежнему|не|але|проте|досі|αλλά|όμως|δεν)\W|ただ|しかし|まだ|ません|但(?:是)?|还是|仍"
    r"|没有|하지만|아직|안 |لكن|לא |אבל",
)
"""Something is not over, is denied, or is to be replaced."""
NEWS = re.compile(
    r"\d|https?:|\b(?:is|are|was|has|send|ist|sind|hat|habe|schick\w*|est|envoy\w+|es|son|env[íi]\w+)\b", re.IGNORECASE
)
"""A number or a statement; next to thanks it may be an answer or a complaint."""
REPLY = re.compile(rf"^\W{{0,3}}{ANSWERED}", re.IGNORECASE)
WORD = re.compile(r"\w+")


def why_closing(subject: str, text: str) -> str:
    """Why a mail no longer asks for anything, or "".

    Args:
        subject: Thanks alone count only in a reply, because they close an earlier request.
        text: The sender's own new text.
    """
    if len(text) > MAX_CHARACTERS or has_question_mark(text):
        return ""
    plain = " ".join(QUOTED.sub(" ", text).split())
    closing = CLOSES.search(plain)
    rest = CLOSES.sub(" ", plain)
    if len(WORD.findall(plain)) > MAX_WORDS or OPEN.search(rest) or asks(rest):
        return ""
    if closing:
        return f"the mail withdraws or closes what was asked: {closing[0].strip()[:80]!r}"
    besides = WORD.findall(THANKS.sub(" ", plain))
    is_thanks = THANKS.search(plain) is not None and len(besides) <= MAX_THANKS_WORDS and not NEWS.search(plain)
    return "the mail says thanks and asks for nothing" if is_thanks and REPLY.match(subject) else ""
