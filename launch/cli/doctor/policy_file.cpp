// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/doctor/policy_file.h"

#include "base/atomic_file.h"
#include "base/document_limits.h"
#include "launch/cli/common/toml_options.h"

namespace ncclprobe::cli {
namespace {

using analysis::Policy;
using knowledge::VersionNumber;

Words<VersionNumber> version_words() {
  return {[](const std::string& text) -> Result<VersionNumber> {
            auto read = knowledge::parse_version(text);
            if (!read || text.find_first_not_of("0123456789.") != std::string::npos)
              return fail(Errc::invalid_argument, "'{}' is not a version as text, such as \"8.0\"",
                          text);
            return *read;
          },
          [](const VersionNumber& version) { return version.text(); }, "8.0"};
}

Options policy_keys(Policy& into) {
  return {
      option("name", "TEXT", into.name, text_words("training"), "What reports call it"),
      option("min-compute-capability", "VERSION", into.min_compute_capability, version_words(),
             "Of each GPU"),
      option("min-memory-gb", "N", into.min_memory_gb, amount_words(), "Of a GPU, 1e9 bytes"),
      option("interconnect", "NAME", into.interconnect, name_words<analysis::LinkKind>("link"),
             "Between GPUs: {}"),
      option("min-link-gb-per-s", "N", into.min_link_gb_per_s, amount_words(),
             "Of one GPU in one direction"),
      option("min-gpus", "N", into.min_gpus, number_words(1, 1024), "Of a node"),
      option("same-gpus", "on|off", into.same_gpus, on_off_words(), "All of a node of one model"),
      option("features", "NAME,...", into.features,
             list_of(choice_words(analysis::policy_features())), "{}"),
      option("max-power-w", "N", into.max_power_w, amount_words(), "Of a GPU"),
      option("min-driver-cuda", "VERSION", into.min_driver_cuda, version_words(),
             "Newest CUDA of the driver"),
      option("max-price", "N", into.max_price, amount_words(), "Of a GPU"),
  };
}

bool asks_for_nothing(Policy policy) {
  policy.name.clear();
  if (!policy.same_gpus.value_or(false))
    policy.same_gpus.reset();
  return policy == Policy{};
}

} // namespace

Result<Policy> read_policy(const std::filesystem::path& file) {
  NCCLPROBE_TRY_ASSIGN(const std::string text, base::read_text(file, base::k_most_toml_bytes));
  Policy policy;
  NCCLPROBE_TRY(read_toml_options(text, file.string(), policy_keys(policy)));
  if (asks_for_nothing(policy))
    return fail(base::Error{
        Errc::invalid_argument,
        fmt::format("{}: it has no requirement, so every node would suit", file.string()),
        "write for example min_compute_capability = \"8.0\""});
  return policy;
}

} // namespace ncclprobe::cli
