# SPDX-License-Identifier: Apache-2.0
"""docs/metrics.md, the Grafana dashboard and the alert rules speak of metrics that exist, with labels that they
have."""
import json
import os
import re
import subprocess
import sys

SOURCE = os.environ["METE_SOURCE_DIR"]
DRIVER = os.path.join(os.environ["METE_BUILD_DIR"], "tests", "metrics_driver")
LABEL_LISTS = re.compile(r"\bby\s*\(([^)]*)\)|\bon\s*\(([^)]*)\)|\bignoring\s*\(([^)]*)\)|\bwithout\s*\(([^)]*)\)")
FREE_LABELS = {"job", "instance"}  # that Prometheus adds


def read(*path):
    with open(os.path.join(SOURCE, *path), encoding="utf-8") as file:
        return file.read()


def metrics(table):
    """name -> labels, the derived series of histograms included."""
    known = {}
    for name, kind, labels in re.findall(r"^\| `(\w+)` \| (\w+) \| ([\w, ]*) \|", table, re.M):
        names = {label for label in labels.split(", ") if label.strip()}
        if kind == "histogram":
            known[name + "_bucket"] = names | {"le"}
            known[name + "_sum"] = known[name + "_count"] = names
        else:
            known[name] = names
    return known


def check_expression(expression, known, where):
    used = set(re.findall(r"\b(?:mete|process)_\w+", expression))
    assert used, "%s uses no metric: %s" % (where, expression)
    labels = set()
    for name in used:
        assert name in known, "%s: there is no metric %s" % (where, name)
        labels |= known[name]
    for body in re.findall(r"\{([^}]*)\}", expression):
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", body):
            assert label in labels | FREE_LABELS, "%s: no label %s in %s" % (where, label, expression)
    for groups in LABEL_LISTS.findall(expression):
        for label in re.findall(r"\w+", "".join(groups)):
            assert label in labels | FREE_LABELS, "%s: no label %s in %s" % (where, label, expression)
    assert expression.count("(") == expression.count(")"), "%s: %s" % (where, expression)
    return used


def check_grafana(known):
    board = json.loads(read("packaging", "grafana", "mete.json"))
    used, places, ids = set(), set(), set()
    assert board["title"] and board["uid"]
    for panel in board["panels"]:
        place = (panel["gridPos"]["x"], panel["gridPos"]["y"])
        assert place not in places and panel["id"] not in ids, panel["title"]
        places.add(place)
        ids.add(panel["id"])
        for target in panel.get("targets", []):
            # Grafana's own variables stand for an interval, and for values of labels.
            expression = target["expr"].replace("$__rate_interval", "5m")
            used |= check_expression(expression, known, panel["title"])
            for label in re.findall(r"\{\{(\w+)\}\}", target.get("legendFormat", "")):
                assert any(label in known[name] | FREE_LABELS for name in used), (panel["title"], label)
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            check_expression(variable["definition"], known, variable["name"])
    assert len(used) >= 15, used


def check_alerts(known):
    """The rules are written one key a line; expressions may go on in lines that stand deeper."""
    text = read("packaging", "prometheus", "alerts.yml")
    alerts = re.split(r"^      - alert: ", text, flags=re.M)[1:]
    assert len(alerts) >= 8, len(alerts)
    for alert in alerts:
        name = alert.split("\n", 1)[0]
        match = re.search(r"^        expr: (?:\|\n((?:          .*\n)+)|(.*)\n)", alert, re.M)
        assert match, name
        check_expression(match.group(1) or match.group(2), known, name)
        assert re.search(r"^        for: \d+[smh]$", alert, re.M), name
        assert re.search(r"^          severity: (page|ticket)$", alert, re.M), name
        assert re.search(r"^          summary: \S", alert, re.M), name
        assert re.search(r"^          description: \S", alert, re.M), name


def main():
    table = subprocess.run([DRIVER], check=True, capture_output=True, text=True).stdout
    assert table in read("docs", "metrics.md"), "docs/metrics.md is not what %s prints" % DRIVER
    known = metrics(table)
    assert len(known) > 40
    for wrong in ['rate(mete_nothing_total[5m])', 'mete_connections{policy="x"}', "sum by (colour) (mete_connections)"]:
        try:
            check_expression(wrong, known, "a wrong one")
        except AssertionError:
            continue
        raise AssertionError("not noticed: " + wrong)
    check_grafana(known)
    check_alerts(known)


if __name__ == "__main__":
    sys.exit(main())
