"""The OpenAPI description, which the page /api shows as text."""

from typing import Any

import visualwords
from visualwords.apps.page.limits import Limits

Schema = dict[str, Any]

_NUMBER: Schema = {"type": "number"}
_INTEGER: Schema = {"type": "integer"}
_STRING: Schema = {"type": "string"}
_BOOLEAN: Schema = {"type": "boolean"}
_MAYBE: Schema = {"type": ["number", "null"]}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def _part(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


SCHEMAS: dict[str, Schema] = {
    "Error": _object(error=_described(_STRING, "one sentence: what is wrong and what to do")),
    "Class": _object(
        label=_STRING,
        score=_described(_NUMBER, "signed distance from the boundary of the class"),
        probability=_described(_MAYBE, "calibrated; null if the training images were too few"),
    ),
    "Box": _object(
        box=_described(_list(_NUMBER), "left, top, right, bottom in pixels of the upright image"),
        confidence=_described(_NUMBER, "estimated probability of an object, from 0 to 1"),
    ),
    "Prediction": _object(
        kind=_described({"enum": ["classifier", "detector"]}, "of the model"),
        label=_described(_STRING, "the most likely class, or unknown (classifiers)"),
        novelty=_described(_MAYBE, "share of known images that are less strange (classifiers)"),
        classes=_described(_list(_part("Class")), "the best ones, best first (classifiers)"),
        boxes=_described(_list(_part("Box")), "detections (detectors)"),
        width=_described(_INTEGER, "of the upright image (detectors)"),
        height=_described(_INTEGER, "of the upright image (detectors)"),
        seconds=_described(_NUMBER, "processing time, without waiting"),
    ),
    "Word": _object(
        name=_described(_STRING, "the descriptor and its word, colour or angle"),
        color=_described(_STRING, "#rrggbb if it is a colour, else empty"),
        evidence=_described(_NUMBER, "contribution of all its patches to the score"),
        patches=_described(
            _list(_list(_NUMBER)),
            "left, top, width, height of its strongest patches, as shares of the image",
        ),
    ),
    "ClassEvidence": _object(
        label=_STRING,
        score=_NUMBER,
        probability=_MAYBE,
        offset=_described(_NUMBER, "the part of the score that belongs to no place of the image"),
        map=_described(
            _list(_list(_NUMBER)),
            "rows of evidence; their sum plus the offset is the score",
        ),
        words=_described(_list(_part("Word")), "the most discriminative ones"),
    ),
    "Similar": _object(
        name=_described(_STRING, "label/file"),
        label=_STRING,
        similarity=_described(_NUMBER, "1 for the same image"),
        thumbnail=_described(_STRING, "a data URL; empty if the model has no thumbnails"),
    ),
    "Explanation": _object(
        label=_STRING,
        novelty=_described(_MAYBE, "share of known images that are less strange"),
        exact=_described(_BOOLEAN, "whether map and offset sum to the score exactly"),
        method=_described(_STRING, "how the evidence is attributed"),
        classes=_list(_part("ClassEvidence")),
        similar=_described(_list(_part("Similar")), "the most similar training images"),
        seconds=_NUMBER,
    ),
    "Model": _object(
        kind={"enum": ["classifier", "detector"]},
        name=_STRING,
        summary=_described(_STRING, "one sentence about the model"),
        classes=_list(_object(label=_STRING, images=_described(_MAYBE, "training images"))),
        facts=_list(_object(name=_STRING, value=_STRING)),
        explains=_described(_BOOLEAN, "whether /api/explain is supported"),
        report=_described(_BOOLEAN, "whether there is a report at /report"),
        limits=_object(max_bytes=_INTEGER, max_pixels=_INTEGER),
    ),
}

_PREDICTION_OF_BATCH = _object(
    name=_described(_STRING, "of the file"),
    error=_described(_STRING, "why it can't be used; then it has no prediction"),
    **SCHEMAS["Prediction"]["properties"],
)
SCHEMAS["Batch"] = _object(predictions=_list(_PREDICTION_OF_BATCH))
SCHEMAS["Health"] = _object(status={"enum": ["ok"]}, models=_list(_STRING))
SCHEMAS["Models"] = _object(models=_described(_list(_STRING), "names, for ?model="))

_MODEL = {
    "name": "model",
    "in": "query",
    "description": "name of a model, if the server has several; the first one if not given",
    "schema": _STRING,
}
_SHARE: Schema = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_DECISION = (
    {
        "name": "min_confidence",
        "in": "query",
        "description": "the label is unknown where its probability is lower (classifiers)",
        "schema": _SHARE,
    },
    {
        "name": "unknown",
        "in": "query",
        "description": "share of known images that may be unknown so that strange ones are",
        "schema": _SHARE,
    },
    {
        "name": "threshold",
        "in": "query",
        "description": "class:probability, from which the class is the label; may be repeated",
        "schema": _list(_STRING),
    },
)
_TOP = {
    "name": "top",
    "in": "query",
    "description": "how many classes",
    "schema": {"type": "integer", "minimum": 1, "default": 5},
}
_LEAST = {
    "name": "least",
    "in": "query",
    "description": "lowest confidence of boxes (detectors); the model's own if not given",
    "schema": _SHARE,
}
_LABEL = {
    "name": "label",
    "in": "query",
    "description": "explain this class instead of the best ones",
    "schema": _STRING,
}
_REFUSALS = {
    "400": "not a usable request",
    "401": "the key is missing or wrong",
    "403": "host or origin not allowed",
    "404": "no such class or model",
    "408": "the image arrived too slowly",
    "409": "the model can't decide in this way",
    "413": "the file is too large",
    "422": "not a usable image",
    "429": "too many requests from one address",
    "500": "an error of the server",
    "503": "too many images at once",
}


def describe_api(limits: Limits) -> dict[str, Any]:
    """Return the OpenAPI document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "visualwords",
            "version": visualwords.__version__,
            "description": "Predictions of a model for images. Images do not leave the machine.",
        },
        "paths": {
            "/api/predict": _post(
                "Predict the label, or detect objects",
                _json("Prediction"),
                limits,
                _TOP,
                _LEAST,
                *_DECISION,
                _MODEL,
            ),
            "/api/predict/batch": _post(
                "Predict all files of a form",
                _json("Batch"),
                limits,
                _TOP,
                _LEAST,
                *_DECISION,
                _MODEL,
                forms_only=True,
            ),
            "/api/explain": _post(
                "Explain a prediction", _json("Explanation"), limits, _TOP, _LABEL, _MODEL
            ),
            "/api/preview": _post(
                "The image as a small upright JPEG",
                {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}},
                limits,
            ),
            "/api/model": _get("Description of a model", _json("Model"), _MODEL),
            "/api/models": _get("Names of the models", _json("Models")),
            "/healthz": _get("Whether the server answers", _json("Health")),
            "/metrics": _get("Counts and times", {"text/plain": {"schema": _STRING}}),
        },
        "components": {"schemas": SCHEMAS},
    }


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": _part(name)}}


def _get(summary: str, content: dict[str, Any], *parameters: dict[str, Any]) -> dict[str, Any]:
    done = {"200": {"description": "done", "content": content}}
    return {"get": {"summary": summary, "parameters": list(parameters), "responses": done}}


def _post(
    summary: str,
    content: dict[str, Any],
    limits: Limits,
    *parameters: dict[str, Any],
    forms_only: bool = False,
) -> dict[str, Any]:
    form: dict[str, Any] = {"multipart/form-data": {}}
    raw: dict[str, Any] = {"image/*": {}, "application/octet-stream": {}}
    refusals = {
        status: {"description": text, "content": _json("Error")}
        for status, text in _REFUSALS.items()
    }
    most = f"at most {limits.max_bytes:,} bytes and {limits.max_pixels:,} pixels"
    return {
        "post": {
            "summary": summary,
            "parameters": list(parameters),
            "requestBody": {
                "required": True,
                "description": f"the bytes of an image file, or a form; {most}",
                "content": form if forms_only else raw | form,
            },
            "responses": {"200": {"description": "done", "content": content}, **refusals},
        }
    }
