"""The report of a trial: one HTML file with the accuracy of a model and its mistakes."""

from visualwords.apps.report.trial_report import write_report

__all__ = ["write_report"]
