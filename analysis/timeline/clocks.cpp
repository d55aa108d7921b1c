// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/timeline/clock_model.h"

#include <algorithm>
#include <cmath>

namespace ncclprobe::analysis::timeline {
namespace {

double difference(std::uint64_t later, std::uint64_t earlier) {
  return later >= earlier ? static_cast<double>(later - earlier)
                          : -static_cast<double>(earlier - later);
}

// Enough digits for the error: two of it below 1.
int decimals_for(double us) {
  if (us >= 10)
    return 0;
  return us >= 0.1 || us == 0 ? 1 : 2;
}

} // namespace

bool Aligned::is_shown() const {
  return std::abs(value_ns) >= 2 * error_ns;
}

std::string format_us(const Aligned& time) {
  double error_us = time.error_ns / 1e3;
  int decimals = decimals_for(error_us);
  if (!time.is_shown())
    return fmt::format("not shown (below 2 x {:.{}f} us)", error_us, decimals);
  if (time.error_ns == 0)
    return fmt::format("{:.{}f} us", time.value_ns / 1e3, decimals);
  return fmt::format("{:.{}f} +- {:.{}f} us", time.value_ns / 1e3, decimals, error_us, decimals);
}

std::int64_t ClockModel::to_reference(std::uint64_t own_ns) const {
  double rest = offset_rest_ns + rate * difference(own_ns, at_ns);
  return static_cast<std::int64_t>(own_ns) + offset_ns + std::llround(rest);
}

double ClockModel::error_at(std::uint64_t own_ns) const {
  double outside = 0;
  if (own_ns < first_ns)
    outside = difference(first_ns, own_ns);
  else if (own_ns > last_ns)
    outside = difference(own_ns, last_ns);
  return error_ns + drift_error * outside;
}

void ClockModel::extend(std::uint64_t first_own_ns, std::uint64_t last_own_ns) {
  error_ns = std::max(error_at(first_own_ns), error_at(last_own_ns));
  first_ns = std::min(first_ns, first_own_ns);
  last_ns = std::max(last_ns, last_own_ns);
}

std::optional<ClockModel> fit_clock(const std::vector<trace::ClockRow>& readings) {
  if (readings.empty())
    return std::nullopt;
  ClockModel model;
  auto [first, last] =
      std::minmax_element(readings.begin(), readings.end(),
                          [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; });
  model.first_ns = first->at_ns;
  model.last_ns = last->at_ns;
  model.offset_ns = first->offset_ns; // of what follows only differences to it, which doubles hold
  model.readings = readings.size();

  struct Point {
    double x, y, weight, error;
  };
  std::vector<Point> points;
  double sum = 0, mean_x = 0, mean_y = 0;
  for (const auto& reading : readings) {
    double error = std::max(1.0, static_cast<double>(reading.error_ns));
    points.push_back({difference(reading.at_ns, model.first_ns),
                      static_cast<double>(reading.offset_ns - model.offset_ns), 1 / (error * error),
                      static_cast<double>(reading.error_ns)});
    sum += points.back().weight;
  }
  for (const Point& point : points) {
    mean_x += point.weight / sum * point.x;
    mean_y += point.weight / sum * point.y;
  }
  double xx = 0, xy = 0;
  for (const Point& point : points) {
    xx += point.weight * (point.x - mean_x) * (point.x - mean_x);
    xy += point.weight * (point.x - mean_x) * (point.y - mean_y);
  }
  auto judge = [&](double rate) {
    model.rate = rate;
    model.worst_residual_ns = model.worst_envelope_ns = 0;
    model.contradictions = 0;
    for (const Point& point : points) {
      double residual = std::abs(point.y - (mean_y + rate * (point.x - mean_x)));
      model.worst_residual_ns = std::max(model.worst_residual_ns, residual);
      model.worst_envelope_ns = std::max(model.worst_envelope_ns, point.error);
      model.contradictions += residual > point.error;
    }
    model.error_ns = model.worst_envelope_ns + model.worst_residual_ns;
  };
  judge(xx > 0 ? xy / xx : 0);
  double span = difference(model.last_ns, model.first_ns);
  // Both ends of the line may be off by error_ns, in opposite directions.
  model.drift_error = span > 0 ? 2 * model.error_ns / span : trace::k_most_drift;
  if (model.drift_error >= trace::k_most_drift) {
    judge(0);
    // Between the readings the offset may have drifted.
    model.error_ns += trace::k_most_drift * span;
    model.drift_error = trace::k_most_drift;
  }
  // The line stands in at_ns = the first reading, where its arguments are small.
  model.at_ns = model.first_ns;
  model.offset_rest_ns = mean_y - model.rate * mean_x;
  return model;
}

ClockModel compose(const ClockModel& inner, const ClockModel& outer) {
  ClockModel out = inner;
  auto middle_ns = static_cast<std::uint64_t>(inner.to_reference(inner.at_ns));
  out.offset_ns = inner.offset_ns + outer.offset_ns;
  out.offset_rest_ns =
      inner.offset_rest_ns + outer.offset_rest_ns + outer.rate * difference(middle_ns, outer.at_ns);
  out.rate = inner.rate + outer.rate + inner.rate * outer.rate;
  out.error_ns = inner.error_ns + outer.error_ns;
  out.drift_error = inner.drift_error + outer.drift_error;
  // The window in which both are known, on the inner clock.
  auto on_inner = [&](std::uint64_t outer_ns) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(outer_ns) - inner.offset_ns);
  };
  if (outer.last_ns != UINT64_MAX) {
    out.first_ns = std::max(inner.first_ns, on_inner(outer.first_ns));
    out.last_ns = std::min(inner.last_ns, on_inner(outer.last_ns));
  }
  out.readings = inner.readings + outer.readings;
  out.worst_envelope_ns = inner.worst_envelope_ns + outer.worst_envelope_ns;
  out.worst_residual_ns = inner.worst_residual_ns + outer.worst_residual_ns;
  out.contradictions = inner.contradictions + outer.contradictions;
  return out;
}

bool Clocks::all_known() const {
  return std::all_of(ranks.begin(), ranks.end(),
                     [](const auto& rank) { return rank.second.host.has_value(); });
}

double Clocks::pair_error_ns(int a, int b) const {
  auto first = ranks.find(a), second = ranks.find(b);
  if (a == b || first == ranks.end() || second == ranks.end())
    return 0;
  bool one_host = first->second.host_index == second->second.host_index;
  auto error = [&](const OfRank& rank) {
    return rank.own_error_ns + (rank.host && !one_host ? rank.host->error_ns : 0);
  };
  return error(first->second) + error(second->second);
}

double Clocks::worst_error_ns() const {
  double worst = 0;
  for (const auto& [rank, clock] : ranks)
    if (clock.host)
      worst = std::max(worst, clock.host->error_ns);
  return worst;
}

Clocks fit_clocks(const std::vector<RankHead>& ranks) {
  using OfRank = Clocks::OfRank;
  Clocks out;
  if (ranks.empty())
    return out;
  const std::string& reference = ranks.front().host;
  std::map<std::string, std::vector<trace::ClockRow>> of_host;
  std::map<std::string, std::size_t> index; // in the order of the ranks
  for (const RankHead& head : ranks) {
    std::vector<trace::ClockRow> gpu;
    of_host[head.host]; // counted also without readings
    index.try_emplace(head.host, index.size());
    for (const trace::ClockRow& reading : head.clocks) {
      if (reading.kind == trace::ClockKind::globaltimer) {
        gpu.push_back(reading);
      } else if (head.host != reference) {
        of_host[head.host].push_back(reading);
      } else {
        ++out.same_host_readings;
        auto error = static_cast<double>(reading.error_ns);
        out.same_host_contradictions += std::abs(static_cast<double>(reading.offset_ns)) > error;
        out.same_host_error_ns = std::max(out.same_host_error_ns, error);
      }
    }
    out.ranks[head.rank].gpu = fit_clock(gpu);
    if (head.inferred_from > 0) {
      out.inferred_from = out.inferred_hosts++ == 0
                              ? head.inferred_from
                              : std::min(out.inferred_from, head.inferred_from);
    }
  }
  out.hosts = of_host.size();
  for (const RankHead& head : ranks) {
    auto host = of_host.find(head.host);
    OfRank& rank = out.ranks[head.rank];
    rank.host_index = index.at(head.host);
    rank.host = head.host == reference ? ClockModel{} : fit_clock(host->second);
  }
  return out;
}

} // namespace ncclprobe::analysis::timeline
