# SPDX-License-Identifier: Apache-2.0
"""Configuration files for tests, from Python values.  JSON is YAML, so that is how they are written, but for times,
which are plain there."""
import json
import re


def text(config):
    return re.sub(r'"(\d+ms)"', r"\1", json.dumps(config, indent=1))


def config(policies, users=None, **sections):
    """users: {name: settings}; bounds may be in milliseconds (request_timeout_ms=300)."""
    if users is not None:
        sections["users"] = [{"name": name, **settings} for name, settings in users.items()]
    if "bounds" in sections:
        sections["bounds"] = dict(in_units(name, value) for name, value in sections["bounds"].items())
    return {"policies": policies, **sections}


def in_units(name, value):
    return (name[:-3], f"{value}ms") if name.endswith("_ms") else (name, value)


def policy(limits, overrides=None, plans=None, **settings):
    """limits, and those of a plan: one text, or {name: text}; overrides: {key, or prefix with a star: plan}."""
    if plans is not None:
        settings["plans"] = {name: named_limits(plan) for name, plan in plans.items()}
    if overrides is not None:
        settings["overrides"] = [{"prefix" if key.endswith("*") else "key": key.rstrip("*"), "plan": plan}
                                 for key, plan in overrides.items()]
    return {"limits": named_limits(limits), **settings}


def named_limits(limits):
    return {"limit": limits} if isinstance(limits, str) else limits


def user(**settings):
    return settings
