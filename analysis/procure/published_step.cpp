// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/procure/published_step.h"

#include "analysis/predict/step_prediction.h"
#include "analysis/results/bandwidth.h"
#include "base/text_layout.h"
#include "workload/models/model_file.h"

#include <algorithm>
#include <array>

namespace ncclprobe::analysis::procure {
namespace {

using cost_model::Stated;
using cost_model::Work;
using knowledge::GpuModel;
using workload::StepRequest;

// The largest of all models that the GPU can be: a limit for each of them.
template <typename Ask>
std::optional<double> most(const GpuInQuestion& gpu, Ask ask) {
  std::optional<double> found;
  for (const GpuModel* model : gpu.models) {
    const std::optional<double> one = ask(*model);
    if (!one)
      return std::nullopt;
    found = std::max(found, one);
  }
  return found;
}

// Nothing for f32, which tensor cores do not multiply.
std::optional<double> tensor_tflops(const GpuModel& model, model::StepType type) {
  switch (type) {
  case model::StepType::bf16:
    return model.tensor_tflops.bf16;
  case model::StepType::f16:
    return model.tensor_tflops.f16;
  case model::StepType::tf32:
    return model.tensor_tflops.tf32;
  case model::StepType::f32:
    break;
  }
  return std::nullopt;
}

std::string table_source(const GpuInQuestion& gpu, const char* what) {
  return fmt::format("{} of {} in docs/gpus.md", what,
                     gpu.models.empty() ? gpu.name : gpu.models.front()->name);
}

// Busbw describes a ring, in which each GPU sends at the rate of its links. Where switches can
// reduce (NVLS), each byte is sent once, so that busbw can exceed that rate.
std::optional<PublishedRate> link_limit(const GpuInQuestion& gpu, int ranks) {
  auto rate = most(gpu, [](const GpuModel& model) -> std::optional<double> {
    if (!model.nvlink)
      return std::nullopt;
    return model.nvlink->present ? model.nvlink->gb_per_s : model.pcie_gb_per_s;
  });
  if (!rate)
    return std::nullopt;
  const knowledge::GpuFeatures* features = knowledge::gpu_features(gpu.capability);
  if (!features || features->multicast.value_or(true))
    *rate *= std::max(busbw_factor(model::Collective::all_reduce, ranks).value_or(1), 1.0);
  return PublishedRate{*rate, {}, table_source(gpu, "link rate")};
}

// All rates at one end; absent: it has none.
struct Ends {
  std::optional<double> flops_per_s, bus_gb_per_s, memory_gb_per_s, latency_ns;
  bool are_known() const { return flops_per_s && bus_gb_per_s && memory_gb_per_s && latency_ns; }
};

// A point of each collective at three sizes, on every number of ranks that a group of them can
// have: on a line, whose model is exact.
std::vector<cost_model::Point> points_of(const std::set<model::Collective>& collectives, int ranks,
                                         double bus_gb_per_s, double latency_ns) {
  std::vector<cost_model::Point> points;
  for (model::Collective collective : collectives)
    for (int group = 2; group <= ranks; ++group) {
      if (ranks % group != 0)
        continue;
      for (std::uint64_t bytes :
           {std::uint64_t{1} << 16, std::uint64_t{1} << 22, std::uint64_t{1} << 28})
        points.push_back({.collective = collective,
                          .ranks = group,
                          .bytes = bytes,
                          .time_ns = latency_ns + static_cast<double>(bytes) *
                                                      busbw_factor(collective, group).value_or(1) /
                                                      bus_gb_per_s});
    }
  return points;
}

base::Result<cost_model::StepBase> base_at(const StepRequest& request, double flops_per_s,
                                           const std::optional<double>& memory_gb_per_s) {
  cost_model::StatedCompute compute = cost_model::stated_at_rate(request, Stated(flops_per_s));
  if (memory_gb_per_s) {
    // AdamW reads a gradient and updates a weight of the step's type and two moments of f32
    // (model::OptimizerOp).
    const double bytes = 3.0 * static_cast<double>(size_bytes(data_type(request.type))) + 16;
    compute.optimizer_ns =
        Stated(static_cast<double>(request.model.parameter_count()) * bytes / *memory_gb_per_s);
  }
  NCCLPROBE_TRY_ASSIGN(cost_model::StepBase base, cost_model::stated_base(request, compute));
  if (memory_gb_per_s)
    for (const auto& [activity, name] : base::enum_names(model::Activity{})) {
      base.works.set_rate(activity, Work::Kind::copy, 2 / *memory_gb_per_s); // read and written
      base.works.set_rate(activity, Work::Kind::conversion, 1 / *memory_gb_per_s);
    }
  return base;
}

base::Result<cost_model::Predicted> predicted_at(const StepRequest& request, int ranks,
                                                 const Ends& work, const Ends& transfers) {
  NCCLPROBE_TRY_ASSIGN(const cost_model::StepBase base,
                       base_at(request, *work.flops_per_s, work.memory_gb_per_s));
  const cost_model::TransferCosts costs(points_of(cost_model::collectives_of(request, ranks), ranks,
                                                  *transfers.bus_gb_per_s, *transfers.latency_ns),
                                        ranks);
  cost_model::Predicted one =
      predict(base, costs, ranks, {.ranks_per_node = ranks, .inter_node = {}});
  if (one.why_not)
    return base::fail(base::Errc::not_found, "{}", in_words(one.why_not));
  return one;
}

void add_source(StepFigure& figure, const char* what, const PublishedRate& rate, double unit,
                const char* unit_name) {
  const std::string amount = rate.worst
                                 ? fmt::format("{:g} to {:g}", *rate.worst / unit, rate.best / unit)
                                 : fmt::format("at most {:g}", rate.best / unit);
  figure.notes.push_back(
      fmt::format("{} {} {} ({})", what, amount, unit_name,
                  rate.source.empty() ? "as stated, without a source" : rate.source));
}

} // namespace

base::Result<StepRequest> request_for(const Workload& workload) {
  if (!workload.batch || !workload.type)
    return base::fail(base::Errc::invalid_argument,
                      "give batch and type of the workload, since no other node measured it, or "
                      "they measured several");
  StepRequest request;
  request.pattern = workload.pattern;
  request.batch = *workload.batch;
  request.type = *workload.type;
  NCCLPROBE_TRY_ASSIGN(
      request.model,
      workload::find_model(workload.model, {.sequence = workload.sequence.value_or(0)}));
  return request;
}

PublishedRates rates_of(const NodeType& node, model::StepType type) {
  PublishedRates rates = node.rates;
  if (!rates.flops_per_s)
    if (auto tflops =
            most(node.gpu, [&](const GpuModel& model) { return tensor_tflops(model, type); }))
      rates.flops_per_s = PublishedRate{*tflops * 1e12, {}, table_source(node.gpu, "tensor cores")};
  if (!rates.bus_gb_per_s)
    rates.bus_gb_per_s = link_limit(node.gpu, node.gpu.count);
  if (!rates.memory_gb_per_s)
    if (auto gb_per_s = most(node.gpu, [](const GpuModel& model) { return model.memory_gb_per_s; }))
      rates.memory_gb_per_s = PublishedRate{*gb_per_s, {}, table_source(node.gpu, "memory")};
  return rates;
}

Bounds power_limits_w(const NodeType& node, int gpus) {
  Bounds range;
  if (auto each_w = most(node.gpu, [](const GpuModel& model) { return model.power_w; }))
    range.high = *each_w * gpus;
  return range;
}

base::Result<void> fill_published(StepFigure& figure, const NodeType& node,
                                  const Workload& workload) {
  NCCLPROBE_TRY_ASSIGN(const StepRequest request, request_for(workload));
  if (figure.ranks > node.gpu.count)
    return base::fail(base::Errc::unsupported,
                      "{} ranks are more than one node has, and the network is unknown",
                      figure.ranks);
  const PublishedRates rates = rates_of(node, request.type);
  if (!rates.flops_per_s)
    return base::fail(base::Errc::not_found,
                      "the rate of its matrix products is unknown: state tflops, with its source");
  if (!rates.bus_gb_per_s)
    return base::fail(base::Errc::not_found,
                      "the rate of its links is unknown: state bus_gb_per_s, with its source");
  const auto memory = rates.memory_gb_per_s;
  const Ends best{rates.flops_per_s->best, rates.bus_gb_per_s->best,
                  memory ? std::optional(memory->best) : std::nullopt, 0.0};
  const Ends worst{rates.flops_per_s->worst, rates.bus_gb_per_s->worst,
                   memory ? memory->worst : std::nullopt, rates.most_latency_ns};
  NCCLPROBE_TRY_ASSIGN(const cost_model::Predicted fastest,
                       predicted_at(request, figure.ranks, best, best));
  figure.request = request;
  figure.origin = Origin::published;
  figure.source = "published rates and the model";
  figure.step = fmt::format("{} {}, {}, batch {}", model::to_string(request.pattern),
                            request.model.name, model::to_string(request.type), request.batch);
  figure.samples = cost_model::samples_on(request, figure.ranks);
  figure.range_ns = Bounds{fastest.step_ns, {}};
  add_source(figure, "products", *rates.flops_per_s, 1e12, "Tflop/s");
  add_source(figure, "busbw", *rates.bus_gb_per_s, 1, "GB/s");
  if (memory)
    add_source(figure, "memory", *memory, 1, "GB/s");
  if (rates.most_latency_ns)
    figure.notes.push_back(fmt::format(
        "latency of a collective up to {:g} us ({})", *rates.most_latency_ns / 1e3,
        rates.latency_source.empty() ? "as stated, without a source" : rates.latency_source));
  if (!worst.are_known()) {
    std::vector<std::string> missing;
    for (const auto& [known, key] :
         {std::pair(worst.flops_per_s.has_value(), "tflops"),
          std::pair(worst.bus_gb_per_s.has_value(), "bus_gb_per_s"),
          std::pair(worst.memory_gb_per_s.has_value(), "memory_gb_per_s"),
          std::pair(worst.latency_ns.has_value(), "latency_us")})
      if (!known)
        missing.emplace_back(key);
    figure.notes.push_back(fmt::format("no upper limit of the time: no worst case is stated for {}",
                                       base::join(missing, ", ")));
    return {};
  }
  std::vector<double> efficiencies, shares;
  for (const Ends& work : {best, worst})
    for (const Ends& transfers : {best, worst}) {
      NCCLPROBE_TRY_ASSIGN(const cost_model::Predicted one,
                           predicted_at(request, figure.ranks, work, transfers));
      efficiencies.push_back(one.efficiency);
      shares.push_back(one.exposed_ns / one.step_ns);
      figure.range_ns->high = std::max(figure.range_ns->high.value_or(0), one.step_ns);
    }
  const auto [least, highest] = std::ranges::minmax_element(efficiencies);
  figure.efficiency_range = Bounds{*least, *highest};
  const auto [least_share, highest_share] = std::ranges::minmax_element(shares);
  figure.exposed_range = Bounds{*least_share, *highest_share};
  return {};
}

} // namespace ncclprobe::analysis::procure
