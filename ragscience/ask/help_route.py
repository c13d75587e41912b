"""Questions of the program itself: how to do something with it, and the command that does it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragscience.ask.asked_papers import bare
from ragscience.ask.router import RouteContext, Routed
from ragscience.core.records import Block

__all__ = ["TOPICS", "Topic", "answer", "topic_of"]

_PAPERS = "paper papers pdf pdfs file files document documents article articles library folder collection"


@dataclass(frozen=True)
class Topic:
    """Something that the program does."""

    verbs: frozenset[str]
    """A question of the topic has one of these, where there are any."""
    nouns: frozenset[str]
    """And one of these."""
    others: frozenset[str]
    """It may have these."""
    text: str
    commands: tuple[tuple[str, str], ...]
    """Each command as it is typed, and what it does."""

    @property
    def words(self) -> frozenset[str]:
        """All that a question of the topic may have."""
        return self.verbs | self.nouns | self.others

    def is_named_by(self, words: set[str]) -> bool:
        """Whether the words have what the topic needs."""
        return bool((not self.verbs or words & self.verbs) and (not self.nouns or words & self.nouns))


def _topic(verbs: str, nouns: str, others: str, text: str, *commands: tuple[str, str]) -> Topic:
    return Topic(frozenset(verbs.split()), frozenset(nouns.split()), frozenset(others.split()), text, commands)


TOPICS = (
    _topic(
        "list show know see",
        "commands options --help",
        "available possible",
        "There are three programs; each tells its commands with --help, and each command its options.",
        ("python ingest.py --help", "papers in and out: add, fetch, list, show, remove, sync, graph, doctor"),
        ("python query.py --help", "questions: ask, search, chat, open, bib, history, graph, map, eval"),
        ("python config.py --help", "settings: show, set, unset"),
    ),
    _topic(
        "add ingest put import load index upload insert read include",
        _PAPERS,
        "more several many whole computer disk directory",
        "Put the PDF into papers/ and run the first command, or name the file.",
        ("python ingest.py", "reads new and changed files of papers/"),
        ("python ingest.py add FILE.pdf", "reads one file or a folder from anywhere"),
    ),
    _topic(
        "fetch download find get",
        "arxiv web internet doi url online",
        f"{_PAPERS} by directly",
        "Papers are fetched from arXiv, by topic, id or DOI, or from the address of a PDF.",
        ('python ingest.py fetch "graph neural networks" -n 5', "searches arXiv for a topic"),
        ("python ingest.py fetch 1706.03762", "takes the one of that id"),
    ),
    _topic(
        "remove delete drop forget",
        _PAPERS,
        "take",
        "The file stays on disk and is not read again until it is added by its name.",
        ("python ingest.py remove FILE.pdf", "takes a paper out of the library"),
    ),
    _topic(
        "update refresh sync synchronise synchronize watch rebuild reindex follow",
        f"{_PAPERS} index indexes",
        "automatically changes changed keep date",
        "The library can be brought in step with the folder, once or for as long as you like.",
        ("python ingest.py sync", "reads what is new or changed, and takes out what is gone"),
        ("python ingest.py watch", "does so until Ctrl-C"),
        ("python ingest.py rebuild", "reads every paper again"),
    ),
    _topic(
        "list show see",
        _PAPERS,
        "contents content available information about details metadata",
        "What the library has, and what is known of one paper:",
        ("python ingest.py list", "a line a paper"),
        ("python ingest.py show FILE.pdf", "its metadata, headings, tables and figures"),
    ),
    _topic(
        "",
        "scan scans scanned ocr images image handwriting",
        f"{_PAPERS} read understand process recognise recognize handle support pages page text layer add ingest deal",
        "Pages without a text layer are read by OCR where Tesseract is installed; without it they are left out, with a "
        "warning.",
        ("python ingest.py add --ocr FILE.pdf", "reads scanned pages, too"),
    ),
    _topic(
        "build make create use ask query draw show explore see search enable turn",
        "graph map",
        "knowledge entity entities relations papers questions question answer answers it's concepts connected related",
        "The knowledge graph is made once from the papers, and then asked along with the search.",
        ("python ingest.py graph", "reads entities and relations; --local without a language model"),
        ('python query.py ask --graph "…"', "uses it for an answer"),
        ('python query.py graph "dropout"', "shows what is around something"),
        ('python query.py path "A" "B"', "shows how two things are connected"),
        ("python query.py map OUT.html", "draws it"),
    ),
    _topic(
        "cite export reference bibtex write get create generate make save",
        "cite citation citations bibtex bib bibliography csl reference references latex zotero bibliographic",
        "paper papers entry entries list json library answer answers source sources work",
        "The papers as a bibliography; what is uncertain about one is said in its note.",
        ("python query.py bib", "all papers as BibTeX; name files to keep to them"),
        ("python query.py bib --csl", "as CSL-JSON, for Zotero and others"),
        ("python query.py bib --cited ANSWER", "only what that answer cites"),
    ),
    _topic(
        "chat talk converse continue follow",
        "chat conversation follow-up follow-ups conversations questions papers question",
        "last earlier previous ask interactive interactively start begin open",
        "The chat keeps what was said before; /help there lists what else can be typed.",
        ("python query.py", "opens the chat"),
        ('python query.py ask --continue "…"', "goes on with the last conversation"),
    ),
    _topic(
        "see show find list search delete look view reread open",
        "history conversations earlier previous past answers",
        "questions question answer conversation old last asked before",
        "Every answer is kept with the passages that it rests on.",
        ("python query.py history list", "the conversations"),
        ('python query.py history search "…"', "the turns with these words"),
        ("python query.py history delete --all", "forgets them"),
    ),
    _topic(
        "limit restrict filter narrow keep search ask only",
        "paper papers year years author authors section sections pages page filter filters tables",
        "one single certain specific particular question questions by only",
        "Options keep a question to some of the papers.",
        ('python query.py ask --paper attention "…"', "papers with this in their name"),
        ('python query.py ask --year 2015-2020 "…"', "by year; --author by author"),
        ('python query.py ask --section method --kind table "…"', "parts of the papers"),
    ),
    _topic(
        "use connect configure set choose change switch install select run enable",
        "ollama llm llms reranker embedder",
        "model models language local which different answer answers chat large offline embedding settings setting",
        "Without a language model answers are quotes. Where Ollama runs, its model is used by itself.",
        ("python query.py models", "what each part would use, and where it is"),
        ("python config.py show", "each setting with its value"),
        ("python config.py set llm NAME", "chooses the chat model"),
    ),
    _topic(
        "change set configure see show edit adjust",
        "setting settings configuration config option preferences defaults default",
        "value values",
        "A flag wins over the environment, that over config.toml in the home, that over the default.",
        ("python config.py show", "each setting, its value, and where it comes from"),
        ("python config.py set NAME VALUE", "writes one to config.toml"),
    ),
    _topic(
        "open see view show jump look",
        "source sources pdf page citation quote quotes highlighted highlight marked passage",
        "answer original place last cited behind pages",
        "Each source under an answer has a number.",
        ("python query.py open 1", "opens its PDF at the page"),
        ('python query.py ask --highlight OUT.pdf "…"', "writes the cited pages with the quotes marked"),
    ),
    _topic(
        "check repair fix diagnose verify",
        "library installation problem problems error errors damage wrong broken index doctor database",
        "papers damaged something missing setup",
        "One command looks for what is wrong, and says what to do about it.",
        ("python ingest.py doctor", "checks papers, indexes, models and disk"),
    ),
    _topic(
        "find show list detect remove see",
        "duplicate duplicates twice versions",
        _PAPERS,
        "Papers that are there twice, in other bytes or an older version, are found by their text.",
        ("python ingest.py duplicates", "shows them"),
    ),
    _topic(
        "print output get write export save",
        "json script scripts markdown machine-readable",
        "answer answers result results passages search",
        "Every command that shows something takes --json; docs/json.md says what is in it.",
        ('python query.py ask --json "…"', "an answer as one JSON object"),
        ("python query.py ask --from questions.txt --json", "many questions, a line each"),
    ),
    _topic(
        "evaluate measure test benchmark",
        "answers",
        "quality questions accuracy library good well known answer",
        "Questions whose answers you know tell how many are answered right.",
        ("python query.py eval QUESTIONS.jsonl", "asks them and shows the figures with intervals"),
    ),
    _topic(
        "search find look see show",
        "passages passage chunks ranked llm",
        "papers words keyword keywords text only answer paper library",
        "A search shows the ranked passages by themselves.",
        ('python query.py search "…"', "the passages for a question"),
    ),
    _topic(
        "leave send upload run stay keep work",
        "offline internet private privacy machine data network local locally connection cloud",
        "papers leave machine's nothing everything questions computer outside completely fully",
        "Papers and questions stay on this machine; only `fetch` and downloads of models go out.",
        ('python query.py ask --offline "…"', "refuses whatever would leave this machine"),
    ),
)
"""In the order in which they are tried; the first is shown to "what commands are there?"."""


_ASKS = re.compile(
    r"(?:how (?:do|can|could|should|would|might) (?:i|we)|(?:can|could|may) (?:i|we|you|the program|ragscience)|"
    r"(?:do you|does (?:the program|ragscience))|is there (?:a|any) (?:way|command|option) (?:to|for|that)|"
    r"where (?:do|can) (?:i|we)|what(?: is|['’]s|) the (?:command|option|way) (?:to|for)|"
    r"(?:which|what) (?:commands?|options?)(?: (?:is|are|do|does|can))?(?: there| (?:i|you) (?:use|need|have))?|help|"
    r"what (?:can|could) (?:you|this program|the program|ragscience) do|(?P<impersonal>how (?:to|does one)|"
    r"is it possible to))\b[,:]?",
    re.IGNORECASE,
)
_OURS = frozenset(
    """
    paper papers pdf pdfs file files library bibtex zotero arxiv ollama ocr settings history duplicates
    """.split()  # noqa: SIM905  # a list of fifteen strings reads worse
)
"""A question that names nobody ("how to …") means the program where it has one of these."""
_WORD = re.compile(r"--?[a-z][a-z-]*|[^\W_]+(?:[-.'’][^\W_]+)*", re.IGNORECASE)
_COMMON = frozenset(
    """
    a an the my our your this that these those it its all any some one another new of in into to from for with and or on
    as at by i we you me us is are be do does can so them they there here out up off again please program tool
    ragscience rag science app application software command commands option options line terminal use using via way
    own more than just also work works help what which how make get have has need want will if when without
    """.split()  # noqa: SIM905  # a list of ninety strings reads worse
)


def topic_of(question: str) -> Topic | None:
    """The topic that a question asks for: it asks how, and each of its words is one of the topic's or says nothing.

    So "How do I add a layer to the model?" is none of them: no topic knows layers.
    """
    text = bare(question)
    asks = _ASKS.match(text)
    if asks is None:
        return None
    said = [word.casefold().replace("’", "'") for word in _WORD.findall(text[asks.end() :])]
    telling = {word for word in said if word not in _COMMON}
    if not telling:
        words = {word.casefold() for word in _WORD.findall(text)}
        is_whole = words & {"commands", "options"} or text.casefold().startswith(("what can ", "what could "))
        return TOPICS[0] if is_whole or text.casefold() in ("help", "help me") else None
    if asks["impersonal"] and not telling & _OURS:
        return None
    best = [topic for topic in TOPICS if telling <= topic.words and topic.is_named_by(set(said))]
    return best[0] if best else None


def answer(question: str, _: RouteContext) -> Routed | None:
    """The command for what the question wants to do; None for a question of the papers' subject."""
    topic = topic_of(question)
    if topic is None:
        return None
    blocks = [Block("text", topic.text), *(Block("item", f"`{command}`: {does}") for command, does in topic.commands)]
    return Routed("help", "Looked up how the program does it.", tuple(blocks))
