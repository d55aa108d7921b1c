// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/exit_code.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/predict/predict_command.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_predict_about =
    "The output first compares predictions with the measurements. It then predicts the steps of "
    "the run on more ranks. If the run has several kinds of steps, select one with the options for "
    "training steps. The run must have measured the collectives of the step at several sizes, and "
    "preferably on several numbers of ranks, either alone (run --collectives) or in the steps. For "
    "a model that the run did not measure, compute times come from the rates of the run's steps "
    "with the same type and options. You can also state the time (--forward and --backward) or the "
    "rate (--tflops and --batch).";

using analysis::cost_model::InterNodeRange;
using analysis::cost_model::Stated;

struct Unit {
  std::string_view name;
  double factor;
};

// "50GB/s", or "40-50GB/s" for a range.
struct Range {
  double low = 0, high = 0;
};
template <std::size_t N>
Result<Range> parse_range(std::string_view text, const std::array<Unit, N>& units,
                          const char* like) {
  const char* end = text.data() + text.size();
  Range range;
  auto [after, error] = std::from_chars(text.data(), end, range.low);
  range.high = range.low;
  if (error == std::errc{} && after != end && *after == '-') {
    auto second = std::from_chars(after + 1, end, range.high);
    after = second.ptr;
    error = second.ec;
  }
  const std::string_view rest(after, static_cast<std::size_t>(end - after));
  auto unit =
      std::find_if(units.begin(), units.end(), [&](const Unit& one) { return one.name == rest; });
  if (error != std::errc{} || unit == units.end() || !(range.low > 0) || range.high < range.low)
    return fail(Errc::invalid_argument, "'{}' is not like {}", text, like);
  return Range{range.low * unit->factor, range.high * unit->factor};
}

// "310ms", "1500us", "1.5", or "300-320ms" for a range.
Result<Stated> parse_stated_ns(const std::string& text) {
  static constexpr std::array k_units{Unit{"", 1e6}, Unit{"ms", 1e6}, Unit{"us", 1e3},
                                      Unit{"ns", 1}, Unit{"s", 1e9},  Unit{"m", 6e10}};
  NCCLPROBE_TRY_ASSIGN(const Range range, parse_range(text, k_units, "310ms or 300-320ms"));
  return Stated(range.low, range.high);
}

std::string in_ms(const Stated& time_ns) {
  return time_ns.low < time_ns.high
             ? fmt::format("{:g} to {:g}", time_ns.low / 1e6, time_ns.high / 1e6)
             : fmt::format("{:g}", time_ns.low / 1e6);
}

void say(const WorkloadOptions& said, workload::StepRequest& step) {
  for_each_value(
      said,
      [&](const auto& value, auto member) {
        if (value)
          step.*member = *value;
      },
      [&](const auto& values, auto member) {
        if (values)
          step.*member = values->front();
      });
}

} // namespace

Result<InterNodeRange> parse_inter_node(const std::string& text) {
  static constexpr std::array k_rates{Unit{"GB/s", 1}, Unit{"MB/s", 1e-3}, Unit{"Gbit/s", 0.125},
                                      Unit{"Gb/s", 0.125}};
  static constexpr std::array k_times{Unit{"us", 1e3}, Unit{"ns", 1}, Unit{"ms", 1e6}};
  const std::string_view all = text;
  const std::size_t comma = all.find(',');
  if (comma == std::string_view::npos)
    return fail(Errc::invalid_argument,
                "'{}' is not a rate and latency between nodes, such as 50GB/s,5us", text);
  NCCLPROBE_TRY_ASSIGN(const Range rate, parse_range(all.substr(0, comma), k_rates,
                                                     "50GB/s, 400Gbit/s or 40-50GB/s"));
  NCCLPROBE_TRY_ASSIGN(const Range latency,
                       parse_range(all.substr(comma + 1), k_times, "5us or 4-6us"));
  return InterNodeRange{.worst = {rate.low, latency.high}, .best = {rate.high, latency.low}};
}

Result<Stated> parse_flops(const std::string& text) {
  static constexpr std::array k_units{Unit{"", 1e12},        Unit{"Tflop/s", 1e12},
                                      Unit{"TFLOP/s", 1e12}, Unit{"TFLOPS", 1e12},
                                      Unit{"Pflop/s", 1e15}, Unit{"Gflop/s", 1e9}};
  NCCLPROBE_TRY_ASSIGN(const Range range, parse_range(text, k_units, "400, 400Tflop/s or 350-450"));
  return Stated(range.low, range.high);
}

namespace {

Words<Stated> stated_words(Result<Stated> (*read)(const std::string&), const char* example) {
  return {read,
          [](const Stated& time_ns) {
            return fmt::format("{:g}-{:g}ms", time_ns.low / 1e6, time_ns.high / 1e6);
          },
          example};
}

Words<InterNodeRange> inter_node_words() {
  return {parse_inter_node,
          [](const InterNodeRange& range) {
            return fmt::format("{:g}-{:g}GB/s,{:g}-{:g}ns", range.worst.bytes_per_ns,
                               range.best.bytes_per_ns, range.best.latency_ns,
                               range.worst.latency_ns);
          },
          "50GB/s,5us"};
}

Result<void> check(const Options& said, PredictOptions& options) {
  analysis::PredictionRequest& request = options.request;
  const WorkloadOptions& step = options.step;
  for (const Option& one : workload_options(options.step))
    if (const auto texts = one.write();
        one.is_list() && !texts.empty() && texts.front().find(',') != std::string::npos)
      return fail(Errc::invalid_argument, "{}: one step is predicted, so give one value",
                  one.label());
  if (find_option(said, "tflops")->said && !step.batches)
    return fail(Errc::invalid_argument, "--tflops needs --batch");
  request.model = step.model.value_or("");
  request.sequence = step.sequence.value_or(0);
  request.says_batch = step.batches.has_value();
  request.say = [step](workload::StepRequest& one) { say(step, one); };
  if (options.forward_ns)
    request.compute = analysis::cost_model::StatedCompute{
        .forward_ns = *options.forward_ns,
        .backward_ns = *options.backward_ns,
        .optimizer_ns = options.optimizer_ns.value_or(Stated()),
        .source = fmt::format("as stated, {} ms forward and {} ms backward",
                              in_ms(*options.forward_ns), in_ms(*options.backward_ns))};
  return {};
}

} // namespace

Usage predict_usage(PredictOptions& into) {
  analysis::PredictionRequest& request = into.request;
  return {
      .name = "predict",
      .summary = "Predict training steps on more ranks than a run measured",
      .about = k_predict_about,
      .examples =
          {{"ncclprobe predict run.h5 --ranks 16,64,512 --inter-node 50GB/s,5us"},
           {"ncclprobe predict run.h5 --ranks 64 --inter-node 40-50GB/s,4-6us --workload fsdp"},
           {"ncclprobe predict steps.h5 --also sendrecv.h5 --workload pipeline --ranks 16"},
           {"ncclprobe predict run.h5 --model llama2-7b --ranks 8 --forward 300ms --backward "
            "640ms"},
           {"ncclprobe predict run.h5 --model llama2-7b --ranks 8 --tflops 350-450 --batch 1"}},
      .exits = {{base::k_exit_usage,
                 "bad arguments, or a run that lacks what the prediction needs"}},
      .options = joined(
          {{input_option("run_file", into.run_file, "Run file with training steps"),
            repeated("also", "RUN.h5", into.also, path_words("sendrecv.h5"),
                     "Another run on the same machine, for collectives that the first lacks"),
            option("ranks", "N,...", request.ranks, numbers(2), "Numbers of ranks to predict",
                   {.required = true}),
            option("inter-node", "RATE,TIME", request.inter_node, inter_node_words(),
                   "Network between nodes: bandwidth of one node over all its NICs, and latency of "
                   "a message. Ranges (40-50GB/s,4-6us) widen the interval. Required to predict "
                   "several nodes from a run on one node"),
            option("ranks-per-node", "N", request.ranks_per_node, number_words(1, k_most),
                   "Ranks per node", {.initial = "as on a host of the run"}),
            option("forward", "TIME", into.forward_ns, stated_words(parse_stated_ns, "300-320ms"),
                   "Time of the forward pass of the whole model and batch on one rank, instead of "
                   "the measured time",
                   {.needs = {"backward"}}),
            option("backward", "TIME", into.backward_ns, stated_words(parse_stated_ns, "640ms"),
                   "Time of the backward pass", {.needs = {"forward"}}),
            option("optimizer", "TIME", into.optimizer_ns, stated_words(parse_stated_ns, "10ms"),
                   "Time of the optimizer", {.initial = "none", .needs = {"forward"}}),
            option("tflops", "RATE", request.flops_per_s,
                   Words<Stated>{parse_flops,
                                 [](const Stated& rate) {
                                   return fmt::format("{:g}-{:g}", rate.low / 1e12,
                                                      rate.high / 1e12);
                                 },
                                 "350-450"},
                   "Rate that a rank reaches in the model's GEMMs, in TFLOP/s (10^12 operations "
                   "per second)",
                   {.excludes = {"forward"}})},
           predicted_step_options(into.step),
           {format_option(into.format)},
           text_file_options(into.output),
           log_options(into.verbosity)}),
      .check = [&into](const Options& said) { return check(said, into); }};
}

} // namespace ncclprobe::cli
