// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/p2p/p2p_verdict.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using knowledge::FigureKind;
using model::P2pDirection;
using model::P2pMethod;

// Nothing if no range is known for such a figure.
std::optional<FigureKind> kind_of(const P2pMatrix& matrix) {
  using Path = FigureKind::Path;
  if (matrix.direction != P2pDirection::uni && matrix.direction != P2pDirection::bi)
    return std::nullopt;
  const bool both = matrix.direction == P2pDirection::bi;
  auto of = [&](Path path) { return FigureKind{.path = path, .bidirectional = both}; };
  switch (matrix.method) {
  case P2pMethod::ce:
  case P2pMethod::ce_read:
    return of(Path::p2p);
  case P2pMethod::sm_write:
    return of(Path::p2p_sm_write);
  case P2pMethod::sm_read:
    return of(Path::p2p_sm_read);
  case P2pMethod::staged:
    return both ? std::nullopt : std::optional(of(Path::p2p_host));
  case P2pMethod::host:
    return both ? std::nullopt : std::optional(of(Path::host_device));
  default:
    return std::nullopt;
  }
}

const std::optional<P2pFigure>& figure_of(const P2pMatrix& matrix, const P2pEntry& entry) {
  return matrix.direction == P2pDirection::bi ? entry.both_ways : entry.figure;
}

std::optional<double> median_of(const P2pMatrix& matrix) {
  std::vector<double> values;
  for (const P2pEntry& entry : matrix.entries)
    if (const auto& figure = figure_of(matrix, entry))
      values.push_back(figure->value);
  return values.empty() ? std::nullopt : std::optional(median(values));
}

// Pairs may share only part of a GPU's NVLinks (without a switch), or have a network between them.
bool any_pair_has_another_link(const P2pMatrix& matrix, double nvlink_gb_per_s) {
  double full = (matrix.direction == P2pDirection::bi ? 2 : 1) * nvlink_gb_per_s;
  return std::any_of(matrix.entries.begin(), matrix.entries.end(), [&](const P2pEntry& entry) {
    const auto& figure = figure_of(matrix, entry);
    return figure && (nvlink_gb_per_s > 0 ? figure->limit.gb_per_s != full
                                          : figure->limit.link_class == "network");
  });
}

} // namespace

std::optional<P2pVerdict> judge(const model::RunHeader& header, const P2pMatrix& matrix) {
  const auto kind = kind_of(matrix);
  auto value = median_of(matrix);
  if (!kind || !value || header.backend != "nvidia" || header.synthetic || header.hosts.empty())
    return std::nullopt;
  auto links = node_links(header.hosts.front());
  bool between_gpus = matrix.method != P2pMethod::host && matrix.method != P2pMethod::staged;
  if (!links ||
      (between_gpus && any_pair_has_another_link(matrix, links->nvlink_gb_per_s.value_or(0))))
    return std::nullopt;
  MeasuredFigure figure;
  figure.kind = *kind;
  figure.bytes = matrix.bytes;
  figure.gb_per_s = *value;
  P2pVerdict judged{judge_by_range(*links, figure), ""};
  if (judged.verdict.verdict == RangeLevel::unknown)
    return std::nullopt;
  judged.text = describe(judged.verdict, figure);
  return judged;
}

} // namespace ncclprobe::analysis
