#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes scenarios/catalogue/step_efficiency.csv again, by the command in its head, and fails where
# the committed table is another: tests/bench/step_table.sh from the top of a checkout that has been
# built. A minute or two on two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

table=scenarios/catalogue/step_efficiency.csv
made=$(mktemp)
trap 'rm -f "$made"' EXIT
# Printed where no file is named, behind the residuals: from the first comment on.
./orrery fit scenarios/catalogue/published/training.csv | sed -n '/^# General factors/,$p' |
    sed "/^# steps by: /s|\$| -o $table|" >"$made"
diff -u "$table" "$made" && echo "$table: made again, the same bytes"
