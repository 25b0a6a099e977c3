# SPDX-License-Identifier: Apache-2.0
"""Orrery simulates GPU clusters that train transformers.

    import orrery

    scenario = orrery.load("scenarios/llama3-8b-h100.yaml")
    result = scenario.with_({"plan.global_batch_size": 256}).simulate()
    print(result.iteration_s, result.mfu)
"""
from orrery._program import Error, Problem, find_program
from orrery.results import (Campaign, Candidate, JobsSimulation, Point, Policy, Search, Simulation,
                            Sweep, Validation, ValidationRow)
from orrery.scenario import Scenario, campaign, load, search, simulate, sweep, validate

__version__ = "0.1.0"
__all__ = [
    "Campaign", "Candidate", "Error", "JobsSimulation", "Point", "Policy", "Problem", "Scenario",
    "Search", "Simulation", "Sweep", "Validation", "ValidationRow", "campaign", "find_program",
    "load", "search", "simulate", "sweep", "validate",
]
