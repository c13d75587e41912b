"""Papers in a bucket of S3 or of a server with its API, in place of the folder papers/. Needs botocore."""

from ragscience.library.bucket_files import BucketFiles
from ragscience.library.bucket_watch import BucketFolder
from ragscience.library.object_index import last_address

__all__ = ["BucketFiles", "BucketFolder", "last_address"]
