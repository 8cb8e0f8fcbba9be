"""Lists the schema-valid requests that the service may refuse, because they break a rule that a
JSON schema cannot express. Each rule has a reason and covers one field and one kind of violation.
Any other schema-valid request that is refused is a finding."""

import json
import re

import schemathesis

# Specific codes: (operation, code) -> reason.
CODES = {
    ("createAnalysis", "model_not_found"): "the models are data (GET /v1/models)",
    ("createAnalysisBatch", "model_not_found"): "the models are data (GET /v1/models)",
    ("createAnalysis", "prompt_empty"): "a prompt of Unicode white space, which no portable pattern matches",
    ("createAnalysisBatch", "prompt_empty"): "a prompt of white space",
    ("parsePrompt", "empty_prompt"): "a prompt of white space",
    ("createAnalysis", "query_invalid"): "fields of a compiled query refer to each other",
    ("createVideo", "url_forbidden"): "only DNS shows whether a host is public",
    ("createWebhookEndpoint", "url_forbidden"): "as for a video",
    ("updateWebhookEndpoint", "url_forbidden"): "as for a video",
    ("createWebhookEndpoint", "webhook_endpoint_limit"): "depends on the state: the account has 10 endpoints",
    ("completeVideo", "upload_incomplete"): "depends on the state: nothing was uploaded",
}

# Violations of validation_failed: (operation or "", param, code) -> reason.
VIOLATIONS = {
    ("createVideo", r"url", "format"): "a URL must parse, and its host must be public",
    ("createWebhookEndpoint", r"url", "format"): "as for a video",
    ("updateWebhookEndpoint", r"url", "format"): "as for a video",
    ("testWebhookEndpoint", r"event_type", "required"): "depends on the state: the endpoint subscribes to no event that has a sample",
    ("", r"ending_before", "exclusive"): "OpenAPI cannot express that two parameters exclude each other",
    ("", r"Last-Event-ID", "format"): "a tab is refused; the released contract has no pattern for this header",
    ("", r"Prefer", "range|format"): "a header with several preferences (RFC 7240); wait is one of them",
    ("", r".*", "format:U\\+0000"): "Postgres cannot store U+0000 in a text",
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
