#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# Fails if a source file is not formatted as .clang-format says. Releases of clang-format differ in what
# they produce, so only the one that the project uses decides; without it, there is a note and no failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

wanted=14
for program in clang-format-$wanted clang-format; do
  if command -v "$program" >/dev/null && "$program" --version | grep -q "version $wanted\."; then
    find src launch analysis tests examples \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
      xargs -0 "$program" --dry-run -Werror
    echo "format: all files are as .clang-format says"
    exit 0
  fi
done
echo "format: not checked, there is no clang-format $wanted"
