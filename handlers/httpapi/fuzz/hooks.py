"""Which schema-valid requests the service may refuse: those that break a rule which no schema can
say. Every rule is listed here with its reason, and covers one field and one kind of violation.
Everything else that is valid by the contract and refused is a finding."""

import json
import re

import schemathesis

# Codes that say themselves which rule was broken: (operation, code) -> reason.
CODES = {
    ("createAnalysis", "model_not_found"): "which models there are is data (GET /v1/models)",
    ("createAnalysisBatch", "model_not_found"): "which models there are is data (GET /v1/models)",
    ("createAnalysis", "prompt_empty"): "a prompt of white space: Unicode's, which no portable pattern lists",
    ("createAnalysisBatch", "prompt_empty"): "a prompt of white space",
    ("parsePrompt", "empty_prompt"): "a prompt of white space",
    ("createAnalysis", "query_invalid"): "fields of a compiled query refer to each other",
    ("createVideo", "url_forbidden"): "which hosts are public is decided by the network",
    ("completeVideo", "upload_incomplete"): "a state: nothing was uploaded",
}

# Violations of validation_failed: (operation or "", param, code) -> reason.
VIOLATIONS = {
    ("createVideo", r"url", "format"): "a URL has to parse, and its host has to be public",
    ("", r"ending_before", "exclusive"): "OpenAPI cannot say that two parameters exclude each other",
    ("", r"Prefer", "range|format"): "a header of many preferences (RFC 7240), of which wait is one",
    ("", r".*", "format:U\\+0000"): "Postgres cannot keep U+0000 in a text",
}


def explained(operation, violation):
    param, code = violation["param"], violation["code"]
    for (of, name, kinds), _ in VIOLATIONS.items():
        for kind in kinds.split("|"):
            kind, _, message = kind.partition(":")
            if of in ("", operation) and re.fullmatch(name, param) and code == kind and re.search(message, violation["message"]):
                return True
    return False


@schemathesis.hook
def filter_failure(context, failure, case, response):
    if type(failure).__name__ != "RejectedPositiveData" or response.status_code != 400:
        return True
    error = json.loads(response.content)["error"]
    operation = case.operation.definition.raw["operationId"]
    if error["code"] != "validation_failed":
        return (operation, error["code"]) not in CODES
    return not error.get("errors") or not all(explained(operation, v) for v in error["errors"])
