#!/usr/bin/env bash
# All that takes hours. Nothing that fails holds up what comes after it; at the end all of it counts.
set -uo pipefail
cd "$(dirname "$0")/.."
VENV="${VENV:-.venv/bin}"
SEED="${SEED:-1}"
REPORTS=docs/nightly
failed=0

HYPOTHESIS_PROFILE=nightly "$VENV/python" -m pytest -n 2 tests/windowing/test_classes.py || failed=1
"$VENV/slackwater" chaos simulate --runs 10000 --seed "$SEED" || failed=1
for plan in chaos/plans/*.yml; do
  "$VENV/slackwater" chaos run "$plan" --seed "$SEED" --report "$REPORTS/$(basename "$plan" .yml)" || failed=1
done
# Compose for the composed stack, a browser for its screenshot.
compose=(docker-compose=docker-compose)
docker compose version >/dev/null 2>&1 && compose=()
if infra/missing-packages "${compose[@]}" chromium=chromium chromedriver=chromium-driver &&
  "$VENV/python" -m infra.containers start && infra/images/build; then
  # The plans in containers have pages of their own; of the tests only the verdicts are kept.
  told=$(mktemp)
  "$VENV/python" -m pytest tests/containers -m nightly -v | tee "$told" || failed=1
  grep -oE '^tests/.*::.* (PASSED|FAILED|ERROR|SKIPPED)' "$told" >"$REPORTS/containers_tests.txt"
  rm "$told"
  for plan in chaos/plans/containers/*.yml; do
    name=containers-$(basename "$plan" .yml)
    "$VENV/slackwater" chaos run "$plan" --stack containers --seed "$SEED" --report "$REPORTS/$name" || failed=1
  done
else
  failed=1
fi
"$VENV/python" -m infra.containers stop || failed=1  # if it is ours
"$VENV/slackwater" chaos contents "$REPORTS" || failed=1
exit "$failed"
