// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "launch/cli/claim/claim_command.h"
#include "launch/cli/common/common_options.h"

#include <charconv>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_claim_about =
    "If compute time stays the same, a step gains at least the time that its exposed communication "
    "gains. If buckets queue behind each other, hidden communication counts too. The step then "
    "gains at most the time that all its communication gains, and never more than its exposed "
    "communication time.";

std::string percent(double share) {
  return fmt::format("{:.10g}%", 100 * share);
}

Words<double> change_words() {
  return {parse_change, percent, "-9%"};
}

Words<double> share_of_step_words() {
  return such_that<double>(
      {parse_change, percent, "20%"}, [](const double& share) { return share >= 0 && share <= 1; },
      "it is not a share from 0% to 100%");
}

Result<void> check_claim_options(ClaimOptions& options) {
  if (!options.setting.empty())
    return {};
  if (!options.sync_change || !options.step_change)
    return fail({Errc::invalid_argument,
                 fmt::format("{} is missing", options.sync_change ? "--step" : "--sync"),
                 "say what changed, such as --sync -9% --step -7%, or name a run file and one of "
                 "its settings, such as run.h5 --setting NCCL_ALGO=Ring"});
  options.claim.sync_change = *options.sync_change;
  options.claim.step_change = *options.step_change;
  const auto& all = options.claim.communication_share;
  if (all && *all < *options.claim.exposed_share)
    return fail(Errc::invalid_argument, "--communication: {} is less than the exposed part, {}",
                percent(*all), percent(*options.claim.exposed_share));
  return {};
}

} // namespace

Result<double> parse_change(const std::string& text) {
  std::string_view digits = text;
  if (digits.ends_with('%'))
    digits.remove_suffix(1);
  if (digits.starts_with('+'))
    digits.remove_prefix(1);
  double percent = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  if (error != std::errc{} || end != digits.data() + digits.size() ||
      digits.size() == text.size() || !(percent < 1e6))
    return fail(Errc::invalid_argument, "'{}' is not a change of a time such as -9%", text);
  if (percent <= -100)
    return fail(Errc::invalid_argument,
                "'{}' leaves no time at all: a change of a time must be above -100%", text);
  return percent / 100;
}

Usage claim_usage(ClaimOptions& into) {
  return {
      .name = "claim",
      .summary = "Check whether a claim about faster communication can be true",
      .about = k_claim_about,
      .examples = {{"ncclprobe claim --sync -9% --step -7%",
                    "what it means, and whether it can be true"},
                   {"ncclprobe claim --sync -9% --step -7% --exposed 20% --communication 35%",
                    "whether it fits a job with these shares"},
                   {"ncclprobe claim --sync -9% --step -7% run.h5",
                    "the same, with the shares of the run"},
                   {"ncclprobe claim run.h5 --setting nccl=/opt/nccl-2.29/lib/libnccl.so.2",
                    "whether its communication explains how its step changed"}},
      .exits = {{base::k_exit_ok,
                 "the claim can be true and fits what was measured, or there is no claim yet"},
                {base::k_exit_failures, "the claim cannot be true, or does not fit"}},
      .options = joined(
          {{option("sync", "CHANGE", into.sync_change, change_words(),
                   "Change of the gradient synchronisation time"),
            option("step", "CHANGE", into.step_change, change_words(), "Change of the step time"),
            option("exposed", "SHARE", into.claim.exposed_share, share_of_step_words(),
                   "Share of a step that is exposed communication"),
            option("communication", "SHARE", into.claim.communication_share, share_of_step_words(),
                   "Share of a step that is communication, hidden or exposed",
                   {.needs = {"exposed"}}),
            input_option("run_file", into.run_file,
                         "Take the shares from this run file with training steps",
                         {.excludes = {"exposed", "communication"}, .positional = true}),
            option("setting", "NAME", into.setting, text_words("NCCL_ALGO=Ring"),
                   "Take the claim from this setting of the run, compared with the default",
                   {.needs = {"run_file"}, .excludes = {"sync", "step"}})},
           result_options(into, {"text", "json"})}),
      .check = [&into](const Options&) { return check_claim_options(into); }};
}

} // namespace ncclprobe::cli
