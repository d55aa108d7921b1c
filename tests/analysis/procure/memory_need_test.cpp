// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/procure/memory_need.h"
#include "analysis/procure/nodes.h"
#include "analysis/procure/procurement.h"
#include "analysis/procure/procurement_report.h"
#include "analysis/report/written.h"
#include "support/catch.h"
#include "workload/models/catalogue.h"

#include <algorithm>

using namespace ncclprobe;
using namespace ncclprobe::analysis;
using namespace ncclprobe::analysis::procure;
using namespace ncclprobe::analysis_test;
using model::StepPattern;

namespace {

workload::StepRequest request_of_model(const std::string& name, StepPattern pattern,
                                       model::StepType type) {
  workload::StepRequest request;
  request.pattern = pattern;
  request.type = type;
  request.batch = 4;
  request.model = *workload::make_model(name);
  return request;
}

double parameters(const workload::StepRequest& request) {
  return static_cast<double>(request.model.parameter_count());
}

} // namespace

TEST_CASE("ddp keeps everything on each GPU") {
  auto request = request_of_model("gpt2-124m", StepPattern::ddp, model::StepType::bf16);

  MemoryNeed need = memory_need(request, 8).value();
  CHECK(need.weights == Approx(2 * parameters(request)));
  CHECK(need.gradients == Approx(2 * parameters(request)));
  CHECK(need.optimizer == Approx(8 * parameters(request)));
  double outputs = 0;
  for (const workload::Layer& layer : request.model.layers)
    outputs += static_cast<double>(layer.output_elements);
  CHECK(*need.activations == Approx(4 * 2 * outputs));

  request.type = model::StepType::f32;
  request.optimizer = false;
  request.scaling = model::Scaling::strong;
  need = memory_need(request, 4).value();
  CHECK(need.states() == Approx(8 * parameters(request)));
  CHECK(*need.activations == Approx(4 * outputs)); // one of four samples
}

TEST_CASE("fsdp keeps a part, and gathers the weights that it computes with") {
  auto request = request_of_model("gpt2-124m", StepPattern::fsdp, model::StepType::bf16);
  const double all = parameters(request);
  double root = 0, block = 0;
  for (const workload::Layer& layer : request.model.layers)
    for (const workload::Parameter& one : layer.parameters)
      (layer.block == -1 ? root : block) += static_cast<double>(one.elements);
  block /= 12; // equal blocks

  MemoryNeed need = memory_need(request, 8).value();
  CHECK(need.weights == Approx(2 * (all / 8 + root + block)));
  CHECK(need.gradients == Approx(2 * all / 8));
  CHECK(need.optimizer == Approx(all));

  request.reshard = false;
  CHECK(memory_need(request, 8)->weights == Approx(2 * all));
  CHECK(memory_need(request, 1)->weights == Approx(2 * all));
}

TEST_CASE("what splits layers or stages has a part, without a figure for activations") {
  auto request = request_of_model("gpt2-124m", StepPattern::pipeline, model::StepType::bf16);
  MemoryNeed need = memory_need(request, 4).value();
  CHECK(need.weights == Approx(2 * parameters(request) / 4));
  CHECK_FALSE(need.activations);

  request.pattern = StepPattern::tp;
  need = memory_need(request, 4).value();
  CHECK(need.weights > 2 * parameters(request) / 4); // norms are whole on each
  CHECK(need.weights < 2 * parameters(request));
  CHECK_FALSE(need.activations);
}

TEST_CASE("a step fits, fits with recomputation, does not fit, or nobody knows") {
  const MemoryNeed need{.weights = 2e9, .gradients = 2e9, .optimizer = 8e9, .activations = 3e9};

  CHECK(fits(need, 11.9e9) == Fits::no);
  CHECK(fits(need, 14e9) == Fits::with_recompute);
  CHECK(fits(need, 16e9) == Fits::possible);
  CHECK(fits(need, std::nullopt) == Fits::unknown);
  CHECK(fits(std::nullopt, 16e9) == Fits::unknown);
}

TEST_CASE("the memory of a GPU is what its driver reports, else at most what is published") {
  GpuInQuestion gpu = *gpu_in_question("T4");
  CHECK(gpu_memory_bytes(gpu) == 16.0 * (1 << 30));
  gpu.memory_gb = 15.6;
  CHECK(gpu_memory_bytes(gpu) == Approx(15.6e9));
  gpu = {};
  CHECK_FALSE(gpu_memory_bytes(gpu));
}

TEST_CASE("a model that does not fit is the first thing that a buyer reads") {
  const Workload large{.model = "llama2-7b", .batch = 1, .type = model::StepType::f16};
  const auto all = procurement_of({published_t4()}, {large, k_linear});

  CHECK(all.entry(0, 0).fits == Fits::no);
  CHECK(all.entry(0, 1).fits == Fits::possible);
  const Report report = procurement_report(all);
  CHECK(ids_of(report).front() == "does_not_fit");
  const auto values = values_of(json_of(report), "does_not_fit");
  CHECK(values["need"].get<double>() == Approx(12 * 6.738e9 / k_gib).epsilon(1e-3));
  CHECK(values["has"].get<double>() == Approx(16).epsilon(1e-3));
  CHECK(json_of(report, "steps")[0]["fits"] == "no");
}
