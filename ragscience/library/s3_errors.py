"""What S3 and the way to it answer, as one line each. No text of a server is repeated: it may name keys."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ragscience.core.errors import FileProblem, RagScienceError, SourceError

__all__ = ["s3_problem"]

_GUIDE = "docs/object-storage.md"
_KEYS = f"Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE ({_GUIDE})."
_RIGHTS = "The key needs s3:ListBucket on the bucket and s3:GetObject on its objects; check it, and its date of expiry."
_LATER = "Try again later: what was read is kept."
_NOT_S3 = f"Check AWS_ENDPOINT_URL, and whether a proxy or a login page stands between. {_LATER}"
_REFUSED = frozenset({"403", "AccessDenied", "AllAccessDisabled", "AccountProblem"})
_WRONG_KEY = frozenset(
    {"401", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired"}
)
_WRONG_REGION = frozenset({"301", "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraint"})
_NO_OBJECT = frozenset({"404", "NoSuchKey"})
_SIGNED_OUT = "the sign-in has ended (`aws sso login`)"
_NO_CREDENTIALS = {
    "NoCredentialsError": "none were found",
    "PartialCredentialsError": "one of the two keys is missing",
    "CredentialRetrievalError": "they could not be fetched",
    "ProfileNotFound": "the profile of AWS_PROFILE does not exist",
    "ConfigParseError": "~/.aws/config cannot be read",
    "TokenRetrievalError": _SIGNED_OUT,
    "UnauthorizedSSOTokenError": _SIGNED_OUT,
    "SSOTokenLoadError": _SIGNED_OUT,
}
_NO_CONNECTION = frozenset(
    {"EndpointConnectionError", "ConnectTimeoutError", "ProxyConnectionError", "SSLError", "InvalidProxiesConfigError"}
)
_BROKEN = frozenset({"ReadTimeoutError", "ConnectionClosedError", "HTTPClientError", "ResponseStreamingError"})


def s3_problem(error: BaseException, address: str, name: str = "") -> RagScienceError:
    """What a failed request means for the papers in `address`; FileProblem where it concerns the object alone."""
    code = _code(error)
    if code:
        return _answered(code, address, name)
    kind = type(error).__name__
    if kind == "ResponseParserError":
        return SourceError(f"{address} cannot be read: the answer is not S3's, or was cut short.", _NOT_S3)
    if kind in _NO_CREDENTIALS:
        what = f"{address} cannot be read without credentials: {_NO_CREDENTIALS[kind]}."
        return SourceError(what, _KEYS, reason="no-credentials")
    at = _host(error)
    if kind in _NO_CONNECTION:
        why = "its certificate is not trusted" if kind == "SSLError" else "no server answers"
        fix = f"Check the network and AWS_ENDPOINT_URL. {_LATER}"
        return SourceError(f"{address} cannot be reached: {why}{at}.", fix)
    if kind in ("InvalidEndpointConfigurationError", "InvalidRegionError") or isinstance(error, ValueError):
        fix = "Correct AWS_ENDPOINT_URL and AWS_DEFAULT_REGION."
        return SourceError(f"{address} cannot be asked for: the endpoint or the region is not valid.", fix)
    if kind in _BROKEN:
        how = "does not answer in time" if "Timeout" in kind else "broke the connection"
        return SourceError(f"{address} cannot be read: the server{at} {how}.", _LATER)
    fix = f"Check the AWS_ variables and ~/.aws/config ({_GUIDE})."
    return SourceError(f"{address} cannot be asked for: the settings of AWS are not valid ({kind}).", fix)


def _answered(code: str, address: str, name: str) -> RagScienceError:
    """What an answer with an error's code means."""
    what = f"{name} in {address}" if name else address
    if code == "NoSuchBucket":
        bucket = address.removeprefix("s3://").partition("/")[0]
        return SourceError(f"There is no bucket {bucket}.", "Check RAG_PAPERS and AWS_ENDPOINT_URL.", reason="missing")
    if code in _NO_OBJECT and name:
        fix = "Put it back, or run `python ingest.py sync` to remove it from the library."
        return FileProblem(f"{name} is no longer in {address}.", fix, reason="missing")
    if code in ("412", "PreconditionFailed"):
        return FileProblem(f"{name} was changed while it was read.", "Run `python ingest.py` again.", reason="changed")
    if code == "InvalidObjectState":
        fix = "Restore it from its archive (Glacier) first."
        return FileProblem(f"{what} is archived.", fix, reason="network")
    if name and code in ("500", "InternalError"):  # of one object; of an overloaded server: SlowDown, 503
        return FileProblem(f"{what} cannot be read: the server answers {code}.", _LATER, reason="network")
    if code == "RequestTimeTooSkewed":
        return SourceError(f"{address} does not accept the request: the clocks differ.", "Set this machine's clock.")
    if code in _WRONG_KEY:
        return SourceError(f"{address} does not accept the credentials ({code}).", _KEYS, reason="no-credentials")
    if code in _REFUSED:
        if name:
            return FileProblem(f"{what} may not be read ({code}).", _RIGHTS, reason="refused")
        return SourceError(f"{address} may not be listed ({code}).", _RIGHTS, reason="refused")
    if code in _WRONG_REGION:
        fix = "Set AWS_DEFAULT_REGION to the bucket's region."
        return SourceError(f"{address} is in another region ({code}).", fix)
    if code == "500":  # botocore's word for what is not XML, or ends too early
        return SourceError(f"{what} cannot be read: the server fails, or its answer is not S3's.", _NOT_S3)
    return SourceError(f"{what} cannot be read: the server answers {code}.", _LATER)


def _code(error: BaseException) -> str:
    """S3's code for the error; empty where the server has not answered with one."""
    response: Any = getattr(error, "response", None)
    code = str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""
    if code.isascii() and (code.isalnum() or not code):
        return code
    return f"HTTP {response.get('ResponseMetadata', {}).get('HTTPStatusCode', 0)}"


def _host(error: BaseException) -> str:
    """` at http://127.0.0.1:9000`, without whatever else the endpoint's address contains; empty where not known."""
    url = urlsplit(str(getattr(error, "kwargs", {}).get("endpoint_url", "")))
    return f" at {url.scheme}://{url.netloc.rpartition('@')[2]}" if url.netloc else ""
