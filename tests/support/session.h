// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ncclprobe::support {

// Runs the Catch2 tests of this program, and prints how many passed, failed and were skipped, as
// count_results.py reads it. Returns its exit code: 0 = passed, 1 = failed, 77 = all were skipped
// (ctest SKIP_RETURN_CODE).
int run_tests(int argc, char** argv);

} // namespace ncclprobe::support
