// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/procure/nodes.h"

namespace ncclprobe::analysis_test {

using analysis::gpu_in_question;
using analysis::procure::NodeType;
using analysis::procure::PublishedRate;
using support::RunBuilder;

StepLengths lengths(double scale) {
  constexpr std::int64_t k_unit_ns = 1000;
  auto of = [=](int units) { return static_cast<std::int64_t>(scale * units * k_unit_ns); };
  return {of(100), of(100), of(100), of(80), of(60), of(50), of(10)};
}

void add_trial(RunBuilder& run, double scale, const std::vector<model::Setting>& settings) {
  auto trial = run.trial(settings);
  StepLengths alone = lengths(scale);
  alone.bucket_0 = alone.bucket_1 = 0;
  add_step_cell(*trial, {.label = {.model = "m", .ranks = {0}, .batch = 8}, .lengths = {alone}});
  add_step_cell(*trial, {.label = {.model = "m", .ranks = {0, 1}, .batch = 8},
                         .lengths = {lengths(scale), lengths(scale)}});
}

RunBuilder run_of(const std::vector<double>& scales) {
  RunBuilder run(2);
  for (double scale : scales)
    add_trial(run, scale);
  return run;
}

std::vector<double> around(double middle) {
  return {middle, 1.001 * middle, 0.999 * middle, 1.002 * middle, 0.998 * middle, middle};
}

NodeType node_of(const std::string& name, std::vector<model::Run> runs, double per_hour) {
  NodeType node{.name = name, .runs = std::move(runs)};
  node.gpu = *gpu_in_question("H200");
  node.gpu.count = 2;
  node.price.per_hour = per_hour;
  return node;
}

NodeType published_t4() {
  NodeType node{.name = "T4", .published = true};
  node.gpu = *gpu_in_question("T4");
  node.gpu.count = 4;
  node.price.per_hour = 4;
  node.rates.flops_per_s = PublishedRate{65e12, {}, "data sheet"};
  return node;
}

} // namespace ncclprobe::analysis_test
