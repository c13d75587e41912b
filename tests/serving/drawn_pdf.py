"""What the view of a PDF shows in a real browser, and where pdf.js itself reads the words of a page."""

import re
import unicodedata

SHOW = """async (shown) => {
    const { PdfView } = await import("/page/pdf_view.js");
    window.calls = [];
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
    const called = (name) => (...values) => window.calls.push([name, ...values]);
    const section = document.createElement("section");
    section.style.position = "fixed";
    section.style.inset = "0";
    section.style.zIndex = "100";
    document.body.append(section);
    const names = ["onMark", "onAsk", "onSimilar", "onCite", "announce"];
    window.view = new PdfView(section, Object.fromEntries(names.map((name) => [name, called(name)])));
    await window.view.show(shown);
}"""
"""Opens a view of its own over the server's page, with its policy, and notes what it calls."""

WORDS = """async ({ md5, number }) => {
    const { getDocument, GlobalWorkerOptions, Util } = await import("/page/vendor/pdfjs/pdf.min.mjs");
    GlobalWorkerOptions.workerSrc = "/page/vendor/pdfjs/pdf.worker.min.mjs";
    const folder = new URL("/page/vendor/pdfjs/", location).href;
    const task = getDocument({ url: `/api/v1/papers/${md5}/file`, useWasm: false, cMapUrl: `${folder}cmaps/` });
    const page = await (await task.promise).getPage(number);
    const viewport = page.getViewport({ scale: 1 });
    const { items } = await page.getTextContent();
    const words = items.filter((item) => item.str !== undefined).map(({ str, transform, width, height, hasEOL }) => {
        const [a, b, c, d] = transform;
        return { text: str, hasEOL, at: transform, width: width / Math.hypot(a, b), height: height / Math.hypot(c, d),
                 to: viewport.transform };
    });
    await task.destroy();
    return { words, width: viewport.width, height: viewport.height };
}"""
"""The items of a page's text in pdf.js, with the matrix to points as shown, from the top left."""

BOXES = """(number) => {
    const frame = document.querySelector(`.pdf-page[data-page="${number}"]`);
    const page = frame.getBoundingClientRect();
    const scale = Number(getComputedStyle(frame).getPropertyValue("--pdf-scale"));
    return [...frame.querySelectorAll(".pdf-mark-box")].map((box) => {
        const { left, top, right, bottom } = box.getBoundingClientRect();
        const sides = [left - page.left, top - page.top, right - page.left, bottom - page.top];
        return { mark: box.dataset.mark, box: sides.map((side) => side / scale) };
    });
}"""
"""The boxes that are drawn on a page, in points as shown."""


class Browser:
    """A page of the server with one view of a PDF."""

    def __init__(self, page, address):
        self.page = page
        self.address = address
        self.requests = []
        self.complaints = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

    def show(self, md5, marks=(), **more):
        self.page.goto(self.address)
        self.page.evaluate(SHOW, {"md5": md5, "marks": list(marks), **more})

    def wait_until_drawn(self, number=1):
        self.page.wait_for_selector(f'.pdf-page[data-page="{number}"] > .textLayer', state="attached")

    def boxes(self, number):
        """By mark, the boxes on a page."""
        found = {}
        for each in self.page.evaluate(BOXES, number):
            found.setdefault(each["mark"], []).append(each["box"])
        return found

    def letters(self, md5, number):
        """Letters and digits of a page as pdf.js reads them."""
        return letters_of(self.page.evaluate(WORDS, {"md5": md5, "number": number})["words"])

    def hosts(self):
        """Of all requests."""
        return {url.split("/")[2] for url in self.requests if not url.startswith(("blob:", "data:"))}

    def calls(self, name):
        return [values for called, *values in self.page.evaluate("() => window.calls") if called == name]


def letters_of(items):
    """(letter, (x, y), line) of each letter: the middle of its body in points as shown, and the line that it is in.

    pdf.js knows where an item begins and how wide it is; its letters are taken as equally wide.
    """
    letters = []
    line, before = 0, None
    for item in items:
        a, b, c, d, e, f = product(item["to"], item["at"])
        if item["text"].strip():
            # Two items are on one line where the second begins on the first one's baseline.
            if before and abs((e - before[0]) * before[3] - (f - before[1]) * before[2]) > 0.4 * before[4]:
                line += 1
            size = (a * a + b * b) ** 0.5 or 1
            before = (e, f, a / size, b / size, (c * c + d * d) ** 0.5)
        for place, character in enumerate(item["text"]):
            along = item["width"] * (place + 0.5) / len(item["text"])
            x, y = e + a * along + c * 0.25, f + b * along + d * 0.25
            letters += [(letter, (x, y), line) for letter in bare(character)]
    return letters


def product(one, other):
    """Of two matrices of six numbers."""
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return a * g + c * h, b * g + d * h, a * i + c * j, b * i + d * j, a * k + c * m + e, b * k + d * m + f


def bare(text):
    return "".join(letter for letter in unicodedata.normalize("NFKC", text).lower() if letter.isalnum())


def places_of(quote, letters, covered):
    """The indexes of the quote's letters; None where pdf.js reads a part of it in another order.

    Its parts are lines, cells, and what stands between marks of omission. Of several places that have the same words it
    is the one that the boxes cover best.
    """
    whole = "".join(letter for letter, _, _ in letters)
    found = set()
    for part in filter(None, map(bare, re.split(r"…|\[\.\.\.\]|\||\n", quote))):
        starts = [at for at in range(len(whole)) if whole.startswith(part, at)]
        if not starts:
            return None
        start = max(starts, key=lambda at: len(covered.intersection(range(at, at + len(part)))))
        found |= set(range(start, start + len(part)))
    return found


def is_in(point, box, slack=1.0):
    (x, y), (left, top, right, bottom) = point, box
    return left - slack <= x <= right + slack and top - slack <= y <= bottom + slack


def judge(quote, boxes, letters):
    """(share of the quote's letters that the boxes cover, other lines that they touch); None: not in this order."""
    covered = {at for at, (_, point, _) in enumerate(letters) if any(is_in(point, box) for box in boxes)}
    own = places_of(quote, letters, covered)
    if not own:
        return None
    lines = {letters[at][2] for at in own}
    others = {letters[at][2] for at in covered} - lines
    return len(own & covered) / len(own), len(others)
