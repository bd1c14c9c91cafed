# ruff: noqa: E501, RUF001 - mails as they come, words in Cyrillic and other letters
"""What the sender wrote now, what is quoted, what is a signature."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support_agent.mail.addresses import Address
from support_agent.mail.quotation import split_quotation

OLD = "Dear Anna,\n\nthe old text.\n"

REPLIES = {
    "gmail": "New.\n\nOn Mon, 9 Mar 2026 at 10:00, Support <s@harborfile.example> wrote:\n\n> "
    + OLD.replace("\n", "\n> "),
    "gmail, wrapped": "New.\n\nOn Mon, 9 Mar 2026 at 10:00, Support\n<s@harborfile.example> wrote:\n\n> old",
    "glued to the text": "New.\nOn Mar 9, 2026, at 10:00 AM, Support wrote:\n> old",
    "without marks": "New.\n\nOn Mar 9, 2026, at 10:00 AM, Support wrote:\n\n" + OLD,
    "german": "New.\n\nAm Mo., 9. März 2026 um 10:00 Uhr schrieb Support <s@harborfile.example>:\n\n> alt",
    "german thunderbird": "New.\n\nAm 09.03.26 um 10:00 schrieb Support:\n> alt",
    "spanish": "New.\n\nEl lun, 9 mar 2026 a las 10:00, Support (<s@h.example>) escribió:\n\n> viejo",
    "french": "New.\n\nLe lun. 9 mars 2026 à 10:00, Support <s@harborfile.example> a écrit :\n\n> vieux",
    "date first": "New.\n\n2026-03-09 10:00 GMT+01:00 Support <s@harborfile.example>:\n\n> old",
    "original message": "New.\n\n-----Original Message-----\nFrom: Support\nSent: Monday\n\n" + OLD,
    "urspruengliche nachricht": "New.\n\n-----Ursprüngliche Nachricht-----\nVon: Support\n\n" + OLD,
    "mensaje original": "New.\n\n----- Mensaje original -----\nDe: Support\n\n" + OLD,
    "outlook": "New.\n\nFrom: Support <s@h.example>\nSent: Monday, 9 March 2026\nTo: Anna\nSubject: x\n\n" + OLD,
    "outlook, ruler": "New.\n________________________________\nFrom: Support\nSent: Monday\nSubject: x\n\n" + OLD,
    "outlook, bold": "New.\n\n*From:* Support\n*Sent:* Monday, 9 March 2026\n*To:* Anna\n*Subject:* x\n\n" + OLD,
    "outlook german": "New.\n\nVon: Support\nGesendet: Montag, 9. März 2026 10:00\nAn: Anna\nBetreff: x\n\n" + OLD,
    "outlook spanish": "New.\n\nDe: Support\nEnviado el: lunes, 9 de marzo de 2026\nPara: Anna\nAsunto: x\n\n" + OLD,
    "outlook french": "New.\n\nDe : Support\nEnvoyé : lundi 9 mars 2026\nÀ : Anna\nObjet : x\n\n" + OLD,
    "hotmail": "New.\n\nDate: Mon, 9 Mar 2026 10:00\nSubject: x\nFrom: s@h.example\nTo: a@b.example\n\n" + OLD,
    "forward": "New.\n\n---------- Forwarded message ---------\nFrom: Bob\n\n" + OLD,
    "apple forward": "New.\n\nBegin forwarded message:\n\n> From: Bob\n",
    "bare marks": "New.\n\n> old\n>> older\n",
}


@pytest.mark.parametrize("client", REPLIES)
def test_the_new_text_above_a_quotation_is_all_that_is_visible(client: str) -> None:
    split = split_quotation(REPLIES[client])
    assert split.visible == "New."
    assert split.quoted
    assert split.signature == ""


def test_answers_between_and_below_quoted_lines_are_visible() -> None:
    text = "On 9 Mar 2026 at 10:00 Support wrote:\n> Which plan?\n\nTeam.\n\n> Since when?\nMarch.\n"
    split = split_quotation(text)
    assert split.visible.split() == ["Team.", "March."]
    assert split.quoted.split("\n")[0].endswith("wrote:")


@pytest.mark.parametrize(
    "text",
    [
        "On 3 March your colleague wrote:\n\nYou can have a refund.\n\nIs that still so?",
        "From: Berlin\nTo: Paris\nDate: 3 May\n\nCan I sync on the train?",
        "On 3 March I paid.\nYour colleague said no.\nWho is right?",
        "See the error below:\n-----\nE42\n-----\nWhat is it?",
        "From what I see, I paid twice.\nTo be sure, please check.",
        "Sent from my desk, is much easier than my phone.",
        "The price is > 5 EUR, isn't it?",
        "I wrote:\nhello",
        "Sent from my phone I get an error.\nWhat now?",
        "a -- b\n-- c",
    ],
)
def test_what_only_resembles_a_quotation_stays_visible(text: str) -> None:
    """A customer's words taken for a quotation would be left unanswered in silence."""
    assert split_quotation(text).visible == text


@pytest.mark.parametrize(
    "signature",
    [
        "-- \nAnna Keller\nKeller GmbH",
        "--\nAnna",
        "Sent from my iPhone",
        "Sent from my Verizon Wireless BlackBerry",
        "Get Outlook for iOS",
        "Get Outlook for Android <https://aka.ms/x>",
        "Von meinem iPhone gesendet",
        "Gesendet von Mail für Windows",
        "Diese Nachricht wurde von meinem Android-Gerät mit K-9 Mail gesendet",
        "Enviado desde mi iPhone",
        "Envoyé de mon iPhone",
        "Sent from Mail for Windows",
    ],
)
@pytest.mark.parametrize("rest", ["", "\n\nOn Mar 9, 2026, at 10:00, Support wrote:\n> old"])
def test_signatures_are_taken_off(signature: str, rest: str) -> None:
    split = split_quotation(f"New.\n\n{signature}{rest}")
    assert split.visible == "New."
    assert split.signature.split("\n")[-1] == signature.split("\n")[-1]
    assert ("> old" in split.quoted) == bool(rest)


def test_a_line_of_dashes_high_up_in_a_long_mail_is_no_signature() -> None:
    text = "Hello\n--\n" + "\n".join(f"line {number}" for number in range(20))
    assert split_quotation(text).visible == text


ATTRIBUTIONS = {
    "english": "On Mon, 9 Mar 2026 at 10:00, Support <s@h.example> wrote:",
    "english, iphone": "On Mar 9, 2026, at 10:00 AM, Support wrote:",
    "english, outlookmac": 'On 3/9/26, 10:00 AM, "Support" <s@h.example> wrote:',
    "german": "Am Mo., 9. März 2026 um 10:00 Uhr schrieb Support <s@h.example>:",
    "german, apple": "Am 09.03.2026 um 10:00 schrieb Support <s@h.example>:",
    "german, lotus": "Support <s@h.example> schrieb am 09.03.2026 10:00:00:",
    "german, gmx": 'Gesendet: Montag, 09. März 2026 um 10:00 Uhr\nVon: "Support" <s@h.example>\nAn: anna@b.example\nBetreff: Test',
    "french": "Le lun. 9 mars 2026 à 10:00, Support <s@h.example> a écrit :",
    "spanish": "El lun, 9 mar 2026 a las 10:00, Support (<s@h.example>) escribió:",
    "italian": "Il giorno lun 9 mar 2026 alle ore 10:00 Support <s@h.example> ha scritto:",
    "dutch": "Op ma 9 mrt 2026 om 10:00 schreef Support <s@h.example>:",
    "dutch2": "Op 9 mrt. 2026 om 10:00 heeft Support <s@h.example> het volgende geschreven:",
    "portuguese": "Em seg., 9 de mar. de 2026 às 10:00, Support <s@h.example> escreveu:",
    "polish": "pon., 9 mar 2026 o 10:00 Support <s@h.example> napisał(a):",
    "polish2": "W dniu 9.03.2026 o 10:00, Support pisze:",
    "swedish": "Den mån 9 mars 2026 kl 10:00 skrev Support <s@h.example>:",
    "danish": "Den man. 9. mar. 2026 kl. 10.00 skrev Support <s@h.example>:",
    "danish2": "man. 9. mar. 2026 kl. 10.00 skrev Support <s@h.example>:",
    "finnish": "ma 9. maalisk. 2026 klo 10.00 Support (s@h.example) kirjoitti:",
    "russian": "пн, 9 мар. 2026 г. в 10:00, Support <s@h.example>:",
    "russian2": "9 марта 2026 г., в 10:00, Support <s@h.example> написал(а):",
    "japanese": "2026年3月9日(月) 10:00 Support <s@h.example>:",
    "japanese2": "2026/03/09 10:00、Support <s@h.example>のメール:",
    "chinese": "Support <s@h.example> 于2026年3月9日周一 10:00写道：",
    "chinese2": "在 2026年3月9日，10:00，Support <s@h.example> 写道：",
    "chinese163": 'At 2026-03-09 10:00:00, "Support" <s@h.example> wrote:',
    "korean": "2026년 3월 9일 (월) 오전 10:00, Support <s@h.example>님이 작성:",
    "czech": "po 9. 3. 2026 v 10:00 odesílatel Support <s@h.example> napsal:",
    "turkish": "Support <s@h.example>, 9 Mar 2026 Pzt, 10:00 tarihinde şunu yazdı:",
    "hungarian": "Support <s@h.example> ezt írta (időpont: 2026. márc. 9., H, 10:00):",
    "hebrew": "\u202bבתאריך יום ב׳, 9 במרץ 2026 ב-10:00 מאת \u202aSupport\u202c\u200f <\u202as@h.example\u202c\u200f>:",
    "arabic": "في الاثنين، 9 مارس 2026 في 10:00 ص كتب Support <s@h.example>:",
    "norwegian": "man. 9. mars 2026 kl. 10:00 skrev Support <s@h.example>:",
    "usenet": "In article <1@x.example>, Support <s@h.example> writes:",
    "yahoo": "--- On Mon, 3/9/26, Support <s@h.example> wrote:",
    "yahoo2": "On Monday, March 9, 2026, 10:00:00 AM GMT+1, Support\n<s@h.example> wrote:",
    "croatian": "pon, 9. ožu 2026. u 10:00 Support <s@h.example> napisao je:",
    "slovenian": "V V pon., 9. mar. 2026 ob 10:00 je oseba Support <s@h.example> napisala:",
    "serbian": "пон, 9. мар 2026. у 10:00 Support <s@h.example> је написао/ла:",
    "bulgarian": "На пн, 9.03.2026 г. в 10:00 Support <s@h.example> написа:",
    "estonian": "Kuupäev E, 9. märts 2026 kell 10:00 kirjutas Support <s@h.example>:",
    "latvian": "pirmd., 2026. g. 9. marts, plkst. 10:00 — lietotājs Support (<s@h.example>) rakstīja:",
    "lithuanian": "2026-03-09, pr, 10:00 Support <s@h.example> rašė:",
    "vietnamese": "Vào Th 2, 9 thg 3, 2026 vào lúc 10:00 Support <s@h.example>\nđã viết:",
    "indonesian": "Pada tanggal Sen, 9 Mar 2026 pukul 10.00 Support <s@h.example> menulis:",
    "malay": "Pada Isn, 9 Mac 2026 pada 10:00 PG Support <s@h.example> menulis:",
    "ukrainian": "пн, 9 бер. 2026 р. о 10:00 Support <s@h.example> пише:",
    "slovak": "po 9. 3. 2026 o 10:00 Support <s@h.example> napísal(a):",
    "thai": "ในวันที่ จ. 9 มี.ค. 2026 เวลา 10:00 Support <s@h.example> เขียนว่า:",
    "outlook, mailto": "On 9 March, Support [mailto:s@h.example] wrote:",
    "wrapped3": "On Monday, March 9, 2026 at 10:00 AM, The Support Team of\nHarborfile and Partners Limited\n<support@harborfile.example> wrote:",
}
HEADER_BLOCKS = {
    "english": "From: Support <s@h.example>\nSent: Monday, 9 March 2026 10:00\nTo: Anna\nCc: B\nSubject: x",
    "english, noaddr": "From: Support\nSent: Monday, 9 March 2026 10:00\nTo: Anna",
    "german": "Von: Support\nGesendet: Montag, 9. März 2026 10:00\nAn: Anna\nBetreff: x",
    "german, mac": "Von: Support <s@h.example>\nDatum: Montag, 9. März 2026 um 10:00\nAn: Anna\nBetreff: x",
    "french": "De : Support\nEnvoyé : lundi 9 mars 2026 10:00\nÀ : Anna\nObjet : x",
    "spanish": "De: Support\nEnviado el: lunes, 9 de marzo de 2026 10:00\nPara: Anna\nAsunto: x",
    "italian": "Da: Support\nInviato: lunedì 9 marzo 2026 10:00\nA: Anna\nOggetto: x",
    "dutch": "Van: Support\nVerzonden: maandag 9 maart 2026 10:00\nAan: Anna\nOnderwerp: x",
    "portuguese": "De: Support\nEnviado: segunda-feira, 9 de março de 2026 10:00\nPara: Anna\nAssunto: x",
    "polish": "Od: Support\nWysłano: poniedziałek, 9 marca 2026 10:00\nDo: Anna\nTemat: x",
    "swedish": "Från: Support\nSkickat: den 9 mars 2026 10:00\nTill: Anna\nÄmne: x",
    "danish": "Fra: Support\nSendt: 9. marts 2026 10:00\nTil: Anna\nEmne: x",
    "finnish": "Lähettäjä: Support\nLähetetty: maanantai 9. maaliskuuta 2026 10.00\nVastaanottaja: Anna\nAihe: x",
    "russian": "От: Support\nОтправлено: 9 марта 2026 г. 10:00\nКому: Anna\nТема: x",
    "japanese": "差出人: Support\n送信日時: 2026年3月9日 10:00\n宛先: Anna\n件名: x",
    "chinese": "发件人: Support\n发送时间: 2026年3月9日 10:00\n收件人: Anna\n主题: x",
    "chinesefull": "发件人： Support\n日期： 2026年3月9日\n收件人： Anna\n主题： x",
    "chinesetw": "寄件者: Support\n寄件日期: 2026年3月9日 10:00\n收件者: Anna\n主旨: x",
    "korean": "보낸 사람: Support\n보낸 날짜: 2026년 3월 9일\n받는 사람: Anna\n제목: x",
    "bold": "*Von:* Support <s@h.example>\n*Gesendet:* Montag, 9. März 2026\n*An:* Anna\n*Betreff:* x",
    "bold2": "**From:** Support <s@h.example>\n**Sent:** Monday\n**To:** Anna\n**Subject:** x",
    "lotus": "Support <s@h.example>\n09.03.2026 10:00\n\nAn\n<anna@b.example>\nKopie\n\nThema\nRe: x\n",
    "lotus-en": '"Support" <s@h.example> \n03/09/2026 10:00 AM\n\nTo\n<anna@b.example>\ncc\n\nSubject\nRe: x\n',
    "qq": '------------------ 原始邮件 ------------------\n发件人: "Support"',
    "nlsep": "-----Oorspronkelijk bericht-----\nVan: Support",
    "rusep": "-------- Пересылаемое сообщение --------\nОт кого",
    "itsep": "----- Messaggio originale -----\nDa: Support",
    "tb": "-------- Weitergeleitete Nachricht --------\nBetreff: 	x\nDatum: 	Mon",
    "zendesk": "##- Please type your reply above this line -##\nfoo",
    "apple-de": "Anfang der weitergeleiteten Nachricht:\n\nVon: Support",
    "outlookapp": "________________________________\nVon: Support <s@h.example>\nGesendet: Montag\nAn: Anna\nBetreff: x",
    "croatian": "Šalje: Support\nPoslano: 9. ožujka 2026. 10:00\nPrima: Anna\nPredmet: x",
    "croatian2": "Od: Support\nPoslano: 9. ožujka 2026. 10:00\nZa: Anna\nPredmet: x",
    "slovenian": "Od: Support\nPoslano: ponedeljek, 09. marec 2026 10:00\nZa: Anna\nZadeva: x",
    "serbian": "Od: Support\nPoslato: ponedeljak, 9. mart 2026. 10:00\nZa: Anna\nTema: x",
    "serbian2": "Од: Support\nПослато: понедељак, 9. март 2026. 10:00\nКоме: Anna\nТема: x",
    "bulgarian": "От: Support\nИзпратено: понеделник, 9 март 2026 г. 10:00\nДо: Anna\nОтносно: x",
    "estonian": "Saatja: Support\nSaadetud: esmaspäev, 9. märts 2026 10:00\nAdressaat: Anna\nTeema: x",
    "latvian": "No: Support\nNosūtīts: pirmdiena, 2026. gada 9. marts 10:00\nKam: Anna\nTēma: x",
    "lithuanian": "Nuo: Support\nIšsiųsta: 2026 m. kovo 9 d. 10:00\nKam: Anna\nTema: x",
    "vietnamese": "Từ: Support\nĐã gửi: 09 Tháng Ba 2026 10:00\nĐến: Anna\nChủ đề: x",
    "indonesian": "Dari: Support\nDikirim: 09 Maret 2026 10:00\nKepada: Anna\nPerihal: x",
    "malay": "Daripada: Support\nDihantar: 9 Mac 2026 10:00\nKepada: Anna\nSubjek: x",
    "ukrainian": "Від: Support\nНадіслано: 9 березня 2026 р. 10:00\nКому: Anna\nТема: x",
    "slovak": "Od: Support\nOdoslané: pondelok 9. marca 2026 10:00\nKomu: Anna\nPredmet: x",
    "thai": "จาก: Support\nส่ง: 9 มีนาคม 2026 10:00\nถึง: Anna\nเรื่อง: x",
    "catalan": "De: Support\nEnviat: dilluns, 9 de març 2026 10:00\nPer a: Anna\nAssumpte: x",
    "no year, but a mailbox": "From: Support <s@h.example>\nSent: Monday\nTo: Anna\nSubject: x",
    "hrsep": "----- Izvorna poruka -----\nŠalje: Support",
    "slsep": "-----Izvirno sporočilo-----\nOd: Support",
    "srsep": "----- Оригинална порука -----\nОд: Support",
    "bgsep": "----- Оригинално съобщение -----\nОт: Support",
    "etsep": "-----Algne sõnum-----\nSaatja: Support",
    "lvsep": "-----Sākotnējais ziņojums-----\nNo: Support",
    "ltsep": "-----Pradinis pranešimas-----\nNuo: Support",
    "visep": "-----Thư gốc-----\nTừ: Support",
    "idsep": "----- Pesan Asli -----\nDari: Support",
    "mssep": "----- Mesej Asal -----\nDaripada: Support",
    "uksep": "-------- Переслане повідомлення --------\nВід: Support",
    "sksep": "-----Pôvodná správa-----\nOd: Support",
    "thsep": "-----ข้อความต้นฉบับ-----\nจาก: Support",
    "zendesk-de": "##- Bitte geben Sie Ihre Antwort oberhalb dieser Zeile ein. -##\nfoo",
    "zendesk-fr": "##- Veuillez saisir votre réponse au-dessus de cette ligne -##\nfoo",
    "lotusfrom": "From:	Support/Org\nTo:	Anna/Org\nDate:	09.03.2026 10:00\nSubject:	x",
}
DEVICES = [
    "Sent from my iPhone",
    "Von meinem iPhone gesendet",
    "Envoyé de mon iPhone",
    "Enviado desde mi iPhone",
    "Inviato da iPhone",
    "Verstuurd vanaf mijn iPhone",
    "Enviado do meu iPhone",
    "Wysłane z iPhone'a",
    "Skickat från min iPhone",
    "Sendt fra min iPhone",
    "Lähetetty iPhonesta",
    "Отправлено с iPhone",
    "iPhoneから送信",
    "从我的iPhone发送",
    "發自我的 iPhone",
    "나의 iPhone에서 보냄",
    "iPhone'umdan gönderildi",
    "Odesláno z iPhonu",
    "Get Outlook for iOS",
    "Get Outlook for iOS<https://aka.ms/o0ukef>",
    "Outlook für iOS beziehen",
    "Outlook für Android herunterladen",
    "Outlook für Android<https://aka.ms/x> beziehen",
    "Télécharger Outlook pour iOS",
    "Obtener Outlook para iOS",
    "Outlook per iOS",
    "Scarica Outlook per iOS",
    "Outlook voor iOS downloaden",
    "Pobierz aplikację Outlook dla systemu iOS",
    "Hämta Outlook för iOS",
    "Hent Outlook til iOS",
    "Hanki Outlook for iOS",
    "Скачать Outlook для iOS",
    "获取 Outlook for iOS",
    "Outlook for iOS を入手",
    "Sent from Yahoo Mail on Android",
    "Sent from Yahoo Mail for iPhone",
    "Gesendet von meinem Samsung Galaxy Smartphone.",
    "Sent with Proton Mail secure email.",
    "Sent from Mail for Windows 10",
    "Sent from my Galaxy",
    "Von Samsung-Tablet gesendet",
    "Diese Nachricht wurde von meinem Android-Gerät mit K-9 Mail gesendet.",
    "Gesendet mit der GMX Mail App",
    "Diese E-Mail wurde von meinem Android Mobiltelefon mit GMX Mail gesendet.",
    "Sent via BlackBerry from T-Mobile",
    "Sent from a mobile device",
    "Envoyé à partir de Outlook pour Android",
    "Enviado a partir do meu smartphone Samsung Galaxy.",
    "Sent using the mobile mail app",
    "Sent from Outlook for Android <https://x>",
    "Yahoo Mail: Search, Organize, Conquer",
    "Sent from Gmail Mobile",
]


@pytest.mark.parametrize("below", ["\n\n> old\n> text", "\n\n" + OLD, "\n> old"], ids=["marked", "bare", "glued"])
@pytest.mark.parametrize("client", ATTRIBUTIONS)
def test_the_line_above_a_quotation_is_known_in_many_languages(client: str, below: str) -> None:
    assert split_quotation(f"New.\n\n{ATTRIBUTIONS[client]}{below}").visible == "New."


@pytest.mark.parametrize("client", HEADER_BLOCKS)
def test_the_copied_header_and_the_rulers_of_clients_are_known_in_many_languages(client: str) -> None:
    split = split_quotation(f"New.\n\n{HEADER_BLOCKS[client]}\n\n{OLD}")
    assert (split.visible, split.signature) == ("New.", "")


@pytest.mark.parametrize("line", DEVICES)
def test_the_lines_of_phones_are_known_in_many_languages(line: str) -> None:
    assert split_quotation(f"New.\n\n{line}\n") == ("New.", "", line)


ANNA = Address(name="Anna Keller", addr="anna.keller@example.net")


@pytest.mark.parametrize(
    "signature",
    [
        "Anna Keller\nKeller GmbH\n+49 30 1234567",
        "Dr. Anna Keller\nHead of Sales\nKeller GmbH\nwww.keller.example",
        "Anna Keller\nHead of Sales | Keller GmbH\nTel. +49 30 1234567\nanna.keller@example.net",
        "Anna Keller\n\nKeller GmbH\nHauptstr. 1, 10115 Berlin\ntel. +49 30 1234567\nGeschäftsführer: Max Muster. HRB 1.",
        "Anna Keller\nvia mobile",
        "- Anna",
        "--\nAnna K.",
        "--\nanna keller\n+49 30 1234567",
        "__\nKeller GmbH\nwww.keller.example",
        "\u2014\nHerzlich\nAnna",
        "Keller, Anna\nanna.keller@example.net",
        "Anna K.\nKeller GmbH\nanna.keller@example.net",
        "----------------\n\nKeller GmbH\n\nAnna Keller\n\nhttps://keller.example",
        "_____________________\nusers mailing list\nusers@lists.example\nhttps://lists.example/users",
        "-Anna Keller",
    ],
)
def test_signatures_without_a_mark_are_known_by_the_sender(signature: str) -> None:
    assert split_quotation(f"How do I cancel?\n\n{signature}", ANNA) == ("How do I cancel?", "", signature)


@pytest.mark.parametrize(
    "text",
    [
        "How do I cancel?\n\nKind regards\nAnna",
        "How do I cancel?\n\nThanks,\nAnna Keller",
        "Hello\n\nAnna Keller\nKeller GmbH\n\nPS: Can I get a refund?",
        "Hello\n\nAnna Keller\nis on my invoice. That is not my name.",
        "I need:\n- Team\n- Pro\n\n-Pro",
        "Who is this?\n\nBob Miller\nMiller Ltd\n+49 30 1234567",
        "Please change it to\nanna.keller@example.net",
        "Sent from my phone I get an error",
        "I use Outlook on iOS and it fails",
        "On 3 March at 10:00 you wrote that I must wait:\n\nfor what?",
        "Error log:\n2026-03-09 10:00 login failed for a@b.example:\n\nWhat is it?",
        "Name: Anna\nEmail: a@b.example\nSubject: refund\nMessage: How do I cancel?",
        "How do I cancel?\n--\nAnd how do I get my money back?\nAnna",
        "Question 1: price\n--\nQuestion 2: cancel my plan please",
        "Question 1: price\n--\nQuestion 2: refund",
        "\u2014\ncancel my account\nand the other one",
        "I want this\n\u2014\ncancel the account\n\u2014\nrefund the invoice",
        "First part\n--\nThe invoice is wrong.\nAnna",
        "The log-in fails.\n--\nError 500",
        "How shall you call me?\n\nvia mobile",
        "First part\n--\nIch brauche eine Rechnung",
        "First part\n--\nDas war meine letzte bezahlte Rechnung.",
        "Account holder\nAnna Keller\nplease cancel my plan\nI want my money back",
        "Hello, the name is\nAnna Keller\ncancel the plan\nrefund the last invoice",
        "New delivery address\n\nAnna Keller\nHauptstr. 5\n10115 Berlin",
        "Please change the name to:\n\nAnna Keller\nHauptstr. 5\n10115 Berlin",
        "Anna Keller\nHauptstr. 5\n10115 Berlin",
        "How do I cancel?\n\nAnna Keller\nBerlin\nKeller GmbH",
        "Please register this contact as second user:\n\nTom Berg\nanna.keller@example.net\n+49 30 1234567",
        "Second user\n\nTom Berg\nanna.keller@example.net\n+49 30 1234567",
        "I need:\n\n- Refund",
        "I need two things.\n\n- Refund",
        "Please delete:\n\n-Anna Keller",
        "Your mails end in:\n\nSent from my iPhone",
        "Hi,\nyesterday at 10:30 your colleague Tom wrote:\nYou can get a refund within 14 days.\nIs that true?",
        "The log says at 10:15:22 user anna wrote:\nERROR\n\nHow do I fix that?",
        "On 3.3.2026 you wrote:\nWe will refund.\nWhere is my money?",
        "On 3 March 2026 your colleague tom@us.example wrote:\nYou can get a refund.\n\nIs that true?",
        "On 09.03.26 you wrote:\nWe will refund.\nWhere is my money?",
        "Reply above this line is what I see. How do I remove it?",
        "Please resend this invoice\n\nFrom: billing@us.example\nSubject: Invoice 33\nDate: 3 March\n\nI lost it. How can I download it?",
        "Change it\n\nFrom: 3 May\nTo: 5 May\nSubject: room 4\n\nCan you do that?",
        "Change it\n\nFrom: Berlin\nTo: Paris\nDate: 3.5.2026\n\nCan you do that?",
        "Change it\n\n__________\nFrom: here I go on\nTo: be continued\nSubject: can I get a refund?",
    ],
)
def test_what_is_written_by_hand_stays_visible(text: str) -> None:
    """A sign-off and a name, a list, a form: where in doubt, the planner reads it."""
    assert split_quotation(text, ANNA).visible == text


def test_a_very_long_quotation_is_split_in_one_pass() -> None:
    """A hang guard only: 6,000 lines that nearly are attributions, headers and signatures."""
    lines = [
        "On 1.1.2026 10:00 a@b.example",
        "From: x",
        "-- Anna",
        "Sent from my",
        "____________",
        "Anna Keller",
    ] * 7_000
    assert split_quotation("\n".join(lines), ANNA).visible.startswith("On 1.1.2026")


def test_a_very_long_name_is_read_once() -> None:
    """A hang guard only: the name of the sender is compared with each of many short texts."""
    sender = Address(name="Anna Keller " * 8_000, addr=ANNA.addr)
    text = "- Anna\n\n> q\nAnna Keller\n+49 30 1234567\n> q\n" * 20_000
    assert split_quotation(text, sender).quoted.startswith("> q")


@given(st.lists(st.sampled_from(["", "> q", "x", "-- ", "On 1.1.26 10:00 wrote:", "From: a@b", "Subject: s", "To: x"])))
def test_no_line_is_lost_or_doubled(lines: list[str]) -> None:
    """Each line lands in exactly one of the three parts."""
    split = split_quotation("\n".join(lines))
    found = [line for part in split for line in part.split("\n") if line]
    assert sorted(found) == sorted(line.rstrip() for line in lines if line.rstrip())


@pytest.mark.parametrize("text", ["First part.\n\n-- \nAnd how do I pay?", "The name is:\n-- \nAnna"])
def test_the_exact_mark_of_a_signature_is_one_by_definition(text: str) -> None:
    """RFC 3676, section 4.3: what stands below "-- " is the signature, whatever it says."""
    assert split_quotation(text, ANNA).visible == text.partition("-- ")[0].strip()


def test_an_item_of_a_list_is_no_name_also_where_the_address_alone_is_known() -> None:
    sender = Address(name="", addr="anna.keller@example.net")
    assert split_quotation("I need two things.\n\n- Refund", sender).signature == ""
    assert split_quotation("Thank you.\n\n- Anna", sender).signature == "- Anna"
