# ruff: noqa: RUF001 - words in Cyrillic and other letters
"""The words of automatic replies, by language, and those of people who want something.

Data only; the rules stand in `automatic_wording`. A subject is listed as a program's because programs write it just so;
what people write of their holidays too stands under `TELLING_SUBJECT`. Checked by
tests/unit/mail/test_automatic_wording.py, which has a notice in each language.
"""

from __future__ import annotations

from support_agent.mail.wording import listed, words

AUTOMATIC_PREFIXES = listed(
    """
    automatic reply, automatic response, automatic answer, automated reply, automated response, auto reply,
    auto response, auto responder, auto answer, auto-reply, auto-response, auto-responder, auto-answer, autoreply,
    autoresponse, autoresponder, out of office, out of the office, out-of-office, out of office reply,
    out of office autoreply, out of office auto-reply, out of office notification, ooo, vacation reply,
    vacation response, vacation notice, vacation message, away notice, away notification, absence notice,
    absence notification, automatische antwort, automatische beantwortung, automatische e-mail, automatische nachricht,
    abwesenheitsnotiz, abwesenheitsmeldung, abwesenheitsbenachrichtigung, abwesenheitsassistent, abwesenheit, abwesend,
    urlaubsmeldung, urlaubsnotiz, urlaubsbenachrichtigung, außer haus, nicht im büro, réponse automatique,
    reponse automatique, absence du bureau, message d'absence, message d’absence, respuesta automática,
    respuesta automatica, fuera de la oficina, fuera de oficina, resposta automática, resposta automatica,
    resposta automàtica, ausência temporária, fora do escritório, risposta automatica, fuori sede, fuori ufficio,
    automatisch antwoord, automatische beantwoording, afwezigheidsbericht, afwezigheidsmelding, afwezig,
    niet op kantoor, autosvar, automatiskt svar, automatisk svar, automatiskt svarsmeddelande, frånvaro,
    frånvaromeddelande, fravær, fraværsbesked, fraværsmelding, ikke til stede, automaattinen vastaus, poissaoloilmoitus,
    poissa, odpowiedź automatyczna, automatyczna odpowiedź, odpowiedz automatyczna, automatyczna odpowiedz,
    autoodpowiedź, poza biurem, nieobecność, automatická odpověď, automatická odpoveď, automatikus válasz, házon kívül,
    otomatik yanıt, otomatik cevap, ofis dışında, răspuns automat, raspuns automat, αυτόματη απάντηση,
    εκτός γραφείου, автоматический ответ, автоответ, вне офиса, автоматична відповідь, автоматичен отговор,
    automatski odgovor, аутоматски одговор, samodejni odgovor, automaatvastus, automātiska atbilde,
    automatinis atsakymas,
    ตอบกลับอัตโนมัติ, การตอบกลับอัตโนมัติ, trả lời tự động, thư trả lời tự động, balasan otomatis,
    jawapan automatik, 自動返信, 自動応答, 自動回复, 自動回復, 自動回覆, 自动回复, 自动答复,
    不在通知, 不在のお知らせ, 不在届,
    자동 응답, 자동응답, 자동 회신, 자동회신, 부재중 자동 응답, 부재 중,
    תשובה אוטומטית, מענה אוטומטי, رد تلقائي, الرد التلقائي,
    پاسخ خودکار, read, not read, gelesen, nicht gelesen, lu, non lu, leído, no leído, letto, non letto, gelezen,
    przeczytane, прочитано, 開封済み, 已读, 已讀
    """
)
"""What programs write before the subject of the mail that they answer, and read receipts, in lower case. A colon or
nothing follows; or it stands in brackets."""

ANSWERED = r"(?:(?:re|aw|antw|sv|vs|rv|r|tr|odp|ynt|res|回复|回覆|答复|返信)\s*[:：]\s*)"
"""What programs and people alike write before the subject of what they answer."""

TELLING_SUBJECT = words(
    rf"^\W*{ANSWERED}*\W*(?:"
    r"auto(?:mat(?:ed|ic))?[- ]?(?:e-?mail )?(?:re(?:ply|sponse|sponder)|answer|acknowledge?ment|confirmation)\b"
    r"|automatische? (?:antwort|beantwoording|e-?mail|reply)|automatisch(?:e|es)? (?:antwoord|svar)"
    r"|autom(?:atiskt?|\.) svar|autosvar"
    r"|automaattinen vastaus|automatická odpov|automatikus v[áa]lasz|otomatik (?:yan[\u0131i]t|cevap)"
    r"|odpowied[źz] automatyczna"
    r"|autoodpowied|autom[áa]tica:|r[ée]ponse automatique|absence du bureau|message d'absence|respuesta autom[áa]tica"
    r"|fuera de (?:la )?oficina|resposta autom[áa]tica|aus[êe]ncia tempor|fora do escrit|risposta automatica"
    r"|fuori (?:sede|ufficio)"
    r"|out[- ]of[- ](?:the )?office|(?:away|absent|gone|out) (?:from|of) (?:the |my )?(?:office|e-?mail|mail|desk)\b"
    r"|(?:i(?:'m| am) )?(?:currently |now )?(?:on|in) (?:my )?(?:annual |maternity |parental |sick )?(?:vacation"
    r"|holidays?|leave)"
    r"(?:\W*$|\W+(?:until|till|from|through|thru|between|this|next|\d|[(:]).{0,60}$)"
    r"|(?:vacation|holiday) (?:reply|response|notice|message|notification|auto)"
    r"|away (?:message|notice|notification)|absence (?:notice|notification)|ooo\s*[:\-]"
    r"|abwesen(?:heit|d)|(?:bin |ich bin )?(?:au[ßs]er haus|nicht im b[üu]ro|im urlaub)|urlaub(?:s(?:meldung"
    r"|notiz|benachrichtigung)|:)"
    r"|afwezig|niet op kantoor|fr[åa]nvaro|frav[æa]r|poza biurem|poissa|nieobecn"
    r"|автоответ|автоматический ответ|вне офиса|自動(?:返信|応答|回复|回復|回覆)"
    r"|自动(?:回复|答复)|不在(?:通知|のお知らせ|届)|자동 ?(?:응답|회신)|부재"
    r")",
    r"^\W*auto(?:matic)?\b.{0,60}\bout of (?:the )?office|\bis (?:currently )?out of (?:the )?office\b"
    r"|\bauto-?re(?:ply|sponse|sponder)\b",
    r"^\W*(?:eingangsbest[äa]tigung|we(?:'ve| have) received your|thank(?:s| you) for (?:your (?:e-?mail|message"
    r"|enquiry|inquiry)"
    r"|contacting|writing)|accus[ée] de r[ée]ception|acuse de recibo)\b.{0,60}$",
)
"""A subject that says so, in words that people have too; of a receipt without a "Re:", for customers answer those."""

SAYS_SO = words(
    r"\bthis is an? (?:auto(?:mat(?:ed|ic))?|automatically[- ]generated|system[- ]generated)[- ]?(?:e-?mail |mail )?"
    r"(?:re(?:ply|sponse)|answer|message|notification|acknowledge?ment|confirmation|e-?mail)",
    r"\b(?:this|the following) (?:e-?mail|message|reply) (?:was|is|has been) (?:auto(?:matically|-)"
    r"|automatically )[- ]?(?:generated|sent|created)",
    r"\b(?:please )?do not (?:reply|respond) to this (?:auto|e-?mail|message|mail)|\bi(?:'m"
    r"| am) an auto-?(?:responder|reply)",
    r"\b(?:dies|hierbei handelt es sich|das) (?:ist|um) (?:eine|um eine) automatisch|\bautomatisch (?:generiert"
    r"|erzeugt|erstellt|versendet)",
    r"\bbitte (?:antworten|beantworten) sie (?:nicht )?(?:auf )?diese\b.{0,20}(?:nicht)?"
    r"|\bceci est (?:une r[ée]ponse|un message) automatique",
    r"\bmerci de ne pas r[ée]pondre|\beste es un (?:mensaje|correo|e-?mail) autom[áa]tico|\bno responda a este"
    r"|\brespuesta autom[áa]tica",
    r"\bquesta [èe] una risposta automatica|\bmessaggio (?:[èe] stato )?generato automaticamente"
    r"|\besta [ée] uma (?:resposta|mensagem) autom[áa]tica",
    r"\bdit is een automatisch|\bdetta [äa]r ett automatiskt|это автоматическ|автоматический ответ"
    r"|自動(?:返信|送信|応答"
    r"|回复)|自动回复",
)
ABSENT = words(
    r"\bi no longer work\b|\bi(?:'m| am|'ll be| will be|ch bin| befinde mich|ch befinde mich)\b[^?!]{0,60}"
    r"\b(?:out of (?:the |my )?(?:office|town|country)|away from|away until|away on|on "
    r"(?:\w+ )?(?:vacation|holidays?|leave|sabbatical)|not in the office|au[ßs]er haus|nicht im (?:b[üu]ro"
    r"|hause)|im urlaub|abwesend"
    r"|nicht erreichbar|no longer (?:with|working|employed))",
    r"\b(?:is|has) (?:currently )?(?:out of (?:the )?office|on (?:vacation|annual leave|leave)|no longer (?:with"
    r"|employed|working)|left the company)",
    r"\bje suis (?:actuellement )?(?:absente?|en (?:vacances|cong[ée]s?))|\bestoy (?:actualmente )?(?:fuera de"
    r"|de vacaciones)|\bestar[ée] (?:fuera|ausente)",
    r"\b(?:sono|sar[òo]) (?:attualmente )?(?:fuori|assente|in ferie)|\bestou (?:ausente|de f[ée]rias|fora)"
    r"|\bik ben (?:momenteel )?(?:afwezig|niet aanwezig|op vakantie)",
    r"\bbin ich\b[^.?!]{0,60}\b(?:au[ßs]er haus|nicht im b[üu]ro|im urlaub|nicht erreichbar|abwesend)"
    r"|\bmomentan nicht (?:im b[üu]ro|erreichbar)",
    r"\bя (?:сейчас )?(?:нахожусь )?(?:в отпуске|вне офиса)|不在に(?:して|し)|休暇|外出(?:中|しており)|休假",
    r"\b(?:actuellement|présentement) (?:absente?|en (?:cong[ée]s?|vacances|d[ée]placement))"
    r"|\bme encuentro (?:de vacaciones|fuera)|\bestarei (?:de f[ée]rias|ausente|fora)|\bjag (?:[äa]r|kommer att vara)"
    r" (?:p[åa] semester|ledig|borta)|\bjeg er (?:p[åa] (?:ferie|kurs)|fraværende|bortreist)|\bolen (?:lomalla|poissa)"
    r"|\b(?:przebywam|jestem) na urlopie|\b(?:jsem|som) na dovolen|\bszabads[áa]gon vagyok|\bizindeyim"
    r"|\bsunt în concediu|είμαι σε άδεια|у відпустці|휴가|부재 ?중",
)
RETURNS = words(
    r"\b(?:will|shall) (?:be back|return|reply|respond|answer|get back|read)|\b(?:return(?:ing)?|back) (?:on|to"
    r"|in)\b|\buntil\b|\bupon my return",
    r"\b(?:limited|no|without|intermittent) access to (?:my )?e-?mail|\bin (?:my|case of an?|urgent)\b|\burgent"
    r"|\bplease contact\b|\bin my absence",
    r"\b(?:wieder|ab dem|bis (?:zum|einschlie)|dringende|vertretung|wenden sie sich|nicht (?:gelesen"
    r"|weitergeleitet))\b",
    r"\b(?:de retour|jusqu'au|en cas d'urgence|hasta el|regres|vuelvo|urgente|fino al|rientr|torner"
    r"|at[ée] (?:o )?(?:dia|\d)|retorn|tot en met|terug|dringend)",
    r"\bвернусь|до \d|срочн|терміново|[àa] mon retour|\bprendrai connaissance|\bregreso\b|\bpaluu|\basti\b|\bkiireellis"
    r"|\bdo \d|\bw pilnych|\b[åa]ter\b|\bbr[åa]dskande|\btilbage|\btilbake|\bhaster|回来|返回|紧急|まで|戻り|至急",
)
REQUEST = words(
    r"[?？¿]",
    r"\b(?:(?:can|could|would|will) (?:you|i|we)\b|i(?:'d| would) (?:like|want)|i (?:need|want|wish)\b"
    r"|please (?:pause|stop|cancel|change|tell|let|"
    r"help|give|check(?![^.?!]{0,40}\baddress)|fix|refund|update|remove|delete|add|make|explain|confirm)\b"
    r"|(?:kann ich|k[öo]nnen sie|ich (?:m[öo]chte|brauche|will|h[äa]tte)|puedo|pueden?|necesito|quiero|pouvez"
    r"|je (?:voudrais|souhaite))\b)",
)
"""What somebody says who wants something: a person who is away, not his machine. One `\\b` stands before all, so that
the search passes over the inside of words at once."""
REQUEST_MARKS = ("?", "\uff1f", "\u00bf")
"""The first alternative of `REQUEST`, looked for by itself because most who want something write it."""

SAYS_SO_HINTS = ("auto", "this is a", "do not re", "bitte ", "merci de ne", "no responda")
ABSENT_HINTS = (
    *("office", "town", "country", "away ", "vacation", "holiday", "leave", "sabbatical", "no longer", "left the c"),
    *(
        "er haus",
        "nicht ",
        "befinde",
        "work ",
        "actuellement",
        "me encuentro",
        "jag ",
        "jeg er",
        "olen ",
        "im urlaub",
        "abwesend",
        "bin ich",
        "je suis",
        "estoy",
        "estar",
        "fuori",
        "assente",
    ),
    *("in ferie", "estou", "ik ben", "urlopie", "na dovolen", "izindeyim", "szabads", "ch bin"),
)
"""Each match within ASCII text has one of them in lower case, so that a mail without any need not be searched; a test
makes up matches and holds them against the hints."""

CHALLENGE = words(
    r"\b(?:confirm|verify|prove|authenticate)\b[^?!]{0,40}\b(?:you are|you're|yourself|being)\b[^?!]{0,30}"
    r"\b(?:person|human|real|sender|spammer|robot)\b.{0,200}\b(?:message|mail|e-?mail)\b",
    r"\b(?:click|follow|visit|reply|respond|press)\b[^?!]{0,120}\b(?:release|deliver|unblock)\b[^?!]{0,20}"
    r"\b(?:your|the|this) (?:message|mail|e-?mail)\b",
    r"\b(?:klicken|best[äa]tigen) sie\b[^?!]{0,120}\b(?:nachricht|e-?mail) (?:zugestellt|freigegeben)",
)
"""A mail that holds what it answers until its sender has proven to be a person. It asks, so it is looked for before
`REQUEST`."""
CHALLENGE_HINTS = (
    "confirm",
    "verify",
    "prove",
    "authenticate",
    "release",
    "deliver",
    "unblock",
    "zugestellt",
    "freigegeb",
)
RECEIPT = words(
    r"\b(?:we(?:'ve| have)?|has been|was) (?:successfully |now )?received\b.{0,120}\b(?:ticket|case|reference|incident)"
    r"\b.{0,30}\d",
    r"\byour (?:support )?(?:request|ticket|case|message|e-?mail|inquiry|enquiry)\b[^.!?]{0,40}\b(?:has been|was) "
    r"(?:successfully )?(?:received|created|opened|registered|logged)\b",
    r"\bihre (?:anfrage|nachricht|e-?mail)\b[^.!?]{0,40}\b(?:eingegangen|erhalten)\b.{0,120}\b(?:ticket|vorgang)",
    r"\bvotre (?:demande|message)\b[^.!?]{0,40}\b(?:a bien [ée]t[ée]|enregistr[ée]e?)\b",
    r"\bhemos recibido su (?:solicitud|mensaje|consulta)\b|您的邮件已(?:收到|接收)|已收到您的(?:来信|邮件)",
)
"""A receipt for what was written, as ticket systems send it."""
RECEIPT_HINTS = (
    "receiv",
    "created",
    "opened",
    "registered",
    "logged",
    "eingegangen",
    "erhalten",
    "votre ",
    "hemos rec",
)
