# ruff: noqa: RUF001 - words in Cyrillic and other letters
"""Whether a mail only withdraws what was asked, or says that all is well: it asks nothing, so there is no answer to it.

Invariant: a mail that asks, wants or reports something besides is none of these; wording brings a mail to a person and
never files it. Checked by tests/unit/mail/test_closing.py.
"""

from __future__ import annotations

import re

from support_agent.mail.automatic_wording import QUOTED, SENTENCE, asks
from support_agent.mail.automatic_words import ANSWERED
from support_agent.mail.wording import words

MAX_CHARACTERS = 1_500
"""Such mails are short."""
MAX_THANKS_WORDS = 25
"""Of a mail that thanks for an answer and says nothing else."""

CLOSES = words(
    r"\b(?:never ?mind|no longer (?:need|require) (?:it|this|that|the (?:refund|call|answer|help|\w+ i asked))"
    r"|don'?t need (?:it|this|that|the \w+) any ?more|scratch that"
    r"|(?:please )?(?:ignore|disregard) (?:my|the|this|that)|please (?:ignore|disregard)\b"
    r"|(?<!to )(?<!i )forget (?:about|my (?:last|mail|question|request)|it|that|the)"
    r"|(?:i )?(?:take|taking) (?:it|that|this|my \w+) back|withdraw (?:my|this|our) (?:request|cancellation|complaint"
    r"|enquiry|inquiry|question|order)|hereby withdraw|changed my mind|decided (?:against|not to)"
    r"|(?:is|are|was|(?<!told everything had )(?<!problem has )been|got|all|now|it'?s|consider it) (?:\w+ )?(?:solved"
    r"|fixed|sorted|settled|resolved|clarified)|sorted it"
    r"|(?:works?|working|running) (?:again|now|fine|perfectly|like a charm)|(?:found|solved|fixed|figured) (?:it"
    r"|the \w+)(?: out)? "
    r"(?:myself|ourselves|in the meantime)|^(?:i(?:'ve)? )?found it\b|all (?:good|fine|well) (?:now|again)?"
    r"|no need to (?:answer|reply|respond|call)"
    r"|no (?:answer|reply|further \w+) (?:is )?(?:needed|necessary|required)|(?:you can|please) close (?:this|the|my)"
    r"|false alarm"
    r"|(?:exactly|just) what i (?:needed|wanted)|(?:that|which) (?:answers|solved|helped|did the trick)"
    r"|problem solved|nothing left to do)\b|\bsettled\b",
    r"\b(?:erledigt|hinf[äa]llig|entwarnung|fehlalarm|gegenstandslos)\b|\b(?:ziehe|nehme)n?\b[^.?!]{0,60}\bzur[üu]ck\b"
    r"|\bzur[üu]ck(?:nehmen|ziehen)\b|\bvergessen sie|\bbitte [^.?!]{0,40}(?:ignorieren|als gegenstandslos"
    r"|l[öo]schen)\.?$"
    r"|\b(?:funktioniert|l[äa]uft|geht|klappt|druckt)\b[^.?!]{0,20}\b(?:jetzt|wieder|nun)\b|\bwieder da\b"
    r"|\bnicht mehr (?:n[öo]tig"
    r"|n[öo]tig|erforderlich|gebraucht)|\b(?:antwort|r[üu]ckruf|r[üu]ckmeldung)\b[^.?!]{0,20}\b(?:nicht"
    r"|nicht mehr) (?:n[öo]tig"
    r"|erforderlich)|\bbrauche?n?\b[^.?!]{0,40}\b(?:nicht mehr|nichts weiter|doch nicht)|\b(?:selbst"
    r"|selber) (?:gefunden|gel[öo]st)"
    r"|\b(?:frage beantwortet|problem gel[öo]st|ist (?:alles )?gekl[äa]rt|alles (?:gut|klar|gekl[äa]rt|bestens))"
    r"|\bnehmen\b[^.?!]{0,40}\babstand\b",
    r"\b(?:oubliez|ne (?:pas )?tene?[zr] (?:pas )?compte|pas en tenir compte|c'est (?:bon|r[ée]solu|r[ée]gl[ée])"
    r"|est (?:d[ée]sormais "
    r"|maintenant )?r[ée]solu|r[ée]gl[ée]|(?:ça|cela) (?:re)?marche|je l'ai retrouv[ée]|plus (?:n[ée]cessaire|besoin)"
    r"|j'annule ma "
    r"demande|fausse alerte|rentr[ée] dans l'ordre)",
    r"\b(?:olv[íi]d(?:e|en)(?:se|nse)?|hag?an? caso omiso|ya (?:me )?(?:funciona|est[áa]|lo (?:he )?(?:encontr"
    r"|resolv))|ya no (?:hace falta"
    r"|necesit|es necesari)|solucionado|resuelto|asunto (?:por )?cerrado|he cambiado de opini[óo]n|falsa alarma"
    r"|no hace falta que)",
    r"\b(?:lasciate perdere|dimenticate|ignor(?:i|are|ate|arla|arlo)\b|risolto|ora funziona|funziona (?:di nuovo|ora"
    r"|adesso)|non (?:serve"
    r"|occorre|[èe]) pi[ùu]|non occorre|ci ho ripensato|ho (?:gi[àa] )?trovato|falso allarme|tutto (?:a posto|risolto"
    r"|ok))",
    r"\b(?:laat (?:maar|\w+ \w+ maar) (?:zitten|weg)?|vergeet (?:mijn|de|het)|doet het weer|werkt (?:weer|nu)"
    r"|opgelost|niet meer nodig"
    r"|zelf gevonden|hoeft niet meer|kan (?:dicht|gesloten)|loos alarm)",
    r"\b(?:esque[çc]am?|deixem? estar|desconsider(?:e|em|ar)|j[áa] (?:funciona|est[áa] (?:resolvido|a funcionar)"
    r"|consegui)|funcionou"
    r"|resolvido|(?:j[áa] )?n[ãa]o (?:[ée] )?(?:mais )?(?:preciso|necess[áa]ri)|fica sem efeito|pode encerrar"
    r"|achei sozinh|falso alarme)",
    r"\b(?:gl[öo]m|bortse fr[åa]n|l[öo]st(?:e)? sig|nu (?:fungerar|funkar|syns|virker)|fungerar (?:nu|igen)"
    r"|virker (?:n[åa]|nu|igen)"
    r"|beh[öo]ver inte (?:[åa]terkomma|svara)|beh[öo]vs inte|avslutat|tr[æa]kker [^.?!]{0,30}tilbage"
    r"|trekker [^.?!]{0,30}tilbake"
    r"|er l[øo]st|har l[øo]st seg|falsk alarm|drar tillbaka)",
    r"\b(?:unohta(?:kaa|a)?\b|ratkesi|toimii (?:nyt|taas|j[äa]lleen)|ei tarvitse (?:vastata|en[äa][äa])"
    r"|peruutan pyynt)",
    r"\b(?:niewa[żz]ne|nieaktualne|ju[żz] dzia[łl]a|rozwi[ąa]zan|nie bra[ćc] pod uwag[ęe]|prosz[ęe] zignorowa"
    r"|(?:nie jest|ju[żz] nie) "
    r"(?:potrzebn|trzeba)|wycofuj[ęe]|sprawa (?:za[łl]atwiona|zosta[łl]a wyja[śs]niona))",
    r"\b(?:beru (?:\w+ )?zp[ěe]t|u[žz] (?:to )?(?:funguje|jde|[šs]lape|nen[íi] (?:t[řr]eba|pot[řr]eba))|vy[řr]e[šs]en"
    r"|ignorujte|bezp[řr]edm[ěe]tn"
    r"|fale[šs]n[ýy] poplach|nepot[řr]ebuj[ie] u[žz]|berte ako bezpredmetn)",
    r"\b(?:megoldód|már működik|nincs (?:már )?szükség|tárgytalan|hagyják figyelmen kívül|visszavonom)"
    r"|\b(?:s-a rezolvat|ignora[țt]i"
    r"|nu mai (?:e|este) (?:nevoie|necesar)|func[țt]ioneaz[ăa] acum|am g[ăa]sit singur)",
    r"\b(?:vazge[çc]tim|sorun (?:çözüldü|kalmad[ıi])|çözüldü|gerek (?:kalmad[ıi]|yok)|kendim (?:buldum|hallettim)"
    r"|dikkate almay[ıi]n"
    r"|[şs]imdi [çc]al[ıi][şs][ıi]yor)",
    r"(?:заработал|вопрос (?:снят|решен|решён|закрыт)|отвечать не (?:надо|нужно)|отзываю|уже не (?:нужн|требуется"
    r"|актуальн)|не обращайте "
    r"внимания|проблема решена|разобрал(?:ся|ась|ись) сам|ложная тревога)",
    r"(?:вже (?:працює|не потрібн)|питання (?:знято|вирішен)|не зважайте|відкликаю)|(?:λύθηκε|δεν χρει[άα]ζεται πια"
    r"|αγνο[ήη]στε|βρήκα μόνος)",
    r"(?:取り下げ|解決(?:しました|いたしました|済み)|返信(?:は)?不要|無事(?:に)?[^。]{0,12}(?:できました|直りました)"
    r"|破棄してください|もう必要ありません|お気になさらず)",
    r"(?:已(?:经)?(?:解决|解決|好了|恢复)|不用(?:回复|回覆|处理)了?|请忽略|請忽略|不需要了|撤回|没事了|找到了)",
    r"(?:해결(?:됐|되었|했)|무시해 ?주|필요 ?없(?:습니다|어졌)|취소 요청을 철회|답(?:장|변)(?:은)? (?:안|필요))"
    r"|(?:تم حل|تجاهلوا|لا حاجة)|(?:הסתדר|תתעלמו|אין צורך)",
    r"\b(?:sudah (?:bisa|teratasi|beres)|abaikan|tidak perlu (?:dibalas|lagi))|\b(?:đã (?:giải quyết|được rồi)"
    r"|không cần (?:nữa|trả lời))",
)
"""That something is over, solved, or not to be done after all."""
THANKS = words(
    r"\b(?:thanks?|thank you|thx|cheers|danke|dank|merci|gracias|grazie|obrigad[oa]|valeu|bedankt|dank je|tack|takk?"
    r"|kiitos|dzi[ęe]kuj[ęe]"
    r"|d[ěe]kuj[iu]|[ďd]akujem|k[öo]sz[öo]n[öo]m|mul[țt]umesc|te[şs]ekk[üu]r\w*)\b|спасибо|дякую|ευχαριστώ|ありがとう"
    r"|谢谢|謝謝|감사|شكر|תודה"
    r"|\bc[ảa]m [ơo]n|\bterima kasih"
)
OPEN = words(
    r"\b(?:but|however|still|except|although|not (?:work|solved|fixed)|isn'?t|doesn'?t|don'?t|missing|instead"
    r"|one more|another|only"
    r"|aber|jedoch|leider|immer noch|nach wie vor|trotzdem|allerdings|sondern|offen|fehlt|kein(?:e|en)?|nur"
    r"|mais|cependant|toujours|en revanche|pourtant|pero|sin embargo|sigue|todav[íi]a|solo|ma|per[òo]|ancora|mancano"
    r"|scrivetemi"
    r"|mas|por[ée]m|ainda|continua|maar|alleen|nog|echter|men|dock|fortfarande|tyv[äa]rr|desv[æa]rre|stadig|mutta"
    r"|edelleen|ale|jednak nie"
    r"|dalej|nadal|však|st[áa]le|v[šs]ak|ama|ancak|h[âa]l[âa]|de (?:m[ée]g|viszont)|dar|[îi]nc[ăa])\b"
    r"|(?:^|\W)(?:но|однако|по-прежнему|все ещё|але|проте|досі|αλλά|όμως)\W|ただ|しかし|まだ|但(?:是)?|还是|仍|하지만"
    r"|아직|لكن|אבל"
)
"""That something is not over, or another thing is meant."""
REPLY = re.compile(rf"^\W{{0,3}}{ANSWERED}", re.IGNORECASE)


def why_closing(subject: str, text: str) -> str:
    """Why a mail asks for nothing any more, or "".

    Args:
        subject: Of the mail; a word of thanks alone closes only what was asked before, so it counts in a reply.
        text: What the sender wrote now.
    """
    if not 0 < len(text) <= MAX_CHARACTERS:
        return ""
    told = QUOTED.sub(" ", text)
    closing = [sentence for sentence in SENTENCE.split(told) if CLOSES.search(sentence)]
    others = " ".join(sentence for sentence in SENTENCE.split(told) if not CLOSES.search(sentence))
    if asks(others) or any("?" in sentence or "？" in sentence for sentence in [others, *closing]):
        return ""
    if closing and not OPEN.search(told):
        found = CLOSES.search(closing[0])
        return f"the mail withdraws or closes what was asked: {found[0][:80]!r}" if found else ""
    is_thanks = THANKS.search(told) is not None and len(told.split()) <= MAX_THANKS_WORDS
    if is_thanks and REPLY.match(subject) and not OPEN.search(told) and not asks(told):
        return "the mail says thanks and asks for nothing"
    return ""
