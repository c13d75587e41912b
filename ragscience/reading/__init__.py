"""A PDF becomes a Document: in this process with `pdf.read_pdf`, or many at once in workers with `pool.ReadingPool`."""
