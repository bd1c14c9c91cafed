"""A little web about file storage, which source knows which page of it, and questions with the words of their answers.

Written for the measurement of the merged search. No source knows all pages, some pages are known to several, and an
outdated page says otherwise about one question.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.servers.search_services import Article


class Question(NamedTuple):
    """A question, and words one of which stands in a right answer."""

    text: str
    answers: tuple[str, ...]


_PAGES = {
    "aes": (
        "Advanced Encryption Standard",
        "The Advanced Encryption Standard is a block cipher. It was published by NIST in 2001. Its block size is 128 "
        "bits, with keys of 128, 192 or 256 bits.\nIt was designed by two Belgian cryptographers, Joan Daemen and "
        "Vincent Rijmen, under the name Rijndael.",
    ),
    "zip": (
        "ZIP (file format)",
        "ZIP is an archive file format that supports lossless compression. The format was created in 1989 by Phil Katz."
        "\nThe original format had a limit of 4 GiB on the size of a file; ZIP64 raised it to 16 EiB.",
    ),
    "raid": (
        "RAID",
        "RAID combines several drives into one unit. RAID 0 stripes data and has no redundancy. RAID 6 survives the "
        "failure of two drives.\nA RAID is no backup: deleted files are gone on all drives at once.",
    ),
    "gdpr": (
        "General Data Protection Regulation",
        "The regulation governs personal data in the European Union. It took effect on 25 May 2018.\nA breach must be "
        "reported to the authority within 72 hours. Fines reach 4 percent of the yearly turnover.",
    ),
    "windows-paths": (
        "Path too long on Windows",
        "Windows refuses paths of more than 260 characters by default. Long paths can be switched on in the group "
        "policy.\nUntil then shorten the folder's name, or map a drive to a deeper folder.",
    ),
    "mac-sleep": (
        "Sync stops when a Mac sleeps",
        "A Mac that sleeps sends nothing. Switch Power Nap on in the energy settings, so that files are synchronised "
        "while the lid is closed and the charger is connected.",
    ),
    "android-photos": (
        "Photos do not upload from Android",
        "Android's battery saver ends uploads in the background. Exclude the app from battery optimisation, and allow "
        "it to use mobile data. Photos then upload overnight.",
    ),
    "slow-uploads": (
        "Why are uploads slow?",
        "Most home connections upload at a tenth of the speed at which they download. A 10 GB folder takes about two "
        "hours at 10 Mbit per second. A cable is steadier than Wi-Fi.",
    ),
    "checksums": (
        "Compare files by checksum",
        "Two files with the same SHA-256 checksum are the same. On Linux run sha256sum, on Windows certutil with "
        "-hashfile. MD5 is no longer safe against people who mean harm.",
    ),
    "old-price": (
        "Harborfile review 2019",
        "Harborfile is a file store from Rotterdam. In our test of 2019 the team plan was 4 euros a month. The apps "
        "were plain but quick. Sharing by link worked in every browser.",
    ),
    "ransomware": (
        "Recovering from ransomware",
        "Disconnect the machine at once. Restore the files from versions made before the attack; do not pay. Stores "
        "that keep versions for 30 days give you time to notice.",
    ),
    "webdav": (
        "WebDAV clients",
        "WebDAV extends HTTP so that folders can be mounted. The default port is 443 with TLS. The Finder, Cyberduck "
        "and rclone are clients; Windows limits a file to 50 MB until a registry value is changed.",
    ),
    "help/plans-prices": (
        "Plans and prices",
        "The personal plan is free and holds 5 GB. The team plan is 7 euros a month for each seat since January 2025. "
        "Prices are without tax. The archive plan has no apps.",
    ),
    "help/delete-account": (
        "Delete your account",
        "Open Settings, Account, Delete. Everything is erased after a grace period of 14 days, in which you can sign "
        "in to undo it. Invoices are kept for ten years, as the law demands.",
    ),
    "help/share-links": (
        "Share by link",
        "A link may have a password and an end. Links end after 90 days unless you choose another day. People without "
        "an account see the file in their browser and can download it.",
    ),
    "help/versions": (
        "Versions of a file",
        "We keep the last 50 versions of each file for 180 days. Right-click a file and choose Versions to restore "
        "one. Versions do not count against your storage.",
    ),
    "help/two-factor": (
        "Sign in with two factors",
        "Use an authenticator app or a security key; we send no codes by text message. Keep the ten recovery codes: "
        "each works once. Owners of a team can demand two factors of everybody.",
    ),
    "help/status": (
        "Is the service down?",
        "See status.harborfile.example for what is going on. Planned maintenance is on Sundays between 2 and 4 in the "
        "morning, and announced three days before.",
    ),
}
ARTICLES = {slug: Article(slug, title, text) for slug, (title, text) in _PAGES.items()}
KNOWN_BY = {
    "google": ("windows-paths", "mac-sleep", "slow-uploads", "old-price", "checksums", "zip", "help/plans-prices"),
    "duckduckgo": ("windows-paths", "android-photos", "webdav", "old-price", "ransomware", "raid"),
    "searxng": ("mac-sleep", "ransomware", "webdav", "checksums", "gdpr", "help/share-links"),
    "wikipedia": ("aes", "zip", "raid", "gdpr"),
    "site": tuple(slug for slug in _PAGES if slug.startswith("help/")),
}
QUESTIONS = (
    Question("Who designed the AES cipher?", ("Daemen",)),
    Question("What block size does AES have?", ("128",)),
    Question("Who created the ZIP file format, and when?", ("Katz",)),
    Question("Which RAID level survives two failed drives?", ("RAID 6",)),
    Question("How fast must a data breach be reported under GDPR?", ("72 hours",)),
    Question("Windows says my path is too long, what is the limit?", ("260",)),
    Question("Files are not synchronised while my Mac sleeps, what can I do?", ("Power Nap",)),
    Question("My Android phone does not upload photos in the background.", ("battery optimisation",)),
    Question("Why does it take hours to upload a folder of 10 GB?", ("a tenth",)),
    Question("How do I compare two files by checksum on Windows?", ("certutil",)),
    Question("All my files were encrypted by ransomware, what now?", ("Disconnect",)),
    Question("Which programs can mount a folder over WebDAV?", ("Cyberduck",)),
    Question("What does the team plan of Harborfile cost a month?", ("7 euros",)),
    Question("How long can I undo the deletion of my account?", ("14 days",)),
    Question("When does a shared link end?", ("90 days",)),
    Question("For how long are old versions of a file kept?", ("180 days",)),
    Question("Can I get the two factor code by text message?", ("no codes by text",)),
    Question("When is planned maintenance of the service?", ("Sundays",)),
)
