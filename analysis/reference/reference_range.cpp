// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/reference/reference_range.h"

#include "analysis/reference/reference_range_causes.h"
#include "knowledge/document.h"
#include "knowledge/gpu_models.h"
#include "model/enum_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis {
namespace {

using knowledge::ReferenceCurve;
using knowledge::ReferenceFigure;

// Published pass marks are 3 to 9 percent below typical values.
constexpr double k_normal_share = 0.91;
// Times of small messages are launch times, which differ more between hosts.
constexpr double k_normal_share_small = 0.6;
constexpr double k_broken_share = 0.5;
constexpr std::uint64_t k_small_bytes = 4 << 20;
// Published large-message figures use 1 GiB and more; from this size on the curve is flat.
constexpr std::uint64_t k_large_bytes = 256 << 20;
// Below this size, start-up is part of a copy's time; published copies are larger.
constexpr std::uint64_t k_large_copy_bytes = 64 << 20;
// From the ceiling alone: the share of an NVLink that NCCL's ring reaches (A100 0.78, H200 0.82),
// and of PCIe, where the path between the GPUs matters.
constexpr double k_ring_share = 0.8, k_ring_least_share = 0.65;
constexpr double k_copy_share = 0.85, k_copy_least_share = 0.75;
constexpr double k_pcie_share = 0.5, k_pcie_least_share = 0.25;
// A result this far above the link's capacity is not a measurement of this link.
constexpr double k_above_ceiling = 1.02;

bool same_model(const std::string& one, const std::string& other) {
  auto models = knowledge::find_gpu_models(one);
  auto others = knowledge::find_gpu_models(other);
  if (models.empty() || others.empty())
    return false;
  // "A100 PCIe" does not fix the memory size, a driver's name does.
  return std::ranges::any_of(others,
                             [&](const auto* candidate) { return candidate == models.front(); });
}

bool has_nvlink(const NodeLinks& links) {
  return links.nvlink_gb_per_s.value_or(0) > 0;
}

std::optional<double> ceiling_of(const NodeLinks& links, const MeasuredFigure& figure) {
  const bool over_host_link = figure.kind.over_host_link();
  if (!over_host_link && !links.nvlink_gb_per_s)
    return std::nullopt; // whether there are NVLinks is not known
  auto ceiling = over_host_link || !has_nvlink(links) ? links.pcie_gb_per_s : links.nvlink_gb_per_s;
  if (ceiling && figure.kind.bidirectional)
    return 2 * *ceiling;
  return ceiling;
}

// A reduction in the switch sends less over the link than busbw's factor assumes.
bool may_use_nvls(const NodeLinks& links, const MeasuredFigure& figure) {
  return has_nvlink(links) && !figure.nvls_off && figure.kind.is_collective();
}

const ReferenceFigure* published_figure(const NodeLinks& links, const MeasuredFigure& figure) {
  if (figure.bytes < (figure.kind.is_collective() ? k_large_bytes : k_large_copy_bytes))
    return nullptr;
  std::string link = has_nvlink(links) ? "nvlink" : "pcie";
  const ReferenceFigure* found = nullptr;
  for (const ReferenceFigure& one : knowledge::reference_figures()) {
    bool fits = one.kind == figure.kind && same_model(links.gpu, one.gpu) &&
                (one.gpus == 0 || one.gpus == figure.ranks) &&
                (!one.kind.is_collective() || one.link == link);
    bool nvls_fits = !one.nvls || *one.nvls == !figure.nvls_off;
    if (fits && nvls_fits && found == nullptr)
      found = &one;
  }
  return found;
}

std::optional<double> on_curve(const ReferenceCurve& curve, std::uint64_t bytes) {
  const auto& points = curve.points;
  if (points.empty() || bytes < points.front().bytes)
    return std::nullopt;
  if (bytes >= points.back().bytes)
    return points.back().busbw_gb_per_s;
  auto above = std::ranges::find_if(points, [&](const auto& point) { return point.bytes > bytes; });
  auto below = above - 1;
  double share = std::log(static_cast<double>(bytes) / static_cast<double>(below->bytes)) /
                 std::log(static_cast<double>(above->bytes) / static_cast<double>(below->bytes));
  return std::exp((1 - share) * std::log(below->busbw_gb_per_s) +
                  share * std::log(above->busbw_gb_per_s));
}

const ReferenceCurve* published_curve(const NodeLinks& links, const MeasuredFigure& figure) {
  // The curves were measured with NVLS on; NCCL chooses it from 5 GPUs up (nvls_findings).
  bool ring_either_way = figure.ranks <= 4;
  auto models = knowledge::find_gpu_models(links.gpu);
  bool nvls_capable = !models.empty() && models.front()->capability.major >= 9 && has_nvlink(links);
  if (figure.nvls_off && nvls_capable && !ring_either_way)
    return nullptr;
  for (const ReferenceCurve& one : knowledge::reference_curves())
    if (figure.kind == knowledge::FigureKind{.collective = one.collective} &&
        one.gpus == figure.ranks && same_model(links.gpu, one.gpu))
      return &one;
  return nullptr;
}

void judge_against(double expected, double least, double value, RangeVerdict& verdict) {
  verdict.expected_gb_per_s = expected;
  verdict.least_gb_per_s = least;
  verdict.verdict = value >= least                       ? RangeLevel::normal
                    : value >= k_broken_share * expected ? RangeLevel::low
                                                         : RangeLevel::broken;
}

bool judge_by_publication(const NodeLinks& links, const MeasuredFigure& figure,
                          RangeVerdict& verdict) {
  if (const ReferenceFigure* one = published_figure(links, figure)) {
    double least = one->threshold_gb_per_s.value_or(k_normal_share * one->low_gb_per_s);
    // A threshold alone is not a typical value; a result above it is normal nevertheless.
    judge_against(one->low_gb_per_s, std::min(least, one->low_gb_per_s), figure.gb_per_s, verdict);
    verdict.basis =
        !one->measured_by.empty()
            ? "measured by " + one->measured_by
            : fmt::format("published for {}{}{}",
                          one->gpus > 0 ? fmt::format("{} x ", one->gpus) : "", one->gpu,
                          one->nvls ? (*one->nvls ? ", NVLS" : ", ring") : "");
    verdict.source = one->source;
    return true;
  }
  const ReferenceCurve* curve = published_curve(links, figure);
  auto expected = curve ? on_curve(*curve, figure.bytes) : std::nullopt;
  if (!expected)
    return false;
  double share = figure.bytes < k_small_bytes ? k_normal_share_small : k_normal_share;
  judge_against(*expected, share * *expected, figure.gb_per_s, verdict);
  verdict.basis =
      fmt::format("published curve of {} x {}, NCCL {}", curve->gpus, curve->gpu, curve->nccl);
  verdict.source = knowledge::source_text(knowledge::reference_curve_sources().front());
  return true;
}

void judge_by_ceiling(const NodeLinks& links, const MeasuredFigure& figure, RangeVerdict& verdict) {
  verdict.basis = "nothing published for this node, kind and size";
  bool large = figure.bytes == 0 || figure.bytes >= k_large_bytes;
  // Kernels reach less than copy engines, and reads another share than writes. No share of the
  // ceiling is known that holds for other GPUs.
  if (!verdict.ceiling_gb_per_s || !large || figure.kind.copied_by_kernel())
    return;
  bool collective = figure.kind.is_collective();
  bool nvlink = has_nvlink(links) && !figure.kind.over_host_link();
  double share = nvlink && collective ? k_ring_share : nvlink ? k_copy_share : k_pcie_share;
  double least = nvlink && collective ? k_ring_least_share
                 : nvlink             ? k_copy_least_share
                                      : k_pcie_least_share;
  verdict.estimate = true;
  judge_against(share * *verdict.ceiling_gb_per_s, least * *verdict.ceiling_gb_per_s,
                figure.gb_per_s, verdict);
  verdict.basis = fmt::format(
      "an estimate, nothing is published for this node: {:.0f}% of the {}'s ceiling of {:.1f} GB/s",
      100 * share, nvlink ? "NVLink" : "PCIe link", *verdict.ceiling_gb_per_s);
}

} // namespace

std::optional<NodeLinks> node_links(const model::HostInventory& host) {
  if (host.gpus.empty())
    return std::nullopt;
  const model::CudaDevice& first = host.gpus.front();
  for (const model::CudaDevice& one : host.gpus)
    if (one.name != first.name || one.nvlinks != first.nvlinks)
      return std::nullopt;
  NodeLinks links;
  links.gpu = first.name;
  links.gpus = static_cast<int>(host.gpus.size());
  auto capability = knowledge::parse_compute_capability(first.compute_capability);
  if (first.nvlinks && *first.nvlinks == 0)
    links.nvlink_gb_per_s = 0;
  else if (first.nvlinks && capability)
    if (auto rate = knowledge::nvlink_gb_per_s(*capability))
      links.nvlink_gb_per_s = *first.nvlinks * *rate;
  auto models = knowledge::find_gpu_models(first.name);
  if (!models.empty())
    links.pcie_gb_per_s = models.front()->pcie_gb_per_s;
  return links;
}

RangeVerdict judge_by_range(const NodeLinks& links, const MeasuredFigure& figure) {
  RangeVerdict verdict;
  verdict.ceiling_gb_per_s = ceiling_of(links, figure);
  if (!(figure.gb_per_s > 0)) {
    verdict.basis = "nothing was measured";
    return verdict;
  }
  if (verdict.ceiling_gb_per_s && !may_use_nvls(links, figure) &&
      figure.gb_per_s > k_above_ceiling * *verdict.ceiling_gb_per_s) {
    verdict.basis = fmt::format(
        "above the link's ceiling of {:.1f} GB/s: the measurement or the link's data is wrong",
        *verdict.ceiling_gb_per_s);
    return verdict;
  }
  if (!judge_by_publication(links, figure, verdict))
    judge_by_ceiling(links, figure, verdict);
  if (verdict.verdict == RangeLevel::low || verdict.verdict == RangeLevel::broken)
    verdict.causes = likely_causes(links, figure, verdict);
  return verdict;
}

std::string describe(const RangeVerdict& verdict, const MeasuredFigure& figure) {
  std::string text = fmt::format("{}{}: {:.2f} GB/s", model::to_string(verdict.verdict),
                                 verdict.estimate ? " (estimate)" : "", figure.gb_per_s);
  if (verdict.expected_gb_per_s)
    text += fmt::format(", expected about {:.2f}, normal from {:.2f}", *verdict.expected_gb_per_s,
                        *verdict.least_gb_per_s);
  return text + "; " + verdict.basis;
}

} // namespace ncclprobe::analysis
