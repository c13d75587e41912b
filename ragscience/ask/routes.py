"""Answers to questions that one search for passages cannot answer: of the papers themselves, summaries, lists."""

from ragscience.ask.route_records import RouteContext, Routed
from ragscience.ask.router import route

__all__ = ["RouteContext", "Routed", "route"]
