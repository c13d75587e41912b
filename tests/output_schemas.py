"""What --json prints, held against its documented schema; tests/test_docs.py checks the schemas themselves."""

from functools import cache

from jsonschema import Draft202012Validator

from tools.json_schemas import schemas


def check_output(value, name):
    """Raises jsonschema.ValidationError unless `value` is as the schema of that name says."""
    _validator(name).validate(value)


@cache
def _validator(name):
    return Draft202012Validator(schemas()[name])
