"""Trained image classifiers as ONNX files, which run without this package."""

from typing import TYPE_CHECKING

from visualwords import on_first_use

if TYPE_CHECKING:
    from visualwords.apps.export.exporting import export_onnx, exportable_reason

__all__ = ["export_onnx", "exportable_reason"]

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "export_onnx": "visualwords.apps.export.exporting",
        "exportable_reason": "visualwords.apps.export.exporting",
    },
)
