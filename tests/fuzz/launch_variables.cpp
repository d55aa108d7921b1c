// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/number_list.h"
#include "base/split.h"
#include "launch/supervisor/launcher.h"
#include "workload/plan.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

using namespace ncclprobe;

// An environment, one variable a line; each value is read as a list of ranks and as values of a
// setting too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  launch::Variables environment;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      continue;
    const std::string_view value = line.substr(equals + 1);
    environment.emplace(line.substr(0, equals), value);
    const std::vector<int> numbers = base::parse_number_list(value);
    if (!numbers.empty() && base::parse_number_list(base::format_number_list(numbers)).empty())
      std::abort();
    (void)workload::parse_axis(line);
  }
  (void)launch::launcher_of(environment);
  (void)launch::is_first_rank(environment);
  if (const auto job = launch::read_env_job(environment))
    if (job->rank < 0 || job->rank >= job->size)
      std::abort();
  return 0;
}
