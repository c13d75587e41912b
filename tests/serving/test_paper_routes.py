"""Papers, their files, uploads and removals over HTTP."""

import time

from tests.pdf_factory import make_pdf
from tests.serving.raw_requests import check_problem


def paper_of(client, file):
    return next(paper for paper in client.get("/api/v1/papers").json()["papers"] if paper["file"] == file)


def finished(client, job):
    """The job when it has ended; the server's own state is what is waited for."""
    while job["state"] in ("waiting", "running"):
        time.sleep(0)  # lets the server's threads run
        job = client.get(f"/api/v1/jobs/{job['job_id']}").json()
    return job


def test_papers_their_outline_and_pages(client):
    bees = paper_of(client, "bees.pdf")
    assert bees["title"] == "Navigation of honeybees in fog"
    assert client.get(f"/api/v1/papers/{bees['md5']}").json() == bees
    assert client.get(f"/api/v1/papers/{bees['md5']}/outline").json()["pages"] == 2
    page = client.get(f"/api/v1/papers/{bees['md5']}/pages/2").json()
    assert "3.7 metres" in page["text"]


def test_the_file_is_the_pdf_itself(client, served_home):
    bees = paper_of(client, "bees.pdf")
    response = client.get(f"/api/v1/papers/{bees['md5']}/file")
    assert response.headers["content-type"] == "application/pdf"
    assert response.content == (served_home / "papers" / "bees.pdf").read_bytes()
    part = client.get(f"/api/v1/papers/{bees['md5']}/file", headers={"Range": "bytes=0-4"})
    assert (part.status_code, part.content) == (206, b"%PDF-")


def test_a_file_that_has_changed_since_it_was_read_is_not_sent(client, served_home):
    bees, path = paper_of(client, "bees.pdf"), served_home / "papers" / "bees.pdf"
    kept = path.read_bytes()
    path.write_bytes(kept + b"% more")
    problem = check_problem(client.get(f"/api/v1/papers/{bees['md5']}/file"))
    path.write_bytes(kept)
    assert (problem["status"], problem["title"]) == (422, "Unprocessable Entity")
    assert "has changed" in problem["detail"]
    assert client.get(f"/api/v1/papers/{bees['md5']}/file").content == kept  # another time alone is no change


def test_bibliographies(client):
    bees = paper_of(client, "bees.pdf")
    assert client.get("/api/v1/bibliography").text.count("@") >= 3
    one = client.get("/api/v1/bibliography", params={"md5": bees["md5"], "form": "csl"}).json()
    assert len(one) == 1


def test_an_upload_is_read_and_answers(own, tmp_path):
    client, home = own
    make_pdf(tmp_path / "moss.pdf", ["Growth of moss\n\nMoss grows 4.2 millimetres a year on granite."])
    with (tmp_path / "moss.pdf").open("rb") as file:
        response = client.post("/api/v1/uploads", files={"files": ("../../moss.pdf", file, "application/pdf")})
    assert response.status_code == 202
    job = finished(client, response.json())
    assert (job["state"], job["files"], job["failures"], job["detail"]) == ("done", ["moss.pdf"], [], "")
    assert (home / "papers" / "moss.pdf").is_file()
    assert not list((home / "vectorstore" / "parts").iterdir())
    answer = client.post("/api/v1/ask", json={"question": "How much does moss grow in a year?"}).json()
    assert "4.2" in answer["answer"]


def test_a_paper_that_is_removed_leaves_its_file(own):
    client, home = own
    bees = paper_of(client, "bees.pdf")
    job = finished(client, client.delete(f"/api/v1/papers/{bees['md5']}").json())
    assert (job["state"], job["files"], job["detail"]) == ("done", ["bees.pdf"], "")
    assert (home / "papers" / "bees.pdf").is_file()
    assert client.get(f"/api/v1/papers/{bees['md5']}").status_code == 404
