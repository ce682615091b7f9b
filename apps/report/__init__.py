"""The report of a trial: one HTML file that shows how good a model is and where it errs."""

from visualwords.apps.report.page import write_report

__all__ = ["write_report"]
