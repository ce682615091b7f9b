"""The description of the API that programs read, and that the page /api shows to people."""

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


def _say(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def _part(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


SCHEMAS: dict[str, Schema] = {
    "Error": _object(error=_say(_STRING, "one sentence: what is wrong and what to do")),
    "Class": _object(
        label=_STRING,
        score=_say(_NUMBER, "distance from the boundary of the class; positive speaks for it"),
        probability=_say(_MAYBE, "calibrated; null if the model has too few images for that"),
    ),
    "Box": _object(
        box=_say(_list(_NUMBER), "left, top, right, bottom in pixels of the upright image"),
        confidence=_say(_NUMBER, "that there is one, from 0 to 1"),
    ),
    "Prediction": _object(
        kind=_say({"enum": ["classifier", "detector"]}, "of the model"),
        label=_say(_STRING, "the most likely class (classifiers)"),
        classes=_say(_list(_part("Class")), "the best ones, best first (classifiers)"),
        boxes=_say(_list(_part("Box")), "what was found (detectors)"),
        width=_say(_INTEGER, "of the upright image (detectors)"),
        height=_say(_INTEGER, "of the upright image (detectors)"),
        seconds=_say(_NUMBER, "that the answer took, without waiting"),
    ),
    "Word": _object(
        name=_say(_STRING, "the features and the word's number, or another of their columns"),
        color=_say(_STRING, "#rrggbb if it is a colour, else empty"),
        evidence=_say(_NUMBER, "what its patches add to the score, all together"),
        patches=_say(
            _list(_list(_NUMBER)),
            "left, top, width, height of its strongest patches, as shares of the image",
        ),
    ),
    "ClassEvidence": _object(
        label=_STRING,
        score=_NUMBER,
        probability=_MAYBE,
        offset=_say(_NUMBER, "the part of the score that no place of the image has"),
        map=_say(
            _list(_list(_NUMBER)),
            "rows of the evidence of each place; all of them and the offset sum to the score",
        ),
        words=_say(_list(_part("Word")), "the most telling ones"),
    ),
    "Similar": _object(
        name=_say(_STRING, "label/file"),
        label=_STRING,
        similarity=_say(_NUMBER, "1 for the same image"),
        thumbnail=_say(_STRING, "a data URL; empty if the model keeps no images"),
    ),
    "Explanation": _object(
        label=_STRING,
        exact=_say(_BOOLEAN, "whether map and offset sum to the score exactly"),
        method=_say(_STRING, "how the evidence was found"),
        classes=_list(_part("ClassEvidence")),
        similar=_say(_list(_part("Similar")), "training images that are most alike"),
        seconds=_NUMBER,
    ),
    "Model": _object(
        kind={"enum": ["classifier", "detector"]},
        name=_STRING,
        summary=_say(_STRING, "how it sees images"),
        classes=_list(_object(label=_STRING, images=_say(_MAYBE, "it was trained on"))),
        facts=_list(_object(name=_STRING, value=_STRING)),
        explains=_say(_BOOLEAN, "whether /api/explain has an answer"),
        report=_say(_BOOLEAN, "whether there is a report at /report"),
        limits=_object(max_bytes=_INTEGER, max_pixels=_INTEGER),
    ),
}

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
    "schema": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
}
_LABEL = {
    "name": "label",
    "in": "query",
    "description": "explain this class instead of the best ones",
    "schema": _STRING,
}
_REFUSALS = {
    "400": "not a usable request",
    "403": "another name or site than this server's",
    "408": "the image arrived too slowly",
    "413": "the file is too large",
    "422": "the file is no image that can be used",
    "429": "too many requests from one address",
    "500": "a fault of the server, which goes on",
    "503": "too many images at once",
}


def describe_api(limits: Limits) -> dict[str, Any]:
    """Return the OpenAPI document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "visualwords",
            "version": visualwords.__version__,
            "description": "Ask a model what an image shows. Nothing leaves the machine.",
        },
        "paths": {
            "/api/predict": _post(
                "What does the image show?", _json("Prediction"), limits, _TOP, _LEAST
            ),
            "/api/explain": _post("Why?", _json("Explanation"), limits, _TOP, _LABEL),
            "/api/preview": _post(
                "The image as a small upright JPEG",
                {"image/jpeg": {"schema": {"type": "string", "format": "binary"}}},
                limits,
            ),
            "/api/model": {
                "get": {
                    "summary": "What is known of the model",
                    "responses": {"200": {"description": "done", "content": _json("Model")}},
                }
            },
        },
        "components": {"schemas": SCHEMAS},
    }


def _json(name: str) -> dict[str, Any]:
    return {"application/json": {"schema": _part(name)}}


def _post(
    summary: str, content: dict[str, Any], limits: Limits, *parameters: dict[str, Any]
) -> dict[str, Any]:
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
                "description": f"the bytes of an image file, {most}",
                "content": {"image/*": {}, "application/octet-stream": {}},
            },
            "responses": {"200": {"description": "done", "content": content}, **refusals},
        }
    }
