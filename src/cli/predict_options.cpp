// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/predict_options.h"

#include "base/exit_code.h"
#include "cli/command_line.h"
#include "cli/common_options.h"
#include "cli/help_layout.h"
#include "cli/option_values.h"
#include "cli/workload_options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <ostream>

namespace ncclprobe::cli {
namespace {

constexpr int k_most_ranks = 1'000'000;

constexpr const char* k_footer = R"(
Examples:
  ncclprobe predict run.h5 --ranks 16,64,512 --inter-node 50GB/s,5us
  ncclprobe predict run.h5 --ranks 64 --inter-node 40-50GB/s,4-6us --workload fsdp --type bf16
  ncclprobe predict steps.h5 --also sendrecv.h5 --workload pipeline --ranks 16 --ranks-per-node 16
  ncclprobe predict run.h5 --model llama2-7b --ranks 16,64,512 --inter-node 50GB/s,5us
  ncclprobe predict run.h5 --model llama2-7b --ranks 8 --forward 300-320ms --backward 640ms
  ncclprobe predict run.h5 --model llama2-7b --ranks 8 --tflops 350-450 --batch 1

What the run measured of steps is what is predicted for more ranks: where it has several kinds, say
which by the options of steps. The collectives of the step must have been measured in several sizes,
best on several numbers of ranks, by themselves (run --collectives) or in the steps. Where the run has
no step of that model, it computes at the rates of those that the run has, whose type and options it
takes; or say how long it computes: --forward and --backward, or --tflops and --batch. First of all, the
errors on what was measured are printed.

Exit codes: 0 predicted, 2 bad arguments or a run that does not have what it takes,
7 the prediction could not be written.
)";

using analysis::cost_model::InterNodeRange;
using analysis::cost_model::Stated;
using base::Errc;
using base::fail;
using base::Result;

struct Unit {
  std::string_view name;
  double factor;
};

// "50GB/s", and "40-50GB/s" for something between.
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

// "310ms", "1500us", "1.5", and "300-320ms" for something between.
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

// What was said of the step; every option once.
Result<void> check_single(const WorkloadOptions& said) {
  auto check = [](const char* name, const auto& values) -> Result<void> {
    if (values && values->size() > 1)
      return fail(Errc::invalid_argument, "--{}: one step is predicted, so give one value", name);
    return {};
  };
  NCCLPROBE_TRY(check("batch", said.batches));
  NCCLPROBE_TRY(check("type", said.types));
  NCCLPROBE_TRY(check("accumulate", said.accumulate));
  NCCLPROBE_TRY(check("bucket", said.buckets));
  NCCLPROBE_TRY(check("compress", said.compression));
  NCCLPROBE_TRY(check("prefetch", said.prefetch));
  NCCLPROBE_TRY(check("tensor", said.tensor));
  return check("micro-batches", said.micro_batches);
}

void say(const WorkloadOptions& said, workload::StepRequest& step) {
  auto one = [](const auto& from, auto& into) {
    if (from)
      into = *from;
  };
  auto first = [](const auto& from, auto& into) {
    if (from)
      into = from->front();
  };
  one(said.pattern, step.pattern);
  one(said.scaling, step.scaling);
  one(said.bucket_view, step.bucket_view);
  one(said.reshard, step.reshard);
  one(said.sequence_parallel, step.sequence_parallel);
  one(said.order, step.order);
  first(said.batches, step.batch);
  first(said.types, step.type);
  first(said.accumulate, step.accumulate);
  first(said.buckets, step.bucket_bytes);
  first(said.compression, step.compression);
  first(said.prefetch, step.prefetch);
  first(said.tensor, step.tensor);
  first(said.micro_batches, step.micro_batches);
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
                "'{}' is no rate and latency between nodes such as 50GB/s,5us", text);
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

std::variant<PredictOptions, int> parse_predict_arguments(const std::vector<std::string>& arguments,
                                                          std::ostream& out, std::ostream& err) {
  PredictOptions options;
  analysis::PredictionRequest& request = options.request;
  WorkloadOptions said;
  std::string run_file, format = "table";
  std::vector<std::string> also;
  std::optional<Stated> forward_ns, backward_ns, optimizer_ns;
  CLI::App app{"Predicts steps of training on more ranks than a run measured, with the errors of "
               "the prediction on what was measured printed first."};
  app.name("ncclprobe predict");
  use_help_layout(app);
  app.footer(k_footer);
  app.add_option("run_file", run_file, "Run file, as `ncclprobe` wrote it")
      ->required()
      ->type_name("RUN.h5");
  auto* with = app.add_option("--also", also,
                              "Another run on the same machine, for collectives that the first "
                              "lacks; may be repeated")
                   ->allow_extra_args(false)
                   ->type_name("RUN.h5");
  with->take_all();
  add_text(app, "--ranks", "LIST", "For how many ranks: 16,64,512",
           [&request](const std::string& text) -> Result<void> {
             std::optional<std::vector<int>> counts;
             NCCLPROBE_TRY(parse_numbers<int>(text, 2, k_most_ranks, counts));
             request.ranks = *counts;
             return {};
           })
      ->required();
  add_text(app, "--inter-node", "50GB/s,5us",
           "Between nodes: what one node sends with all of its network cards, and how long a "
           "message takes; ranges (40-50GB/s,4-6us) widen the interval. Needed for more ranks than "
           "a node has, if the run has one node",
           [&request](const std::string& text) -> Result<void> {
             NCCLPROBE_TRY_ASSIGN(request.inter_node, parse_inter_node(text));
             return {};
           });
  app.add_option("--ranks-per-node", request.ranks_per_node,
                 "Default: as many as a host of the run has")
      ->check(CLI::Range(1, k_most_ranks))
      ->type_name("N");
  auto time = [](std::optional<Stated>& into) {
    return [&into](const std::string& text) -> Result<void> {
      NCCLPROBE_TRY_ASSIGN(into, parse_stated_ns(text));
      return {};
    };
  };
  auto* forward = add_text(app, "--forward", "TIME",
                           "Forward pass of the whole model and batch on one rank, 310ms or "
                           "300-320ms, in place of what was measured",
                           time(forward_ns));
  auto* backward = add_text(app, "--backward", "TIME", "Backward pass, 640ms", time(backward_ns));
  forward->needs(backward);
  backward->needs(forward);
  add_text(app, "--optimizer", "TIME", "Optimizer, beside the two; default: none",
           time(optimizer_ns))
      ->needs(forward);
  auto* rate = add_text(app, "--tflops", "RATE",
                        "What a rank computes, 10^12 operations a second, for the model's "
                        "products: 400 or 350-450",
                        [&request](const std::string& text) -> Result<void> {
                          NCCLPROBE_TRY_ASSIGN(request.flops_per_s, parse_flops(text));
                          return {};
                        })
                   ->excludes(forward);
  declare_workload_options(app, said, {"compute", "optimizer", "comm-priority", "input-copy"});
  rate->needs(app.get_option("--batch"));
  app.add_option("-f,--format", format, "table (for people) or json; default: table")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}));
  add_text_file(app, options.output);
  if (auto leave = parse_arguments(app, arguments, out, err))
    return *leave;
  if (auto single = check_single(said); !single) {
    err << "ncclprobe predict: " << single.error().text() << "\n";
    return base::k_exit_usage;
  }
  request.model = said.model.value_or("");
  request.sequence = said.sequence.value_or(0);
  request.says_batch = said.batches.has_value();
  request.say = [said](workload::StepRequest& step) { say(said, step); };
  if (forward_ns)
    request.compute = analysis::cost_model::StatedCompute{
        .forward_ns = *forward_ns,
        .backward_ns = *backward_ns,
        .optimizer_ns = optimizer_ns.value_or(Stated()),
        .source = fmt::format("as stated, {} ms forward and {} ms backward", in_ms(*forward_ns),
                              in_ms(*backward_ns))};
  options.also.assign(also.begin(), also.end());
  options.run_file = run_file;
  options.json = format == "json";
  return options;
}

} // namespace ncclprobe::cli
