#!/usr/bin/env bash
# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0

# Fails if a source file is not formatted as .clang-format says, and names it. With --fix, formats them all.
# Releases of clang-format produce different results, so only the project's release decides; without it, there
# is a note and no failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

wanted=14
program=""
for candidate in clang-format-$wanted clang-format; do
  if command -v "$candidate" >/dev/null && "$candidate" --version | grep "version $wanted\." >/dev/null; then
    program=$candidate
    break
  fi
done
if [ -z "$program" ]; then
  echo "format: not checked, there is no clang-format $wanted"
  exit 0
fi

mapfile -t files < <(find src launch analysis topology tests examples -type f \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) | sort)
if [ "${1:-}" = --fix ]; then
  "$program" -i "${files[@]}"
  exit 0
fi
if ! complaints=$("$program" --dry-run --Werror "${files[@]}" 2>&1); then
  echo "format: not as .clang-format says (tests/check_format.sh --fix repairs them):"
  grep ': error: ' <<<"$complaints" | cut -d: -f1 | sort -u || echo "$complaints"
  exit 1
fi
echo "format: ${#files[@]} files are as .clang-format says"
