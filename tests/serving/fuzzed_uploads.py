"""A hook of schemathesis, which makes no PDFs by itself: what it uploads by the rules is one, or has a PDF's mark."""

import schemathesis

WORDS = "BT /F1 12 Tf 72 720 Td (Moss grows 4.2 millimetres a year on granite.) Tj ET"
PAPER = (
    "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    "3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj\n"
    f"4 0 obj<</Length {len(WORDS)}>>stream\n{WORDS}\nendstream endobj\n"
    "5 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\ntrailer<</Root 1 0 R>>\n%"
)
"""Without a table of its objects, which readers make themselves."""


@schemathesis.hook
def before_call(context, case, kwargs):
    if not case.operation.path.endswith("/uploads") or not case.meta or case.meta.generation.mode.is_negative:
        return
    files = case.body.get("files") if isinstance(case.body, dict) else None
    if isinstance(files, list):
        texts = [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in files]
        case.body["files"] = [((PAPER if len(one) % 2 else "%PDF-1.7 ") + one).encode() for one in texts]
