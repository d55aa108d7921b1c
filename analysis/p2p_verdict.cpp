// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/p2p_verdict.h"

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

using workload::P2pDirection;
using workload::P2pMethod;

// As normality.h names them; empty if it knows no such figure.
std::string kind_of(const P2pMatrix& matrix) {
  if (matrix.direction != P2pDirection::uni && matrix.direction != P2pDirection::bi)
    return "";
  bool bi = matrix.direction == P2pDirection::bi;
  switch (matrix.method) {
  case P2pMethod::ce:
  case P2pMethod::ce_read:
  case P2pMethod::sm_write:
  case P2pMethod::sm_read:
    return bi ? "p2p_bidirectional" : "p2p";
  case P2pMethod::staged:
    return bi ? "" : "p2p_host";
  case P2pMethod::host:
    return bi ? "" : "host_device";
  default:
    return "";
  }
}

std::optional<double> median_of(const P2pMatrix& matrix) {
  std::vector<double> values;
  for (const P2pEntry& entry : matrix.entries)
    if (const auto& figure = matrix.direction == P2pDirection::bi ? entry.both_ways : entry.figure)
      values.push_back(figure->value);
  return values.empty() ? std::nullopt : std::optional(median(values));
}

} // namespace

std::optional<P2pVerdict> judge(const model::RunHeader& header, const P2pMatrix& matrix) {
  std::string kind = kind_of(matrix);
  auto value = median_of(matrix);
  if (kind.empty() || !value || header.backend != "nvidia" || header.synthetic ||
      header.hosts.empty())
    return std::nullopt;
  auto links = node_links(header.hosts.front());
  if (!links)
    return std::nullopt;
  MeasuredFigure figure;
  figure.kind = kind;
  figure.bytes = matrix.bytes;
  figure.gb_per_s = *value;
  P2pVerdict judged{judge_normality(*links, figure), ""};
  if (judged.verdict.verdict == Normality::unknown)
    return std::nullopt;
  judged.text = describe(judged.verdict, figure);
  return judged;
}

} // namespace ncclprobe::analysis
