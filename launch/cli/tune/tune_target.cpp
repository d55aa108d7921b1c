// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/cli/tune/tune_target.h"

#include "base/units.h"

#include <algorithm>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_range_of_gpus = "1M-256M";
constexpr const char* k_range_on_cpu = "64K-4M";
// Processes differ by more than a longer cell averages out, so the time is better spent on more of
// them.
constexpr std::int64_t k_cell_budget_ns = 250'000'000;
constexpr std::int64_t k_step_budget_ns = 2'000'000'000;

// "1M-256M", "8K,1M".
Result<std::vector<std::uint64_t>> read_sizes(const std::string& text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string::npos)
    return base::parse_sizes(text);
  NCCLPROBE_TRY_ASSIGN(const std::uint64_t first, base::parse_bytes(text.substr(0, dash)));
  NCCLPROBE_TRY_ASSIGN(const std::uint64_t last, base::parse_bytes(text.substr(dash + 1)));
  if (first == 0 || first > last)
    return base::fail(base::Errc::invalid_argument,
                      "'{}' is not a range of sizes from small to large, such as {}", text,
                      k_range_of_gpus);
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t bytes = first; bytes < last; bytes *= 4)
    sizes.push_back(bytes);
  sizes.push_back(last);
  return sizes;
}

Result<TuneTarget> read_target(const std::string& text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string name = text.substr(0, colon);
  const std::string rest = colon < text.size() ? text.substr(colon + 1) : "";
  if (const auto collective = model::parse_enum<model::Collective>(name, "target")) {
    SizesToTune sizes{*collective, {}};
    if (!rest.empty()) {
      NCCLPROBE_TRY_ASSIGN(sizes.bytes, read_sizes(rest));
    }
    return TuneTarget{sizes};
  }
  if (const auto pattern = model::parse_enum<model::StepPattern>(name, "target");
      pattern && *pattern != model::StepPattern::replay)
    return TuneTarget{StepToTune{*pattern, rest}};
  if (text.find('/') != std::string::npos)
    return TuneTarget{JobToTune{text}};
  return base::fail(
      {base::Errc::invalid_argument,
       fmt::format("'{}' is neither a collective, a training step nor a recorded job", name),
       "for example all_reduce:1M-256M, ddp:gpt2-124m, or the folder of a recorded job with a "
       "slash: job/"});
}

std::string write_target(const TuneTarget& target) {
  if (const auto* step = std::get_if<StepToTune>(&target))
    return step->model.empty() ? word(step->pattern) : word(step->pattern) + ":" + step->model;
  if (const auto* job = std::get_if<JobToTune>(&target))
    return job->path.string();
  const auto& sizes = std::get<SizesToTune>(target);
  std::string text = word(sizes.collective);
  for (std::size_t i = 0; i < sizes.bytes.size(); ++i)
    text += (i == 0 ? ":" : ",") + base::format_bytes(sizes.bytes[i]);
  return text;
}

} // namespace

Words<TuneTarget> tune_target_words() {
  return {read_target, write_target, "all_reduce:1M-256M"};
}

std::vector<std::uint64_t> default_tune_sizes(const std::string& backend) {
  return read_sizes(backend == "host" ? k_range_on_cpu : k_range_of_gpus).value();
}

RunOptions run_of(const TuneTarget& target, RunOptions options, const std::string& backend) {
  options.no_sweep = true;
  options.budget_ns =
      std::holds_alternative<SizesToTune>(target) ? k_cell_budget_ns : k_step_budget_ns;
  if (const auto* step = std::get_if<StepToTune>(&target)) {
    options.workload.pattern = step->pattern;
    if (!step->model.empty())
      options.workload.model = step->model;
    return options;
  }
  if (std::holds_alternative<JobToTune>(target)) {
    options.workload.pattern = model::StepPattern::replay;
    return options;
  }
  const auto& sizes = std::get<SizesToTune>(target);
  options.collectives = std::vector{sizes.collective};
  options.sizes = sizes.bytes.empty() ? default_tune_sizes(backend) : sizes.bytes;
  return options;
}

} // namespace ncclprobe::cli
