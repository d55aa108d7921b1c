// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/trial.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

// Settings that a backend can change within a process, from cell to cell (Cell::settings).
namespace ncclprobe::model {

struct InProcessSetting {
  // words: one of `words`. bytes: a size from `least` to `most`. whole: a whole number from `least`
  // to `most`. decimal: a number above 0.
  enum class Kind { words, bytes, whole, decimal };

  std::string_view name;
  // The environment variable that sets the same for a whole process; empty: none does exactly that.
  std::string_view variable;
  Kind kind = Kind::words;
  std::string_view words{}; // "ring,bcube"
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

// Those of a backend by its name; empty if it has none. A backend still throws Errc::unsupported
// where the machine or the library cannot do it (Backend::apply).
std::span<const InProcessSetting> in_process_settings(std::string_view backend);

// Errors: invalid_argument if the backend does not know the name, or the value is not one of it.
Result<void> check_in_process(std::string_view backend, const Setting& setting);

// `environment`, with the variables that have the same effect as `settings`. Throws Exception
// (unsupported), naming the first setting that the backend does not have.
std::map<std::string, std::string> environment_with(std::map<std::string, std::string> environment,
                                                    std::string_view backend,
                                                    const std::vector<Setting>& settings);

} // namespace ncclprobe::model
