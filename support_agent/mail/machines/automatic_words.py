# ruff: noqa: RUF001 - words in Cyrillic and other letters
"""The words of automatic replies, by language, and the words of people who want something.

Data only; the rules are in `automatic_wording`. A subject prefix is listed if programs write exactly that. Replies that
no list covers are left to the fitted vote (`machine_vote`). Checked by
tests/unit/mail/machines/test_automatic_wording.py, which has a notice in each language.
"""

from __future__ import annotations

from support_agent.mail.text.wording import listed, words

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
"""Prefixes that programs put before the answered subject, and those of read receipts, in lower case. A prefix is
followed by a colon or nothing, or is in brackets."""

ANSWERED = r"(?:(?:re|aw|antw|sv|vs|rv|r|tr|odp|ynt|res|回复|回覆|答复|返信)\s*[:：]\s*)"
"""Reply prefixes that programs and people both use."""

SAYS_SO = words(
    r"\b(?:this is|i am|i'm) an? (?:auto(?:mat(?:ed|ic))?|automatically[- ]generated|system[- ]generated)[- ]?"
    r"(?:e-?mail |mail )?(?:re(?:ply|sponse|sponder)|answer|message|notification|notice|acknowledge?ment|confirmation"
    r"|e-?mail)",
    r"\b(?:this|the following) (?:e-?mail|message|reply|answer|notice) (?:was|is|has been) (?:auto(?:matically|-)"
    r"|automatically )[- ]?(?:generated|sent|created)|\b(?:generated|sent|created) automatically\b"
    r"|\byou have reached an automat",
    r"\bdo not (?:reply|respond) to this (?:auto|e-?mail|message|mail)",
    r"\byour (?:e-?mail|message) (?:is|was|will|has) (?:not|neither) (?:be(?:en)? )?(?:forwarded|read)",
    r"\b(?:this|the) (?:mailbox|inbox|(?:e-?mail )?address|account) is (?:not|no longer|un)[- ]?(?:\w+ )?"
    r"(?:monitored|read|checked|attended|in use|active)",
    r"\bautomatisch (?:generiert|erzeugt|erstellt|versendet|verschickt)"
    r"|\b(?:dies|das|hier(?:bei)?)\b[^.?!]{0,40}\bautomatische (?:antwort|nachricht|e-?mail)\b"
    r"|^automatische (?:antwort|nachricht|e-?mail)\b",
    r"\bbitte (?:antworten|beantworten) sie (?:nicht )?(?:auf )?diese\b.{0,20}(?:nicht)?"
    r"|\bbitte nicht auf diese .{3,30}antworten|\b(?:e-?mail|nachricht) wird (?:währenddessen "
    r"|in dieser zeit )?nicht "
    r"(?:weitergeleitet|gelesen|bearbeitet)",
    r"\br[ée]ponse automatique|\bmessage automatique|\b(?:merci|pri[èe]re) de ne pas (?:y )?r[ée]pondre"
    r"|\binutile d'y r[ée]pondre",
    r"\b(?:mensaje|correo|respuesta|e-?mail) autom[áa]tic[oa]|\bno responda a este|\bse ha generado autom[áa]ticamente",
    r"\b(?:risposta|messaggio|e-?mail) (?:[èe] stat[oa] )?(?:automatic[oa]|generat[oa] automaticamente)"
    r"|\bnon rispondere a quest",
    r"\b(?:resposta|mensagem|e-?mail) autom[áa]tic[oa]|\bn[ãa]o responda a est|\bn[ãa]o recebe respostas",
    r"\bautomatisch (?:antwoord|bericht|gegenereerd|verzonden|verstuurd)|\bniet (?:op (?:dit|deze) .{3,30})?(?:te )?"
    r"(?:beantwoorden|antwoorden)",
    r"\bautomatisk(?:t)? (?:svar|besked|melding|meddelande|genere)|\bautosvar|\b(?:svara|svar) (?:inte|ikke) p[åa]"
    r"|\bbehöver inte svara",
    r"\bautomaattinen (?:vastaus|viesti)|\b(?:viestiin|s[äa]hk[öo]postiin) ei voi vastata|\b[äa]l[äa](?:thän)? vastaa",
    r"\b(?:wiadomo[śs][ćc]|odpowied[źz]) (?:\w+ )?(?:automatyczn|samoczynn|wygenerowan)|\bni[ae] (?:na ni[ąa] )?"
    r"odpowiada[ćj]",
    r"\bautomatick[áaéeáý] (?:odpov|zpr[áa]v|spr[áa]v)|\bneodpov[íi]d(?:ejte|ajte)",
    r"\b(?:automatikus|g[ée]pi) (?:v[áa]lasz|[üu]zenet)\b|\bne v[áa]laszoljon",
    r"\br[ăa]spuns automat|\bnu r[ăa]spunde[țt]i",
    r"\b(?:otomatik|sistem taraf[ıi]ndan) (?:(?:yan[ıi]t|cevap)(?:t[ıi]r)?\b|olarak|g[öo]nderil)|\b(?:yan[ıi]tla"
    r"|cevapla)may[ıi]n",
    r"автоматическ\w+ (?:ответ|сообщени|письм)|не отвечайте на (?:это|данное)|отвечать на это письмо не"
    r"|(?:отправлено|сформировано) автоматически",
    r"автоматичн\w+ (?:відповідь|повідомлення|отговор)|не відповідайте на цей|надіслано автоматично",
    r"αυτ[όο]ματ\w+ (?:απ[άα]ντηση|μ[ήη]νυμα)|μην απαντ[ήη]σετε",
    r"(?:本|この)メール[^。]{0,30}自動|自動(?:返信|送信|応答|配信)(?:メール|で|して|され)|送信専用",
    r"(?:此|本|该|該)(?:邮件|郵件|信件|消息)[^。]{0,12}(?:自动|自動|系统|系統)|(?:请勿|請勿)(?:直接)?(?:回复|回覆"
    r"|答复)",
    r"자동(?:으로)? ?(?:발송|회신|응답)(?:된|되|메일| 메일)|발신 ?전용",
    r"(?:رسالة|رد|مرسلة) (?:آلي|تلقائي)|عدم الرد على هذ",
    r"הודעה (?:זו )?(?:נשלחה )?אוטומטי|אין להשיב ל|נא לא להשיב",
    r"\b(?:pesan|balasan|email) (?:ini )?(?:dikirim (?:secara )?)?otomatis|\bthư (?:này )?(?:được gửi )?tự động",
)
"""A text says that a machine sent it, or that nobody reads replies."""
MAX_WORDS_BEFORE = 5
"""Words of the sentence before `SAYS_SO` ("Please note that ..."); with more, a person is writing about such a text."""
YOURS = words(
    r"\b(?:your|ihr\w{0,2}|eur\w{0,2}|votre|vos|su|sus|tu|vuestr\w+|vostr\w+|su[oa]|sua|uw|jullie|er|era|jeres|deres"
    r"|teid[äa]n"
    r"|wasz\w*|pa[ńn]stwa|va[šs]\w*|dvs|dumneavoastr[ăa]|ваш\w*)\b|您|贵|貴|御社"
)
"""Before `SAYS_SO`: the sender writes about a reply that came from the reader."""

ABSENT = words(
    r"\bi no longer work\b|\bich arbeite nicht mehr\b|\bje ne travaille plus\b|\bya no trabajo (?:en|con) [A-ZÁÉÍÓÚ]",
    r"\b(?:i(?:'m| am|'ll be| will be| shall be)|(?:we|offices?|school|practice|shop) (?:are|is|will be))\b[^?!]{0,60}"
    r"\b(?:out (?:of|from) (?:the |my )?office|out (?:this week|of (?:town|the country) (?:until|till|from))"
    r"|away (?:from|until|till)"
    r"|on (?:\w+ )?(?:vacation|holidays?|leave|sabbatical)|not in the office"
    r"|closed (?:from|for|until|between|on))",
    r"\b(?:is|has) (?:currently )?(?:out of (?:the )?office|on (?:vacation|annual leave|leave)|no longer (?:with"
    r"|employed|working))",
    r"\b(?:out of (?:the )?office|ooo|on (?:annual |parental |maternity )?leave) (?:until|till|from|starting)",
    r"\b(?:ich (?:bin|befinde mich|werde)|bin(?: ich)?|befinde ich mich|wir sind|er ist|sie ist)\b[^?!]{0,60}"
    r"\b(?:au[ßs]er haus|nicht (?:im (?:b[üu]ro|hause?|dienst)|am arbeitsplatz|erreichbar|da)\b|im urlaub|in den ferien"
    r"|abwesend|in (?:elternzeit|mutterschutz|karenz)|auf (?:reisen|dienstreise|kur)|krank(?:geschrieben)?\b|weg\b)",
    r"\bmomentan nicht (?:im b[üu]ro|erreichbar)|\b(?:nicht mehr|nicht l[äa]nger) (?:f[üu]r|bei|in) [^.?!]{2,60}"
    r"(?:t[äa]tig|besch[äa]ftigt)|\bbetriebsferien\b"
    r"|\bin (?:elternzeit|mutterschutz|karenz)\b|\bbetrieb macht [^.?!]{0,40}\bferien"
    r"|\bgeschlossen\b[^.?!]{0,40}\b(?:bis|vertretung)|\b(?:bis|vom) [^.?!]{2,40}\bgeschlossen",
    r"\bje suis (?:actuellement )?(?:absente?|en (?:vacances|cong[ée]s?|d[ée]placement))|\bactuellement (?:absente?|en "
    r"(?:cong[ée]s?|vacances|d[ée]placement))|\bcong[ée] (?:maternit[ée]|parental)|\ba quitt[ée] (?:la soci[ée]t[ée]"
    r"|notre|l'entreprise)|\bfermeture annuelle|\b(?:seront|sera|sommes|sont) ferm[ée]",
    r"\bestoy (?:actualmente )?(?:fuera de|de (?:vacaciones|baja|permiso))|\bestar[ée] (?:fuera|ausente|de vacaciones)"
    r"|\bme encuentro (?:de vacaciones|fuera)|\b(?:permanecer[áa]|estar[áa]) cerrad[oa]",
    r"\b(?:sono|sar[òo]) (?:attualmente )?(?:fuori (?:sede|ufficio)|assente|in (?:ferie|congedo|malattia|maternit[àa]))"
    r"|\bnon lavoro pi[ùu]|\b(?:chius[oi]|chiuder[àa]) (?:per ferie"
    r"|dal)|\bchiusura estiva",
    r"\bestou (?:ausente|de (?:f[ée]rias|licen[çc]a)|fora d[oe]|em licen[çc]a)|\b(?:encontro-me"
    r"|estarei) (?:de f[ée]rias"
    r"|ausente|fora)|\bj[áa] n[ãa]o trabalho|\bestar[áa] (?:em recesso|encerrad|fechad)",
    r"\bben ik (?:momenteel )?(?:afwezig|niet aanwezig|(?:met|op) vakantie|met verlof)"
    r"|\bik ben (?:momenteel )?(?:afwezig"
    r"|niet aanwezig|(?:met|op) vakantie|met verlof)|\bniet (?:langer|meer) (?:bij|in dienst|werkzaam)",
    r"\bjag (?:[äa]r|kommer att vara|har) (?:p[åa] )?(?:semester|ledig|borta|f[öo]r[äa]ldraledig|sjukskriven"
    r"|tj[äa]nsteresa)"
    r"",
    r"\bjeg (?:er|har|holder|afholder) (?:p[åa] )?(?:\w*ferie|kurs|frav[æa]rende|bortreist|barsel|orlov"
    r"|foreldrepermisjon"
    r"|permisjon)",
    r"\bolen (?:\w+ )?(?:\w*lomalla|poissa|matkoilla|vanhempainvapaalla)|\ben ole en[äa][äa] t[öo]iss[äa]",
    r"\b(?:przebywam|jestem) (?:obecnie )?na (?:\w+ )?(?:urlopie|zwolnieniu|delegacji)|\bnie ma mnie w (?:biurze|pracy)"
    r"|\bnie (?:jest ju[żz] pracownikiem|pracuj[ęe] ju[żz])",
    r"\b(?:jsem|som|[čc]erp[áa]m) (?:\w+ )?(?:na )?dovolen|\b(?:mate[řr]sk|rodi[čc]ovsk)\w+ dovolen|\bji[žz] nepracuji"
    r"|\bnejsem v kancel[áa][řr]i",
    r"\bszabads[áa]gon (?:vagyok|leszek)|\bm[áa]r nem (?:dolgoz|n[áa]lunk)|\bz[áa]rva (?:tart|leszünk|van)",
    r"\bsunt (?:[îi]n concediu|plecat)|\bnu mai lucrez",
    r"\b(?:y[ıi]ll[ıi]k )?izinde(?:yim|yiz)|\bofis d[ıi][şs][ıi]nday[ıi]m",
    r"\bя (?:сейчас )?(?:нахожусь )?(?:в (?:\w+ )?отпуске|вне офиса|в командировке)",
    r"\bя (?:зараз )?(?:у|в) (?:\w+ )?(?:відпустці|відрядженні)|више не работи|в отпуск съм",
    r"είμαι σε (?:\w+ )?άδεια|απουσι[άα]ζω|δεν εργ[άα]ζομαι πια",
    r"不在に(?:して|し)|(?:夏季|年末年始|育児|産前|有給)?休暇(?:を|中|のため|をいただ)|(?:全店|臨時)?休業(?:と|いた"
    r"|させ)"
    r"|外出(?:中|しており)",
    r"休(?:假|年假|产假)|不在(?:办公室|辦公室)|出差(?:中|期间|期間)",
    r"휴가(?:로|중| 중)|부재 ?중|휴직 ?(?:중|기간)|자리를 비",
    r"في إجازة|خارج المكتب",
    r"(?:אני|אהיה) (?:נמצאת? )?ב(?:חופש|חל)|(?:לא עובד(?:ת)? (?:כאן|עוד)|מחוץ למשרד)",
    r"\bsedang (?:cuti|tidak berada di kantor)|\b(?:đang|sẽ) nghỉ phép|ลาพักร้อน|ไม่อยู่ที่สำนักงาน",
)
"""The sender is away, or an office is closed."""
REFERS = words(
    r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|https?://|\bwww\.",
    r"\+?\d(?:[ ()/.\u2013-]{0,2}\d){5}",
    r"\b(?:contact|call|phone|ring|text|e-?mail|write to|speak to|get in touch with|reach out to|turn to|refer to)"
    r"(?!(?:ed)? (?:me|us)\b| back)\b[^.?!]{0,30}\b(?:my|our|the|his|her|mr|mrs|ms|dr|your)\b",
    r"\banrufen\b|\bwenden sie sich\b|\bsich (?:bitte )?an\b"
    r"|\b(?:rufen|schreiben|mailen) sie\b[^.?!]{0,20}\b(?:meine|unsere|den"
    r"|die|das|frau"
    r"|herrn)\b",
    r"\b(?:contacter|vous adresser [àa]|contatt\w+|rivolger\w*|contacte|contactar|p[óo]ngase en contacto|dir[íi]jase"
    r"|neem (?:dan )?contact|hör av dig|kontakta|kontakt|ota(?:than|ttehan)? yhteyt|yhteyttä|kontakt[uo]\w*|obraťte"
    r"|obrátit"
    r"|forduljon|h[íi]vja|contacta[țt]i|ileti[şs]ime ge[çc]|обра(?:титесь|щайтесь)|зверніться|επικοινων)",
    r"\b(?:re-?send|send (?:it|this|your (?:e-?mail|message|request)|anything|them) (?:again|once more|to)"
    r"|forward (?:it|your|this)|write"
    r" (?:to me )?again|be patient|bear with|update your (?:records|address book))\b",
    r"\b(?:schick|send|leit)\w*\b[^.?!]{0,60}\b(?:nochmals?|erneut|noch einmal|weiter|direkt an|zu senden)\b"
    r"|\bum etwas geduld\b"
    r"|\bin verbindung zu setzen\b|\bsich (?:\w+ ){0,4}zu gedulden\b|\bkontaktdaten anpassen\b",
    r"\b(?:renvoy|r[ée]exp[ée]di|r[ée]adress|reenv|reinvi|rimand|inoltr|reencaminh|opnieuw (?:te )?(?:sturen|zenden)"
    r"|p[åa] nytt"
    r"|uudelleen|ponownie|znovu|ism[ée]t|din nou|yeniden|переслать|ещё раз|ще раз|ξανά)",
    r"改めて|ご連絡|お電話|重新|联系|聯絡|联络|다시|연락|إعادة|التواصل|שוב|פנו",
)
"""The reader should turn to somebody else, or write again; such a sentence asks nothing of us."""
REQUEST = words(
    r"\b(?:(?:can|could|would|will) (?:you|i|we)\b|i(?:'d| would) (?:like|want)|(?:i|we|and) (?:need|want|wish"
    r"|have to)\b"
    r"|(?:please|pls|kindly) (?!note\b|contact\b|call\b|phone\b|ring\b|write to\b|excuse\b|be (?:aware|advised|patient)"
    r"|allow\b|bear with\b|see\b|visit\b|use\b|direct\b|feel free\b|expect\b|do not\b|don't\b"
    r"|check[^.?!]{0,40}\baddress|reach out\b|get in touch\b|keep\b|forward\b|re-?send\b|speak\b|turn to\b|refer\b"
    r"|quote\b)\w+"
    r"|(?:kann ich|k[öo]nn(?:en sie|t ihr) (?!sich\b|mich\b)|(?:ich|und) (?:m[öo]chte|brauche|will|h[äa]tte)"
    r"|bitte (?!wenden|kontaktieren|rufen|beachten|haben|nicht|antworten|sehen|melden|nehmen|richten|schreiben"
    r"|geben)\w+"
    r"|puedo|pueden?|necesito|quiero|quisiera|pouvez|je (?:voudrais|souhaite|veux)|vorrei|ho bisogno|ik (?:wil|zou)"
    r"|graag"
    r"|quero|preciso|gostaria|chc[ęe]|chcia[łl](?:a)?bym|potrzebuj[ęe]|jag (?:vill|beh[öo]ver)|jeg (?:vil|ønsker"
    r"|trenger)))\b",
    r"(?:바꿔|보내|알려|확인해|처리해|삭제해|취소해) ?주|(?:教えて|送って|確認して|変更して|取り消して"
    r"|削除して)(?:ください|いただ)|(?:请|請|麻烦)(?:帮|协助|取消|删除|退款|告诉|安排|处理)",
)
"""The sender wants something of us: a person wrote it, not an absence program. One `\\b` before the whole group lets
the search skip the inside of words."""
TROUBLE = words(
    r"\b(?:can'?t|cannot|could not|unable to|should (?:go|be|get|have)|must be|komme (?:ich )?nicht"
    r"|kann (?:ich )?nicht|bekomme"
    r" keine?n?|geht nicht|kan (?:ik )?niet|n'arrive pas|ne peux pas|no puedo|no recibo|no me deja|non riesco"
    r"|non posso|n[ãa]o consigo"
    r"|nie mog[ęe]|kan inte|kan ikke|nemohu|не могу|не можу)\b",
    r"(?:^|[;,:] |and |und |et |y |e |en )(?:pause|remove|delete|cancel|move|change|transfer|add|extend|unlock|reset"
    r"|restore|refund|supprime[zr]"
    r"|ajoute[zr]|annule[zr]|verwijder|annuleer|pausieren sie|entfernen sie|l[öo]schen sie|elimin[ea]n?|cancelen?"
    r"|pasen|quiten)\b",
)
"""The sender cannot do something, or must: next to an absence, these are a customer's words."""
OF_MAIL = words(
    r"\b(?:read|reply|respond|answer|access|e-?mails?|messages?|inbox|phone|lesen|antworten|beantworten|nachrichten?"
    r"|r[ée]pondre"
    r"|lire|messagerie|courriels?|contestar|responder|correos?|leer|rispondere|leggere|posta|ler|beantwoorden|lezen"
    r"|svara|l[äa]sa"
    r"|svare|lese|odpowiada\w*|odpowiedzie\w*|czyta\w*|отвечать|ответить|читать|почт\w*)\b"
)
"""Reading and answering mail: absence notices say that the sender cannot do that."""
OWN_MATTER = words(
    r"\b(?:i|my|me|we|our|us|ich|mein\w*|mir|mich|wir|unser\w*|je|j['\u2019]|mon|ma|mes|moi|nous|notre|nos|yo|mi|mis"
    r"|nuestr\w+|io|mio|mia|miei|ik|mijn|wij|ons|eu|meu|minha|jag|min|mitt|jeg|я|мой|моя|мне|мені|mój|moje|mam)\b",
)
"""A sentence is about its sender: "How do I log in?", but not "Need help sooner?"."""

CHALLENGE = words(
    r"\b(?:confirm|verify|prove|authenticate)\b[^?!]{0,40}\b(?:you are|you're|yourself|being)\b[^?!]{0,30}"
    r"\b(?:person|human|real|sender|spammer|robot)\b.{0,200}\b(?:message|mail|e-?mail)\b",
    r"\b(?:click|follow|visit|reply|respond|press)\b[^?!]{0,120}\b(?:release|deliver|unblock)\b[^?!]{0,20}"
    r"\b(?:your|the|this) (?:message|mail|e-?mail)\b",
    r"\b(?:klicken|best[äa]tigen) sie\b[^?!]{0,120}\b(?:nachricht|e-?mail) (?:zugestellt|freigegeben)",
)
"""A challenge: the mail it answers is held until its sender proves to be a person."""
RECEIPT = words(
    r"\b(?:we(?:'ve| have)?|has been|was) (?:successfully |now )?received\b.{0,120}\b(?:ticket|case|reference|incident)"
    r"\b.{0,30}\d",
    r"\byour (?:support )?(?:request|ticket|case|message|e-?mail|inquiry|enquiry)\b[^.!?]{0,40}\b(?:has been|was) "
    r"(?:successfully )?(?:received|created|opened|registered|logged)\b",
    r"\bihre (?:anfrage|nachricht|e-?mail)\b[^.!?]{0,40}\b(?:eingegangen|erhalten)\b.{0,120}\b(?:ticket|vorgang)",
    r"\bvotre (?:demande|message)\b[^.!?]{0,40}\b(?:a bien [ée]t[ée]|enregistr[ée]e?)\b",
    r"\bhemos recibido su (?:solicitud|mensaje|consulta)\b|您的邮件已(?:收到|接收)|已收到您的(?:来信|邮件)",
)
"""A receipt, as ticket systems send it."""
