// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "cli/predict_options.h"

#include "base/exit_code.h"
#include "base/units.h"
#include "cli/option_values.h"
#include "model/parse_enum.h"

#include <CLI/CLI.hpp>

#include <ostream>

namespace ncclprobe::cli {
namespace {

constexpr int k_most_ranks = 1'000'000;

constexpr const char* k_footer = R"(
Examples:
  ncclprobe predict run.h5 --model gpt2-124m --ranks 16,64,512 --inter-node 50GB/s,5us
  ncclprobe predict run.h5 --model llama2-7b --ranks 8 --forward 310 --backward 640 --type bf16
  ncclprobe predict run.h5 --model llama2-7b --ranks 8 --tflops 400 --batch 1 --type bf16

The run has to have all-reduces of several sizes, or data parallel steps (run --workload ddp), best on
several numbers of ranks. How long the model computes comes from its steps in the run, else from
--forward and --backward, else from --tflops and --batch. First of all, the errors on what was
measured are printed.

Exit codes: 0 predicted, 2 bad arguments or a run that does not have what it takes,
7 the prediction could not be written.
)";

base::Result<double> number_before(std::string_view text, std::string_view unit) {
  double value = 0;
  if (text.ends_with(unit)) {
    text.remove_suffix(unit.size());
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && value > 0)
      return value;
  }
  return base::fail(base::Errc::invalid_argument, "'{}' is no number of {}", text, unit);
}

} // namespace

base::Result<analysis::cost_model::InterNode> parse_inter_node(const std::string& text) {
  const std::string_view all = text;
  const std::size_t comma = all.find(',');
  if (comma == std::string_view::npos)
    return base::fail(base::Errc::invalid_argument,
                      "'{}' is no rate and latency between nodes such as 50GB/s,5us", text);
  const std::string_view rate = all.substr(0, comma), latency = all.substr(comma + 1);
  analysis::cost_model::InterNode out;
  if (rate.ends_with("Gbit/s")) {
    NCCLPROBE_TRY_ASSIGN(const double gbit_per_s, number_before(rate, "Gbit/s"));
    out.bytes_per_ns = gbit_per_s / 8;
  } else {
    NCCLPROBE_TRY_ASSIGN(out.bytes_per_ns, number_before(rate, "GB/s"));
  }
  NCCLPROBE_TRY_ASSIGN(const double latency_us, number_before(latency, "us"));
  out.latency_ns = latency_us * 1e3;
  return out;
}

std::variant<PredictOptions, int> parse_predict_arguments(const std::vector<std::string>& arguments,
                                                          std::ostream& out, std::ostream& err) {
  PredictOptions options;
  analysis::PredictionRequest& request = options.request;
  std::string run_file, output, ranks, inter_node, bucket;
  std::string format = "table", type = "f32";
  std::optional<double> forward_ms, backward_ms, tflops;
  double optimizer_ms = 0;
  CLI::App app{"Predicts steps of data parallel training on more ranks than a run measured, with "
               "the errors of the prediction on what was measured printed first."};
  app.name("ncclprobe predict");
  app.footer(k_footer);
  app.add_option("run_file", run_file, "Run file, as `ncclprobe` wrote it")
      ->required()
      ->type_name("RUN.h5");
  app.add_option("--model", request.model,
                 "Which model, as `run --model` names it: its steps in the run, else from the "
                 "catalogue")
      ->required()
      ->type_name("NAME");
  app.add_option("--ranks", ranks, "For how many ranks: 16,64,512")->required()->type_name("LIST");
  app.add_option("--inter-node", inter_node,
                 "Between nodes: what one node sends with all of its network cards, and how long a "
                 "message takes. Needed for more ranks than a node has, if the run has one node")
      ->type_name("50GB/s,5us");
  app.add_option("--ranks-per-node", request.ranks_per_node,
                 "Default: as many as a host of the run has")
      ->check(CLI::Range(1, k_most_ranks))
      ->type_name("N");
  auto* forward =
      app.add_option("--forward", forward_ms, "Forward pass, ms, in place of what was measured")
          ->check(CLI::PositiveNumber)
          ->type_name("MS");
  auto* backward = app.add_option("--backward", backward_ms, "Backward pass, ms")
                       ->check(CLI::PositiveNumber)
                       ->type_name("MS");
  forward->needs(backward);
  backward->needs(forward);
  app.add_option("--optimizer", optimizer_ms, "Optimizer, ms, beside the two; default: 0")
      ->check(CLI::NonNegativeNumber)
      ->needs(forward)
      ->type_name("MS");
  auto* rate = app.add_option("--tflops", tflops,
                              "What a rank computes, 10^12 operations a second, for the model's "
                              "products")
                   ->check(CLI::PositiveNumber)
                   ->excludes(forward)
                   ->type_name("RATE");
  auto* batch = app.add_option("--batch", request.batch, "Samples of a rank, with --tflops")
                    ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
                    ->type_name("N");
  rate->needs(batch);
  app.add_option("--sequence", request.sequence, "Tokens of a sample (default: the model's)")
      ->type_name("N");
  app.add_option("--type", type, "Of gradients of a model that was not measured: f32, f16, bf16")
      ->check(CLI::IsMember({"f32", "f16", "bf16"}))
      ->type_name("TYPE");
  app.add_option("--bucket", bucket, "bucket_cap_mb of DDP, 25MiB (default: PyTorch's)")
      ->type_name("SIZE");
  app.add_option("-f,--format", format, "table (for people) or json; default: table")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json"}));
  app.add_option("-o,--output", output,
                 "Write to this file instead of standard output; replaces it")
      ->type_name("FILE");
  auto refuse = [&](const std::string& option, const base::Error& error) {
    err << "ncclprobe predict: " << option << ": " << error.text() << "\n";
    return base::k_exit_usage;
  };
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend())); // last one first
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? base::k_exit_ok : base::k_exit_usage;
  }
  std::optional<std::vector<int>> counts;
  if (auto read = parse_numbers<int>(ranks, 2, k_most_ranks, counts); !read)
    return refuse("--ranks", read.error());
  request.ranks = *counts;
  if (!inter_node.empty()) {
    auto between = parse_inter_node(inter_node);
    if (!between)
      return refuse("--inter-node", between.error());
    request.inter_node = *between;
  }
  if (!bucket.empty()) {
    auto bytes = base::parse_bytes(bucket);
    if (!bytes || *bytes == 0)
      return refuse("--bucket", bytes ? base::Error{base::Errc::invalid_argument, "no bytes", {}}
                                      : bytes.error());
    request.bucket_bytes = *bytes;
  }
  if (forward_ms)
    request.compute = analysis::cost_model::StatedCompute{
        .forward_ns = *forward_ms * 1e6,
        .backward_ns = *backward_ms * 1e6,
        .optimizer_ns = optimizer_ms * 1e6,
        .source = fmt::format("as stated, {:g} ms forward and {:g} ms backward", *forward_ms,
                              *backward_ms)};
  if (tflops)
    request.flops_per_s = *tflops * 1e12;
  request.type = base::value_or_throw(model::parse_enum<model::DataType>(type, "type"));
  options.run_file = run_file;
  options.json = format == "json";
  options.output = output;
  return options;
}

} // namespace ncclprobe::cli
