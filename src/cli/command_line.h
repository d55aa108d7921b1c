// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ncclprobe::cli {

// Parses `arguments`, without the program's name. No option takes an empty value: it is what an
// unset variable of a script leaves. `check` may throw what CLI11 throws. Returns the exit code to
// leave with: help was printed on `out`, or what is wrong on `err`; nothing if all is well.
std::optional<int> parse_arguments(CLI::App& app, const std::vector<std::string>& arguments,
                                   std::ostream& out, std::ostream& err,
                                   const std::function<void()>& check = {});

} // namespace ncclprobe::cli
